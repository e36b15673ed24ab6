"""The tables of a private Prefect server, made once: a new server begins with a copy of them.

Prefect makes its tables by more than a hundred migrations, 12 s of computing in every new home and more than the
rest of the server's start. What they lead to is kept as Python keeps compiled modules, in `__pycache__` beside this
one, by Prefect's release; where nothing can be written there, every new home goes through them again.
"""

import importlib.util
import os
import shutil
import sqlite3
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

DATABASE = "prefect.db"

_OF_A_NEW_SERVER = frozenset({"alembic_version", "block_type", "block_schema", "block_schema_reference"})
"""The tables that hold rows before anything has run: the release of the tables, and Prefect's own kinds of blocks."""


def kept_tables() -> Path:
    """Where the tables of the installed release are kept."""
    return Path(importlib.util.cache_from_source(__file__)).with_name(f"prefect-{version('prefect')}.db")


def place_tables(home: Path, kept: Path) -> None:
    """Gives a home without a database the kept one, if there is one; the server looks through it as through its own."""
    if (home / DATABASE).exists():
        return
    partial = home / f".{DATABASE}.{os.getpid()}"
    try:
        shutil.copyfile(kept, partial)
        partial.replace(home / DATABASE)
    except OSError:
        partial.unlink(missing_ok=True)  # the server makes its tables itself


def keep_tables(home: Path, kept: Path) -> None:
    """Keeps the database of a server that has just started, unless one is kept or this one holds what ran before."""
    if kept.exists() or not (home / DATABASE).exists():
        return
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=kept.parent) as folder:
            partial = Path(folder) / kept.name
            with closing(sqlite3.connect(home / DATABASE)) as database, closing(sqlite3.connect(partial)) as copy:
                database.backup(copy)
                found = _tables_with_rows(copy)
            if found and found <= _OF_A_NEW_SERVER:
                partial.replace(kept)
    except (OSError, sqlite3.Error):
        pass  # the next new home makes its tables itself


def _tables_with_rows(database: sqlite3.Connection) -> set[str]:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name for name in tables if database.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()}  # noqa: S608
