"""Versions of installed packages, which every key of a stage names."""

from functools import cache
from importlib import metadata


@cache
def version(package: str) -> str:
    """A package's version; its files are read once per process, since what was imported does not change either.

    Raises:
        importlib.metadata.PackageNotFoundError: it is not installed.
    """
    return metadata.version(package)
