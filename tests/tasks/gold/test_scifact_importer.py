"""SciFact's claims ask the abstracts that hold their evidence."""

import hashlib
import json
from pathlib import Path

import pytest

from tasks.documents.quotes import locate
from tasks.errors import ConfigurationError
from tasks.gold.gold_set import read_gold_set
from tasks.gold.importers.registry import import_gold
from tasks.gold.kinds import QuestionsLabel


def test_every_evidence_sentence_is_a_passage_of_its_abstract(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "retrieval" / "scifact"
    summary = import_gold("scifact", source, tmp_path)
    assert summary.skipped == ()
    # SOURCE.md: 5,183 abstracts, and 1,391 evidence indices in range.
    assert len(list(summary.corpus.glob("*/*.txt"))) == 5183
    wanted: dict[tuple[str, str], set[int]] = {}
    for path in source.glob("claims_*.jsonl"):
        for claim in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            for evidence in claim["evidence"]:
                wanted.setdefault((evidence["doc_id"], f"claim-{claim['id']}"), set()).update(evidence["sentences"])
    assert sum(map(len, wanted.values())) == 1391
    found: dict[tuple[str, str], int] = {}
    for gold in read_gold_set(summary.gold).labels:
        assert isinstance(gold.label, QuestionsLabel)
        path = summary.corpus / (gold.document or "").removeprefix("scifact:")
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == gold.content_sha
        for question in gold.label.questions:
            found[path.stem, question.question_id] = len(question.evidence)
            assert all(locate(data.decode(), quote) for quote in question.evidence)
    assert found == {place: len(sentences) for place, sentences in wanted.items()}
    assert len(found) == 773


def test_evidence_that_is_not_there_is_named_and_left_out(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    abstract = {"doc_id": "7", "title": "On *2*2", "abstract": ["One is\nsmall. ", "Two is less."], "structured": False}
    claims = [
        {"id": "1", "claim": "One?", "evidence": [{"doc_id": "7", "label": "SUPPORT", "sentences": [0, 2]}]},
        {"id": "2", "claim": "Two?", "evidence": [{"doc_id": "8", "label": "SUPPORT", "sentences": [0]}]},
        {"id": "3", "claim": "None?", "evidence": []},
    ]
    (source / "corpus-00.jsonl").write_text(json.dumps(abstract) + "\n", encoding="utf-8")
    (source / "claims_train.jsonl").write_text("\n".join(map(json.dumps, claims)), encoding="utf-8")
    summary = import_gold("scifact", source, tmp_path / "out")
    assert summary.skipped == ("claim 1: abstract 7 has no sentence 2", "abstract 8: not in the corpus")
    text = (summary.corpus / "evidence" / "7.txt").read_text(encoding="utf-8")
    assert text == "On *2*2\n\nOne is small. Two is less.\n"
    (gold,) = read_gold_set(summary.gold).labels
    assert isinstance(gold.label, QuestionsLabel)
    (question,) = gold.label.questions
    assert [(q.exact, q.prefix, q.suffix) for q in question.evidence] == [("One is small.", "", " Two is less.")]


def test_a_folder_without_the_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds nothing of format scifact"):
        import_gold("scifact", tmp_path, tmp_path / "out")
    (tmp_path / "claims_train.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"claims_train\.jsonl:1"):
        import_gold("scifact", tmp_path, tmp_path / "out")
