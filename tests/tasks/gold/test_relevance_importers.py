"""Judgements of relevance, as BEIR and as TREC lay them out."""

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tasks.errors import ConfigurationError
from tasks.gold.gold_set import GoldLabel, read_gold_set
from tasks.gold.importers.data_set import BadRow
from tasks.gold.importers.registry import import_gold
from tasks.gold.importers.relevance import judgements
from tasks.gold.importers.summary import ImportSummary
from tasks.gold.kinds import QuestionLabel, QuestionsLabel


def answers(summary: ImportSummary) -> dict[str, dict[str, QuestionLabel]]:
    """By question: the documents that answer it."""
    found: dict[str, dict[str, QuestionLabel]] = defaultdict(dict)
    for gold in read_gold_set(summary.gold).labels:
        for question in _label(gold).questions:
            found[question.question_id][str(gold.document).split(":", 1)[1]] = question
    return found


def _label(gold: GoldLabel) -> QuestionsLabel:
    assert isinstance(gold.label, QuestionsLabel)
    return gold.label


def test_scifact_has_its_documents_questions_and_judgements(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "retrieval/scifact"
    summary = import_gold("trec-qrels", source, tmp_path)
    found = answers(summary)
    # 5,183 documents, 300 questions, 339 judgements are published.
    assert len(list(summary.corpus.iterdir())) == 5183
    assert (len(found), sum(map(len, found.values()))) == (300, 339)
    assert (summary.skipped, dict(summary.bad_rows)) == ((), {})
    (only,) = found["1"].items()
    assert (only[0], only[1].question) == ("31715818.txt", "0-dimensional biomaterials show inductive properties.")
    assert (only[1].evidence, only[1].relevance) == ((), 1)
    text = (summary.corpus / "4983.txt").read_text(encoding="utf-8")
    assert text.startswith("Microstructural development of human newborn cerebral white matter")


def test_the_same_set_as_beir_lays_it_out_gives_the_same_labels(shared_data: Path, tmp_path: Path) -> None:
    # BEIR publishes these very records; here they lie as in Anserini, so they are put into BEIR's layout first.
    source = shared_data / "retrieval/scifact"
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    with (beir / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for path in sorted(source.glob("corpus-*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                text = " ".join(record["abstract"])
                file.write(json.dumps({"_id": record["doc_id"], "title": record["title"], "text": text}) + "\n")
    topics = (source / "topics.beir-v1.0.0-scifact.test.tsv").read_text(encoding="utf-8").splitlines()
    queries = [dict(zip(("_id", "text"), line.split("\t"), strict=True)) for line in topics]
    (beir / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    rows = [line.split() for line in (source / "qrels.beir-v1.0.0-scifact.test.txt").read_text().splitlines()]
    lines = ["query-id\tcorpus-id\tscore", *("\t".join((q, d, grade)) for q, _, d, grade in rows)]
    (beir / "qrels" / "test.tsv").write_text("\n".join(lines))
    (beir / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nno\tsuch\t1\n")
    one, two = import_gold("beir", beir, tmp_path / "b"), import_gold("trec-qrels", source, tmp_path / "t")
    assert answers(one) == answers(two)
    assert one.labels == two.labels


def test_qrels_of_trec_eval_count_as_trec_eval_counts(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "retrieval/trec_eval-oracle/test"
    bad: list[BadRow] = []
    rows = list(judgements(folder / "qrels.test", bad, columns=4))
    published = dict(re.findall(r"^(num_q|num_rel)\s+all\s+(\d+)", (folder / "out.test").read_text(), re.MULTILINE))
    # trec_eval's own count: questions with a run, and relevant documents of these.
    assert bad == []
    assert len({row.question_id for row in rows}) == int(published["num_q"])
    assert sum(row.grade > 0 for row in rows) == int(published["num_rel"])
    with pytest.raises(ConfigurationError, match=r"6 files \*qrels\*: leave one in the folder"):
        import_gold("trec-qrels", folder, tmp_path / "out")


def test_grades_are_kept_and_wrong_rows_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    corpus = [{"id": "a/1", "contents": "one"}, {"id": "b", "text": "two"}, {"id": "c", "text": ""}, {"text": "no id"}]
    (data / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)) + '\n{"id": "b", "text": "again"}\n{')
    (data / "topics.tsv").write_text("1\twhich secret?\n2\twhat?\nsecret\n")
    qrels = ["1 0 a/1 2", "1 0 b 1", "2 0 b 0", "2 0 b 1", "9 0 b 1", "1 0 x 1", "1 0 b", "1 0 x secret", "1 0 y -2"]
    (data / "qrels.txt").write_text("\n".join(qrels))
    with pytest.raises(ConfigurationError) as error:
        import_gold("trec-qrels", data, tmp_path / "out")
    assert [line.split(": ")[0] for line in str(error.value).split("\n")[1:]] == [
        "topics.tsv:3",
        *(f"qrels.txt:{line}" for line in (4, 7, 8)),
        *(f"corpus.jsonl:{line}" for line in (4, 5, 6)),
        *(f"qrels.txt:{line}" for line in (5, 6)),
    ]
    assert "secret" not in str(error.value)
    summary = import_gold("trec-qrels", data, tmp_path / "out", allow_bad_rows=True)
    assert {name: q.relevance for name, q in answers(summary)["1"].items()} == {"a%2F1.txt": 2, "b.txt": 1}
    assert summary.bad_rows == {"corpus.jsonl": 3, "qrels.txt": 5, "topics.tsv": 1}
    assert summary.skipped == (
        "corpus.jsonl: 1 documents without a word",
        "1 questions that qrels.txt names no relevant document for",
    )


def test_qrels_without_heads_lose_no_row(tmp_path: Path) -> None:
    bad: list[BadRow] = []
    (tmp_path / "with.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    (tmp_path / "without.tsv").write_text("1\ta\t1\n")
    for name in ("with.tsv", "without.tsv"):
        assert [row.document_id for row in judgements(tmp_path / name, bad, columns=3)] == ["a"]
    assert bad == []
