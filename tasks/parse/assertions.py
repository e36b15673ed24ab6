"""Page assertions held against the elements of each page."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from schemas.names import MetricStatus
from tasks.gold.kinds import PageAssertionLabel
from tasks.metrics.page_assertions import Neighbours, has_cell, holds_text, in_order, is_sane
from tasks.metrics.rows import MetricRows

_LINE_END_HYPHEN = re.compile(r"(?<=\w)-\n(?=\w)")
_METRIC = "page_assertions"
_SIDES = ("up", "down", "left", "right", "top_heading", "left_heading")


def assertion_rows(
    rows: MetricRows, document_id: str, assertions: Sequence[PageAssertionLabel], elements: Sequence[Mapping[str, Any]]
) -> None:
    """A row for each assertion, and one more in the slice of its kind.

    Elements without a page stand on every page. On a page without text an assertion is `missing` and fails; one that a
    page is blank holds. Formulas are `not_applicable`.
    """
    texts: dict[int | None, list[str]] = defaultdict(list)
    tables: dict[int | None, list[str]] = defaultdict(list)
    for element in elements:
        texts[element["page"]].append(element["text"])
        if element["html"]:
            tables[element["page"]].append(element["html"])
    if not assertions:
        rows.without_value(_METRIC, document_id, MetricStatus.NOT_APPLICABLE)
    for assertion in assertions:
        unit = f"{document_id}#assertion-{assertion.id}"
        text = "\n".join(texts[assertion.page] + texts[None])
        for slice_of in (None, ("assertion", assertion.kind)):
            if assertion.kind == "math":
                rows.without_value(_METRIC, document_id, MetricStatus.NOT_APPLICABLE, unit_id=unit, slice_of=slice_of)
            elif not text.strip() and assertion.max_length is None:
                status = MetricStatus.MISSING
                rows.ratio(_METRIC, document_id, 0, 1, unit_id=unit, slice_of=slice_of, status=status)
            else:
                held = _holds(assertion, text, tables[assertion.page] + tables[None])
                rows.ratio(_METRIC, document_id, int(held), 1, unit_id=unit, slice_of=slice_of)


def _holds(assertion: PageAssertionLabel, text: str, tables: Sequence[str]) -> bool:
    # A file's words that go on over a line end keep their hyphen here; a later stage joins them.
    readings = {text, _LINE_END_HYPHEN.sub("", text)}
    if assertion.kind == "order":
        before, after = assertion.before or "", assertion.after or ""
        return any(in_order(reading, before, after, most_differences=assertion.max_diffs) for reading in readings)
    if assertion.kind == "table":
        expected = {side: wanted for side in _SIDES if (wanted := getattr(assertion, side))}
        return has_cell(tables, Neighbours(assertion.cell or "", expected), most_differences=assertion.max_diffs)
    if assertion.kind == "baseline":
        return is_sane(text, most_characters=assertion.max_length)
    found = any(
        holds_text(
            reading,
            assertion.text or "",
            most_differences=assertion.max_diffs,
            case_sensitive=assertion.case_sensitive,
            first=assertion.first_n,
            last=assertion.last_n,
        )
        for reading in readings
    )
    return found == (assertion.kind == "present")
