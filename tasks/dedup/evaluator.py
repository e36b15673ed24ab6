"""What the dedup stage is measured by. Every figure needs the whole run, so all are run facts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.measures import MEASURES
from schemas.names import Cohort, MetricStatus, Outcome, StageName
from tasks.dedup.compared import Compared
from tasks.dedup.settings import DedupSettings
from tasks.gold.kinds import PairsLabel
from tasks.gold.labels import Labels
from tasks.gold.naming import NamedDocuments
from tasks.metrics.pairs import PairCounts, adjusted_rand, bcubed, pair
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, Evidence, Signed

PAIR_METRICS = ("pair_precision", "pair_recall", "pair_f1", "false_merge_rate", "missed_merge_rate")


def evaluate(evidence: Evidence, settings: DedupSettings) -> pa.Table:
    """No rows: what a batch's signatures are worth shows only beside the other batches'."""
    return MEASURES.empty_table()


def facts(evidence: CorpusEvidence, settings: DedupSettings) -> pa.Table:
    """Pairs and clusters against the labels, shares of dropped and contained documents, stability of what is kept."""
    rows = MetricRows(StageName.DEDUP)
    decisions = {row["document_id"]: row for table in evidence.outputs(StageName.DEDUP) for row in table.to_pylist()}
    for document_id, row in decisions.items():
        rows.ratio("duplicate_rate", document_id, row["decision"] == "dropped", 1)
        if settings.on_containment != "keep":
            rows.ratio("contained_rate", document_id, row["contained_in"] is not None, 1)
    clusters = {document_id: row["cluster_id"] for document_id, row in decisions.items()}
    pair_rows(rows, evidence.documents, evidence.labels, clusters, _failed(evidence.locations))
    if evidence.signed is not None:
        _stability(rows, evidence.signed, decisions, settings)
    elif decisions:
        raise ValueError("the decisions of dedup cannot be made again without the signatures they were made from")
    return rows.table()


@dataclass(frozen=True, slots=True)
class _LabelledPair:
    document_id: str
    other: str | None
    unit_id: str
    duplicate: bool
    stale: bool


def pair_rows(
    rows: MetricRows, documents: pa.Table, labels: Labels, clusters: Mapping[str, str], failed: Set[str]
) -> None:
    """Figures of labelled pairs: one row per pair and metric, whose sums give the headline.

    `documents` are those of the run, `clusters` the kept document of each one that was decided on, `failed` those of
    which this stage made nothing.
    A pair of which a document failed in this stage was not merged: missing, and scored as that. One that did not come
    to the stage is lost upstream. Where the labels of two documents are complete, a merge of the two that they do not
    speak of is a false one; a dropped document is held against the one kept for it only.
    """
    who = documents.select(["document_id", "tenant", "groups"]).to_pylist()
    scopes = {d["document_id"]: (d["tenant"], tuple(sorted(set(d["groups"])))) for d in who}
    named = _Names(documents)
    judged: dict[tuple[str, str], bool] = {}
    complete: set[str] = set()
    counted: set[tuple[str, str]] = set()
    for document_id in sorted(scopes):
        if labels.is_stale(document_id, "pairs"):
            _without(rows, document_id, None, MetricStatus.STALE_LABEL)
            continue
        label = labels.of(document_id, PairsLabel, "pairs")
        if label is not None and label.complete:
            complete.add(document_id)
        for labelled in named.resolved(document_id, label) if label is not None else ():
            a, b = labelled.document_id, labelled.other
            if b is None or b == a:
                _without(rows, a, labelled.unit_id, MetricStatus.INVALID)
            elif labelled.stale:
                _without(rows, a, labelled.unit_id, MetricStatus.STALE_LABEL)
            elif not {a, b} <= clusters.keys() | failed:
                _without(rows, a, labelled.unit_id, MetricStatus.LOST_UPSTREAM)
            elif scopes[a] != scopes[b]:
                _without(rows, a, labelled.unit_id, MetricStatus.NOT_APPLICABLE)
            elif pair(a, b) in counted:
                continue
            elif {a, b} & failed:
                counted.add(pair(a, b))
                _pair_rows(rows, labelled, merged=False, status=MetricStatus.MISSING)
            else:
                counted.add(pair(a, b))
                judged[pair(a, b)] = labelled.duplicate
                _pair_rows(rows, labelled, merged=clusters[a] == clusters[b])
    for a, b in _merged_beside_the_labels(complete, judged, counted, clusters):
        judged[pair(a, b)] = False
        _pair_rows(rows, _LabelledPair(a, b, "|".join(pair(a, b)), duplicate=False, stale=False), merged=True)
    if judged:
        _cluster_rows(rows, judged, clusters)


def _merged_beside_the_labels(
    complete: set[str],
    judged: dict[tuple[str, str], bool],
    counted: set[tuple[str, str]],
    clusters: Mapping[str, str],
) -> list[tuple[str, str]]:
    same = [two for two, duplicate in judged.items() if duplicate]
    labelled = _components({document_id for two in same for document_id in two}, same)
    found = []
    for document_id in sorted(complete & clusters.keys()):
        kept = clusters[document_id]
        if kept == document_id or kept not in complete or pair(document_id, kept) in counted:
            continue
        if labelled.get(document_id, document_id) != labelled.get(kept, kept):
            found.append((document_id, kept))
    return found


def _failed(locations: pa.Table) -> set[str]:
    """Documents whose signature could not be made."""
    here = (pc.field("stage") == StageName.DEDUP.value) & (pc.field("outcome") == Outcome.QUARANTINED.value)
    return set(locations.filter(here).column("document_id").to_pylist())


class _Names:
    """The other document of a labelled pair: a deleted one can still be named, though it comes to no stage."""

    def __init__(self, documents: pa.Table) -> None:
        self._present = NamedDocuments(documents)
        gone = documents.filter(pc.equal(documents.column("cohort"), Cohort.DELETED.value))
        columns = ("document_id", "source", "uri")
        self._gone: dict[str, str] = {}
        for document_id, source, uri in zip(*(gone.column(c).to_pylist() for c in columns), strict=True):
            self._gone |= {document_id: document_id, f"{source}:{uri}": document_id}

    def resolved(self, document_id: str, label: PairsLabel) -> Iterator[_LabelledPair]:
        """The pairs of a document's label."""
        for number, labelled in enumerate(label.pairs):
            sha = labelled.other_content_sha
            present = self._present
            found = present.by_name(labelled.other) if sha is None else present.find(labelled.other, sha)
            stale = found is not None and sha is not None and present.shas[found] != sha
            other = found or self._gone.get(labelled.other)
            unit_id = "|".join(pair(document_id, other)) if other else f"{document_id}|unknown-{number}"
            yield _LabelledPair(document_id, other, unit_id, labelled.duplicate, stale)


