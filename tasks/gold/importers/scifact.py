"""SciFact (Wadden and others, EMNLP 2020): scientific claims with the sentences of abstracts that speak for or against
them. A claim is a question to each abstract that holds evidence, and the sentences are its passages.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import json_lines

_AROUND = 40

_Asked = dict[str, dict[str, tuple[str, set[int]]]]
"""Claims with the sentences that are their evidence, by abstract and claim."""


def read(folder: Path) -> DataSet:
    """An abstract per file: `evidence/<id>.txt` where a claim asks it, else `other/<id>.txt`.

    Several sets of sentences for one claim in one abstract are one list of passages. Claims without evidence ask
    nothing and are left out. A sentence that an abstract has not, and an abstract that is not there, are skipped.
    """
    bad: list[BadRow] = []
    asked: _Asked = {}
    for path in sorted(folder.glob("claims_*.jsonl")):
        for line, claim in json_lines(path, bad):
            try:
                _add(asked, claim)
            except (KeyError, TypeError, ValueError, AttributeError):
                bad.append(BadRow(path.name, line, "is no claim with its evidence"))
    documents: list[MadeDocument] = []
    skipped: list[str] = []
    # Without claims there is nothing to ask of the abstracts.
    for path in sorted(folder.glob("corpus-*.jsonl")) if asked or bad else ():
        for line, record in json_lines(path, bad):
            try:
                documents.append(_document(record, asked, skipped))
            except (KeyError, TypeError, ValueError, AttributeError):
                bad.append(BadRow(path.name, line, "is no abstract with a number, a title and sentences"))
    skipped += [f"abstract {doc_id}: not in the corpus" for doc_id in sorted(asked)]
    return DataSet(tuple(documents), tuple(bad), tuple(skipped))


def _add(asked: _Asked, claim: Mapping[str, Any]) -> None:
    found = [(str(int(part["doc_id"])), {int(n) for n in part["sentences"]}) for part in claim["evidence"]]
    for doc_id, sentences in found:
        questions = asked.setdefault(doc_id, {})
        questions.setdefault(str(int(claim["id"])), (str(claim["claim"]), set()))[1].update(sentences)


def _document(record: Mapping[str, Any], asked: _Asked, skipped: list[str]) -> MadeDocument:
    doc_id = str(int(record["doc_id"]))
    title = " ".join(record["title"].split())
    sentences = [" ".join(sentence.split()) for sentence in record["abstract"]]
    starts, position = [], 0
    for sentence in sentences:
        starts.append(position)
        position += len(sentence) + 1
    text = " ".join(sentences)
    labels = []
    for claim_id, (claim, numbers) in sorted(asked.pop(doc_id, {}).items()):
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
    data = f"{title}\n\n{text}\n".encode()
    folder = "evidence" if labels else "other"
    return MadeDocument(f"{folder}/{doc_id}.txt", data, {"questions": {"questions": labels}} if labels else {})
