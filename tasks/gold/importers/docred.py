"""DocRED and Re-DocRED (Yao et al., 2019; Tan et al., 2022): entities with their mentions, relations between them.

Relations keep the names of Wikidata's properties (`P131`) but for those that corpusgate has rules for.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tasks.errors import ConfigurationError
from tasks.gold.importers.made_corpus import MadeDocument, write_corpus
from tasks.gold.importers.running_text import running_text
from tasks.gold.importers.summary import ImportSummary

SOURCE = "re-docred"
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


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads every `*.json` with documents of DocRED below the folder; writes `corpus/<file>-<n>.txt` and `gold/`.

    Raises:
        ConfigurationError: there is no such file, or one that holds something else.
    """
    documents: list[MadeDocument] = []
    skipped: list[str] = []
    for path in sorted(source_folder.rglob("*.json")):
        try:
            documents += _documents(path)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            skipped.append(f"{path.name}: holds no documents of DocRED ({type(error).__name__})")
    if not documents:
        raise ConfigurationError(
            f"{source_folder} holds no documents of DocRED", remedy="name the folder that holds dev_revised.json"
        )
    return write_corpus(
        out_folder,
        SOURCE,
        documents,
        description="Entities and relations of Wikipedia's articles, marked by people.",
        licence="MIT (labels); the texts are Wikipedia's",
        skipped=skipped,
    )


def _documents(path: Path) -> Iterator[MadeDocument]:
    for number, record in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        text = running_text(record["sents"])
        entities = [
            {"mentions": [{"type": m["type"], "quote": text.quote(m["sent_id"], *m["pos"])} for m in mentions]}
            for mentions in record["vertexSet"]
        ]
        relations: list[dict[str, Any]] = [
            {"type": kind, "head": head, "tail": tail}
            for kind, head, tail in sorted({(RELATIONS.get(r["r"], r["r"]), r["h"], r["t"]) for r in record["labels"]})
        ]
        label = {"entities": entities, "relations": relations}
        yield MadeDocument(f"{path.stem}-{number:04}.txt", f"{text.text}\n".encode(), {"entities": label})
