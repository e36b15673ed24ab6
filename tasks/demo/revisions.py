"""The two states of the demo: the healthy corpus, and the same corpus some weeks later with one class damaged."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tasks.demo.authored import Source, added_sources, healthy_sources, read_yaml
from tasks.demo.duplicates import edited, planted


@dataclass(frozen=True, slots=True)
class Revision:
    """A document of one state.

    `first_path` is where it lay in the healthy state. `damaged` breaks its text layer. `stale` names the one kind
    of label that stays bound to `previous`, the source as it was.
    """

    source: Source
    first_path: str
    damaged: bool = False
    previous: Source | None = None
    stale: str | None = None


@lru_cache(maxsize=1)
def healthy() -> tuple[Revision, ...]:
    """All documents of the healthy state."""
    sources = healthy_sources()
    return tuple(Revision(source, source.path) for source in (*sources, *planted(sources)))


@lru_cache(maxsize=1)
def regressed() -> tuple[Revision, ...]:
    """All documents of the later state, as `sources/later.yaml` tells it."""
    later = read_yaml("later.yaml")
    return (*_revised(later), *(Revision(source, source.path) for source in added_sources()))


def _revised(later: Any) -> Iterator[Revision]:
    changed = {entry["path"]: entry for entry in later["changed"]}
    for revision in healthy():
        source, path = revision.source, revision.first_path
        if path in later["deleted"]:
            continue
        if entry := changed.get(path):
            dated = {name: entry[name] for name in ("committed", "published") if name in entry}
            now = replace(edited(source, entry["edits"]), **dated)
            yield replace(revision, source=now, previous=source, stale=entry.get("stale"))
        elif source.folder == later["damaged"]["folder"]:
            yield replace(revision, source=replace(source, committed=later["damaged"]["committed"]), damaged=True)
        else:
            yield replace(revision, source=replace(source, path=later["moved"].get(path, path)))
