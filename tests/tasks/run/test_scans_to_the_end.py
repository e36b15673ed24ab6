"""Pictures of text go through the whole engine: a search finds the words that were drawn, where they were drawn."""

from fpdf import FPDF

from schemas.names import StageName
from tasks.figures.measures import stage_measures
from tasks.run.configuration import parse_configuration
from tests.engine import run_engine
from tests.tasks.parse.drawn_pages import page, png

OTHER = (
    "Rules of the lighthouse",
    "The keeper winds the clockwork every fourth hour.",
    "Visitors climb the stairs on Sunday afternoons only.",
    "Lamp oil is kept in the cellar beneath the tower.",
)


def test_words_of_images_and_of_scanned_pages_are_found(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "minutes.png").write_bytes(png(page()))
    (tmp_path / "rules.png").write_bytes(png(page(OTHER)))
    document = FPDF(unit="pt", format=(595, 360))
    document.add_page()
    document.add_page()
    document.image(tmp_path / "rules.png", x=0, y=0, w=595)
    document.output(corpus / "rules.pdf")
    data = {
        "lake": "lake",
        "sources": [{"name": "scans", "type": "files", "root": "corpus"}],
        "stages": {"parse": {"ocr": {"engine": "rapidocr"}}},
    }
    run = run_engine(parse_configuration(data, tmp_path / "corpusgate.yaml"))
    assert {path: run.outcome(path) for path in run.locations} == dict.fromkeys(
        ("minutes.png", "rules.pdf"), ("ok", StageName.INDEX)
    )
    for query, uri, words, number in (
        ("crane inspected", "minutes.png", "4,250 euros for the repair", 1),
        ("keeper clockwork", "rules.pdf", "Lamp oil is kept in the cellar", 2),
    ):
        for by in ("keyword", "vector"):
            assert run.found(query, 1, by=by)[0]["uri"] == uri, (query, by)
        text = " ".join(" ".join(row["text"].split()) for row in run.live_rows.values() if row["uri"] == uri)
        assert words in text
        parsed = run.row(uri, StageName.PARSE)
        assert {(element["page"], element["source"]) for element in parsed["elements"]} == {(number, "ocr")}

    # The file has no text to hold recognized words against: nothing is said to be attributed, and nothing to be lost.
    session = run.session
    locations = session.runs.locations(session.context.run_id)
    of_chunks = stage_measures(session.context.lake, session.context.run_id, StageName.CHUNK, locations).to_pylist()
    attributed = [row for row in of_chunks if row["metric"] == "attribution_completeness" and not row["slice_key"]]
    assert [(row["value"], row["status"]) for row in attributed] == [(None, "not_applicable")] * 2
