"""Characters that betray a broken text layer or a wrong decoding."""

import re

_GARBAGE = re.compile(
    "\\(cid:[0-9]+\\)"
    "|[\ufffd-\uffff\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


def garbage_characters(text: str) -> int:
    """Code points that stand for nothing: U+FFFD to U+FFFF, private use, controls other than tab and line ends.

    Every code point of a `(cid:n)` counts: it stands where a PDF's font does not say which character it means.

    >>> garbage_characters("caf\\ufffd (cid:3)\\n")
    8
    """
    return sum(len(found) for found in _GARBAGE.findall(text))
