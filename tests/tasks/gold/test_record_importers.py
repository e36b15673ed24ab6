"""Importers of images of tables, personal data and near duplicates, on the real data and on rows gone wrong."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from tasks.errors import ConfigurationError
from tasks.gold.gold_set import read_gold_set
from tasks.gold.importers.registry import import_gold
from tasks.gold.kinds import PairsLabel, PiiLabel, TablesLabel, TextLabel
from tasks.metrics.table_cells import table_cells
from tests.tasks.gold.test_text_importers import labels_of


def test_pubtabnet_tables_have_the_published_cells(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "tables/pubtabnet-examples"
    summary = import_gold("pubtabnet", source, tmp_path)
    labels = labels_of(summary, "tables")
    assert (len(labels), summary.skipped, dict(summary.bad_rows)) == (20, (), {})
    html = {}
    for name, gold in labels.items():
        assert isinstance(gold.label, TablesLabel)
        (table,) = gold.label.tables
        assert table.page == 1
        html[name] = table.html
    # 1,380 cells are published.
    assert sum(len(table_cells(table)) for table in html.values()) == 1380
    # By hand, off the image: a head of four columns, and a label that is set in.
    cells = {(cell.row, cell.column): cell.text.strip() for cell in table_cells(html["PMC4840965_004_00.png"])}
    assert [cells[0, i] for i in range(4)] == ["Variable", "Hazard ratio", "95 % CI", "p value*"]
    assert (cells[2, 0], cells[3, 1], cells[3, 2]) == ("≤69", "0.839", "0.310–2.268")
    reference = labels_of(summary, "text")["PMC4840965_004_00.png"].label
    assert isinstance(reference, TextLabel)
    assert reference.text.startswith("Variable Hazard ratio 95 % CI p value*\nAge (median) 0.716\n≤69 1.000\n")
    # Against another reader of HTML: the text of the n-th cell is that of its tokens.
    for line in (source / "PubTabNet_Examples.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        wanted = ["".join(t for t in cell["tokens"] if len(t) == 1) for cell in record["html"]["cells"]]
        read = BeautifulSoup(html[record["filename"]], "lxml").find_all(["td", "th"])
        assert [cell.get_text() for cell in read] == wanted


def test_rows_of_pubtabnet_that_are_no_table_are_refused(tmp_path: Path) -> None:
    def row(name: str, cells: int = 1, split: str = "val") -> str:
        structure = {"tokens": ["<tr>", "<td>", "</td>", "</tr>"]}
        return json.dumps(
            {"filename": name, "split": split, "html": {"structure": structure, "cells": [{"tokens": ["x"]}] * cells}}
        )

    data = tmp_path / "data"
    (data / "val").mkdir(parents=True)
    (data / "val" / "a.png").write_bytes(b"a")
    (data / "b.png").write_bytes(b"b")
    (tmp_path / "c.png").write_bytes(b"c")
    rows = [row("a.png"), row("b.png"), row("d.png"), row("a.png"), row("a.png", cells=2), row("../c.png")]
    rows += [row("c.png", split="..")]
    (data / "t.jsonl").write_text("\n".join(rows))
    with pytest.raises(ConfigurationError) as error:
        import_gold("pubtabnet", data, tmp_path / "out")
    assert str(error.value).split("\n")[1:] == [
        "t.jsonl:4: labels an image a second time",
        "t.jsonl:5: is no image with as many cells as its table has",
        "t.jsonl:6: is no image with as many cells as its table has",
    ]
    summary = import_gold("pubtabnet", data, tmp_path / "out", allow_bad_rows=True)
    assert sorted(labels_of(summary, "tables")) == ["b.png", "val/a.png"]
    assert summary.skipped == ("t.jsonl:3: its image is missing", "t.jsonl:7: its image is missing")


def test_presidio_samples_keep_every_span_at_its_place(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "pii/presidio-research"
    summary = import_gold("presidio-research", source, tmp_path)
    labels = labels_of(summary)
    samples = json.loads((source / "synth_dataset_v2.json").read_text(encoding="utf-8"))
    # 1,500 texts with 2,863 spans are published, 108 of them stand there twice.
    assert (len(samples), sum(len(sample["spans"]) for sample in samples)) == (1500, 2863)
    assert len(labels) == len({sample["full_text"] for sample in samples}) == 1392
    assert summary.skipped == ("synth_dataset_v2.json: 108 texts that stand there already, with the same labels",)
    counts: Counter[str] = Counter()
    for name, gold in labels.items():
        assert isinstance(gold.label, PiiLabel)
        sample = samples[int(name.removesuffix(".txt").rsplit("-", 1)[1])]
        wanted = sorted((s["start_position"], s["entity_type"], s["entity_value"]) for s in sample["spans"])
        text = (summary.corpus / name).read_bytes().decode()
        found = []
        for span in gold.label.spans:
            around = span.quote.prefix + span.quote.exact + span.quote.suffix
            assert around in text
            found.append((span.type, span.quote.exact))
            counts[span.type] += 1
        assert found == [(kind, value) for _, kind, value in wanted]
    assert (len(counts), counts["PERSON"], counts["IBAN_CODE"]) == (17, 854, 21)


def test_samples_whose_spans_are_wrong_are_refused_without_their_words(tmp_path: Path) -> None:
    def sample(text: str, *spans: tuple[int, int, str]) -> dict[str, Any]:
        named = [
            {"entity_type": "PERSON", "entity_value": value, "start_position": start, "end_position": end}
            for start, end, value in spans
        ]
        return {"full_text": text, "spans": named}

    samples = [
        sample("Ada Secret called", (0, 10, "Ada Secret")),
        sample("Ada Secret called", (0, 3, "Ada")),
        sample("I am Jon Secret", (0, 10, "Jon Secret")),
        {"full_text": "Secret"},
        sample("Nobody called"),
    ]
    (tmp_path / "data").mkdir()
    # A line per sample, from the second line on.
    (tmp_path / "data/s.json").write_text("[\n" + ",\n".join(map(json.dumps, samples)) + "\n]")
    with pytest.raises(ConfigurationError) as error:
        import_gold("presidio-research", tmp_path / "data", tmp_path / "out")
    assert [line.split(": ")[0] for line in str(error.value).split("\n")[1:]] == ["s.json:3", "s.json:4", "s.json:5"]
    assert "Secret" not in str(error.value)
    summary = import_gold("presidio-research", tmp_path / "data", tmp_path / "out", allow_bad_rows=True)
    assert sorted(labels_of(summary)) == ["s-00000.txt", "s-00004.txt"]
    assert read_gold_set(summary.gold).manifest.left_out == {"s.json": 3}


def test_near_duplicates_are_all_named(shared_data: Path, tmp_path: Path) -> None:
    summary = import_gold("near-duplicates", shared_data / "dedup/mccormick-articles", tmp_path)
    labels = labels_of(summary)
    # The sets of 100, 1,000 and 2,500 articles are nested; the largest has 20 pairs.
    assert (len(labels), dict(summary.bad_rows)) == (2500, {})
    assert summary.skipped == ("articles_10000.truth: its .train is missing",)
    pairs = {}
    for name, gold in labels.items():
        assert isinstance(gold.label, PairsLabel)
        assert gold.label.complete
        pairs |= {(name, pair.other.split(":")[1]): pair.duplicate for pair in gold.label.pairs}
    assert len(pairs) == 20
    assert pairs["t2023.txt", "t980.txt"] is True


def test_articles_and_pairs_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.train").write_text("t1 one text\nt2 another\nt3\nt1 a third\n../t4 a fourth\n")
    (tmp_path / "a.truth").write_text("t1 t2\nt1 t9\nt1 t1\nt1 t2 t9\n")
    with pytest.raises(ConfigurationError) as error:
        import_gold("near-duplicates", tmp_path, tmp_path / "out")
    places = [line.split(": ")[0] for line in str(error.value).split("\n")[1:]]
    assert places == ["a.train:3", "a.train:4", "a.truth:2", "a.truth:3", "a.truth:4"]
    summary = import_gold("near-duplicates", tmp_path, tmp_path / "out", allow_bad_rows=True)
    assert sorted(labels_of(summary)) == ["%2E.%2Ft4.txt", "t1.txt", "t2.txt"]
