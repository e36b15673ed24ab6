"""The figures of the dedup stage against counts made by hand."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_rand_score

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import StageName
from schemas.stages import NORMALIZE
from tasks.dedup.evaluator import facts
from tasks.dedup.settings import DedupSettings
from tasks.dedup.stage import decide, sign
from tasks.gold.kinds import PairLabel, PairsLabel
from tasks.gold.labels import BoundLabel, Labels
from tasks.stage import Batch, CorpusEvidence, Signed

TEXTS = {
    "a": "the quick brown fox jumps over the lazy dog",
    "b": "The quick brown fox jumps over the lazy dog",
    "c": "a slow green turtle crawls under the fence",
    "d": "A slow green turtle crawls under the fence",
    "e": "nothing like any of the others at all",
}

LONG = " ".join(f"The {n}th gauge by the weir was read at {n * 7} past noon." for n in range(20))

DEFAULT = DedupSettings()
SHAS = {d: d * 64 for d in TEXTS}


def _measured(
    labels: dict[str, list[tuple[str, bool]]],
    *,
    reached: str = "abcde",
    tenants: dict[str, str] | None = None,
    failed: str = "",
    other_sha: str | None = None,
    texts: Mapping[str, str] = TEXTS,
    settings: DedupSettings = DEFAULT,
    complete: str = "",
    lost: tuple[str, str] = ("", ""),
    erased: str = "",
) -> list[dict[str, Any]]:
    """`lost` are documents whose text cannot be had when decisions are made, and when they are made again; `erased` are
    those that are no more when the decisions are looked at."""
    documents = pa.Table.from_pylist(
        [
            {"document_id": d, "source": "s", "uri": f"{d}.md", "locator": d, "doc_class": "c", "groups": [],
             "tenant": (tenants or {}).get(d, "t"), "cohort": "new", "content_sha": SHAS[d]}
            for d in TEXTS
        ],
        schema=DOCUMENTS,
    )  # fmt: skip
    cleaned = [{"document_id": d, "text": texts[d], "elements": [], "offsets": []} for d in reached]
    clean = pa.Table.from_pylist(cleaned, schema=NORMALIZE)
    present = documents.filter(pa.array([d in reached for d in TEXTS]))
    signatures = sign(Batch(present, {StageName.NORMALIZE: clean}), settings, None).table  # type: ignore[arg-type]
    signed = Signed(
        [lambda: signatures],
        lambda ids: {d: texts[d] for d in ids if d not in lost[1]},
        {},
        lost=frozenset(lost[0]),
    )
    decisions = decide([signatures], lambda ids: {d: texts[d] for d in ids if d not in lost[0]}, settings, {})
    documents, signatures, decisions = (
        table.filter(pa.array([d not in erased for d in table.column("document_id").to_pylist()]))
        for table in (documents, signatures, decisions)
    )

    def outputs(stage: StageName) -> Iterator[pa.Table]:
        yield from (table for table in ({StageName.DEDUP: decisions, StageName.NORMALIZE: clean}[stage],))

    bound = {
        (d, "pairs"): BoundLabel.of(
            PairsLabel(
                pairs=tuple(PairLabel(other=o, duplicate=s, other_content_sha=other_sha) for o, s in pairs),
                complete=d in complete,
            ),
            "sha",
            False,
        )
        for d, pairs in labels.items()
    }
    locations = [
        {"document_id": d, "stage": "dedup", "stage_key": "k", "outcome": "quarantined", "computed": True}
        for d in failed
    ]
    evidence = CorpusEvidence(
        documents,
        pa.Table.from_pylist(locations, schema=LOCATIONS),
        outputs,
        Labels("1", bound),
        None,
        None,
        datetime.now(UTC),
        signed=signed,
    )
    rows: list[dict[str, Any]] = facts(evidence, settings).to_pylist()
    return rows


def _sums(rows: list[dict[str, Any]], metric: str) -> tuple[float, float]:
    own = [row for row in rows if row["metric"] == metric and row["status"] == "ok"]
    return sum(row["numerator"] for row in own), sum(row["denominator"] for row in own)


LABELS = {"a": [("s:b.md", True), ("c", True), ("e", False)], "c": [("d", False)]}


def test_labelled_pairs_are_counted_one_row_each() -> None:
    rows = _measured(LABELS)
    # Merged: a-b (right), c-d (wrong). Not merged: a-c (a duplicate by its label), a-e (none).
    assert _sums(rows, "pair_precision") == (1, 2)
    assert _sums(rows, "pair_recall") == (1, 2)
    assert _sums(rows, "pair_f1") == (2, 4)
    assert _sums(rows, "false_merge_rate") == (1, 2)
    assert _sums(rows, "missed_merge_rate") == (1, 2)
    assert {row["unit_id"] for row in rows if row["metric"] == "pair_recall"} == {"a|b", "a|c", "a|e", "c|d"}


def test_clusters_follow_from_the_pairs() -> None:
    rows = {row["metric"]: row["value"] for row in _measured(LABELS) if row["document_id"] is None}
    # Labelled: {a, b, c}, {d}, {e}; found: {a, b}, {c, d}, {e}.
    precision, recall = (1 + 1 + 0.5 + 0.5 + 1) / 5, (2 / 3 + 2 / 3 + 1 / 3 + 1 + 1) / 5
    assert rows["bcubed_f1"] == pytest.approx(2 * precision * recall / (precision + recall))
    assert rows["adjusted_rand"] == pytest.approx(adjusted_rand_score([0, 0, 0, 1, 2], [0, 0, 1, 1, 2]))


def test_a_merge_that_complete_labels_do_not_speak_of_is_false() -> None:
    # Merged: a-b (labelled), c-d (not labelled).
    labels: dict[str, list[tuple[str, bool]]] = {"a": [("b", True)], "b": [], "c": [], "d": [], "e": []}
    assert _sums(_measured(labels, complete="abcde"), "false_merge_rate") == (1, 2)
    assert _sums(_measured(labels, complete="abcde"), "pair_precision") == (1, 2)
    assert _sums(_measured(labels, complete="abce"), "false_merge_rate") == (0, 1)
    # a-c, c-b: that a and b are duplicates follows.
    follows: dict[str, list[tuple[str, bool]]] = {"a": [("c", True)], "b": [("c", True)], "c": [], "d": []}
    rows = _measured(follows, complete="abcd")
    assert {row["unit_id"] for row in rows if row["metric"] == "false_merge_rate"} == {"a|c", "b|c", "c|d"}


def test_contradicting_labels_give_no_clusters() -> None:
    rows = _measured({"a": [("b", True), ("c", False)], "b": [("c", True)]})
    assert {row["status"] for row in rows if row["metric"] == "bcubed_f1"} == {"invalid"}


def test_free_figures_have_a_row_per_document() -> None:
    rows = _measured({})
    assert _sums(rows, "duplicate_rate") == (2, 5)
    assert _sums(rows, "keeper_stability") == (5, 5)
    assert not [row for row in rows if row["metric"].startswith("pair")]


@pytest.mark.parametrize(
    ("lost", "without"),
    [
        (("", "b"), {"a", "b"}),  # b was dropped for a; without its text nobody can tell that it is no copy
        (("b", ""), {"a", "b"}),
        (("b", "b"), set()),
        (("", "e"), set()),
    ],
)
def test_what_differs_for_want_of_a_text_is_no_instability(lost: tuple[str, str], without: set[str]) -> None:
    slip = {"a": LONG + " So it was agreed, and everybody went home.", "b": LONG + " So it was agreed."}
    rows = _measured({}, texts=TEXTS | slip, lost=lost)
    own = {row["document_id"]: row for row in rows if row["metric"] == "keeper_stability"}
    assert own.keys() == TEXTS.keys()
    changed = {d for d, row in own.items() if row["status"] == "invalid"}
    assert changed <= without
    assert bool(changed) == bool(without)
    assert all(own[d]["value"] is None for d in changed)
    assert {own[d]["value"] for d in own.keys() - changed} == {1}


def test_a_document_whose_keeper_was_erased_has_no_stability() -> None:
    rows = {row["document_id"]: row for row in _measured({}, erased="a") if row["metric"] == "keeper_stability"}
    assert {d: (row["status"], row["value"]) for d, row in rows.items()} == {
        "b": ("not_applicable", None),  # dropped for a
        "c": ("ok", 1),
        "d": ("ok", 1),
        "e": ("ok", 1),
    }


def test_a_document_that_stands_inside_another_is_counted() -> None:
    rest = " ".join(f"Nobody asked how barge {n} came through lock {n * 3} unseen." for n in range(60))
    texts = TEXTS | {"a": LONG, "b": f"{rest} {LONG}"}
    assert _sums(_measured({}, texts=texts), "contained_rate") == (1, 5)
    kept = _measured({}, texts=texts, settings=DedupSettings(on_containment="keep"))
    assert not [row for row in kept if row["metric"] == "contained_rate"]


@pytest.mark.parametrize(
    ("about", "other", "status"),
    [
        ({"reached": "acde"}, "b", "lost_upstream"),
        ({"tenants": {"b": "u"}}, "b", "not_applicable"),
        ({}, "s:unknown.md", "invalid"),
    ],
)
def test_a_pair_that_cannot_be_judged_says_why(about: dict[str, Any], other: str, status: str) -> None:
    rows = _measured({"a": [(other, True)]}, **about)
    assert {row["status"] for row in rows if row["metric"] == "pair_recall"} == {status}


def test_new_bytes_of_the_other_document_make_a_pair_stale() -> None:
    same = _measured({"a": [("s:b.md", True)]}, other_sha=SHAS["b"])
    assert _sums(same, "pair_recall") == (1, 1)
    changed = _measured({"a": [("s:b.md", True)]}, other_sha="0" * 64)
    assert {row["status"] for row in changed if row["metric"].startswith("pair")} == {"stale_label"}


def test_the_other_document_is_found_by_its_bytes_where_it_was_moved() -> None:
    rows = _measured({"a": [("s:old/place.md", True)]}, other_sha=SHAS["b"])
    assert {row["unit_id"] for row in rows if row["metric"] == "pair_recall"} == {"a|b"}


def test_a_document_that_failed_was_not_merged() -> None:
    rows = _measured({"a": [("b", True), ("c", False)], "b": [("a", True)]}, reached="cde", failed="ab")
    found = {
        (row["metric"], row["unit_id"]): (row["value"], row["status"])
        for row in rows
        if row["metric"] in ("pair_recall", "missed_merge_rate", "false_merge_rate")
    }
    assert found == {
        ("pair_recall", "a|b"): (0, "missing"),
        ("missed_merge_rate", "a|b"): (1, "missing"),
        ("false_merge_rate", "a|b"): (None, "missing"),
        ("pair_recall", "a|c"): (None, "missing"),
        ("missed_merge_rate", "a|c"): (None, "missing"),
        ("false_merge_rate", "a|c"): (None, "missing"),
    }
