"""Keeps a `tasks.py` of the user's own, in the working directory or on PYTHONPATH, from being taken for our package.

Our packages bear plain names, and `python -m` puts the working directory before everything else. Imports nothing but
the standard library, since it runs before any other import of ours.
"""

import os
import sys
from pathlib import Path

NAMES = ("data_contracts", "flows", "schemas", "tasks")
"""Our top-level packages."""

ROOT = Path(__file__).resolve().parents[1]
"""The folder that holds them."""


def shield() -> None:
    """Takes places out of the module path that stand before ours and hold other modules by our names.

    Only the working directory and what PYTHONPATH names: what is installed stays. Worker processes get the path from
    here, so that they find the same.
    """
    given = {_folder(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)} | {Path.cwd()}
    ours = next((i for i, entry in enumerate(sys.path) if _folder(entry) == ROOT), len(sys.path))
    before = [e for e in sys.path[:ours] if _folder(e) not in given or not _holds_others(_folder(e))]
    sys.path[:] = before + sys.path[ours:]


def module_path_flags() -> list[str]:
    """What an interpreter is told so that the working directory is no place for modules, unless it is ours."""
    return [] if Path.cwd() == ROOT else ["-P"]


def shield_children() -> None:
    """The same for interpreters that others start, by the environment that they inherit."""
    if Path.cwd() != ROOT:
        os.environ["PYTHONSAFEPATH"] = "1"


def _folder(entry: str) -> Path:
    return Path(entry).resolve()


def _holds_others(folder: Path) -> bool:
    return any((folder / f"{n}.py").is_file() or (folder / n / "__init__.py").is_file() for n in NAMES)
