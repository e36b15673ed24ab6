"""Entities and relations held against their labels.

Entities by the rule of CoNLL-2003: a mention is right when its boundaries and its type are those of the label.
Relations between entities, not mentions: one is right when some relation of its type leads from a mention that touches
one of the first entity's to a mention that touches one of the second's. Only what was looked for counts: types of the
settings, relations that there are rules for.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from schemas.names import MetricStatus
from tasks.documents.quotes import locate
from tasks.gold.kinds import EntitiesLabel
from tasks.metadata.relations import RELATION_TYPES
from tasks.metadata.settings import MetadataSettings
from tasks.metrics.rates import DetectionCounts
from tasks.metrics.rows import MetricRows
from tasks.metrics.spans import Span, SpanMatch, span_counts_by_type

ENTITY_METRICS = ("entity_precision", "entity_recall", "entity_f1")
RELATION_METRICS = ("relation_precision", "relation_recall", "relation_f1")


def add_rows(
    rows: MetricRows,
    document_id: str,
    made: Mapping[str, Any],
    label: EntitiesLabel,
    text: str,
    masked: Sequence[tuple[int, int]],
    settings: MetadataSettings,
) -> None:
    """The rows of one labelled document; `text` is its clean text, `masked` what the pii policy took out of it.

    A labelled mention that is not in the text, or was masked, is `lost_upstream` and not counted.
    """
    if made["entities"] is None:
        for metric in (*ENTITY_METRICS, *RELATION_METRICS):
            rows.without_value(metric, document_id, MetricStatus.NOT_APPLICABLE)
        return
    places: list[list[Span]] = []
    for i, entity in enumerate(label.entities):
        places.append([])
        for j, mention in enumerate(entity.mentions):
            place = locate(text, mention.quote)
            if place is None or any(a < place[1] and place[0] < b for a, b in masked):
                rows.without_value("entity_recall", document_id, MetricStatus.LOST_UPSTREAM, unit_id=f"entity-{i}-{j}")
            else:
                places[i].append(Span(*place, mention.type))
    wanted = sorted({span for mentions in places for span in mentions if span.type in settings.entity_types})
    found = [Span(entity["start"], entity["end"], entity["type"]) for entity in made["entities"]]
    missing = made["entity_coverage"] == "unsupported_language"
    by_type = {
        kind: DetectionCounts(counts.found, counts.predictions, counts.annotations)
        for kind, counts in span_counts_by_type(wanted, found, SpanMatch.STRICT).items()
    }
    _add(rows, document_id, ENTITY_METRICS, "entity_type", by_type, missing=missing)
    if label.relations is not None and made["relations"] is not None:
        _add(
            rows, document_id, RELATION_METRICS, "relation_type", relation_counts(made, label, places), missing=missing
        )
    else:
        for metric in RELATION_METRICS:
            rows.without_value(metric, document_id, MetricStatus.NOT_APPLICABLE)


def relation_counts(
    made: Mapping[str, Any], label: EntitiesLabel, places: Sequence[Sequence[Span]]
) -> dict[str, DetectionCounts]:
    """Counts by type of relation: found and labelled triples (type, entity, entity), each once."""

    def entity(number: int) -> int | str:
        mention = made["entities"][number]
        touched = (
            i
            for i, spans in enumerate(places)
            if any(span.start < mention["end"] and mention["start"] < span.end for span in spans)
        )
        return next(touched, mention["text"])

    found = {(r["type"], entity(r["head"]), entity(r["tail"])) for r in made["relations"]}
    wanted = {(r.type, r.head, r.tail) for r in label.relations or () if r.type in RELATION_TYPES}
    right = Counter(kind for kind, _, _ in found & wanted)
    predicted, labelled = Counter(kind for kind, _, _ in found), Counter(kind for kind, _, _ in wanted)
    return {
        kind: DetectionCounts(right[kind], predicted[kind], labelled[kind]) for kind in sorted(predicted | labelled)
    }


def _add(
    rows: MetricRows,
    document_id: str,
    metrics: tuple[str, str, str],
    slice_key: str,
    by_type: Mapping[str, DetectionCounts],
    *,
    missing: bool,
) -> None:
    total = DetectionCounts(
        sum(counts.matched for counts in by_type.values()),
        sum(counts.predicted for counts in by_type.values()),
        sum(counts.labelled for counts in by_type.values()),
    )
    parts = [(None, total), *(((slice_key, kind), counts) for kind, counts in by_type.items())]
    status = MetricStatus.MISSING if missing and total.labelled else MetricStatus.OK
    precision, recall, f1 = metrics
    for part, counts in parts:
        rows.ratio(precision, document_id, counts.matched, counts.predicted, slice_of=part)
        rows.ratio(recall, document_id, counts.matched, counts.labelled, slice_of=part, status=status)
        rows.ratio(
            f1, document_id, 2 * counts.matched, counts.predicted + counts.labelled, slice_of=part, status=status
        )
