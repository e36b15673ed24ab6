"""Importers of data sets that hold records: what they write is bound to its bytes and says what the source says."""

import gzip
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


def labels_of(summary: ImportSummary, kind: str | None = None) -> dict[str, GoldLabel]:
    """Labels (of one kind) by path below the corpus folder, each checked against the bytes it is bound to."""
    found = {}
    for gold in read_gold_set(summary.gold).labels:
        if kind not in (None, gold.kind):
            continue
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
    ("folder", "documents", "languages"), [("lingua-testdata", 1100, 44), ("floresv1-lowres", 240, 5)]
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


def test_a_line_that_is_no_token_is_named_and_costs_its_document(tmp_path: Path) -> None:
    tokens = ["-DOCSTART- O", "Ada B-PER", "Moor", "", "-DOCSTART- O", "Lyon B-LOC", ""]
    (tmp_path / "bad.conll").write_text("\n".join(tokens))
    with pytest.raises(ConfigurationError, match=r"bad\.conll:3: is no token with a tag"):
        import_gold("conll", tmp_path, tmp_path / "out")
    summary = import_gold("conll", tmp_path, tmp_path / "out", allow_bad_rows=True)
    assert list(labels_of(summary)) == ["bad-0002.txt"]
    assert read_gold_set(summary.gold).manifest.left_out == {"bad.conll": 1}


def test_bad_rows_of_records_and_pages_are_named_without_their_words(tmp_path: Path) -> None:
    sentence = {"sents": [["Ada", "lives", "."]], "vertexSet": [[{"type": "PER", "sent_id": 0, "pos": [0, 1]}]]}
    wrong = {"sents": [["secret"]], "vertexSet": [[{"type": "PER", "sent_id": 3, "pos": [0, 1]}]], "labels": []}
    for name in ("docred", "dates/html", "articles/html", "web", "papers"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "docred/dev.json").write_text(json.dumps([sentence | {"labels": []}, wrong], indent=1))
    (tmp_path / "docred/rel_info.json").write_text('{"P17": "country"}')
    (tmp_path / "dates/html/a.html.gz").write_bytes(gzip.compress(b"<p>a"))
    (tmp_path / "dates/html/b.html.gz").write_bytes(b"secret")
    days = {"u": {"file": "a.html", "date": "2020-01-02"}, "v": {"file": "b.html", "date": "2020-01-02"}}
    days |= {"w": {"file": "c.html", "date": "secret"}}
    (tmp_path / "dates/eval_default.json").write_text(json.dumps(days, indent=1))
    (tmp_path / "articles/html/a.html.gz").write_bytes(gzip.compress(b"<p>a"))
    (tmp_path / "articles/ground-truth.json").write_text('{"a":\n {"articleBody": "x"},\n "b":\n {"secret": 1}}')
    (tmp_path / "web/w.jsonl").write_text('{"html": "<p>a", "groundtruth_content": "a"}\n{"html": "secret"}\n')
    title = "<TEI><front><docTitle><titlePart>Pumps</titlePart></docTitle></front></TEI>"
    (tmp_path / "papers/a.header.tei.xml").write_text(title)
    (tmp_path / "papers/b.header.tei.xml").write_text("<TEI>\n<front>secret</TEI>")
    line = (
        next(n for n, text in enumerate((tmp_path / "docred/dev.json").read_text().split("\n"), 1) if text == " },") + 1
    )
    for name, folder, faults in (
        ("re-docred", "docred", [f"dev.json:{line}: is no document of DocRED"]),
        ("htmldate-eval", "dates", ["eval_default.json:10: is no page with a day", "b.html.gz: cannot be unpacked"]),
        ("article-extraction-benchmark", "articles", ["ground-truth.json:3: is no page with its articleBody"]),
        ("webmainbench", "web", ["w.jsonl:2: is no page with its main content"]),
        ("grobid-header", "papers", ["b.header.tei.xml:2: is no XML"]),
    ):
        with pytest.raises(ConfigurationError) as error:
            import_gold(name, tmp_path / folder, tmp_path / "out" / name)
        assert str(error.value).split("\n")[1:] == faults
        assert "secret" not in str(error.value)
        assert not (tmp_path / "out").exists()
    for name, folder in (("re-docred", "docred"), ("htmldate-eval", "dates"), ("webmainbench", "web")):
        summary = import_gold(name, tmp_path / folder, tmp_path / name, allow_bad_rows=True)
        assert len(labels_of(summary)) == 1
