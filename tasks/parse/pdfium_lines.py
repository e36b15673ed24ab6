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

from tasks.parse.leftward import LEFTWARD, spoken
from tasks.parse.lines import Box, Line, union

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
    return lines + list(_fields(page, form, to_view)) if form else lines


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
            run = _Run(_size(text, i), i)
        elif space:
            run.characters.append(" ")
        space = False
        run.characters.append(character)
        run.boxes.append((left, bottom, right, top))
    if run:
        yield run


def _goes_on(run: _Run, left: float, right: float, bottom: float, top: float) -> bool:
    before = run.boxes[-1]
    along = left - before[2] if right >= before[0] else before[0] - right
    across = max(bottom - before[3], before[1] - top)
    if max(along, across) > _WIDE * run.size:
        return False
    # Characters of one line overlap in height, or stand in one column where the line runs up or down.
    level = across < 0.2 * run.size and left > before[0] - 0.5 * run.size
    stacked = along < 0.2 * run.size and right - left < 1.5 * run.size and _turned(run)
    return level or stacked


def _turned(run: _Run) -> bool:
    """Whether a run goes up or down the page so far; one character alone may."""
    boxes = run.boxes
    return len(boxes) == 1 or abs(boxes[-1][1] - boxes[0][1]) > abs(boxes[-1][0] - boxes[0][0])


def _character(text: Any, index: int, code: int) -> str:
    if code in _SOFT_HYPHENS:
        return "-"
    if code == 0 or pdfium.FPDFText_HasUnicodeMapError(text, index) == 1:
        return "\ufffd"
    return chr(code)


def _size(text: Any, index: int) -> float:
    """Type size in points: that of the font times what the page makes of it."""
    matrix = pdfium.FS_MATRIX()
    stated = float(pdfium.FPDFText_GetFontSize(text, index))
    if not pdfium.FPDFText_GetMatrix(text, index, matrix):
        return stated or 1.0
    return stated * math.hypot(matrix.c, matrix.d) or 1.0


def _line(text: Any, run: _Run, to_view: _Viewer) -> Line | None:
    left, bottom, right, top = union(run.boxes)
    content = "".join(run.characters).strip()
    if not content:
        return None
    if LEFTWARD.search(content) and run.boxes[-1][0] >= run.boxes[0][0]:
        content = spoken(content)
    weight, name, fixed = _font(text, run.first)
    angle = pdfium.FPDFText_GetCharAngle(text, run.first)
    return Line(
        content,
        to_view.box(left, bottom, right, top),
        run.size,
        weight >= _BOLD_WEIGHT or "bold" in name,
        fixed or any(word in name for word in _MONO),
        False,
        abs(math.sin(angle)) < 0.1 and math.cos(angle) > 0,
    )


def _font(text: Any, index: int) -> tuple[int, str, bool]:
    """Weight, name in lower case, and whether its letters are all of one width."""
    flags = ctypes.c_int()
    buffer = ctypes.create_string_buffer(256)
    length = pdfium.FPDFText_GetFontInfo(text, index, buffer, len(buffer), flags)
    name = buffer.raw[: max(0, min(length, len(buffer)) - 1)].decode("utf-8", "replace").lower()
    return pdfium.FPDFText_GetFontWeight(text, index), name, bool(flags.value & 1)


def _fields(page: Any, form: Any, to_view: _Viewer) -> Iterator[Line]:
    """Filled text fields and choices."""
    kinds = (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
    for i in range(pdfium.FPDFPage_GetAnnotCount(page.raw)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, i)
        try:
            if pdfium.FPDFAnnot_GetFormFieldType(form.raw, annotation) not in kinds:
                continue
            length = pdfium.FPDFAnnot_GetFormFieldValue(form.raw, annotation, None, 0)
            buffer = ctypes.create_string_buffer(max(length, 2))
            pdfium.FPDFAnnot_GetFormFieldValue(
                form.raw, annotation, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length
            )
            value = buffer.raw[: max(length - 2, 0)].decode("utf-16-le", "replace").strip()
            box = pdfium.FS_RECTF()
            if value and pdfium.FPDFAnnot_GetRect(annotation, box):
                place = to_view.box(box.left, box.bottom, box.right, box.top)
                yield Line(value, place, 10.0, False, False, False, True)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