def _without(rows: MetricRows, document_id: str, unit_id: str | None, status: MetricStatus) -> None:
    for metric in PAIR_METRICS:
        rows.without_value(metric, document_id, status, unit_id=unit_id)


def _pair_rows(
    rows: MetricRows, labelled: _LabelledPair, *, merged: bool, status: MetricStatus = MetricStatus.OK
) -> None:
    true, found = labelled.duplicate, merged
    counts = PairCounts(int(true and found), int(found and not true), int(true and not found))
    hit, false, missed = counts.merged_duplicates, counts.false_merges, counts.missed_merges
    for metric, numerator, denominator in (
        ("pair_precision", hit, hit + false),
        ("pair_recall", hit, hit + missed),
        ("pair_f1", 2 * hit, 2 * hit + false + missed),
        ("false_merge_rate", false, hit + false),
        ("missed_merge_rate", missed, hit + missed),
    ):
        rows.ratio(metric, labelled.document_id, numerator, denominator, unit_id=labelled.unit_id, status=status)


def _cluster_rows(rows: MetricRows, judged: dict[tuple[str, str], bool], clusters: Mapping[str, str]) -> None:
    """Clusters follow from the labelled duplicates by transitivity; documents not so joined count as different."""
    labelled = _components({d for two in judged for d in two}, (two for two, same in judged.items() if same))
    if any(labelled[a] == labelled[b] for (a, b), same in judged.items() if not same):
        # a ~ b, b ~ c, but a and c labelled as different: no clustering says that.
        for metric in ("bcubed_f1", "adjusted_rand"):
            rows.without_value(metric, None, MetricStatus.INVALID)
        return
    found = {document_id: clusters[document_id] for document_id in labelled}
    rows.value("bcubed_f1", None, bcubed(labelled, found).f1, denominator=len(labelled))
    rows.value("adjusted_rand", None, adjusted_rand(labelled, found), denominator=len(labelled))


