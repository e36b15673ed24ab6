"""Sweeps over small corpora, through the stages and evaluators themselves, against figures counted by hand."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.figures import SWEEP_FIGURES
from schemas.names import StageName
from tasks.contracts.check import check_table
from tasks.contracts.contract import load_contract
from tasks.figures.catalogue import load_catalogue
from tasks.lake.files import read_table
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.runs import Runs
from tasks.report.status import read_status
from tasks.run.compared_pairs import known_pairs
from tasks.run.configuration import load_configuration, read_mapping
from tasks.run.context import Progress, Silent
from tasks.sweep.axes import parse_axis
from tasks.sweep.drive import drive, source_run
from tasks.sweep.order import make_order
from tasks.sweep.result import Result, read_result
from tasks.sweep.wording import conclusions
from tasks.sweep.write import write_result
from tests.engine import run_engine
from tests.tasks.sweep.corpora import near_duplicates, web_pages


@dataclass(frozen=True)
class Corpus:
    """A corpus that was run once."""

    configuration: Path
    lake: Lake

    def sweep(self, *settings: str, measures: Sequence[str] = (), by: str | None = None) -> Result:
        """Runs a sweep as the command does."""
        catalogue = load_catalogue()
        axes = [parse_axis(text) for text in settings]
        order = make_order(read_mapping(self.configuration), self.configuration, axes, measures, by, catalogue)
        with self.lake.exclusive():
            driven = drive(order, self.lake, source_run(self.lake, "last"), _silent)
            return read_result(order, driven, self.lake, catalogue)

    def recorded(self) -> int:
        """Rows of the ledger: what was ever computed or scored."""
        return int(Ledger(self.lake.ledger).select("SELECT count(*) AS n FROM ledger").column("n")[0].as_py())


@contextmanager
def _silent(title: str) -> Iterator[Progress]:
    assert title
    yield Silent()


def _run(configuration: Path) -> Corpus:
    assert run_engine(configuration).promotion.startswith("promoted")
    return Corpus(configuration, Lake(load_configuration(configuration).lake))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return _run(near_duplicates(tmp_path_factory.mktemp("pairs")))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return _run(web_pages(tmp_path_factory.mktemp("pages")))


def _values(result: Result, measure: str, group: str | None = None) -> list[Any]:
    stage, metric = measure.split(".")
    found = [result.cells.get((p.number, stage, metric, group)) for p in result.order.points]
    return [None if cell is None else cell["value"] for cell in found]


def test_a_threshold_merges_the_pairs_that_are_as_alike(pairs: Corpus) -> None:
    # Similarities 0.937 and 0.787 of duplicates, 0.736 of a pair that is none (see near_duplicates).
    result = pairs.sweep("stages.dedup.threshold=0.7,0.76,0.9,0.95")
    assert _values(result, "dedup.pair_recall") == [1, 1, 0.5, 0]
    assert _values(result, "dedup.pair_precision") == [pytest.approx(2 / 3), 1, 1, None]
    assert _values(result, "dedup.pair_f1") == [0.8, 1, pytest.approx(2 / 3), 0]
    # Three pairs are too few to tell the points apart, and that is said.
    told = {s.chosen.metric.id: s for s in result.standings if s.group is None}
    assert (told["pair_f1"].leader, told["pair_f1"].level) == (2, (1, 2, 3, 4))
    assert [told["pair_f1"].of(point) for point in (1, 2, 3, 4)] == ["level"] * 4
    assert (
        "dedup pair_f1: threshold 0.76 has the best figure (1); nothing can be shown: at least 5 labelled documents "
        "must differ" in list(conclusions(result))
    )
    # Signatures are shaped by hashes and bands, not by the threshold; decisions are made anew at each.
    assert [done.computed for done in result.driven.done] == [6] * 4
    assert result.driven.shared_computed == 0


def test_a_second_sweep_computes_nothing_and_gives_the_same(pairs: Corpus) -> None:
    first = pairs.sweep("stages.dedup.threshold=0.72,0.92", measures=["pair_f1", "seconds"])
    before = pairs.recorded()
    second = pairs.sweep("stages.dedup.threshold=0.72,0.92", measures=["pair_f1", "seconds"])
    assert pairs.recorded() == before
    assert [done.computed for done in first.driven.done] == [6, 6]
    assert [(done.computed, done.reused) for done in second.driven.done] == [(0, 6), (0, 6)]
    assert second.figures.equals(first.figures)


def test_a_point_that_a_run_has_made_is_not_made_again_and_the_other_way_round(pairs: Corpus, tmp_path: Path) -> None:
    shutil.copytree(pairs.configuration.parent, tmp_path, dirs_exist_ok=True)
    configuration = tmp_path / pairs.configuration.name
    corpus = Corpus(configuration, Lake(load_configuration(configuration).lake))
    result = corpus.sweep("stages.dedup.threshold=0.85,0.75")
    assert [done.computed for done in result.driven.done] == [0, 6]  # the default threshold is 0.85
    text = configuration.read_text(encoding="utf-8")
    configuration.write_text(text.replace("bands: 64", "bands: 64\n    threshold: 0.75"), encoding="utf-8")
    again = run_engine(configuration, measured=False)
    assert {place[StageName.DEDUP]["computed"] for place in again.locations.values()} == {False}


def test_what_a_run_knows_of_pairs_is_still_known_after_a_sweep(pairs: Corpus) -> None:
    known = pl.DataFrame(known_pairs(pairs.lake, 5))
    assert known.height
    pairs.sweep("stages.dedup.shingle_size=4,7", "stages.dedup.bands=16,64", measures=["pair_f1"])
    assert pl.DataFrame(known_pairs(pairs.lake, 5)).equals(known)
    pairs.sweep("stages.dedup.near_duplicates=true,false", measures=["pair_f1"])
    assert pl.DataFrame(known_pairs(pairs.lake, 5)).equals(known)
    # What a sweep has compared is known to the next one.
    assert known_pairs(pairs.lake, 7).num_rows


def test_live_runs_and_status_are_as_before(pairs: Corpus) -> None:
    runs = Runs(pairs.lake)
    live = (pairs.lake.index / "live.json").read_bytes()
    status, last = read_status(pairs.lake), runs.resolve("last")
    files = {path: path.read_bytes() for path in pairs.lake.runs.rglob("*") if path.is_file()}
    pairs.sweep("stages.chunk.max_tokens=64,128", measures=["chunk.tokens", "embed.coverage"])
    assert (pairs.lake.index / "live.json").read_bytes() == live
    assert (read_status(pairs.lake), runs.resolve("last"), runs.last_scan()) == (status, last, last)
    assert {path: path.read_bytes() for path in pairs.lake.runs.rglob("*") if path.is_file()} == files


def test_the_sources_are_not_needed(tmp_path: Path) -> None:
    corpus = _run(web_pages(tmp_path, 2))
    for path in (tmp_path / "corpus").rglob("*.html"):
        path.unlink()
    result = corpus.sweep("stages.boilerplate.web=true,false", measures=["must_drop_rate"])
    assert _values(result, "boilerplate.must_drop_rate") == [1, 0]


def test_what_must_go_goes_only_where_web_pages_are_looked_at(pages: Corpus) -> None:
    result = pages.sweep("stages.boilerplate.web=true,false", by="class")
    for group in (None, "news", "blog"):
        assert _values(result, "boilerplate.must_drop_rate", group) == [1, 0]
        assert _values(result, "boilerplate.must_keep_recall", group) == [1, 1]
    told = {(s.chosen.metric.id, s.group): s for s in result.standings}
    # Six pages of six: of the 64 exchanges one gives so much; of three pages one of 8, which shows nothing.
    assert told["must_drop_rate", None].of(1) == "best"
    assert told["must_drop_rate", None].p_values == {2: 1 / 64}
    assert told["must_drop_rate", "news"].of(1) == told["must_drop_rate", "news"].of(2) == "level"
    assert told["must_drop_rate", "news"].p_values == {2: 1 / 8}
    assert told["must_keep_recall", None].of(1) == told["must_keep_recall", None].of(2) == "level"


def test_files_hold_what_is_shown(pages: Corpus, tmp_path: Path) -> None:
    result = pages.sweep("stages.boilerplate.web=true,false", measures=["must_drop_rate"], by="class")
    write_result(result, tmp_path)
    figures = read_table(tmp_path / "figures.parquet", SWEEP_FIGURES)
    assert check_table(figures, load_contract("sweep_figures")) == []
    assert figures.num_rows == 2 * 3
    read = pl.read_csv(tmp_path / "figures.csv").select("point", "doc_class", "value", "items", "standing").rows()
    assert (1, None, 1.0, 6, "best") in read
    assert (2, "news", 0.0, 3, "level") in read
    said = json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))
    assert [point["settings"] for point in said["points"]] == [
        {"stages.boilerplate.web": True}, {"stages.boilerplate.web": False},
    ]  # fmt: skip
    assert said["conclusions"][0] == (
        "boilerplate must_drop_rate: web true is best (1); every other point is shown to be worse"
    )
    assert (tmp_path / "boilerplate.must_drop_rate.svg").is_file()
    page = (tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert said["conclusions"][0] in page
