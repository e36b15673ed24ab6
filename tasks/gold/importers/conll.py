"""Named entities in the column format of the CoNLL shared tasks: a token and its tag per line, a blank line between
sentences, `-DOCSTART-` between documents. Tags are IO, IOB or IOB2, as in WikiGold (Balasuriya et al., 2009).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.errors import ConfigurationError
from tasks.gold.importers.made_corpus import MadeDocument, write_corpus
from tasks.gold.importers.running_text import running_text
from tasks.gold.importers.summary import ImportSummary

SOURCE = "conll"
_DOCUMENT = "-DOCSTART-"
_TAG = re.compile(r"O|[BIES]-[A-Za-z_]+")
_NAMES = {"PERSON": "PER", "ORGANIZATION": "ORG", "LOCATION": "LOC"}


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads every `*.conll*.txt` and `*.conll` below the folder; writes `corpus/<file>-<n>.txt` and `gold/`.

    Raises:
        ConfigurationError: there is no such file, or a line of one is no token with a tag.
    """
    files = sorted({*source_folder.rglob("*.conll"), *source_folder.rglob("*conll*.txt")})
    documents = [document for path in files for document in _documents(path)]
    if not documents:
        raise ConfigurationError(
            f"{source_folder} holds no entities in CoNLL's format",
            remedy="name the folder that holds *.conll or *.conll.txt files",
        )
    return write_corpus(
        out_folder,
        SOURCE,
        documents,
        description="Named entities, marked by people.",
        licence="as the data set's publisher says",
    )


def _documents(path: Path) -> Iterator[MadeDocument]:
    sentences: list[list[tuple[str, str]]] = [[]]
    number = 0
    for place, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), f"{_DOCUMENT} O"], 1):
        columns = line.split()
        if columns and columns[0] == _DOCUMENT:
            if any(sentences):
                number += 1
                yield _document(f"{path.name.split('.', 1)[0]}-{number:04}.txt", [s for s in sentences if s])
            sentences = [[]]
        elif not columns:
            sentences.append([])
        elif len(columns) < 2 or not _TAG.fullmatch(columns[-1]):
            raise ConfigurationError(
                f"{path.name}, line {place} is no token with a tag", remedy="mend the line, or take the file out"
            )
        else:
            sentences[-1].append((columns[0], columns[-1]))


def _document(name: str, sentences: list[list[tuple[str, str]]]) -> MadeDocument:
    text = running_text([[token for token, _ in sentence] for sentence in sentences])
    entities: list[dict[str, Any]] = [
        {"mentions": [{"type": kind, "quote": text.quote(i, first, end)}]}
        for i, sentence in enumerate(sentences)
        for kind, first, end in entity_spans([tag for _, tag in sentence])
    ]
    return MadeDocument(name, f"{text.text}\n".encode(), {"entities": {"entities": entities}})


def entity_spans(tags: list[str]) -> list[tuple[str, int, int]]:
    """(type, first token, token after the last) of each entity; a `B` or `S` always begins one, as a new type does.

    >>> entity_spans(["I-PER", "I-PER", "O", "I-LOC", "B-LOC", "I-ORG"])
    [('PER', 0, 2), ('LOC', 3, 4), ('LOC', 4, 5), ('ORG', 5, 6)]
    """
    spans: list[tuple[str, int, int]] = []
    for i, tag in enumerate(tags):
        if tag == "O":
            continue
        mark, kind = tag.split("-", 1)
        kind = _NAMES.get(kind.upper(), kind.upper())
        if spans and mark in "IE" and spans[-1][2] == i and spans[-1][0] == kind:
            spans[-1] = (kind, spans[-1][1], i + 1)
        else:
            spans.append((kind, i, i + 1))
    return spans
