"""Which structures of a document a chunk boundary cuts."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

HEADLINE = ("table_row", "list_item", "code_block", "numbered_section")
"""Kinds in the headline. A whole `table` that lies in several chunks is a slice only: its rows repeat the header."""

_NUMBERED = re.compile(r"\s*(?:§\s*|(?:section|article|clause|chapter|part)\s+)?\d+(?:\.\d+)*[.):]?\s", re.IGNORECASE)


def structure_cuts(
    clean: str,
    elements: Mapping[int, Mapping[str, Any]],
    spans: Sequence[Mapping[str, Any]],
    chunks: Sequence[Mapping[str, Any]],
) -> tuple[Counter[str], Counter[str]]:
    """(structures cut, structures) by kind: table, table_row, list_item, code_block, numbered_section.

    A structure is cut where a chunk starts or ends strictly inside it. A numbered section reaches from a heading that
    starts with a number to the next heading.
    """
    boundaries = sorted({position for chunk in chunks for position in (chunk["start"], chunk["end"])})
    cut: Counter[str] = Counter()
    total: Counter[str] = Counter()

    def look(kind: str, start: int, end: int) -> None:
        while start < end and clean[end - 1].isspace():
            end -= 1
        while start < end and clean[start].isspace():
            start += 1
        if start < end:
            after = bisect_right(boundaries, start)
            total[kind] += 1
            cut[kind] += after < len(boundaries) and boundaries[after] < end

    section: int | None = None
    for span in spans:
        start, end = span["start"], span["end"]
        kind = elements[span["element_id"]]["kind"]
        if kind == "heading":
            if section is not None:
                look("numbered_section", section, start)
            section = start if _NUMBERED.match(clean, start, end) else None
        elif kind == "table":
            look("table", start, end)
            for row in re.finditer(r"[^\n]+", clean[start:end]):
                look("table_row", start + row.start(), start + row.end())
        elif kind == "list_item":
            look("list_item", start, end)
        elif kind == "code":
            look("code_block", start, end)
    if section is not None:
        look("numbered_section", section, len(clean))
    return cut, total
