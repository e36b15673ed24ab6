"""Measures of the boilerplate stage, over the kept elements' text joined by line feeds."""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from schemas.names import ElementKind, MetricStatus, StageName
from tasks.boilerplate.cuts import kept_texts
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.gold.kinds import ContentLabel, StructureLabel
from tasks.metrics.rows import MetricRows
from tasks.metrics.shingles import shingle_counts
from tasks.stage import Evidence

CONTENT_METRICS = ("content_precision", "content_recall", "content_f1", "must_keep_recall", "must_drop_rate")
_READ = {StageName.PARSE: ("elements.element_id", "elements.text")}
_STRUCTURE = frozenset({ElementKind.HEADING, ElementKind.LIST_ITEM, ElementKind.TABLE, ElementKind.CODE})


def evaluate(evidence: Evidence, settings: BoilerplateSettings) -> pa.Table:
    """The rows of each document."""
    rows = MetricRows(StageName.BOILERPLATE)
    for (document, tables), output in zip(evidence.batch.rows(_READ), evidence.output.to_pylist(), strict=True):
        document_id = document["document_id"]
        parsed = [element["text"] for element in tables[StageName.PARSE]["elements"]]
        kept = kept_texts(tables[StageName.PARSE]["elements"], output)
        rows.ratio("kept_ratio", document_id, sum(map(len, kept)), sum(map(len, parsed)))
        content = evidence.labels.of(document_id, ContentLabel, "content")
        if content is not None:
            _content_rows(rows, document_id, content, parsed, kept)
        elif evidence.labels.is_stale(document_id, "content"):
            for metric in CONTENT_METRICS:
                rows.without_value(metric, document_id, MetricStatus.STALE_LABEL)
        structure = evidence.labels.of(document_id, StructureLabel, "structure")
        if structure is not None and content is not None:
            _structure_rows(rows, document_id, structure, content, parsed, kept)
        elif evidence.labels.is_stale(document_id, "structure") or (
            structure is not None and evidence.labels.is_stale(document_id, "content")
        ):
            rows.without_value("structure_recall", document_id, MetricStatus.STALE_LABEL)
    return rows.table()


def _content_rows(
    rows: MetricRows, document_id: str, label: ContentLabel, parsed: Sequence[str], kept: Sequence[str]
) -> None:
    counts = shingle_counts(label.text, "\n".join(kept))
    rows.ratio("content_precision", document_id, counts.shared, counts.shared + counts.invented)
    rows.ratio("content_recall", document_id, counts.shared, counts.shared + counts.missed)
    rows.ratio("content_f1", document_id, 2 * counts.shared, 2 * counts.shared + counts.invented + counts.missed)
    before, after = _flat("\n".join(parsed)), _flat("\n".join(kept))
    for metric, segments, wanted in (
        ("must_keep_recall", label.must_keep, True),
        ("must_drop_rate", label.must_drop, False),
    ):
        if not segments:
            rows.without_value(metric, document_id, MetricStatus.NOT_APPLICABLE)
            continue
        reached = []
        for i, segment in enumerate(map(_flat, segments)):
            if segment in before:
                reached.append(segment)
            else:
                rows.without_value(metric, document_id, MetricStatus.LOST_UPSTREAM, unit_id=f"segment-{i}")
        rows.ratio(metric, document_id, sum((segment in after) is wanted for segment in reached), len(reached))


def _structure_rows(
    rows: MetricRows,
    document_id: str,
    structure: StructureLabel,
    content: ContentLabel,
    parsed: Sequence[str],
    kept: Sequence[str],
) -> None:
    """Blocks of the label that belong to the main text, by kind and together; those that parsing lost are named."""
    main, before, after = _flat(content.text), _flat("\n".join(parsed)), _flat("\n".join(kept))
    total: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for i, block in enumerate(structure.blocks):
        text = _flat(block.text)
        if block.kind not in _STRUCTURE or not text or text not in main:
            continue
        if text not in before:
            rows.without_value("structure_recall", document_id, MetricStatus.LOST_UPSTREAM, unit_id=f"block-{i}")
            continue
        total[block.kind] += 1
        found[block.kind] += text in after
    rows.ratio("structure_recall", document_id, found.total(), total.total())
    for kind in sorted(total):
        rows.ratio("structure_recall", document_id, found[kind], total[kind], slice_of=("element_kind", kind))


def _flat(text: str) -> str:
    return " ".join(text.split())
