"""Where stages were scored alone, the report, the terminal and the trace say so; where not, they keep silent."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from tasks.report.alone import print_alone, read_alone
from tasks.report.queries import connect, run_query
from tasks.report.trace import print_trace, read_trace
from tests.engine import EngineRun, run_engine
from tests.tasks.run.notes_by_hand import PEOPLE, configured, labels, name, write_labels, write_notes


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    """Six notes whose language is not believed, so that personal names are not looked for; one without structure."""
    folder = tmp_path_factory.mktemp("notes")
    write_notes(folder)
    made = {name(person): labels(person) for person in PEOPLE}
    del made["james.md"]["structure"]
    write_labels(folder, "1", made)
    return run_engine(configured(folder, language={"min_confidence": 1.0}))


def page(run: EngineRun) -> str:
    run.session.report()
    return (run.session.context.folder / "report.md").read_text()


def test_before_and_after(run: EngineRun, tmp_path: Path) -> None:
    lake, run_id, catalogue = run.session.context.lake, run.session.context.run_id, run.session.catalogue
    assert "Own fault or inherited" not in page(run)
    assert not any(stage["alone"] for stage in read_trace(lake, run_id, "emma.md", catalogue).stages)

    run.session.score_alone()
    assert "| language | Right languages | all | 5 | 0 | 0 | ±0 |  | own |" in page(run)
    # Of two labelled values each, one is found in the cascade and both are alone.
    assert "| pii | PII recall | all | 5 | 0.5 | 1 | -0.5 |  | inherited |" in page(run)
    assert "no label says what the document holds" in page(run)
    html = (run.session.context.folder / "report.html").read_text()
    assert '<section id="alone">' in html
    assert "<td>inherited</td>" in html

    with connect(lake, run_id, catalogue, figures=False) as connection:
        shown = io.StringIO()
        print_alone(Console(file=shown, width=40), read_alone(lake, run_id, catalogue, connection))
        rows = run_query(connection, "alone", {"stage": "pii", "metric": "pii_recall"}).to_pylist()
        differing = run_query(connection, "alone", {"stage": "language", "differing_only": "true"}).num_rows
    lines = [line.split() for line in shown.getvalue().splitlines()]
    assert ["pii", "pii_recall", "all", "5", "0.5", "1", "-0.5", "inherited"] in lines
    found = {row["uri"]: (row["in_cascade"], row["alone"], row["reason"]) for row in rows}
    assert found["emma.md"] == (0.5, 1, None)
    assert found["james.md"] == (0.5, None, "no_parse_label")
    assert differing == 0

    trace = read_trace(lake, run_id, "emma.md", catalogue)
    told = {stage["stage"]: stage["alone"] for stage in trace.stages}
    assert told["pii"]["pii_recall"] == 1
    assert told["parse"] == {}
    printed = io.StringIO()
    print_trace(Console(file=printed, width=200), trace, catalogue)
    assert "alone, on gold inputs: language_accuracy 0" in printed.getvalue()
    printed = io.StringIO()
    print_trace(Console(file=printed, width=200), read_trace(lake, run_id, "james.md", catalogue), catalogue)
    assert "not scored alone: no_parse_label" in printed.getvalue()
