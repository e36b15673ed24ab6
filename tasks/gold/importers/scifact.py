"""SciFact (Wadden and others, EMNLP 2020): scientific claims with the sentences of abstracts that speak for or against
them. A claim is a question to each abstract that holds evidence, and the sentences are its passages.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.errors import ConfigurationError
from tasks.gold.importers.made_corpus import MadeDocument, write_corpus
from tasks.gold.importers.summary import ImportSummary

SOURCE = "scifact"
_AROUND = 40
_REMEDY = "name the folder with corpus-*.jsonl and claims_*.jsonl"


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads `corpus-*.jsonl` and `claims_*.jsonl`; writes an abstract per file and `gold/` with questions.

    Abstracts with evidence go to `corpus/evidence/`, all others to `corpus/other/`. Several sets of sentences for one
    claim in one abstract are one list of passages. Claims without evidence ask nothing and are left out.

    Raises:
        ConfigurationError: the folder does not hold the data set.
    """
    claims = [claim for path in _files(source_folder, "claims_*.jsonl") for claim in _records(path)]
    asked: dict[str, dict[str, tuple[str, set[int]]]] = {}
    for claim in claims:
        for evidence in claim["evidence"]:
            questions = asked.setdefault(evidence["doc_id"], {})
            questions.setdefault(claim["id"], (claim["claim"], set()))[1].update(evidence["sentences"])
    skipped: list[str] = []

    def documents() -> Iterator[MadeDocument]:
        for path in _files(source_folder, "corpus-*.jsonl"):
            for record in _records(path):
                yield _document(record, asked.pop(record["doc_id"], {}), skipped)
        skipped.extend(f"abstract {doc_id}: not in the corpus" for doc_id in sorted(asked))

    return write_corpus(
        out_folder,
        SOURCE,
        documents(),
        description="Claims with the sentences of abstracts that support or contradict them.",
        licence="CC-BY-4.0 (claims), ODC-By-1.0 (abstracts)",
        skipped=skipped,
    )


def _document(record: dict[str, Any], questions: dict[str, tuple[str, set[int]]], skipped: list[str]) -> MadeDocument:
    doc_id = str(record["doc_id"])
    if not doc_id.isdecimal():
        raise ConfigurationError(f"the corpus names an abstract {doc_id[:40]!r}", remedy="doc_id must be a number")
    sentences = [" ".join(sentence.split()) for sentence in record["abstract"]]
    starts, position = [], 0
    for sentence in sentences:
        starts.append(position)
        position += len(sentence) + 1
    text = " ".join(sentences)
    labels = []
    for claim_id, (claim, numbers) in sorted(questions.items()):
        quotes = []
        for n in sorted(numbers):
            if n >= len(sentences) or not sentences[n]:
                skipped.append(f"claim {claim_id}: abstract {doc_id} has no sentence {n}")
                continue
            start, end = starts[n], starts[n] + len(sentences[n])
            around = {"prefix": text[max(0, start - _AROUND) : start], "suffix": text[end : end + _AROUND]}
            quotes.append({"exact": sentences[n]} | around)
        if quotes:
            labels.append({"question_id": f"claim-{claim_id}", "question": claim, "evidence": quotes})
    # Plain text: asterisks of alleles and the like are no markup.
    data = f"{' '.join(record['title'].split())}\n\n{text}\n".encode()
    folder = "evidence" if labels else "other"
    return MadeDocument(f"{folder}/{doc_id}.txt", data, {"questions": {"questions": labels}} if labels else {})


def _files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    if not found:
        raise ConfigurationError(f"{folder} holds no {pattern}", remedy=_REMEDY)
    return found


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path} holds no records of the data set ({type(error).__name__})", remedy=_REMEDY
        ) from error
