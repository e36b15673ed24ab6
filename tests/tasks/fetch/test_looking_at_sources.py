"""A look at sources tells whether anything is new, changed, renamed or gone, and nothing else."""

import os
from pathlib import Path

import pytest

from tasks.errors import ConfigurationError
from tasks.fetch.settings import FetchSettings
from tasks.fetch.snapshot import Snapshot, look_at
from tasks.fetch.sources import FileSource, FsspecSource, HttpSource, RecordsSource


def look(root: Path) -> Snapshot:
    return look_at([FileSource(name="notes", root=root, exclude=("drafts/**",))], FetchSettings())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    (made / "drafts").mkdir(parents=True)
    (made / "a.txt").write_text("one", encoding="utf-8")
    (made / "b.txt").write_text("two", encoding="utf-8")
    return made


def test_nothing_changed_looks_the_same_and_what_is_left_out_does_not_count(root: Path) -> None:
    before = look(root)
    (root / "drafts" / "c.txt").write_text("three", encoding="utf-8")
    (root / "a.txt").read_bytes()
    assert look(root) == before
    assert before.listed == 2


def new(root: Path) -> None:
    (root / "c.txt").write_text("three", encoding="utf-8")


def changed_in_length(root: Path) -> None:
    (root / "a.txt").write_text("one more", encoding="utf-8")


def changed_in_time(root: Path) -> None:
    os.utime(root / "a.txt", ns=(1, 1))


def replaced_by_one_of_the_same_size_and_time(root: Path) -> None:
    status = (root / "a.txt").stat()
    (root / "drafts" / "a.txt").write_text("eno", encoding="utf-8")
    os.utime(root / "drafts" / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    (root / "drafts" / "a.txt").replace(root / "a.txt")


def renamed(root: Path) -> None:
    (root / "a.txt").rename(root / "z.txt")


def deleted(root: Path) -> None:
    (root / "a.txt").unlink()


def swapped(root: Path) -> None:
    (root / "a.txt").rename(root / "drafts" / "a.txt")
    (root / "b.txt").rename(root / "a.txt")
    (root / "drafts" / "a.txt").rename(root / "b.txt")


CHANGES = [
    new,
    changed_in_length,
    changed_in_time,
    replaced_by_one_of_the_same_size_and_time,
    renamed,
    deleted,
    swapped,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_is_seen(root: Path, change: object) -> None:
    before = look(root)
    change(root)  # type: ignore[operator]
    assert look(root).digest != before.digest


def test_a_folder_that_is_gone_is_an_error_and_no_empty_source(root: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        look(root / "elsewhere")


def test_stores_and_files_of_rows_are_seen_to_change_and_urls_to_come(root: Path) -> None:
    sources = [
        FsspecSource(name="store", url=f"file://{root}"),
        RecordsSource(name="rows", root=root),
        HttpSource(name="site", urls=("https://example.org/a",)),
    ]
    settings = FetchSettings()
    seen = {look_at(sources, settings).digest}
    (root / "rows.jsonl").write_text('{"id": 1, "text": "x"}\n', encoding="utf-8")
    seen.add(look_at(sources, settings).digest)
    (root / "a.txt").write_text("one more", encoding="utf-8")
    seen.add(look_at(sources, settings).digest)
    sources[2] = HttpSource(name="site", urls=("https://example.org/a", "https://example.org/b"))
    seen.add(look_at(sources, settings).digest)
    assert len(seen) == 4
    assert look_at(sources, settings).digest in seen
