"""Which of several copies stays, by the rule that the settings name; and settings that ask for the impossible."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from schemas.measures import MEASURES
from schemas.names import StageName
from tasks.dedup.settings import DedupSettings, chance_of_meeting
from tasks.lake.files import read_table
from tasks.run.configuration import Configuration, parse_configuration
from tests.engine import EngineRun, run_engine

TEXT = (
    "The bridge over the lower weir is closed to carts from the first frost until the ice has gone, because the planks "
    "grow slippery and the rail on the mill side was never mended after the flood. Walkers may cross by daylight at "
    "their own risk, keeping to the middle. The keeper of the weir holds the key of the gate."
)


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[..., Configuration]:
    """Writes copies of the text, each with the year of its last change, and says how they are deduplicated."""

    def written(keeper: str, **years: int) -> Configuration:
        folder = tmp_path / "corpus"
        folder.mkdir(exist_ok=True)
        for name, year in years.items():
            path = folder / f"{name}.md"
            path.write_text(f"{TEXT} Copy of the town clerk.")
            moment = datetime(year, 1, 1, tzinfo=UTC).timestamp()
            os.utime(path, (moment, moment))
        data = {
            "lake": "lake",
            "sources": [{"name": "s", "type": "files", "root": "corpus"}],
            "stages": {"dedup": {"keeper": keeper}},
        }
        return parse_configuration(data, tmp_path / "corpusgate.yaml")

    return written


def kept(run: EngineRun) -> list[str]:
    return [path for path in sorted(run.locations) if run.outcome(path)[0] == "ok"]


def test_the_newest_the_first_path_or_the_one_seen_first_stays(corpus: Callable[..., Configuration]) -> None:
    years = {"b": 2021, "c": 2024, "d": 2019}
    assert kept(run_engine(corpus("newest", **years), measured=False)) == ["c.md"]
    assert kept(run_engine(corpus("path", **years), measured=False)) == ["b.md"]
    # Another rule signs nothing anew.
    again = run_engine(corpus("first_seen", **years, a=2025))
    assert kept(again) != ["a.md"]
    assert kept(run_engine(corpus("path", **years), measured=False)) == ["a.md"]
    signed = again.session.context.ledger.select("SELECT document_id FROM ledger WHERE stage = 'signature'")
    assert signed.num_rows == 4
    stable = [row for row in _facts(again) if row["metric"] == "keeper_stability" and row["status"] == "ok"]
    assert [row["value"] for row in stable] == [1, 1, 1, 1]


def _facts(run: EngineRun) -> list[dict[str, object]]:
    context = run.session.context
    return list(read_table(context.folder / "facts" / f"{StageName.DEDUP}.parquet", MEASURES).to_pylist())


def test_the_chance_of_meeting_is_the_published_s_curve() -> None:
    # Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", figure 3.8: b = 20, r = 5.
    published = {0.2: 0.006, 0.3: 0.047, 0.4: 0.186, 0.5: 0.470, 0.6: 0.802, 0.7: 0.975, 0.8: 0.9996}
    for similarity, chance in published.items():
        assert chance_of_meeting(similarity, 100, 20) == pytest.approx(chance, abs=5e-4)


def test_bands_that_would_not_find_what_the_threshold_asks_for_are_refused() -> None:
    with pytest.raises(ValidationError, match="are compared with a probability"):
        DedupSettings(threshold=0.5, hashes=128, bands=8)
    assert DedupSettings(threshold=0.5, hashes=128, bands=64).bands == 64
    with pytest.raises(ValidationError, match="must divide"):
        DedupSettings(hashes=100, bands=16)
