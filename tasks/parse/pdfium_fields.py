"""The filled form fields of a PDF page, by PDFium."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2.raw as pdfium

from tasks.parse.form_fields import CHECKED, HIDDEN, MULTILINE, PASSWORD, Field
from tasks.parse.lines import Box

_CHOICES = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_TICKS = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)


def filled_fields(page: Any, form: Any, to_view: Callable[[float, float, float, float], Box]) -> Iterator[Field]:
    """Fields with a value that can be read; `to_view` turns left, bottom, right and top into a box of the page."""
    for i in range(pdfium.FPDFPage_GetAnnotCount(page.raw)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, i)
        try:
            kind = pdfium.FPDFAnnot_GetFormFieldType(form.raw, annotation)
            if kind < 0 or pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN:
                continue
            flags = pdfium.FPDFAnnot_GetFormFieldFlags(form.raw, annotation)
            text = kind == pdfium.FPDF_FORMFIELD_TEXTFIELD
            value = "" if text and flags & PASSWORD else _value(form.raw, annotation, kind)
            box = pdfium.FS_RECTF()
            if value and pdfium.FPDFAnnot_GetRect(annotation, box):
                several = kind == pdfium.FPDF_FORMFIELD_LISTBOX or (text and bool(flags & MULTILINE))
                yield Field(value, to_view(box.left, box.bottom, box.right, box.top), several)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _value(form: Any, annotation: Any, kind: int) -> str:
    """What a person entered or chose; the empty string where there is nothing."""
    if kind in _TICKS:
        return CHECKED if pdfium.FPDFAnnot_IsChecked(form, annotation) else ""
    if kind in _CHOICES:
        options = range(max(0, pdfium.FPDFAnnot_GetOptionCount(form, annotation)))
        chosen = [i for i in options if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, i)]
        labels = [
            _string(lambda *rest, i=i: pdfium.FPDFAnnot_GetOptionLabel(form, annotation, i, *rest)) for i in chosen
        ]
        if any(labels):
            return "\n".join(labels)
    elif kind != pdfium.FPDF_FORMFIELD_TEXTFIELD:
        return ""
    return _string(lambda *rest: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, *rest))


def _string(read: Callable[..., int]) -> str:
    """A string of PDFium, which tells its length in bytes first and then fills a buffer."""
    length = read(None, 0)
    buffer = ctypes.create_string_buffer(max(length, 2))
    read(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    return buffer.raw[: max(length - 2, 0)].decode("utf-16-le", "replace").strip()
