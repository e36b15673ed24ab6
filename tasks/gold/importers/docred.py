"""DocRED and Re-DocRED (Yao et al., 2019; Tan et al., 2022): entities with their mentions, relations between them.

Relations keep the names of Wikidata's properties (`P131`) but for those that corpusgate has rules for.
"""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import json_records
from tasks.gold.importers.running_text import running_text
from tasks.gold.kinds import EntitiesLabel

_NO_DOCUMENT = "is no document of DocRED"
RELATIONS = MappingProxyType(
    {
        "P131": "located_in",
        "P17": "located_in",
        "P276": "located_in",
        "P159": "located_in",
        "P569": "born_on",
        "P19": "born_in",
        "P570": "died_on",
        "P20": "died_in",
        "P108": "works_for",
        "P54": "works_for",
        "P463": "works_for",
        "P112": "founded_by",
        "P571": "founded_on",
        "P577": "published_on",
    }
)


def read(folder: Path) -> DataSet:
    """Texts `<file>-<n>.txt` with entities and relations, of every `*.json` below the folder.

    A file of which no member is a document of DocRED is another file, and left out.
    """
    documents: list[MadeDocument] = []
    bad: list[BadRow] = []
    skipped: list[str] = []
    for path in sorted(folder.rglob("*.json")):
        own_bad: list[BadRow] = []
        own = list(_documents(path, own_bad))
        documents += own
        if own or any(row.fault != _NO_DOCUMENT for row in own_bad):
            bad += own_bad
        else:
            skipped.append(f"{path.name}: holds no documents of DocRED")
    return DataSet(tuple(documents), tuple(bad), tuple(skipped))


def _documents(path: Path, bad: list[BadRow]) -> Iterator[MadeDocument]:
    for number, (line, _, record) in enumerate(json_records(path, bad)):
        try:
            yield _document(f"{path.stem}-{number:04}.txt", record)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            bad.append(BadRow(path.name, line, _NO_DOCUMENT))


def _document(name: str, record: Any) -> MadeDocument:
    text = running_text(record["sents"])
    entities = [
        {"mentions": [{"type": m["type"], "quote": text.quote(m["sent_id"], *m["pos"])} for m in mentions]}
        for mentions in record["vertexSet"]
    ]
    relations: list[dict[str, Any]] = [
        {"type": kind, "head": head, "tail": tail}
        for kind, head, tail in sorted({(RELATIONS.get(r["r"], r["r"]), r["h"], r["t"]) for r in record["labels"]})
    ]
    label = EntitiesLabel.model_validate({"entities": entities, "relations": relations})
    return MadeDocument(name, f"{text.text}\n".encode(), {"entities": label.model_dump(mode="json")})