def _components(documents: Iterable[str], same: Iterable[tuple[str, str]]) -> dict[str, str]:
    parent = {document_id: document_id for document_id in documents}

    def root(document_id: str) -> str:
        while parent[document_id] != document_id:
            parent[document_id] = parent[parent[document_id]]
            document_id = parent[document_id]
        return document_id

    for a, b in same:
        parent[root(a)] = root(b)
    return {document_id: root(document_id) for document_id in parent}


def _stability(rows: MetricRows, signed: Signed, decisions: dict[str, dict[str, Any]], settings: DedupSettings) -> None:
    """Decides again from the stored signatures, in reverse order, and compares the kept documents.

    Where that was done before, with the same signatures, what was found then is told again. Where a text could be had
    at one time only, what the two decisions differ in for want of it says nothing of the order: it has no value. The
    same of a document whose keeper was erased since: it cannot be chosen again.
    """
    from tasks.dedup.decisions import decide

    if signed.stood is not None and signed.stood.keys() == decisions.keys():
        rows.ratios("keeper_stability", list(signed.stood), list(signed.stood.values()))
        return
    lost = set(signed.lost)

    def text_of(document_ids: Sequence[str]) -> Mapping[str, str]:
        texts = signed.text_of(document_ids)
        lost.update(set(document_ids) - texts.keys())
        return texts

    again = decide(
        (_reversed(part()) for part in reversed(signed.signatures)),
        text_of,
        settings,
        signed.precedence,
        Compared(signed.compared),
    )
    second = {row["document_id"]: row for row in again.to_pylist()}
    for_want_of_text = _reached_from(lost, decisions, second) if lost else set[str]()
    for document_id, row in decisions.items():
        stands = document_id in second and second[document_id]["cluster_id"] == row["cluster_id"]
        if row["cluster_id"] not in decisions:
            rows.without_value("keeper_stability", document_id, MetricStatus.NOT_APPLICABLE)
        elif stands or document_id not in for_want_of_text:
            rows.ratio("keeper_stability", document_id, stands, 1)
        else:
            rows.without_value("keeper_stability", document_id, MetricStatus.INVALID)


def _reached_from(
    lost: Set[str], first: Mapping[str, Mapping[str, Any]], second: Mapping[str, Mapping[str, Any]]
) -> set[str]:
    """Documents whose decision the loss of these texts may have changed, by two sets of decisions.

    Another keeper is chosen only where the one before it, or the one after it, was changed: so every difference that
    a loss makes is joined to the lost document by the documents that either decision put together.
    """
    joined = [
        (document_id, row[column])
        for rows in (first, second)
        for document_id, row in rows.items()
        for column in ("cluster_id", "contained_in")
        if row[column] is not None
    ]
    roots = _components({document_id for two in joined for document_id in two}, joined)
    reached = {roots[document_id] for document_id in lost if document_id in roots}
    return {document_id for document_id, root in roots.items() if root in reached}


def _reversed(table: pa.Table) -> pa.Table:
    return table.take(pa.array(range(table.num_rows - 1, -1, -1), pa.int64()))
