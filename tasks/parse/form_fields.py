"""The values of a PDF's form fields as lines of text: each once, whether the file also draws it or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tasks.documents.raw_text import lookup_key
from tasks.parse.lines import Box, Line
from tasks.parse.turns import from_frame, main_turn, to_frame

CHECKED = "☑"
"""What a box or button that is ticked gives; one that is not gives nothing."""

HIDDEN, PASSWORD, MULTILINE = 1 << 1, 1 << 13, 1 << 12
"""Flags of an annotation and of text fields (ISO 32000-1, tables 165 and 228)."""

_SIZE = 10.0
_ROW = 1.2


@dataclass(frozen=True, slots=True)
class Field:
    """A filled field: its value as stored, and its box on the page as a viewer shows it."""

    value: str
    box: Box
    multiline: bool = False


def field_lines(fields: Sequence[Field], lines: Sequence[Line], size: tuple[float, float]) -> list[Line]:
    """The values of fields, in the type of the page's own `lines`; those that the page's own text draws are left out.

    A value of several rows gives a line for each, from the top of its field. `size` is that of the page in points.
    """
    turn = main_turn(lines)
    type_size = median(line.size for line in lines) if lines else _SIZE
    found = []
    for field in fields:
        if _is_drawn(field, lines):
            continue
        rows = [row.strip() for row in field.value.splitlines() if row.strip()]
        left, top, right, bottom = to_frame(field.box, turn, size)
        height = min(_ROW * type_size, (bottom - top) / len(rows))
        first = top if field.multiline else (top + bottom - height * len(rows)) / 2
        for i, row in enumerate(rows):
            box = from_frame((left, first + i * height, right, first + (i + 1) * height), turn, size)
            found.append(Line(row, box, type_size, False, False, False, turn))
    return found


def _is_drawn(field: Field, lines: Sequence[Line]) -> bool:
    left, top, right, bottom = field.box
    inside = [
        line.text
        for line in lines
        if left <= (line.box[0] + line.box[2]) / 2 <= right and top <= (line.box[1] + line.box[3]) / 2 <= bottom
    ]
    return bool(inside) and lookup_key("".join(inside)) == lookup_key(field.value)
