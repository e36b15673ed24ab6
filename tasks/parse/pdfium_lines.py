"""The lines of text of a PDF page by PDFium, with what their type face says about them.

PDFium gives single characters, in the order of the file, and puts in spaces and line ends of its own. A line here ends
where the next character stands on another base line, or too far off to belong to the same words.
"""

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium

from tasks.parse.form_fields import field_lines
from tasks.parse.leftward import LEFTWARD, spoken
from tasks.parse.lines import Box, Line, quarter_turn, union
from tasks.parse.pdfium_fields import filled_fields

_WIDE = 1.2
"""Gap in type sizes at which a line ends: between columns, or between the cells of a table."""

_BOLD_WEIGHT = 600
_MONO = ("mono", "courier", "consol", "typewriter")
_GENERATED = (0x20, 0x0A, 0x0D)
_SOFT_HYPHENS = (0x02, 0xFFFE)
"""What PDFium gives for a hyphen at a line end."""


@dataclass(slots=True)
class _Run:
    size: float
    first: int
    direction: tuple[float, float]
    """In which its text runs, y from the bottom of the page."""
    characters: list[str] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)


def page_lines(page: Any, form: Any) -> list[Line]:
    """All lines of text, in the order of the file, and the values of filled form fields.

    Characters that the file's fonts do not map become U+FFFD.
    """
    text = page.get_textpage()
    try:
        to_view = _Viewer(page)
        lines = [line for run in _runs(text.raw, text.count_chars()) if (line := _line(text.raw, run, to_view))]
    finally:
        text.close()
    fields = list(filled_fields(page, form, to_view.box)) if form else []
    return lines + field_lines(fields, lines, page.get_size())


class _Viewer:
    """From the coordinates of a page to points from the top left of it as a viewer shows it."""

    _FINE = 100

    def __init__(self, page: Any) -> None:
        self._page = page
        width, height = page.get_size()
        self._size = round(width * self._FINE), round(height * self._FINE)

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        points = [self._point(left, bottom), self._point(right, top)]
        return union((x, y, x, y) for x, y in points)

    def turn(self, x: float, y: float) -> int | None:
        """The turn of text that runs in this direction of the page."""
        long = math.hypot(x, y) or 1.0
        origin, end = self._point(0, 0), self._point(100 * x / long, 100 * y / long)
        return quarter_turn(end[0] - origin[0], end[1] - origin[1])

    def _point(self, x: float, y: float) -> tuple[float, float]:
        across, down = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDF_PageToDevice(self._page.raw, 0, 0, *self._size, 0, x, y, across, down)
        return across.value / self._FINE, down.value / self._FINE


def _runs(text: Any, count: int) -> Iterator[_Run]:
    box = pdfium.FS_RECTF()
    run: _Run | None = None
    space = False
    for i in range(count):
        code = pdfium.FPDFText_GetUnicode(text, i)
        if code in _GENERATED and pdfium.FPDFText_IsGenerated(text, i):
            space = True
            if run and code in (0x0A, 0x0D):
                yield run
                run = None
            continue
        character = _character(text, i, code)
        if character.isspace():
            space = True
            continue
        pdfium.FPDFText_GetLooseCharBox(text, i, box)
        left, right, bottom, top = box.left, box.right, box.bottom, box.top
        if run is None or not _goes_on(run, left, right, bottom, top):
            if run:
                yield run
            size, direction = _size_and_direction(text, i)
            run = _Run(size, i, direction)
        elif space:
            run.characters.append(" ")
        space = False
        run.characters.append(character)
        run.boxes.append((left, bottom, right, top))
    if run:
        yield run


def _goes_on(run: _Run, left: float, right: float, bottom: float, top: float) -> bool:
    before, (left, bottom, right, top) = (_along(run, box) for box in (run.boxes[-1], (left, bottom, right, top)))
    along = left - before[2] if right >= before[0] else before[0] - right
    across = max(bottom - before[3], before[1] - top)
    if max(along, across) > _WIDE * run.size:
        return False
    # Characters of one line overlap in height, or stand in one column where they are written downwards.
    level = across < 0.2 * run.size and left > before[0] - 0.5 * run.size
    stacked = along < 0.2 * run.size and right - left < 1.5 * run.size and _stacked(run)
    return level or stacked


def _along(run: _Run, box: Box) -> Box:
    """A box as left, bottom, right and top when the page is turned so that the text of a run stands upright."""
    left, bottom, right, top = box
    turn = quarter_turn(run.direction[0], -run.direction[1])
    if turn == 90:
        return -top, left, -bottom, right
    if turn == 180:
        return -right, -top, -left, -bottom
    return (bottom, -right, top, -left) if turn == 270 else box


def _stacked(run: _Run) -> bool:
    """Whether its characters stand below one another so far; one character alone may."""
    boxes = [_along(run, box) for box in (run.boxes[0], run.boxes[-1])]
    return len(run.boxes) == 1 or abs(boxes[-1][1] - boxes[0][1]) > abs(boxes[-1][0] - boxes[0][0])


def _character(text: Any, index: int, code: int) -> str:
    if code in _SOFT_HYPHENS:
        return "-"
    if code == 0 or pdfium.FPDFText_HasUnicodeMapError(text, index) == 1:
        return "\ufffd"
    return chr(code)


def _size_and_direction(text: Any, index: int) -> tuple[float, tuple[float, float]]:
    """Type size in points, that of the font times what the page makes of it, and where the text runs to."""
    matrix = pdfium.FS_MATRIX()
    stated = float(pdfium.FPDFText_GetFontSize(text, index))
    if not pdfium.FPDFText_GetMatrix(text, index, matrix):
        return stated or 1.0, (1.0, 0.0)
    return stated * math.hypot(matrix.c, matrix.d) or 1.0, (matrix.a, matrix.b)


def _line(text: Any, run: _Run, to_view: _Viewer) -> Line | None:
    left, bottom, right, top = union(run.boxes)
    content = "".join(run.characters).strip()
    if not content:
        return None
    if LEFTWARD.search(content) and run.boxes[-1][0] >= run.boxes[0][0]:
        content = spoken(content)
    weight, name, fixed = _font(text, run.first)
    return Line(
        content,
        to_view.box(left, bottom, right, top),
        run.size,
        weight >= _BOLD_WEIGHT or "bold" in name,
        fixed or any(word in name for word in _MONO),
        False,
        to_view.turn(*run.direction),
    )


def _font(text: Any, index: int) -> tuple[int, str, bool]:
    """Weight, name in lower case, and whether its letters are all of one width."""
    flags = ctypes.c_int()
    buffer = ctypes.create_string_buffer(256)
    length = pdfium.FPDFText_GetFontInfo(text, index, buffer, len(buffer), flags)
    name = buffer.raw[: max(0, min(length, len(buffer)) - 1)].decode("utf-8", "replace").lower()
    return pdfium.FPDFText_GetFontWeight(text, index), name, bool(flags.value & 1)
