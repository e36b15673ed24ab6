"""Importers of data sets that hold records: what they write is bound to its bytes and says what the source says."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from tasks.errors import ConfigurationError
from tasks.gold.gold_set import GoldLabel, read_gold_set
from tasks.gold.importers.registry import import_gold
from tasks.gold.importers.summary import ImportSummary
from tasks.gold.kinds import ContentLabel, EntitiesLabel, LanguageLabel, MetadataLabel


def labels_of(summary: ImportSummary) -> dict[str, GoldLabel]:
    """Labels by path below the corpus folder, each checked against the bytes it is bound to."""
    found = {}
    for gold in read_gold_set(summary.gold).labels:
        path = (gold.document or "").removeprefix(f"{summary.source}:")
        assert hashlib.sha256((summary.corpus / path).read_bytes()).hexdigest() == gold.content_sha
        found[path] = gold
    assert len(found) == len(list(summary.corpus.rglob("*.*")))
    return found


def test_wikigold_is_read_token_by_token(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "pii/wikigold"
    summary = import_gold("conll", source, tmp_path)
    labels = labels_of(summary)
    assert summary.labels == {"entities": 145}
    first = labels["wikigold-0001.txt"].label
    assert isinstance(first, EntitiesLabel)
    mentions = [(e.mentions[0].type, e.mentions[0].quote.exact) for e in first.entities]
    assert mentions[:3] == [("MISC", "010"), ("MISC", "Japanese"), ("ORG", "The Mad Capsule Markets")]
    # As many entities of each type as runs of one tag in the file.
    lines = [line.split() for line in (source / "CONLL-format/data/wikigold.conll.txt").read_text().splitlines()]
    tags = [line[1] if line else "" for line in lines]
    runs = Counter(tag[2:] for before, tag in zip(["", *tags], tags, strict=False) if tag[1:2] == "-" and tag != before)
    label_types = Counter(
        m.type for gold in labels.values() if isinstance(gold.label, EntitiesLabel)
        for e in gold.label.entities for m in e.mentions
    )  # fmt: skip
    assert label_types == runs


def test_re_docred_keeps_mentions_and_relations(shared_data: Path, tmp_path: Path) -> None:
    labels = labels_of(import_gold("re-docred", shared_data / "metadata/re-docred", tmp_path))
    records = json.loads((shared_data / "metadata/re-docred/data/dev_revised.json").read_text())
    assert len(labels) == len(records) == 500
    label = labels["dev_revised-0000.txt"].label
    assert isinstance(label, EntitiesLabel)
    assert [len(e.mentions) for e in label.entities] == [len(mentions) for mentions in records[0]["vertexSet"]]
    assert (label.entities[1].mentions[0].type, label.entities[1].mentions[0].quote.exact) == ("TIME", "13 March 1963")
    assert "born_on" in {relation.type for relation in label.relations or ()}


@pytest.mark.parametrize(
    ("folder", "documents", "languages"), [("lingua-testdata", 1101, 44), ("floresv1-lowres", 240, 5)]
)
def test_sentences_by_language(shared_data: Path, tmp_path: Path, folder: str, documents: int, languages: int) -> None:
    labels = labels_of(import_gold("languages", shared_data / "langid" / folder, tmp_path))
    codes = {gold.label.language for gold in labels.values() if isinstance(gold.label, LanguageLabel)}
    assert (len(labels), len(codes)) == (documents, languages)


def test_dates_titles_and_main_content(shared_data: Path, tmp_path: Path) -> None:
    # Two of the 111 labels speak of one file.
    dates = labels_of(import_gold("htmldate-eval", shared_data / "metadata/htmldate-eval", tmp_path / "a"))
    label = dates["viertausendhertz.de.ddg48.html"].label
    assert isinstance(label, MetadataLabel)
    assert (len(dates), label.published) == (110, "2019-12-16")
    heads = labels_of(import_gold("grobid-header", shared_data / "metadata/grobid-header/header_tei", tmp_path / "b"))
    label = heads["C12-1005.txt"].label
    assert isinstance(label, MetadataLabel)
    assert (len(heads), label.title) == (60, "Experiments with Term Translation")
    assert len(label.authors or ()) == 3
    pages = labels_of(import_gold("webmainbench", shared_data / "boilerplate/webmainbench/data", tmp_path / "c"))
    assert len(pages) == 8
    assert all(isinstance(gold.label, ContentLabel) for gold in pages.values())


@pytest.mark.parametrize("name", ["conll", "re-docred", "languages", "htmldate-eval", "grobid-header", "webmainbench"])
def test_a_folder_without_the_set_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "README.md").write_text("nothing")
    with pytest.raises(ConfigurationError):
        import_gold(name, tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_line_that_is_no_token_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.conll").write_text("Ada B-PER\nMoor\n")
    with pytest.raises(ConfigurationError, match=r"bad.conll, line 2"):
        import_gold("conll", tmp_path, tmp_path / "out")
