"""A private server begins with tables that an earlier one made, and with nothing that ran there."""

import sqlite3
from contextlib import closing
from pathlib import Path

from flows.server_tables import DATABASE, keep_tables, place_tables

NEW = """
CREATE TABLE alembic_version (n TEXT);
INSERT INTO alembic_version VALUES ('a1');
CREATE TABLE flow_run (name TEXT);
"""


def a_home(folder: Path, script: str = NEW) -> Path:
    folder.mkdir()
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        database.execute("PRAGMA journal_mode = wal")
        database.executescript(script)
    return folder


def content(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as opened:
        return list(opened.iterdump())


def test_the_tables_of_a_new_server_are_kept_and_placed_in_the_next_home(tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "tables.db"
    first, second = a_home(tmp_path / "first"), tmp_path / "second"
    second.mkdir()
    keep_tables(first, kept)
    place_tables(second, kept)
    assert content(second / DATABASE) == content(first / DATABASE)
    assert [path.name for path in (*kept.parent.iterdir(), *second.iterdir())] == ["tables.db", DATABASE]


def test_what_ran_in_a_home_goes_nowhere_else(tmp_path: Path) -> None:
    used = a_home(tmp_path / "used", NEW + "INSERT INTO flow_run VALUES ('of another lake');")
    keep_tables(used, tmp_path / "tables.db")
    assert [path.name for path in tmp_path.iterdir()] == ["used"]


def test_a_home_keeps_the_database_that_it_has(tmp_path: Path) -> None:
    kept = tmp_path / "tables.db"
    keep_tables(a_home(tmp_path / "first"), kept)
    used = a_home(tmp_path / "used", "CREATE TABLE flow_run (name TEXT); INSERT INTO flow_run VALUES ('mine');")
    before = content(used / DATABASE)
    place_tables(used, kept)
    assert content(used / DATABASE) == before


def test_a_server_starts_without_kept_tables_too(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    kept = tmp_path / "file" / "tables.db"
    keep_tables(a_home(tmp_path / "first"), kept)
    (tmp_path / "second").mkdir()
    place_tables(tmp_path / "second", kept)
    assert not list((tmp_path / "second").iterdir())


def test_a_database_without_tables_is_not_kept(tmp_path: Path) -> None:
    keep_tables(a_home(tmp_path / "first", ""), tmp_path / "tables.db")
    assert [path.name for path in tmp_path.iterdir()] == ["first"]
