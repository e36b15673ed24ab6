"""Words that mix scripts with letters that look alike (the idea of UTS 39, for Latin, Greek and Cyrillic).

The look-alike letters are a list of our own, made by comparing letter shapes; it holds letters only that cannot be
told from the Latin one in common fonts.
"""

import re

_LETTER_RUN = re.compile(r"[^\W\d_]+")
_SCRIPTS = {
    "latin": re.compile("[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]"),
    "cyrillic": re.compile("[\u0400-\u052f\u1c80-\u1c8f]"),
    "greek": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
}
_LOOK_ALIKES = (
    ("latin", "ABEHIJKMOPCSTXYaceijopsxyhdqw", "cyrillic", "АВЕНІЈКМОРСЅТХУасеіјорѕхуһԁԛԝ"),
    ("latin", "ABEZHIKMNOPTYXovj", "greek", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϳ"),
    ("cyrillic", "АВЕНІКМОРТХоГПФ", "greek", "ΑΒΕΗΙΚΜΟΡΤΧοΓΠΦ"),
)


def mixed_script_words(text: str) -> tuple[int, int]:
    """(words that mix scripts by look-alike letters, all words).

    A word is a run of letters. It counts when it holds letters of two of the scripts Latin, Greek and Cyrillic, and
    all its letters of one of them look like letters of the other: "\u0440aypal" with a Cyrillic er counts,
    "\u0394x" and "\u03bcm" do not.

    >>> mixed_script_words("\u0440aypal pays for paypal"), mixed_script_words("\u0394x of 5 \u03bcm")
    ((1, 4), (0, 3))
    """
    words = _LETTER_RUN.findall(text)
    if text.isascii():
        return 0, len(words)
    return sum(_is_mixed(word) for word in words if not word.isascii()), len(words)


def _is_mixed(word: str) -> bool:
    letters = {name: set(script.findall(word)) for name, script in _SCRIPTS.items()}
    return any(
        letters[one] and letters[other] and (letters[one] <= set(ones) or letters[other] <= set(others))
        for one, ones, other, others in _LOOK_ALIKES
    )
