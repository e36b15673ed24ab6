"""The figures of the PII stage against counts made by hand, and against nervaluate."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from nervaluate import Evaluator

from schemas.documents import DOCUMENTS, LOCATIONS
from tasks.gold.kinds import PiiLabel, PiiSpanLabel, QuestionLabel, QuestionsLabel, Quote
from tasks.gold.labels import BoundLabel, Labels
from tasks.pii.evaluator import evaluate, facts
from tasks.pii.settings import PiiSettings
from tasks.pii.stage import run
from tasks.stage import CorpusEvidence, Evidence

Make = Callable[..., Any]


def _labels(**kinds: Any) -> Labels:
    return Labels("1", {("d", kind): BoundLabel.of(label, "sha", False) for kind, label in kinds.items()})


def _pii(spans: Sequence[tuple[str, str]], hard_negatives: Sequence[str] = ()) -> PiiLabel:
    return PiiLabel(
        spans=tuple(PiiSpanLabel(type=kind, quote=Quote(exact=value)) for kind, value in spans),
        hard_negatives=tuple(Quote(exact=value) for value in hard_negatives),
    )


def _figures(table: pa.Table) -> dict[tuple[str, str | None], tuple[float | None, float | None, str]]:
    return {
        (row["metric"], row["slice_value"] or row["unit_id"]): (row["numerator"], row["denominator"], row["status"])
        for row in table.to_pylist()
    }


@pytest.fixture
def score(make_batch: Make, make_document: Make) -> Callable[..., dict[Any, Any]]:
    def scored(paragraphs: Sequence[str], labels: Labels, **about: Any) -> dict[Any, Any]:
        batch = make_batch(make_document("d", paragraphs, **about))
        settings = PiiSettings()
        output = run(batch, settings, None).table  # type: ignore[arg-type]
        return _figures(evaluate(Evidence(batch, output, labels, {}, None), settings))  # type: ignore[arg-type]

    return scored


def test_spans_are_counted_per_type_and_overall(score: Callable[..., Any]) -> None:
    text = "Write to a@example.org, b@example.org or 203.0.113.7 by Monday."
    label = _pii([("EMAIL", "a@example.org"), ("EMAIL", "b@example.org"), ("CREDIT_CARD", "Monday")])
    got = score([text], _labels(pii=label))
    # Found by hand: two addresses right, one IP address that nobody labelled, one labelled card that is none.
    assert got["pii_precision", None] == (2, 3, "ok")
    assert got["pii_recall", None] == (2, 3, "ok")
    assert got["pii_f1", None] == (2 * 2, 3 + 3, "ok")
    assert got["pii_f2", None] == (5 * 2, 4 * 3 + 3, "ok")
    assert got["pii_recall", "EMAIL_ADDRESS"] == (2, 2, "ok")
    assert got["pii_precision", "IP_ADDRESS"] == (0, 1, "ok")
    assert got["pii_recall", "CREDIT_CARD/en"] == (0, 1, "ok")
    assert got["unsupported_language", None] == (0, 1, "ok")


def test_spans_at_fault_are_named_by_type_and_place_and_never_by_value(make_batch: Make, make_document: Make) -> None:
    text = "Write to a@example.org, b@example.org or 203.0.113.7 by Monday."
    label = _pii([("EMAIL", "a@example.org"), ("EMAIL", "b@example.org or"), ("CREDIT_CARD", "Monday")])
    settings, batch = PiiSettings(), make_batch(make_document("d", [text]))
    output = run(batch, settings, None).table  # type: ignore[arg-type]
    rows = evaluate(Evidence(batch, output, _labels(pii=label), {}, None), settings).to_pylist()  # type: ignore[arg-type]
    faults = {(r["metric"], r["unit_id"], r["slice_value"]) for r in rows if r["slice_key"] == "fault"}
    assert faults == {
        ("pii_recall", "d#span-24-40-EMAIL_ADDRESS", "misplaced"),
        ("pii_precision", "d#span-41-52-IP_ADDRESS", "invented"),
        ("pii_recall", "d#span-56-62-CREDIT_CARD", "missing"),
    }
    assert "example.org" not in str(rows)


def test_partial_and_type_matching_are_stated_apart(score: Callable[..., Any]) -> None:
    got = score(["Write to a@example.org."], _labels(pii=_pii([("EMAIL", "example.org"), ("PERSON", "a@")])))
    assert got["pii_recall", None] == (0, 2, "ok")
    assert got["pii_recall_partial", None] == (2, 2, "ok")
    assert got["pii_recall_type", None] == (1, 2, "ok")
    assert got["pii_precision_partial", None] == got["pii_precision_type", None] == (1, 1, "ok")


def test_what_did_not_reach_the_stage_and_what_it_does_not_look_for_are_named(score: Callable[..., Any]) -> None:
    label = _pii([("EMAIL", "gone@example.org"), ("DATE_TIME", "Monday")], hard_negatives=["also gone"])
    got = score(["By Monday."], _labels(pii=label))
    assert got["pii_recall", "EMAIL_ADDRESS-1"] == (None, None, "lost_upstream")
    assert got["pii_recall", "DATE_TIME"] == (None, None, "not_applicable")
    assert got["hard_negatives", "hard-negative-1"] == (None, None, "lost_upstream")
    assert got["pii_recall", None] == (0, 0, "ok")


def test_equal_values_without_surroundings_are_one_place_after_the_other(score: Callable[..., Any]) -> None:
    label = _pii([("EMAIL", "a@example.org"), ("EMAIL", "a@example.org")])
    got = score(["a@example.org and a@example.org"], _labels(pii=label))
    assert got["pii_recall", None] == (2, 2, "ok")


def test_look_alikes_and_evidence_that_were_redacted_are_counted(score: Callable[..., Any]) -> None:
    text = "The relay 203.0.113.7 answers, part 17-4 does not. Ask a@example.org."
    label = _pii([("EMAIL", "a@example.org")], hard_negatives=["203.0.113.7", "part 17-4"])
    evidence = QuestionLabel(question_id="q", question="?", evidence=(Quote(exact="Ask a@example.org"),))
    got = score([text], _labels(pii=label, questions=QuestionsLabel(questions=(evidence,))))
    assert got["hard_negatives", None] == (1, 2, "ok")
    # 11 of 11 characters of the address of the relay; none of "part 17-4" (9) and of "Ask " (4).
    assert got["over_redaction", None] == (11, 24, "ok")


def test_a_document_without_labels_has_no_gold_figures_and_a_stale_label_says_so(score: Callable[..., Any]) -> None:
    assert set(score(["a@example.org"], Labels("1", {}))) == {("unsupported_language", None)}
    stale = Labels("1", {("d", "pii"): BoundLabel.of(_pii([]), "old", True)})
    assert score(["a@example.org"], stale)["pii_f1", None] == (None, None, "stale_label")


class _Index:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def rows(self, columns: Sequence[str], document_ids: Sequence[str] | None = None) -> Iterator[pa.Table]:
        yield pa.Table.from_pylist([{c: r[c] for c in columns} for r in self._rows if r["document_id"] in document_ids])


def _residual(label: PiiLabel, settings: PiiSettings | None = None, **stored: Any) -> dict[Any, Any]:
    empty = {"text": "", "title": None, "context": None, "authors": [""], "uri": "", "section_path": [""]}
    row = {"document_id": "d"} | empty | stored
    documents = pa.Table.from_pylist(
        [{"document_id": "d", "source": "s", "uri": "u", "locator": "l", "doc_class": "c", "tenant": "t", "groups": [],
          "cohort": "new"}],
        schema=DOCUMENTS,
    )  # fmt: skip
    evidence = CorpusEvidence(
        documents, LOCATIONS.empty_table(), lambda _: iter(()), _labels(pii=label),
        _Index([row]) if stored else _Index([]), None, datetime.now(UTC),  # type: ignore[arg-type]
    )  # fmt: skip
    table = facts(evidence, settings or PiiSettings())
    assert not any(span.quote.exact in str(table.to_pylist()) for span in label.spans)
    return _figures(table)


@pytest.mark.parametrize(
    "stored",
    [
        {"text": "mail MARA@exam\u00adple.org now"},
        {"title": "mara@example.org"},
        {"context": "Letter to Mara@example.org > Contacts\n\n"},
        {"authors": ["Mara <mara@example.org>"]},
        {"uri": "people/mara%40example.org"},
        {"section_path": ["Contacts", "mara@example.org"]},
    ],
)
def test_a_value_is_found_wherever_the_index_holds_it(stored: dict[str, Any]) -> None:
    label = _pii([("EMAIL", "mara@example.org"), ("PHONE", "467 3395")])
    got = _residual(label, **stored)
    assert got["residual_pii", "EMAIL_ADDRESS-1"] == (1, 1, "ok")
    assert got["residual_pii", "PHONE_NUMBER-1"] == (0, 1, "ok")


def test_white_space_and_case_hide_no_value_and_a_part_of_a_word_is_none() -> None:
    assert _residual(_pii([("PERSON", "Al Gore")]), text="AL\u00a0\nGORE spoke")["residual_pii", "PERSON-1"][0] == 1
    assert _residual(_pii([("PERSON", "Al")]), text="Also spoke")["residual_pii", "PERSON-1"][0] == 0


def test_kept_types_kept_authors_and_documents_out_of_the_index_are_not_residual() -> None:
    label = _pii([("PERSON", "Al Gore")])
    assert _residual(label, authors=["Al Gore"])["residual_pii", "PERSON-1"][0] == 0
    assert _residual(label, PiiSettings(authors="drop"), authors=["Al Gore"])["residual_pii", "PERSON-1"][0] == 1
    assert _residual(label, PiiSettings(policy={"PERSON": "keep"}), text="Al Gore") == {}
    assert _residual(label)["residual_pii", None] == (None, None, "not_applicable")


def test_strict_figures_on_real_labels_agree_with_nervaluate(
    shared_data: Path, make_batch: Make, make_document: Make
) -> None:
    path = shared_data / "pii" / "presidio-research" / "synth_dataset_v2.json"
    samples = json.loads(path.read_text(encoding="utf-8"))[:60]
    settings = PiiSettings()
    documents, labels, true = [], {}, []
    for number, sample in enumerate(samples):
        text = sample["full_text"]
        spans = [s for s in sample["spans"] if s["entity_type"] in settings.policy]
        places = [(s["start_position"], s["end_position"], s["entity_type"]) for s in spans]
        label = PiiLabel(
            spans=tuple(
                PiiSpanLabel(type=t, quote=Quote(exact=text[a:b], prefix=text[max(0, a - 30) : a], suffix=text[b:]))
                for a, b, t in places
            )
        )
        labels[str(number), "pii"] = BoundLabel.of(label, "sha", False)
        documents.append(make_document(str(number), [text]))
        true.append([{"start": a, "end": b, "label": t} for a, b, t in places])
    batch = make_batch(*documents)
    output = run(batch, settings, None).table  # type: ignore[arg-type]
    rows = evaluate(Evidence(batch, output, Labels("1", labels), {}, None), settings).to_pylist()  # type: ignore[arg-type]
    predicted = [
        [{"start": s["start"], "end": s["end"], "label": s["type"]} for s in row["spans"]] for row in output.to_pylist()
    ]
    oracle = Evaluator(true, predicted, tags=sorted(settings.policy), loader="dict").evaluate()["overall"]["strict"]
    for metric, value in (("pii_precision", oracle.precision), ("pii_recall", oracle.recall)):
        own = [row for row in rows if row["metric"] == metric and row["slice_key"] is None and row["unit_id"] is None]
        assert sum(r["numerator"] for r in own) / sum(r["denominator"] for r in own) == pytest.approx(value)
