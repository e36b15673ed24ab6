"""Messages, workbooks and slides through the whole engine: chunks stay within a part and are led back to it."""

import pytest

from schemas.names import StageName
from tasks.figures.measures import stage_measures
from tasks.run.configuration import parse_configuration
from tests.engine import run_engine
from tests.tasks.parse.messages import full_message
from tests.tasks.parse.office_files import bare_docx, plan_xlsx, report_docx, slides_pptx


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one of each; the runs over it share what comes before the chunks."""
    made = tmp_path_factory.mktemp("parts")
    corpus, scratch = made / "corpus", made / "scratch"
    corpus.mkdir()
    scratch.mkdir()
    full_message(scratch).rename(corpus / "full.eml")
    plan_xlsx(corpus / "plan.xlsx")
    report_docx(corpus / "report.docx")
    slides_pptx(corpus / "slides.pptx")
    return made


@pytest.mark.parametrize("strategy", ["structure", "recursive", "fixed", "semantic"])
def test_chunks_stay_within_a_part_and_are_led_back_to_it(folder, strategy):
    data = {
        "lake": "lake",
        "sources": [{"name": "files", "type": "files", "root": "corpus"}],
        "stages": {"chunk": {"strategy": strategy}},
    }
    run = run_engine(parse_configuration(data, folder / "corpusgate.yaml"))
    assert {path: run.outcome(path)[0] for path in run.locations} == dict.fromkeys(run.locations, "ok")
    assert len(run.locations) == 4

    parts = {e["element_id"]: e["part"] for e in run.row("full.eml", StageName.PARSE)["elements"]}
    chunks = run.row("full.eml", StageName.CHUNK)["chunks"]
    held = [{parts[i] for i in chunk["element_ids"]} for chunk in chunks]
    assert all(len(names) == 1 for names in held)
    assert {name for names in held for name in names} == {
        None, "pump.pdf", "Größe.xlsx", "Größe.xlsx / Plan 2024", "Minutes of Monday", "Minutes of Monday / list.csv",
        "pump.pdf (2)",
    }  # fmt: skip
    valves = next(chunk for chunk in chunks if "Ball" in chunk["text"])
    assert valves["section_path"][-2:] == ["Minutes of Monday", "list.csv"]
    assert (valves["page_first"], valves["page_last"]) == (9, 9)

    lake, run_id = run.session.context.lake, run.session.context.run_id
    locations = run.session.runs.locations(run_id)
    of_chunks = stage_measures(lake, run_id, StageName.CHUNK, locations).to_pylist()
    attributed = [r for r in of_chunks if r["metric"] == "attribution_completeness" and not r["slice_key"]]
    assert [r["value"] for r in attributed] == [1.0] * 4
    hierarchy = [r["value"] for r in of_chunks if r["metric"] == "hierarchy_preserved" and not r["slice_key"]]
    assert hierarchy == [1.0] * 4
    assert sum(r["denominator"] for r in attributed) >= len(chunks)
    of_pages = stage_measures(lake, run_id, StageName.PARSE, locations).to_pylist()
    complete = sorted(
        (r["numerator"], r["denominator"])
        for r in of_pages
        if r["metric"] == "page_completeness" and not r["slice_key"]
    )
    # The message shows ten pages, one of them the attachment that is broken; hidden sheets and slides are no pages.
    assert complete == [(1, 1), (2, 2), (2, 2), (9, 10)]


def test_a_file_that_larger_limits_let_in_is_led_back_under_the_same_limits(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    words = "The keeper of the weir holds the key of the gate, and of the mill beside it."
    body = f"<w:p><w:r><w:t>{words}</w:t></w:r></w:p>"
    # 17 MiB of zeros are packed about a thousand times: more than the 200 that hold where nothing is set.
    bare_docx(corpus / "padded.docx", body, **{"word/media/padding.bin": bytes(17 * 2**20)})
    data = {
        "lake": "lake",
        "sources": [{"name": "files", "type": "files", "root": "corpus"}],
        "stages": {"parse": {"containers": {"max_ratio": 5000}}},
    }
    run = run_engine(parse_configuration(data, tmp_path / "corpusgate.yaml"))
    run_id = run.session.context.run_id
    measures = stage_measures(
        run.session.context.lake, run_id, StageName.CHUNK, run.session.runs.locations(run_id)
    ).to_pylist()
    attributed = [r for r in measures if r["metric"] == "attribution_completeness" and not r["slice_key"]]
    assert [(r["value"], r["status"]) for r in attributed] == [(1.0, "ok")]
