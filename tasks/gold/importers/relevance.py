"""Judgements of which documents answer a question: a corpus, questions, and qrels, as BEIR or as TREC lay them out.

A document judged relevant gets the question in its label, with its grade and without a quote. A judgement of 0 or less
says that a document does not answer, as documents without a judgement are taken not to: it becomes no label.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.identifiers import file_name
from tasks.gold.importers.rows import json_lines, text_lines

_IDS = ("_id", "doc_id", "id", "docno")
_BODIES = ("text", "abstract", "contents")
_BEIR_COLUMNS, _TREC_COLUMNS = 3, 4
_SPLITS = ("test", "dev", "train")


@dataclass(frozen=True, slots=True)
class Judgement:
    """One row of qrels: its line, the question, the document, the grade."""

    line: int
    question_id: str
    document_id: str
    grade: int


def read_beir(folder: Path) -> DataSet:
    """Texts `<id>.txt` with questions: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv` under a line of heads.

    Of several splits `test` is taken, else `dev`, else `train`.
    """
    bad: list[BadRow] = []
    qrels = next((path for split in _SPLITS if (path := folder / "qrels" / f"{split}.tsv").is_file()), None)
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    if qrels is None or not corpus.is_file() or not queries.is_file():
        return DataSet(())
    questions: dict[str, str] = {}
    for line, record in json_lines(queries, bad):
        _add_question(questions, str(record.get("_id", "")), record.get("text"), queries.name, line, bad)
    return _data_set([corpus], questions, qrels, list(judgements(qrels, bad, columns=_BEIR_COLUMNS)), bad)


def read_trec(folder: Path) -> DataSet:
    """Texts `<id>.txt` with questions: `*corpus*.jsonl`, one `*topics*` (an id, a tab, the words), one `*qrels*`."""
    bad: list[BadRow] = []
    found = {what: sorted(path for path in folder.glob(f"*{what}*") if path.is_file()) for what in ("topics", "qrels")}
    corpora = sorted(folder.glob("*corpus*.jsonl"))
    several = [f"{len(paths)} files *{what}*: leave one in the folder" for what, paths in found.items() if paths[1:]]
    if several or not corpora or not all(found.values()):
        return DataSet((), skipped=tuple(several))
    (topics,), (qrels,) = found.values()
    questions: dict[str, str] = {}
    for line, text in text_lines(topics, bad):
        if text.strip():
            question_id, _, words = text.partition("\t")
            _add_question(questions, question_id.strip(), words, topics.name, line, bad)
    return _data_set(corpora, questions, qrels, list(judgements(qrels, bad, columns=_TREC_COLUMNS)), bad)


def judgements(path: Path, bad: list[BadRow], *, columns: int) -> Iterator[Judgement]:
    """The rows of qrels: four columns in TREC (question, iteration, document, grade), three in BEIR (no iteration)
    under a line of heads.
    """
    seen: set[tuple[str, str]] = set()
    for line, text in text_lines(path, bad):
        row = text.split()
        graded = bool(row) and row[-1].removeprefix("-").isdecimal()
        if not row or (columns == _BEIR_COLUMNS and line == 1 and not graded):
            continue
        if len(row) != columns or not graded:
            bad.append(BadRow(path.name, line, "is no question, document and whole number"))
        elif (row[0], row[-2]) in seen:
            bad.append(BadRow(path.name, line, "judges a document a second time"))
        else:
            seen.add((row[0], row[-2]))
            yield Judgement(line, row[0], row[-2], int(row[-1]))


def _add_question(
    questions: dict[str, str], question_id: str, words: Any, file: str, line: int, bad: list[BadRow]
) -> None:
    if not question_id or not isinstance(words, str) or not words.strip():
        bad.append(BadRow(file, line, "is no id with a question"))
    elif question_id in questions:
        bad.append(BadRow(file, line, "has the id of another question"))
    else:
        questions[question_id] = words.strip()


def _data_set(
    corpora: list[Path], questions: dict[str, str], qrels: Path, judged: list[Judgement], bad: list[BadRow]
) -> DataSet:
    skipped: list[str] = []
    texts: dict[str, str] = {}
    for path in corpora:
        _read_corpus(path, texts, bad, skipped)
    labels: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in judged:
        if row.grade < 1:
            continue
        if row.question_id not in questions:
            bad.append(BadRow(qrels.name, row.line, "judges a question that is not there"))
        elif row.document_id not in texts:
            bad.append(BadRow(qrels.name, row.line, "judges a document that the corpus does not hold"))
        else:
            question = {"question_id": row.question_id, "question": questions[row.question_id]}
            labels[row.document_id].append(question if row.grade == 1 else question | {"relevance": row.grade})
    asked = {question["question_id"] for of_document in labels.values() for question in of_document}
    if idle := len(questions.keys() - asked):
        skipped.append(f"{idle} questions that {qrels.name} names no relevant document for")
    documents = (
        MadeDocument(
            f"{file_name(name)}.txt",
            text.encode(),
            {"questions": {"questions": labels[name]}} if name in labels else {},
        )
        for name, text in sorted(texts.items())
    )
    return DataSet(tuple(documents) if labels else (), tuple(bad), tuple(skipped))


def _read_corpus(path: Path, texts: dict[str, str], bad: list[BadRow], skipped: list[str]) -> None:
    empty = 0
    for line, record in json_lines(path, bad):
        name = next((str(record[key]) for key in _IDS if record.get(key)), "")
        body = next((record[key] for key in _BODIES if record.get(key)), "")
        title = record.get("title") or ""
        sentences = body if isinstance(body, list) else [body]
        if not name or not all(isinstance(part, str) for part in (title, *sentences)):
            bad.append(BadRow(path.name, line, "is no document with an id and a text"))
        elif name in texts:
            bad.append(BadRow(path.name, line, "has the id of another document"))
        else:
            parts = (title.strip(), " ".join(sentences).strip())
            if text := "\n\n".join(part for part in parts if part):
                texts[name] = f"{text}\n"
            else:
                empty += 1
    if empty:
        skipped.append(f"{path.name}: {empty} documents without a word")
