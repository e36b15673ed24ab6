"""Pairs of near duplicates as in the data of McCormick's MinHash tutorial (MIT; the articles are third parties').

`<name>.train` holds an article per line, its id first; `<name>.truth` two ids per line, all duplicates there are.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.identifiers import file_name
from tasks.gold.importers.rows import text_lines

SOURCE = "near-duplicates"


def read(folder: Path) -> DataSet:
    """Texts `<id>.txt` with pairs labels, all of them complete: any other two are different.

    Sets that hold the same articles, as a smaller and a larger one, are taken together.
    """
    texts: dict[str, str] = {}
    pairs: dict[str, set[str]] = defaultdict(set)
    bad: list[BadRow] = []
    skipped: list[str] = []
    for path in sorted(folder.glob("*.train")):
        truth = path.with_suffix(".truth")
        if not truth.is_file():
            skipped.append(f"{path.name}: its .truth is missing")
            continue
        own: set[str] = set()
        for line, text in text_lines(path, bad):
            name, _, body = text.partition(" ")
            if not text.strip():
                continue
            if not name or not body.strip():
                bad.append(BadRow(path.name, line, "is no id with a text"))
            elif name in own or texts.setdefault(name, body) != body:
                bad.append(BadRow(path.name, line, "has the id of another article"))
            else:
                own.add(name)
        for line, text in text_lines(truth, bad):
            ids = text.split()
            if ids and (len(ids) != 2 or not own >= set(ids) or ids[0] == ids[1]):
                bad.append(BadRow(truth.name, line, f"is no pair of articles of {path.name}"))
            elif ids:
                pairs[min(ids)].add(max(ids))
    skipped += [
        f"{truth.name}: its .train is missing"
        for truth in sorted(folder.glob("*.truth"))
        if not truth.with_suffix(".train").is_file()
    ]
    documents = [
        MadeDocument(f"{file_name(name)}.txt", f"{text}\n".encode(), {"pairs": _label(sorted(pairs[name]))})
        for name, text in sorted(texts.items())
    ]
    return DataSet(tuple(documents), tuple(bad), tuple(skipped))


def _label(others: list[str]) -> dict[str, Any]:
    named = [{"other": f"{SOURCE}:{file_name(other)}.txt", "duplicate": True} for other in others]
    return {"pairs": named, "complete": True}
