"""What a chunk may and may not cut."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tasks.chunk.settings import ChunkSettings
from tasks.chunk.stage import chunk_document
from tasks.chunk.tables import marked_header_rows
from tasks.embedding.wordllama_files import count_tokens
from tasks.errors import DocumentError

Chunked = Callable[..., dict[str, Any]]
SENTENCE = "The pump by the weir was oiled, and the float hung two hands above the grating."


def _markdown_table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return "\n".join("\t".join(row) for i, row in enumerate(rows) if i != 1)


def test_a_long_table_is_cut_between_rows_and_each_part_has_the_headings(chunked: Chunked, cases: Path) -> None:
    folder = cases / "31-long-table-keeps-heading"
    expect = json.loads((folder / "case.json").read_text())["expect"]
    title, intro, table, end = (folder / "meter-round.md").read_text().strip().split("\n\n")
    elements = [("heading", title[2:], 1), ("paragraph", intro), ("table", _markdown_table(table.splitlines()))]
    texts = [c["text"] for c in chunked([*elements, ("paragraph", end)])["chunks"]]
    assert len(texts) > 2
    for rule in expect["chunk_requires"]:
        holding = [text for text in texts if rule["if_contains"].strip() in text]
        assert holding
        assert all(part in text for text in holding for part in rule["must_contain"])
    for value in [*expect["chunks_must_not_split"], *expect["text_contains"]]:
        assert any(value in text for text in texts)


def test_a_row_over_the_budget_is_cut_at_cell_borders_under_its_heading(chunked: Chunked) -> None:
    cells = [f"cell {i} holds quite a few words on the state of the meter" for i in range(20)]
    made = chunked([("table", "Post\tState\n" + "\t".join(cells))], max_tokens=96, min_tokens=10)["chunks"]
    assert len(made) > 1
    assert all(chunk["text"].startswith("Post\tState\n") and chunk["tokens"] <= 96 for chunk in made)
    assert all(sum(cell in chunk["text"] for chunk in made) == 1 for cell in cells)


def test_leading_rows_of_header_cells_are_counted() -> None:
    html = "<table><thead><tr><th>a</th></tr><tr><th>b</th></tr></thead><tr><td>1</td></tr></table>"
    assert marked_header_rows(html) == 2


def test_a_list_item_that_fits_a_chunk_is_never_cut(chunked: Chunked) -> None:
    items = [f"Item {i}. {SENTENCE} {SENTENCE}" for i in range(12)]
    texts = [
        c["text"] for c in chunked([("list_item", item, 1) for item in items], max_tokens=100, min_tokens=40)["chunks"]
    ]
    assert len(texts) > 3
    assert all(sum(item in text for text in texts) == 1 for item in items)


def test_code_is_cut_at_line_ends(chunked: Chunked) -> None:
    lines = [f"total_{i} = compute(first[{i}], second[{i}])  # row {i}" for i in range(60)]
    made = chunked([("code", "\n".join(lines))])["chunks"]
    assert len(made) > 1
    assert [line for chunk in made for line in chunk["text"].split("\n")] == lines


def test_a_long_sentence_is_cut_at_spaces_and_its_end_is_kept(chunked: Chunked, cases: Path) -> None:
    text = (cases / "35-long-text-end-is-embedded" / "mill-tour.txt").read_text().strip()
    made = chunked([("paragraph", text)])["chunks"]
    assert " ".join(chunk["text"] for chunk in made) == text
    assert made[-1]["text"].endswith("the number 1683.")


def test_a_paragraph_is_cut_at_sentence_ends(chunked: Chunked) -> None:
    made = chunked([("paragraph", " ".join([SENTENCE] * 60))])["chunks"]
    assert len(made) > 1
    assert all(chunk["text"].startswith("The pump") and chunk["text"].endswith("grating.") for chunk in made)


def test_a_heading_stays_with_the_text_below_it(chunked: Chunked) -> None:
    elements = [("heading", "Weir", 1), ("paragraph", " ".join([SENTENCE] * 18)), ("heading", "Oil", 1)]
    made = chunked([*elements, ("paragraph", SENTENCE)], max_tokens=384)["chunks"]
    assert made[0]["text"].startswith("Weir\n\nThe pump")
    assert made[-1]["text"] == f"Oil\n\n{SENTENCE}"


def test_sections_stay_apart_but_a_bare_heading_goes_with_what_lies_under_it(chunked: Chunked) -> None:
    elements = [("heading", "Report", 1), ("heading", "Weir", 2), ("paragraph", "Dry."), ("heading", "Mill", 2)]
    made = chunked([*elements, ("paragraph", "Shut.")])["chunks"]
    assert [chunk["text"] for chunk in made] == ["Report\n\nWeir\n\nDry.", "Mill\n\nShut."]
    assert [chunk["section_path"] for chunk in made] == [["Report", "Weir"], ["Report", "Mill"]]
    assert [chunk["chunk_id"] for chunk in made] == ["doc/report/weir/1", "doc/report/mill/1"]


def test_equal_headings_are_numbered_and_ids_hold_no_pii(chunked: Chunked) -> None:
    elements = [
        ("heading", "Notes of Ada Moor", 1),
        ("paragraph", "One."),
        ("heading", "Notes", 1),
        ("paragraph", "Two."),
    ]
    made = chunked([*elements, ("heading", "Notes", 1), ("paragraph", "Three.")], ["Ada Moor"])["chunks"]
    assert [chunk["chunk_id"] for chunk in made] == ["doc/notes-of-pii/1", "doc/notes/1", "doc/notes-2/1"]
    assert made[0]["section_path"] == ["Notes of [PII]"]


def test_a_heading_dropped_before_redaction_is_not_in_the_path(chunked: Chunked) -> None:
    made = chunked([("heading", "Ada Moor", 1), ("paragraph", "One.")], dropped=[0])["chunks"]
    assert [(chunk["section_path"], chunk["chunk_id"]) for chunk in made] == [([], "doc/1")]


def test_white_space_only_is_a_failure_with_a_name() -> None:
    empty = {"text": " \n\n ", "elements": [], "spans": []}
    with pytest.raises(DocumentError) as raised:
        chunk_document("doc", {"elements": []}, empty, empty, ChunkSettings())
    assert raised.value.error_class == "no_content"


def test_overlap_repeats_the_end_of_the_chunk_before(chunked: Chunked) -> None:
    sentences = " ".join(f"Sentence {i} tells of the mill and of its wheel." for i in range(60))
    made = chunked([("paragraph", sentences)], max_tokens=128, min_tokens=20, overlap_tokens=30)["chunks"]
    assert all(chunk["tokens"] <= 128 for chunk in made)
    for before, this in pairwise(made):
        shared = sentences[this["start"] : before["end"]]
        assert shared.startswith("Sentence")
        assert 0 < count_tokens([shared])[0] <= 31


words = st.text(st.sampled_from("abcXYZ019,.;é語\u0301🙂-"), min_size=1, max_size=12)
paragraphs = st.lists(words, min_size=1, max_size=120).map(" ".join)
tables = st.lists(st.lists(words, min_size=2, max_size=4).map("\t".join), min_size=1, max_size=40).map("\n".join)
elements_strategy = st.lists(
    st.one_of(
        st.tuples(st.just("heading"), words, st.integers(1, 3)),
        st.tuples(st.sampled_from(["paragraph", "list_item", "code"]), paragraphs),
        st.tuples(st.just("table"), tables),
        st.tuples(st.just("paragraph"), st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=400)),
    ),
    min_size=1,
    max_size=12,
)


@hypothesis_settings(max_examples=60)
@given(elements=elements_strategy, data=st.data())
def test_any_document_is_covered_within_the_budget_and_pii_stays_whole(
    chunked: Chunked, elements: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    joined = "\n\n".join(element[1] for element in elements)
    found = [m.group() for m in re.finditer(r"\S+ \S+", joined)]
    secrets = data.draw(st.lists(st.sampled_from(found), max_size=1)) if found else []
    made = chunked(elements, secrets, max_tokens=40, min_tokens=8)
    covered = sorted((part["start"], part["end"]) for part in made["chunks"] + made["dropped"])
    assert covered[0][0] == 0
    assert covered[-1][1] == len(joined)
    assert all(before[1] == this[0] for before, this in pairwise(covered))
    assert all(joined[part["start"] : part["end"]].isspace() for part in made["dropped"])
    assert [chunk["tokens"] for chunk in made["chunks"]] == count_tokens([chunk["text"] for chunk in made["chunks"]])
    assert all(chunk["tokens"] <= 40 for chunk in made["chunks"])
    assert len({chunk["chunk_id"] for chunk in made["chunks"]}) == len(made["chunks"])
    for secret in secrets:
        start = joined.index(secret)
        for chunk in made["chunks"]:
            assert not start < chunk["start"] < start + len(secret)
            assert not start < chunk["end"] < start + len(secret)
