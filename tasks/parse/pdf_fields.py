"""The filled form fields of a PDF page, by PyMuPDF."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymupdf

from tasks.parse.form_fields import CHECKED, HIDDEN, MULTILINE, PASSWORD, Field
from tasks.parse.lines import union

_TEXT = pymupdf.PDF_WIDGET_TYPE_TEXT
_CHOICES = (pymupdf.PDF_WIDGET_TYPE_COMBOBOX, pymupdf.PDF_WIDGET_TYPE_LISTBOX)
_TICKS = (pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON)
_OFF = ("", "Off", "False", "None")


class FilledFields:
    """Fields with a value that can be read. MuPDF draws them too, making up what the file does not draw."""

    def __init__(self, page: Any) -> None:
        self._annotations: list[Any] = []
        self.fields: list[Field] = []
        for widget in page.widgets() or () if page.first_widget else ():
            if widget._annot.flags & HIDDEN:
                continue
            if widget.field_type == _TEXT and widget.field_flags & PASSWORD:
                self._annotations.append(widget._annot)
            elif value := _value(widget):
                several = widget.field_type == pymupdf.PDF_WIDGET_TYPE_LISTBOX
                multiline = several or (widget.field_type == _TEXT and bool(widget.field_flags & MULTILINE))
                self.fields.append(Field(value, union([widget.rect]), multiline))
                self._annotations.append(widget._annot)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """The page without what is drawn for these fields; a password is drawn for nobody to read."""
        flags = [annotation.flags for annotation in self._annotations]
        for annotation, stated in zip(self._annotations, flags, strict=True):
            annotation.set_flags(stated | HIDDEN)
        try:
            yield
        finally:
            for annotation, stated in zip(self._annotations, flags, strict=True):
                annotation.set_flags(stated)


def _value(widget: Any) -> str:
    """What a person entered or chose; the empty string where there is nothing, or nothing that can be read."""
    stated = widget.field_value
    if widget.field_type in _TICKS:
        return CHECKED if _is_on(widget) else ""
    if widget.field_type not in (_TEXT, *_CHOICES) or not isinstance(stated, str):
        return ""
    if widget.field_type in _CHOICES:
        labels = [choice for choice in widget.choice_values or () if isinstance(choice, (list, tuple))]
        return next((str(label) for export, label in labels if export == stated), stated).strip()
    return stated.strip()


def _is_on(widget: Any) -> bool:
    kind, state = widget._annot.parent.parent.xref_get_key(widget.xref, "AS")
    return state != "/Off" if kind == "name" else str(widget.field_value) not in _OFF
