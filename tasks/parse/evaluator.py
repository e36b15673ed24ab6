"""Measures of parsing: was every page, character, table and block of the file recovered, in its order?"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from schemas.names import ElementKind, MetricStatus, StageName
from tasks.document_rows import narrowed
from tasks.gold.kinds import BlockLabel, PageAssertionsLabel, StructureLabel, TableLabel, TablesLabel, TextLabel
from tasks.metrics.block_match import common_in_order, match_blocks, order_counts
from tasks.metrics.garbage import garbage_characters
from tasks.metrics.rates import DetectionCounts
from tasks.metrics.rows import MetricRows
from tasks.metrics.table_match import PlacedTable, adjacency, match_tables
from tasks.metrics.table_tree import teds
from tasks.metrics.text_distance import Alignment, align, comparison_text, edit_counts
from tasks.metrics.tree_distance import TableTooLargeError
from tasks.parse.assertions import assertion_rows
from tasks.stage import Cost, Evidence, StageSettings

MOST_EDITS = 20
"""The largest edits of a document that are told by their place, of characters and of words."""

LABELS = ("text", "tables", "structure", "page_assertions")
_METRICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "text": ("cer", "wer", "length_ratio"),
        "tables": (
            "teds",
            "teds_structure",
            "cell_adjacency_f1",
            "table_detection_precision",
            "table_detection_recall",
            "table_detection_f1",
            "wrong_cells",
        ),
        "structure": ("element_recall", "reading_order", "heading_order", "list_integrity"),
        "page_assertions": ("page_assertions",),
    }
)
_READ = (
    "document_id",
    "pages",
    "pages_hidden",
    "pages_without_output",
    *(f"elements.{name}" for name in ("kind", "level", "text", "html", "page", "bbox")),
)
_PER_TABLE = ("teds", "teds_structure", "cell_adjacency_f1", "wrong_cells")

Elements = Sequence[Mapping[str, Any]]


def evaluate(evidence: Evidence, settings: StageSettings) -> pa.Table:
    """Rows of every document: free measures always, gold ones where it has a label of their kind.

    CER, WER and the length ratio compare the texts of all elements, joined by line ends in reading order, with the
    labelled text. Blocks are matched by `match_blocks`, tables by `match_tables`.
    """
    rows = MetricRows(StageName.PARSE)
    for row in narrowed(evidence.output, _READ).to_pylist():
        document_id, elements = row["document_id"], row["elements"]
        _free(rows, row, evidence.costs.get(document_id))
        for kind, metrics in _METRICS.items():
            if evidence.labels.is_stale(document_id, kind):
                for metric in metrics:
                    rows.without_value(metric, document_id, MetricStatus.STALE_LABEL)
        if (text := evidence.labels.of(document_id, TextLabel, "text")) is not None:
            _text(rows, document_id, text, elements)
        if (tables := evidence.labels.of(document_id, TablesLabel, "tables")) is not None:
            _tables(rows, document_id, tables.tables, elements)
        if (structure := evidence.labels.of(document_id, StructureLabel, "structure")) is not None:
            _structure(rows, document_id, structure.blocks, elements)
        if (pages := evidence.labels.of(document_id, PageAssertionsLabel, "page_assertions")) is not None:
            assertion_rows(rows, document_id, pages.assertions, elements)
    return rows.table()


def _free(rows: MetricRows, row: Mapping[str, Any], cost: Cost | None) -> None:
    document_id, pages = row["document_id"], row["pages"]
    texts = [element["text"] for element in row["elements"]]
    shown = pages - len(row["pages_hidden"] or ())
    rows.ratio("page_completeness", document_id, shown - len(row["pages_without_output"]), shown, version=2)
    rows.ratio("garbage_ratio", document_id, sum(map(garbage_characters, texts)), sum(map(len, texts)), version=2)
    if cost is None:
        rows.without_value("seconds_per_page", document_id, MetricStatus.MISSING)
    else:
        rows.ratio("seconds_per_page", document_id, cost.seconds, pages)
    if cost is None or cost.peak_rss_bytes is None:
        rows.without_value("peak_rss", document_id, MetricStatus.NOT_APPLICABLE)
    else:
        rows.value("peak_rss", document_id, float(cost.peak_rss_bytes))


def compared_texts(label: TextLabel, elements: Elements) -> tuple[str, str]:
    """The labelled text and the extracted one as they are compared, and as places of edits are counted in."""
    expected = comparison_text(label.text)
    found = comparison_text("\n".join(element["text"] for element in elements))
    return (expected.casefold(), found.casefold()) if "case" in label.ignores else (expected, found)


def _text(rows: MetricRows, document_id: str, label: TextLabel, elements: Elements) -> None:
    expected, found = compared_texts(label, elements)
    _edits(rows, "cer", document_id, align(expected, found, MOST_EDITS))
    closed_up = edit_counts(expected.replace(" ", ""), found.replace(" ", ""))
    rows.ratio("cer", document_id, closed_up.distance, closed_up.length, slice_of=("white_space", "ignored"))
    _edits(rows, "wer", document_id, align(expected.split(), found.split(), MOST_EDITS))
    rows.ratio("length_ratio", document_id, len(found), len(expected))


def _edits(rows: MetricRows, metric: str, document_id: str, alignment: Alignment) -> None:
    counts = alignment.counts
    rows.ratio(metric, document_id, counts.distance, counts.length)
    for edit, number in (
        ("substitution", counts.substitutions),
        ("deletion", counts.deletions),
        ("insertion", counts.insertions),
    ):
        rows.ratio(metric, document_id, number, counts.length, slice_of=("edit", edit))
    for place in alignment.largest:
        unit_id = f"{document_id}#expected-{place.start}-{place.end}-found-{place.found_start}-{place.found_end}"
        rows.ratio(metric, document_id, place.size, counts.length, unit_id=unit_id, slice_of=("fault", place.fault))


def _tables(rows: MetricRows, document_id: str, labels: Sequence[TableLabel], elements: Elements) -> None:
    labelled = [PlacedTable(label.html, label.page, label.bbox) for label in labels]
    predicted = [
        PlacedTable(element["html"] or "", element["page"], tuple(element["bbox"]) if element["bbox"] else None)
        for element in elements
        if element["kind"] == ElementKind.TABLE
    ]
    pairs = dict(match_tables(labelled, predicted))
    _detection(rows, document_id, DetectionCounts(len(pairs), len(predicted), len(labelled)))
    if not labelled:
        for metric in _PER_TABLE:
            rows.without_value(metric, document_id, MetricStatus.NOT_APPLICABLE)
    for i, truth in enumerate(labelled):
        _table(rows, document_id, f"{document_id}#table-{i}", truth, predicted[pairs[i]] if i in pairs else None)


def _detection(rows: MetricRows, document_id: str, counts: DetectionCounts) -> None:
    rows.ratio("table_detection_precision", document_id, counts.matched, counts.predicted)
    rows.ratio("table_detection_recall", document_id, counts.matched, counts.labelled)
    rows.ratio("table_detection_f1", document_id, 2 * counts.matched, counts.predicted + counts.labelled)


def _table(rows: MetricRows, document_id: str, unit_id: str, truth: PlacedTable, found: PlacedTable | None) -> None:
    """Rows of one labelled table; one that was not found scores 0 on each."""
    status = MetricStatus.OK if found else MetricStatus.MISSING
    html = found.html if found else ""
    score = 0.0
    for metric, structure_only in (("teds", False), ("teds_structure", True)):
        try:
            # Tables that agree in all their contents have nothing left to differ in.
            score = 1.0 if score == 1.0 else teds(truth.html, html, structure_only=structure_only)
        except TableTooLargeError:
            rows.without_value(metric, document_id, MetricStatus.INVALID, unit_id=unit_id)
        else:
            rows.value(metric, document_id, score, unit_id=unit_id, status=status)
    compared = adjacency(truth.html, html)
    counts = compared.counts
    rows.ratio(
        "cell_adjacency_f1",
        document_id,
        2 * counts.matched,
        counts.predicted + counts.labelled,
        unit_id=unit_id,
        status=status,
    )
    rows.value("wrong_cells", document_id, float(len(compared.wrong_cells)), unit_id=unit_id, status=status)
    for cell in compared.wrong_cells:
        place = f"{unit_id}-row-{cell.row + 1}-column-{cell.column + 1}"
        rows.value("wrong_cells", document_id, 1.0, unit_id=place, slice_of=("fault", cell.fault), status=status)


def _structure(rows: MetricRows, document_id: str, blocks: Sequence[BlockLabel], elements: Elements) -> None:
    pairs = match_blocks([block.text for block in blocks], [element["text"] for element in elements])
    recovered = Counter(blocks[i].kind for i, j in pairs if blocks[i].kind == elements[j]["kind"])
    labelled = Counter(block.kind for block in blocks)
    rows.ratio("element_recall", document_id, recovered.total(), labelled.total())
    for kind in sorted(labelled):
        rows.ratio("element_recall", document_id, recovered[kind], labelled[kind], slice_of=("element_kind", kind))
    order = order_counts(pairs)
    rows.ratio("reading_order", document_id, order.concordant - order.discordant, order.concordant + order.discordant)
    _headings(rows, document_id, blocks, elements)
    _list_items(rows, document_id, blocks, elements)


def _headings(rows: MetricRows, document_id: str, blocks: Sequence[BlockLabel], elements: Elements) -> None:
    expected = [(block.text, block.level) for block in blocks if block.kind == ElementKind.HEADING]
    found = [(element["text"], element["level"]) for element in elements if element["kind"] == ElementKind.HEADING]
    # Levels count only where somebody labelled them.
    levels = any(level is not None for _, level in expected)
    left, right = ([(comparison_text(t), level if levels else None) for t, level in part] for part in (expected, found))
    rows.ratio("heading_order", document_id, 2 * common_in_order(left, right), len(left) + len(right))


def _list_items(rows: MetricRows, document_id: str, blocks: Sequence[BlockLabel], elements: Elements) -> None:
    expected = Counter(comparison_text(block.text) for block in blocks if block.kind == ElementKind.LIST_ITEM)
    found = Counter(
        comparison_text(element["text"]) for element in elements if element["kind"] == ElementKind.LIST_ITEM
    )
    whole = (expected & found).total()
    rows.ratio("list_integrity", document_id, 2 * whole, expected.total() + found.total())
