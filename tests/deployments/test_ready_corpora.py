"""The ready configurations on a few documents of their data sets, through the whole engine."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from schemas.names import StageName
from tasks.figures.figures import run_figures
from tasks.gold.importers.registry import import_gold
from tasks.lake.views import connect_run
from tasks.metrics.shingles import macro_scores, shingle_counts
from tests.engine import EngineRun, run_engine

READY = Path(__file__).resolve().parents[2] / "deployments" / "corpora"

TABLES = {
    "eu-003.pdf": 3,  # three tables below one another
    "eu-010.pdf": 1,  # a head whose shading is drawn line by line: the lowest TEDS of the set
    "eu-015.pdf": 5,  # pages that lie on their side, with tables and charts beside one another
}
"""Documents and the number of tables that people marked in them."""

PAGES = 12


def run_on_some(name: str, source: Path, folder: Path, keep: Any) -> EngineRun:
    """Imports a data set as the documentation says, leaves the kept documents in the corpus, runs it."""
    summary = import_gold(name, source, folder)
    for path in summary.corpus.rglob("*.*"):
        if not keep(path.name):
            path.unlink()
    return run_engine(Path(shutil.copy(READY / f"{name}.yaml", folder)))


def figures(run: EngineRun, *, attributed: bool = True) -> dict[str, dict[str, Any]]:
    """Figures over all documents by measure. Images have no second reader, so that nothing of them is attributed."""
    with connect_run(run.session.context.lake, run.session.context.run_id) as connection:
        rows = run_figures(connection, run.session.catalogue).to_pylist()
    rows = [row for row in rows if not (row["doc_class"] or row["cohort"])]
    shares = [row["value"] for row in rows if row["slice_key"] == "attribution"]
    assert sum(shares) == pytest.approx(float(attributed)), "every chunk has one outcome"
    return {row["metric"]: row for row in rows if not row["slice_key"]}


def test_marked_tables_are_found_and_read(shared_data: Path, tmp_path: Path) -> None:
    run = run_on_some("icdar2013", shared_data / "tables" / "icdar2013", tmp_path, TABLES.__contains__)
    found = figures(run)
    assert sorted(run.locations) == [f"competition-dataset-eu/{name}" for name in TABLES]
    assert found["teds"]["items"] == found["teds_structure"]["items"] == sum(TABLES.values())
    assert found["teds"]["n_missing"] == 0
    assert (found["table_detection_precision"]["value"], found["table_detection_recall"]["value"]) == (1, 1)
    # By hand: eu-010 keeps two columns too many (its TEDS is 0.58), the other eight tables differ in few cells.
    assert 0.9 < found["teds"]["value"] < 1
    assert found["teds_structure"]["value"] >= found["teds"]["value"]
    for census in ("page_completeness", "conservation", "attribution_completeness", "reconciliation"):
        assert found[census]["value"] == 1, census
    assert found["page_completeness"]["denominator"] == 4
    assert "cer" not in found or found["cer"]["value"] is None
    assert run.verdict.allows_promotion, run.promotion


def test_article_bodies_are_kept_as_well_as_the_extractor_does_alone(shared_data: Path, tmp_path: Path) -> None:
    name = "article-extraction-benchmark"
    source = shared_data / "boilerplate" / name
    truth = json.loads((source / "ground-truth.json").read_text(encoding="utf-8"))
    published = json.loads((source / "output" / "trafilatura.json").read_text(encoding="utf-8"))
    pages = sorted(truth)[::10][:PAGES]
    run = run_on_some(name, source, tmp_path, {f"{page}.html" for page in pages}.__contains__)
    assert sorted(run.locations) == [f"{page}.html" for page in pages]
    texts = {page: run.row(f"{page}.html", StageName.NORMALIZE) for page in pages}
    ours = [shingle_counts(truth[page]["articleBody"], (texts[page] or {"text": ""})["text"]) for page in pages]
    alone = [shingle_counts(truth[page]["articleBody"], published[page]["articleBody"] or "") for page in pages]
    precision, recall, f1 = macro_scores(ours)
    found = figures(run)
    assert found["content_f1"]["items"] == PAGES
    assert found["content_precision"]["value"] == pytest.approx(precision, abs=0.01)
    assert found["content_recall"]["value"] == pytest.approx(recall, abs=0.01)
    assert f1 is not None
    assert f1 >= (macro_scores(alone)[2] or 0) - 0.01
    assert found["attribution_completeness"]["value"] == found["conservation"]["value"] == 1
    assert found["reconciliation"]["value"] == 1
    assert run.verdict.allows_promotion, run.promotion


def published_table(record: dict[str, Any]) -> str:
    """The table as the publisher writes it: with head, body and type faces."""
    cells = iter("".join(cell["tokens"]) for cell in record["html"]["cells"])
    tokens = record["html"]["structure"]["tokens"]
    return f"<table>{''.join(next(cells) + t if t == '</td>' else t for t in tokens)}</table>"


def test_a_table_recognizer_is_judged_on_images_of_tables(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "tables" / "pubtabnet-examples"
    records = [json.loads(line) for line in (source / "PubTabNet_Examples.jsonl").read_text("utf-8").splitlines()]
    kept = {record["filename"] for record in records[:2]}
    (tmp_path / "recognized").mkdir()
    html = {record["filename"]: published_table(record) for record in records[:2]}
    right, wrong = sorted(kept)
    (tmp_path / "recognized" / f"{right}.html").write_text(html[right], "utf-8")
    # One cell of five characters with another last one: an edit of 1/5.
    assert wrong == "PMC4840965_004_00.png"
    assert html[wrong].count(">0.716<") == 1
    (tmp_path / "recognized" / f"{wrong}.html").write_text(html[wrong].replace(">0.716<", ">0.717<"), "utf-8")
    written = (READY / "pubtabnet.yaml").read_text("utf-8").split("# stages:")
    outside = "".join(line.removeprefix("#").removeprefix(" ") for line in written[1].splitlines(keepends=True))
    summary = import_gold("pubtabnet", source, tmp_path)
    for path in summary.corpus.iterdir():
        if path.name not in kept:
            path.unlink()
    (tmp_path / "pubtabnet.yaml").write_text(f"{written[0]}\nstages:{outside}", "utf-8")
    found = figures(run_engine(tmp_path / "pubtabnet.yaml"), attributed=False)
    structure = next(record for record in records if record["filename"] == wrong)["html"]["structure"]["tokens"]
    nodes = sum(token in ("<tr>", "</td>") for token in structure)
    assert found["teds_structure"]["value"] == 1
    assert found["teds"]["value"] == pytest.approx((1 + 1 - 0.2 / nodes) / 2)
    assert (found["table_detection_precision"]["value"], found["table_detection_recall"]["value"]) == (1, 1)
