"""Planted duplicates and look-alikes: exact copies, edited copies, and the labels of every pair in a family."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

from tasks.demo.authored import Source, read_yaml
from tasks.gold.kinds import PairLabel, PairsLabel


@lru_cache(maxsize=1)
def _duplicates() -> Any:
    return read_yaml("duplicates.yaml")


def planted(sources: Iterable[Source]) -> tuple[Source, ...]:
    """The copies that the demo plants, made from their originals by the listed edits; without edits: exact.

    Raises:
        ValueError: an edit finds nothing to change.
    """
    originals = {source.path: source for source in sources}
    return tuple(_copy(originals[entry["of"]], entry) for entry in _duplicates()["copies"])


def _copy(original: Source, entry: Mapping[str, Any]) -> Source:
    made = replace(original, path=entry["path"], name=entry["path"], labels=("language",), questions=())
    edits = entry.get("edits", ())
    if edits:
        made = replace(made, committed=entry["committed"])
    return edited(made, edits)


def edited(source: Source, edits: Iterable[tuple[str, str]]) -> Source:
    """The source with passages of its body replaced.

    Raises:
        ValueError: a passage does not stand in it.
    """
    for find, put in edits:
        # A passage may run over the line ends of the source.
        pattern = re.compile(r"\s+".join(map(re.escape, find.split())))
        body, count = pattern.subn(put, source.body)
        if not count:
            raise ValueError(f"{source.path}: nothing to edit at {find!r}")
        source = replace(source, body=body)
    return source


def pair_labels(paths: Mapping[str, str], shas: Mapping[str, str], prefix: str) -> dict[str, PairsLabel]:
    """Label by path of the first document: every pair of a family, true within a cluster, false otherwise.

    `paths` leads from a document's first path to its present one; a document that is not in it is gone. `shas` are the
    SHA-256 of the documents' bytes by their present path: a pair was judged on the bytes of both. A copy in
    another access scope counts as no duplicate: merging it would hand a document to people who may not read it.
    """
    labels: dict[str, PairsLabel] = {}
    for family in _duplicates()["families"]:
        cluster = {path: i for i, paths_alike in enumerate(family["clusters"]) for path in paths_alike}
        present = [path for path in family["documents"] if path in paths]
        found: dict[str, list[PairLabel]] = {}
        for first, other in combinations(present, 2):
            same = first in cluster and cluster[first] == cluster.get(other)
            present_path = paths[other]
            made = PairLabel(other=f"{prefix}{present_path}", duplicate=same, other_content_sha=shas[present_path])
            found.setdefault(first, []).append(made)
        labels |= {paths[first]: PairsLabel(pairs=tuple(pairs)) for first, pairs in found.items()}
    return labels
