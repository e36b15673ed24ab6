"""Chroma's chunking evaluation (Smith and Troynikov, MIT): questions with the exact passages that answer them.

The texts are copied to `corpus/<id>.md`, beside `gold/`.
"""

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

from tasks.errors import ConfigurationError
from tasks.gold.importers.summary import ImportSummary
from tasks.gold.writing import write_gold_set

SOURCE = "chroma-chunking-eval"
_AROUND = 40


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads `questions_df.csv` and `corpora/<id>.md`; writes `corpus/` and `gold/` with questions.

    A passage that does not stand at its place is left out, and a question without any passage too.

    Raises:
        ConfigurationError: the folder does not hold the data set.
    """
    texts: dict[str, tuple[bytes, str]] = {}
    labels: dict[str, list[dict[str, Any]]] = {}
    skipped: list[str] = []
    corpus = out_folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, (question, references, name) in enumerate(_questions(source_folder / "questions_df.csv"), 1):
        if name not in texts:
            texts[name] = _text(source_folder / "corpora" / f"{name}.md")
            (corpus / f"{name}.md").write_bytes(texts[name][0])
        text = texts[name][1]
        quotes = []
        for reference in references:
            start, end = reference["start_index"], reference["end_index"]
            if text[start:end] != reference["content"]:
                skipped.append(f"{name}: a passage of question {number} does not stand at its place")
                continue
            around = {"prefix": text[max(0, start - _AROUND) : start], "suffix": text[end : end + _AROUND]}
            quotes.append({"exact": reference["content"]} | around)
        if quotes:
            labels.setdefault(name, []).append(
                {"question_id": f"{name}#{number}", "question": question, "evidence": quotes}
            )
    rows = [
        {
            "document": f"{SOURCE}:{name}.md",
            "content_sha": hashlib.sha256(texts[name][0]).hexdigest(),
            "label": {"questions": questions},
        }
        for name, questions in sorted(labels.items())
    ]
    gold = out_folder / "gold"
    write_gold_set(
        gold,
        SOURCE,
        "1",
        {"questions": rows},
        description="Questions with the passages that answer them.",
        licence="MIT (questions); the texts are third parties'",
    )
    return ImportSummary(gold, corpus, SOURCE, {"questions": len(rows)}, tuple(skipped))


def _questions(path: Path) -> list[tuple[str, list[dict[str, Any]], str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [(row["question"], json.loads(row["references"]), row["corpus_id"]) for row in csv.DictReader(file)]
    except (OSError, ValueError, KeyError) as error:
        raise ConfigurationError(
            f"{path} holds no questions of the data set ({type(error).__name__})",
            remedy="name the folder with questions_df.csv and corpora/",
        ) from error
    strange = sorted({name for _, _, name in rows if not name.replace("_", "").isalnum()})
    if strange:
        raise ConfigurationError(
            f"{path} names a text {strange[0]!r}", remedy="corpus_id must be a plain name of letters, digits and _"
        )
    return rows


def _text(path: Path) -> tuple[bytes, str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}", remedy="name the folder with questions_df.csv and corpora/"
        ) from error
    return data, data.decode("utf-8")
