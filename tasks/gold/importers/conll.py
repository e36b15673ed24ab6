"""Named entities in the column format of the CoNLL shared tasks: a token and its tag per line, a blank line between
sentences, `-DOCSTART-` between documents. Tags are IO, IOB or IOB2, as in WikiGold (Balasuriya et al., 2009).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import text_lines
from tasks.gold.importers.running_text import running_text

_DOCUMENT = "-DOCSTART-"
_TAG = re.compile(r"O|[BIES]-[A-Za-z_]+")
_NAMES = {"PERSON": "PER", "ORGANIZATION": "ORG", "LOCATION": "LOC"}


def read(folder: Path) -> DataSet:
    """Texts `<file>-<n>.txt` with entities, of every `*.conll*.txt` and `*.conll` below the folder.

    A document with a bad line is left out: its labels would lack an entity.
    """
    bad: list[BadRow] = []
    files = sorted({*folder.rglob("*.conll"), *folder.rglob("*conll*.txt")})
    return DataSet(tuple(document for path in files for document in _documents(path, bad)), tuple(bad))


def _documents(path: Path, bad: list[BadRow]) -> Iterator[MadeDocument]:
    sentences: list[list[tuple[str, str]]] = [[]]
    number, bad_before = 0, len(bad)
    for line, text in _with_end(text_lines(path, bad)):
        columns = text.split()
        if columns and columns[0] == _DOCUMENT:
            if any(sentences):
                number += 1
                if len(bad) == bad_before:
                    yield _document(f"{path.name.split('.', 1)[0]}-{number:04}.txt", [s for s in sentences if s])
            sentences, bad_before = [[]], len(bad)
        elif not columns:
            sentences.append([])
        elif len(columns) < 2 or not _TAG.fullmatch(columns[-1]):
            bad.append(BadRow(path.name, line, "is no token with a tag"))
        else:
            sentences[-1].append((columns[0], columns[-1]))


def _with_end(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield from lines
    yield 0, _DOCUMENT


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
