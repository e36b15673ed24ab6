"""A quote that stands nowhere in the bytes of its document is a fault of the label, and no stage is charged with it."""

import doctest
import hashlib
from typing import Any

import pytest

from schemas.names import MetricStatus, StageName
from schemas.verdict import Finding
from tasks.gold.writing import write_gold_set
from tasks.report.queries import connect, run_query
from tasks.run.configuration import parse_configuration
from tasks.survival import source
from tasks.survival.source import lack
from tests.engine import EngineRun, run_engine
from tests.tasks.survival.quay_by_hand import MEASURED, curve

pytestmark = pytest.mark.xdist_group("survival")

PAGE = """<html><head><meta charset="utf-8"><title>Tide</title></head><body>
<p>The ga<b>uge</b> at the caf&eacute; is read&nbsp;twice a day.</p><img alt="A lighthouse"></body></html>"""


def test_the_doctest_holds() -> None:
    assert doctest.testmod(source).failed == 0


@pytest.mark.parametrize(
    ("quote", "nowhere"),
    [
        ("The gauge at the café is read twice a day.", False),
        ("the GAUGE at the cafe", False),
        ("The guage", True),
        ("a lighthouse", False),  # not text, but there: a parser might give it
        ("The gauge is read", False),  # every word is there: parse may have lost the passage
        ("The gauge at the café is raed twice a day.", False),  # near enough to be found
    ],
)
def test_a_quote_stands_nowhere_if_a_word_of_it_does_not(quote: str, nowhere: bool) -> None:
    assert lack(PAGE.encode(), "text/html", [quote]) == [nowhere]


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        ("Die Öffnung des Tores".encode("cp1252"), "text/plain"),  # nothing tells the encoding
        ("opening of the gate".encode("utf-16-le"), "text/plain"),
        (b"\x1b$B3+Lg\x1b(B", "text/plain"),
        (b"%PDF-1.7", "application/pdf"),
        (b"PK", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ],
)
def test_where_bytes_are_not_text_of_a_certain_encoding_nobody_can_tell(data: bytes, media_type: str) -> None:
    assert lack(data, media_type, ["Nirgendwo"]) == [False]


TEXTS = {
    "sluice.md": "# Sluice\n\nThe sluice opens at three metres, and closes when the bell is rung.\n",
    "mole.txt": "The mole is lit from dusk until the last ferry has gone out.\n",
    "berth.txt": "Berth four was let to a fishing company in the spring of last year.\n",
}
QUOTES = {
    "sluice.md": {"s-1": ("The sluice opens at three metres", "when the bel is wrung"), "s-2": ("the slooce",)},
    "mole.txt": {"m-1": ("lit from dusk",), "m-2": ("from the last ferry until dusk",)},
    "berth.txt": {"b-1": ("a fishing company",)},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    """Two questions with mistyped quotes, one whose words stand elsewhere, and one about a version that is gone."""
    folder = tmp_path_factory.mktemp("quotes")
    rows: list[dict[str, Any]] = []
    (folder / "in").mkdir()
    for path, text in TEXTS.items():
        (folder / "in" / path).write_text(text, encoding="utf-8")
        label = {
            "questions": [
                {"question_id": name, "question": "?", "evidence": [{"exact": quote} for quote in quotes]}
                for name, quotes in QUOTES[path].items()
            ]
        }
        made_for = text.replace("last year", "this year")
        sha = hashlib.sha256(made_for.encode()).hexdigest()
        rows.append({"document": f"notes:{path}", "content_sha": sha, "label": label})
    write_gold_set(folder / "gold", "notes", "1", {"questions": rows})
    data = {"lake": "lake", "sources": [{"name": "notes", "type": "files", "root": "in"}], "gold": ["gold"]}
    return run_engine(parse_configuration(data, folder / "corpusgate.yaml"))


def test_no_stage_is_charged_with_a_quote_that_stands_nowhere(run: EngineRun) -> None:
    context = run.session.context
    with connect(context.lake, context.run_id, run.session.catalogue) as connection:
        rows = connection.sql(
            "SELECT stage::VARCHAR, unit_id, numerator, denominator, status::VARCHAR FROM measures "
            "WHERE metric = 'evidence_survival' AND stage <> 'fetch' ORDER BY stage, unit_id"
        ).fetchall()
        lost = run_query(connection, "evidence_lost").to_pylist()
        labels = run_query(connection, "labels_lost", {"stage": "parse"}).to_pylist()
    for stage in MEASURED:
        told = {unit: (held, of, status) for at, unit, held, of, status in rows if at == stage}
        assert told == {
            None: (None, None, MetricStatus.STALE_LABEL),
            "m-1": (1, 1, MetricStatus.OK),
            "m-2": (0, 1, MetricStatus.OK),
            "s-1": (1, 1, MetricStatus.OK),
            "s-1#quote-1": (None, None, MetricStatus.INVALID),
            "s-2#quote-0": (None, None, MetricStatus.INVALID),
        }, stage
    assert curve(run.session) == pytest.approx(dict.fromkeys(MEASURED, 2 / 3))
    assert [(row["stage"], row["question_id"]) for row in lost] == [(StageName.PARSE, "m-2")]
    survival = {(row["uri"], row["status"]): row["items"] for row in labels if row["metric"] == "evidence_survival"}
    assert survival == {("berth.txt", "stale_label"): 1, ("sluice.md", "unbound"): 2}


def test_the_verdict_notes_labels_that_are_not_counted_and_where_to_see_them(run: EngineRun) -> None:
    notes: dict[str, Finding] = {finding.metric: finding for finding in run.verdict.reasons if finding.rule == "gold"}
    assert {metric: (note.severity, note.value) for metric, note in notes.items()} == {
        "labels_stale": ("note", 1.0),
        "labels_unbound": ("note", 2.0),
    }
    assert notes["labels_stale"].message.startswith("1 of 3 labels (1 questions) were made for other versions")
    sluice = run.locations["sluice.md"][StageName.FETCH]["document_id"]
    assert f"a fault of the labels (s-1 of {sluice}, s-2 of {sluice})" in notes["labels_unbound"].message
    assert all(f"--run {run.verdict.run_id}` names the documents" in note.message for note in notes.values())
    with connect(run.session.context.lake, run.verdict.run_id, run.session.catalogue) as connection:
        for note in notes.values():
            status = note.message.partition("--param status=")[2].partition(" ")[0]
            assert run_query(connection, "labels_lost", {"status": status}).num_rows
