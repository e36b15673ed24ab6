"""Chroma's chunking evaluation (Smith and Troynikov, MIT): questions with the exact passages that answer them."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import text_lines

_AROUND = 40


def read(folder: Path) -> DataSet:
    """Texts `<id>.md` with their questions.

    A question of which a passage does not stand at its place is a bad row.
    """
    bad: list[BadRow] = []
    texts: dict[str, tuple[bytes, str]] = {}
    for path in sorted((folder / "corpora").glob("*.md")):
        data = path.read_bytes()
        try:
            texts[path.stem] = (data, data.decode())
        except UnicodeDecodeError:
            bad.append(BadRow(path.name, None, "is no UTF-8"))
    labels: dict[str, list[dict[str, Any]]] = {}
    for number, line, row in _rows(folder / "questions_df.csv", bad):
        try:
            name, question = row["corpus_id"], row["question"]
            quotes = [_quote(texts[name][1], reference) for reference in json.loads(row["references"])]
        except KeyError:
            bad.append(BadRow("questions_df.csv", line, "names no text of corpora/, or is no question with references"))
        except (ValueError, TypeError, AttributeError):
            bad.append(BadRow("questions_df.csv", line, "its references are none"))
        else:
            if not quotes or None in quotes:
                bad.append(BadRow("questions_df.csv", line, "a passage does not stand at its place"))
                continue
            labels.setdefault(name, []).append(
                {"question_id": f"{name}#{number}", "question": question, "evidence": quotes}
            )
    return DataSet(
        tuple(
            MadeDocument(f"{name}.md", texts[name][0], {"questions": {"questions": questions}})
            for name, questions in sorted(labels.items())
        ),
        tuple(bad),
    )


def _rows(path: Path, bad: list[BadRow]) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Each question with its number and the line that its row ends in."""
    if not path.is_file():
        return
    reader = csv.DictReader(io.StringIO("\n".join(line for _, line in text_lines(path, bad))))
    for number, row in enumerate(reader, 1):
        yield number, reader.line_num, row


def _quote(text: str, reference: Mapping[str, Any]) -> dict[str, str] | None:
    start, end = reference["start_index"], reference["end_index"]
    if not reference["content"] or text[start:end] != reference["content"]:
        return None
    return {
        "exact": reference["content"],
        "prefix": text[max(0, start - _AROUND) : start],
        "suffix": text[end : end + _AROUND],
    }
