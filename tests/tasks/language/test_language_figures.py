"""Figures of the language stage, worked out by hand on four documents."""

from datetime import UTC, datetime

import pyarrow as pa

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import StageName
from schemas.stages import LANGUAGE
from tasks.gold.kinds import LanguageLabel
from tasks.gold.labels import BoundLabel, Labels
from tasks.language.evaluator import evaluate, facts
from tasks.language.settings import LanguageSettings
from tasks.stage import Batch, CorpusEvidence, Evidence, RawBytes

OUTPUT = pa.Table.from_pylist(
    [
        {"document_id": "a", "language": "de", "confidence": 0.95, "model": "m", "mixed": True}
        | {"shares": [{"language": n, "characters": c, "share": c / 400} for n, c in (("de", 300), ("en", 100))]},
        {"document_id": "b", "language": "fr", "confidence": 0.85, "model": "m", "mixed": False}
        | {"shares": [{"language": "fr", "characters": 400, "share": 1.0}]},
        {"document_id": "c", "language": "und", "confidence": 0.1, "model": "m"},
        {"document_id": "d", "language": "en", "confidence": 0.9, "model": "m"},
        {"document_id": "e", "language": "en", "confidence": 0.9, "model": "m"},
    ],
    schema=LANGUAGE,
)
GOLD = {"a": "de", "b": "de", "c": "und", "d": "en-GB"}
LABELS = Labels(
    "v1",
    {(name, "language"): BoundLabel.of(LanguageLabel(language=code), "x", False) for name, code in GOLD.items()}
    | {("e", "language"): BoundLabel.of(LanguageLabel(language="en"), "x", True)},
)


def test_each_document_is_right_or_wrong_and_a_stale_label_is_counted() -> None:
    evidence = Evidence(Batch(DOCUMENTS.empty_table(), {}), OUTPUT, LABELS, {}, RawBytes)
    rows = evaluate(evidence, LanguageSettings()).to_pylist()
    found = {(r["metric"], r["document_id"]): (r["value"], r["status"]) for r in rows}
    assert [found["language_accuracy", name] for name in "abcde"] == [
        *[(1.0, "ok"), (0.0, "ok"), (1.0, "ok"), (1.0, "ok"), (None, "stale_label")]
    ]
    assert [found["unknown_rate", name][0] for name in "abcde"] == [0, 0, 1, 0, 0]
    assert [found["mixed_rate", name] for name in "abc"] == [(1, "ok"), (0, "ok"), (None, "not_applicable")]


def test_corpus_figures_by_language_their_mean_and_the_calibration() -> None:
    now = datetime.now(UTC)
    evidence = CorpusEvidence(
        *(DOCUMENTS.empty_table(), LOCATIONS.empty_table(), lambda stage: iter([OUTPUT]), LABELS),
        *(None, None, now),
    )
    rows = facts(evidence, LanguageSettings()).to_pylist()
    found = {(r["metric"], r["slice_value"]): r["value"] for r in rows}
    assert found["language_precision", "de"] == 1.0
    assert found["language_recall", "de"] == 0.5
    assert found["language_f1", "de"] == 2 / 3
    assert found["language_f1", "fr"] == 0.0
    assert found["language_precision", "fr"] == 0.0
    assert found["language_recall", "fr"] is None
    assert found["language_f1", None] == (2 / 3 + 0 + 1 + 1) / 4
    assert found["language_confusion", "de>fr"] == 0.5
    assert [found["language_share", name] for name in ("de", "en", "fr")] == [300 / 800, 100 / 800, 400 / 800]
    # Bins (0.9, 1.0]: one at 0.95, right. (0.8, 0.9]: 0.85 wrong and 0.9 right, so |1.75 - 1| over two of three items.
    assert abs(found["language_calibration", None] - (0.05 + 0.75) / 3) < 1e-12
    assert {r["document_id"] for r in rows} == {None}
    assert StageName.LANGUAGE.value in {r["stage"] for r in rows}


def test_a_labelled_document_that_failed_is_a_wrong_answer() -> None:
    places = [("f", "language", "quarantined"), ("g", "parse", "quarantined"), ("h", "language", "quarantined")]
    locations = pa.Table.from_pylist(
        [
            {"document_id": i, "stage": stage, "stage_key": "k", "outcome": outcome, "computed": True}
            for i, stage, outcome in places
        ],
        schema=LOCATIONS,
    )
    more = {(i, "language"): BoundLabel.of(LanguageLabel(language="de"), "x", False) for i in "fg"}
    labels = Labels("v1", {**LABELS.bound, **more})
    now = datetime.now(UTC)
    evidence = CorpusEvidence(DOCUMENTS.empty_table(), locations, lambda _: iter([OUTPUT]), labels, None, None, now)
    rows = facts(evidence, LanguageSettings()).to_pylist()
    found = {(r["metric"], r["slice_value"]): r["value"] for r in rows}
    # Of a (right), b (wrong) and f (failed); g was lost before, and h has no label.
    assert found["language_recall", "de"] == 1 / 3
    assert found["language_precision", "de"] == 1
    assert found["language_f1", "de"] == 2 / 4
    assert found["language_confusion", "de>fr"] == 1 / 3
    # As without f, and f at 1.0 in the bin of 0.95: |1.95 - 1| and |1.75 - 1| over four.
    assert abs(found["language_calibration", None] - (0.95 + 0.75) / 4) < 1e-12
    alone = CorpusEvidence(DOCUMENTS.empty_table(), locations, lambda _: iter([]), labels, None, None, now)
    assert {r["metric"]: r["value"] for r in facts(alone, LanguageSettings()).to_pylist()}["language_f1"] == 0
