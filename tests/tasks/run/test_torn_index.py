"""An index with torn or missing files: every command names the cause, doctor finds it, and one repair mends it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schemas.names import StageName
from tasks.errors import RunError
from tasks.index.records import Live
from tasks.index.store import LanceIndex
from tasks.run.configuration import Configuration
from tasks.run.doctor import Finding, examine
from tasks.run.indexing import open_index
from tasks.run.repair import repair
from tasks.run.search import Hit, SearchBy, search_live
from tasks.stage import SearchFilter
from tests.engine import EngineRun, run_engine
from tests.texts import configured, text, write_texts

CHEAP = {"stages": {"pii": {"models": {"en": None}}}}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    """Three notes, of which one was changed: the second generation shares its table with the first."""
    folder = tmp_path_factory.mktemp("untouched")
    write_texts(folder / "notes", 3)
    configuration = configured(folder, **CHEAP)
    run_engine(configuration, measured=False)
    (folder / "notes" / "note-001.txt").write_text(text(40), encoding="utf-8")
    return run_engine(configuration, measured=False)


@pytest.fixture
def second(untouched: EngineRun, tmp_path: Path) -> EngineRun:
    """The second run in a lake of its own."""
    shutil.copytree(untouched.session.context.lake.root.parent, tmp_path, dirs_exist_ok=True)
    return untouched.moved(configured(tmp_path, **CHEAP))


def configuration_of(run: EngineRun) -> Configuration:
    return run.session.context.configuration


def index_of(run: EngineRun) -> LanceIndex:
    return open_index(run.session.context)


def live_of(run: EngineRun) -> Live:
    live = index_of(run).live()
    assert live is not None
    return live


def table_of(run: EngineRun) -> Path:
    return run.session.context.lake.index / f"{live_of(run).generation.table}.lance"


def tear(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def found(run: EngineRun, by: SearchBy = SearchBy.KEYWORD) -> list[Hit]:
    where = SearchFilter(tenant="default")
    return search_live(configuration_of(run), run.session.context.lake, "ferry", k=9, by=by, exact=False, where=where)


def bad(run: EngineRun, *, deep: bool = True) -> list[Finding]:
    """What doctor finds wrong with the index."""
    found = examine(configuration_of(run), run.session.context.lake, deep=deep)
    return [finding for finding in found if not finding.ok and finding.what.startswith("index")]


def edit(run: EngineRun, number: int) -> None:
    notes = Path(str(configuration_of(run).sources[0].root))  # type: ignore[union-attr]
    (notes / "note-002.txt").write_text(text(number), encoding="utf-8")


@contextmanager
def named_with_the_repair() -> Iterator[None]:
    with pytest.raises(RunError) as caught:
        yield
    assert "doctor --repair" in caught.value.remedy


def mended(run: EngineRun) -> list[str]:
    """Mends the lake once; says so, finds nothing more, and the index takes a run and a rollback from it."""
    said = list(repair(configuration_of(run), run.session.context.lake))
    assert said
    assert list(repair(configuration_of(run), run.session.context.lake)) == []
    assert bad(run) == []
    assert {hit.uri for hit in found(run)} <= {f"note-00{n}.txt" for n in range(3)}
    before = live_of(run)
    edit(run, 50)
    again = run_engine(configuration_of(run), measured=False)
    assert again.session.runs.manifest(again.session.context.run_id)["baseline_run"] == before.generation.run_id
    assert {row["uri"] for row in again.live_rows.values()} == {f"note-00{n}.txt" for n in range(3)}
    assert index_of(again).rollback(expected=live_of(again)).generation == before.generation
    return said


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("page_lookup.lance", Path.unlink),
        ("page_data.lance", tear),
        ("bitmap_page_lookup.lance", tear),
        ("part_0_tokens.lance", tear),
    ],
)
def test_a_torn_index_over_rows_is_built_anew(second: EngineRun, name: str, harm: Callable[[Path], None]) -> None:
    before = [(hit.uri, hit.text) for hit in found(second)]
    assert before
    for path in (table_of(second) / "_indices").glob(f"*/{name}"):
        harm(path)
    with named_with_the_repair():
        found(second, SearchBy.KEYWORD if name.startswith("part") else SearchBy.VECTOR)
    (finding,) = bad(second)
    assert "doctor --repair" in finding.remedy
    edit(second, 60)
    with named_with_the_repair():
        run_engine(configuration_of(second), measured=False)
    said = mended(second)
    assert len(said) == 2  # the live generation and the one before it have these files in common


def test_a_missing_live_table_is_made_anew(second: EngineRun) -> None:
    shutil.rmtree(table_of(second))
    with named_with_the_repair():
        found(second)
    with named_with_the_repair():
        run_engine(configuration_of(second), measured=False)
    assert bad(second, deep=False)
    (said,) = mended(second)
    assert second.session.context.run_id in said
    assert found(second)


def test_a_missing_live_file_is_written_anew_from_the_record(second: EngineRun) -> None:
    before = live_of(second)
    (second.session.context.lake.index / "live.json").unlink()
    edit(second, 60)
    with named_with_the_repair():
        run_engine(configuration_of(second), measured=False)
    (finding,) = bad(second, deep=False)
    assert "doctor --repair" in finding.remedy
    (said,) = mended(second)
    assert "live.json was missing" in said
    assert before in index_of(second).history()


def rename_a_key(record: Path) -> None:
    record.write_text(record.read_text(encoding="utf-8").replace('"number"', '"numbex"', 1), encoding="utf-8")


@pytest.mark.parametrize("harm", [Path.unlink, rename_a_key])
def test_a_record_that_lacks_changes_is_written_anew_from_those_that_are_known(
    second: EngineRun, harm: Callable[[Path], None]
) -> None:
    before = live_of(second)
    harm(second.session.context.lake.index / "generations.jsonl")
    with named_with_the_repair():
        index_of(second).rollback(expected=before)
    edit(second, 60)
    with named_with_the_repair():
        run_engine(configuration_of(second), measured=False)
    (finding,) = bad(second, deep=False)
    assert "doctor --repair" in finding.remedy
    (said,) = mended(second)
    assert "of 2 changes of live the last 1 are known" in said
    assert index_of(second).history()[0] == before
    with pytest.raises(RunError, match="no generation was live before"):
        index_of(second).rollback(expected=live_of(second))


@pytest.mark.parametrize("pattern", ["data/*.lance", "_deletions/*.arrow"])
@pytest.mark.parametrize("by", [SearchBy.KEYWORD, SearchBy.VECTOR])
def test_torn_rows_are_named_by_search_and_doctor(second: EngineRun, pattern: str, by: SearchBy) -> None:
    for path in table_of(second).glob(pattern):
        tear(path)
    with named_with_the_repair():
        found(second, by)
    (finding,) = bad(second, deep=False)
    assert "doctor --repair" in finding.remedy


@pytest.mark.parametrize("harm", [tear, lambda path: path.write_bytes(b"")])
def test_a_torn_manifest_of_live_is_mended_the_first_time(second: EngineRun, harm: Callable[[Path], None]) -> None:
    harm(min((table_of(second) / "_versions").glob("*.manifest")))  # their names count down
    with named_with_the_repair():
        found(second)
    said = mended(second)
    assert any(second.session.context.run_id in sentence for sentence in said)


def test_documents_that_are_missing_from_live_are_found(second: EngineRun) -> None:
    assert bad(second) == []
    index, live = index_of(second), live_of(second)
    lost = second.locations["note-000.txt"][StageName.INDEX]["document_id"]
    (anew,) = index.erase([lost], keep=1).anew
    assert anew.run_id == live.generation.run_id
    (finding,) = bad(second)
    assert "1 of that run are missing" in finding.what
