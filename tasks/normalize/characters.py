"""Character classes, and the edits that bring characters into their plain form."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from tasks.normalize.mapped import Edit

UNICODE_VERSION = unicodedata.unidata_version

# Default-ignorable code points (Unicode property Default_Ignorable_Code_Point, listed by range), which a reader
# never sees, and the interlinear annotation marks.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
INVISIBLE = re.compile(f"[{_IGNORABLE}]")

# Scripts in which the joiners choose the shape of a letter (cursive and Indic scripts).
_JOINING = (
    "\u0600-\u07ff\u0840-\u085f\u0860-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1800-\u18af"
    "\u1b00-\u1bff\ua800-\ua82f\ua840-\ua8ff\ua980-\ua9df\uaa60-\uaa7f\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00010a5f\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001faff"
)
_KEYCAP = "0-9#*"
_HAN = "\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

MEANINGFUL_INVISIBLE = re.compile(
    f"(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?<=[{_JOINING}])\u200d"
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[{_KEYCAP}])\ufe0f(?=\u20e3)"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007e]+\U000e007f"
    f"|(?<=[{_HAN}])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    "|(?<=[\u1800-\u18af])[\u180b-\u180f]"
    "|(?<=[\u1100-\u115f])\u1160|\u115f(?=[\u1160-\u11a7])"
)
"""Joiners and selectors that the script or an emoji sequence needs; they stay."""

_INVISIBLE_OR_MEANINGFUL = re.compile(f"({MEANINGFUL_INVISIBLE.pattern})|[{_IGNORABLE}]+?")

# C0 and C1 controls but tab and line feed; the noncharacters; U+FFFE between letters is a hyphen and handled before.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
SPACE = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"

_PRESENTATION = re.compile(
    "[\ufb00-\ufb06\ufb13-\ufb17\ufb1d\ufb1f-\ufb28\ufb2a-\ufb4f\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdc7"
    "\ufe80-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]|[\uff66-\uff9f]+"
)


def removed_invisible(text: str) -> Iterator[Edit]:
    """Invisible characters out, unless the script or an emoji sequence needs them."""
    if not INVISIBLE.search(text):
        return
    for match in _INVISIBLE_OR_MEANINGFUL.finditer(text):
        if match[1] is None:
            yield Edit(match.start(), match.end(), "")


def count_invisible(text: str) -> int:
    """Default-ignorable code points that carry no meaning in `text`.

    >>> count_invisible("a\u200bb\u00adc"), count_invisible("\U0001f469\u200d\U0001f52c")
    (2, 0)
    """
    return sum(1 for _ in removed_invisible(text))


def unified_line_ends(text: str) -> Iterator[Edit]:
    """Every kind of line end becomes a line feed."""
    return (Edit(match.start(), match.end(), "\n") for match in LINE_END.finditer(text))


def removed_controls(text: str) -> Iterator[Edit]:
    """Control characters and noncharacters out."""
    return (Edit(match.start(), match.end(), "") for match in CONTROL.finditer(text))


def folded_presentation_forms(text: str) -> Iterator[Edit]:
    """Ligatures and contextual forms as the letters they stand for (their NFKC)."""
    for match in _PRESENTATION.finditer(text):
        plain = unicodedata.normalize("NFKC", match[0])
        if plain != match[0]:
            yield Edit(match.start(), match.end(), plain)


def composed(text: str) -> Iterator[Edit]:
    """NFC, segment by segment: a segment is a character with what may combine with it."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return
    for match in _nfc_segments().finditer(text):
        plain = unicodedata.normalize("NFC", match[0])
        if plain != match[0]:
            yield Edit(match.start(), match.end(), plain)


@lru_cache(maxsize=1)
def _nfc_segments() -> re.Pattern[str]:
    """Matches every stretch that NFC may change, starting and ending where NFC has a boundary (UAX 15).

    A character continues the segment before it when it, or the first character of its decomposition, is not a
    starter or is the second half of a canonical pair (which also covers Hangul vowels and finals).
    """
    second_halves = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    singles = []
    first_of: dict[int, str] = {}
    for point in range(0xA0, 0x110000):
        if 0xAC00 <= point <= 0xD7A3 or 0xD800 <= point <= 0xDFFF:
            continue
        character = chr(point)
        decomposition = unicodedata.decomposition(character)
        if decomposition and decomposition[0] != "<":
            parts = decomposition.split()
            if len(parts) == 2:
                second_halves.add(int(parts[1], 16))
            first_of[point] = unicodedata.normalize("NFD", character)[0]
            if unicodedata.normalize("NFC", character) != character:
                singles.append(point)
        elif unicodedata.combining(character):
            first_of[point] = character
    continuing = {
        point for point, first in first_of.items() if unicodedata.combining(first) or ord(first) in second_halves
    } | second_halves
    inside = _character_class(continuing)
    alone = _character_class(set(singles) - continuing)
    return re.compile(f"(?s:[^{inside}])?[{inside}]+|[{alone}]")


def _character_class(points: set[int]) -> str:
    ranges: list[tuple[int, int]] = []
    for point in sorted(points):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
