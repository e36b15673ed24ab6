"""A search finds what its filter lets through and nothing else, whatever signs stand in the values."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tasks.embedding.wordllama_model import WordLlama
from tasks.errors import ConfigurationError, RunError
from tasks.index.search import LanceView, predicate
from tasks.index.store import LanceIndex
from tasks.stage import SearchFilter

from .conftest import Corpus

SAID: dict[str, dict[str, Any]] = {
    "a": {"doc_class": "policy", "language": "en", "published": date(2024, 5, 1), "uri": "policies/a_1.pdf"},
    "b": {"doc_class": "policy", "language": "de", "published": date(2025, 1, 1), "uri": "policies/ax1.pdf"},
    "c": {"doc_class": "o'brien's", "language": "fr", "published": None, "uri": "pol%/it's.pdf"},
    "d": {"doc_class": None, "language": "und", "uri": "100%/d.pdf", "groups": ["staff", "it's"]},
    "e": {"doc_class": "x", "language": "en", "uri": "e.pdf", "groups": ["board"]},
}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> LanceView:
    corpus = Corpus(tmp_path_factory.mktemp("filters"))
    texts = {name: ["the same words"] for name in SAID}
    return corpus.index.open(corpus.build("r1", texts, said=SAID).generation)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (SearchFilter(), "abcde"),
        (SearchFilter(doc_classes=("policy",)), "ab"),
        (SearchFilter(doc_classes=("o'brien's", "x")), "ce"),
        (SearchFilter(languages=("en", "fr")), "ace"),
        (SearchFilter(published_from=date(2024, 5, 1)), "ab"),
        (SearchFilter(published_to=date(2024, 5, 1)), "a"),
        (SearchFilter(published_from=date(2024, 5, 2), published_to=date(2025, 1, 1)), "b"),
        (SearchFilter(uri_prefix="policies/a_"), "a"),
        (SearchFilter(uri_prefix="pol%/it's"), "c"),
        (SearchFilter(uri_prefix="%"), ""),
        (SearchFilter(uri_prefix="' OR '1'='1"), ""),
        (SearchFilter(document_ids=("b", "d")), "bd"),
        (SearchFilter(document_ids=("b", "') OR ('1'='1"), groups=()), "b"),
        (SearchFilter(groups=()), "abc"),
        (SearchFilter(groups=("it's",)), "abcd"),
        (SearchFilter(groups=("board", "staff")), "abcde"),
        (SearchFilter(groups=("') OR ('1'='1",)), "abc"),
        (SearchFilter(tenant="default", groups=("board",), doc_classes=("x",)), "e"),
        (SearchFilter(tenant="other"), ""),
    ],
    ids=repr,
)
def test_only_what_the_filter_lets_through_is_found(view: LanceView, where: SearchFilter, expected: str) -> None:
    wanted = [f"{name}/text/0" for name in expected]
    assert sorted(hit for hit, _ in view.search_text("same words", 50, where=where)) == wanted
    for exact in (True, False):
        assert sorted(hit for hit, _ in view.search_vector([1.0] * 8, 50, exact=exact, where=where)) == wanted


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), st.booleans())
@hypothesis_settings(max_examples=30)
def test_no_value_widens_a_filter(value: str, as_group: bool) -> None:
    where = SearchFilter(groups=(value,)) if as_group else SearchFilter(tenant=value)
    text = predicate(where)
    assert text is not None
    assert text.count("'") == 2 + 2 * value.count("'")


def test_late_interaction_ranks_by_the_best_token_of_each_word(tmp_path: Path) -> None:
    model = WordLlama()
    texts = {
        "pump": "the pump was oiled",
        "heron": "a heron at the weir",
        "both": "a heron sat on the pump",
        "bare": "pump",
    }
    corpus = Corpus(tmp_path)
    said = {
        name: {"token_vectors": None if name == "bare" else model.token_states(text).vectors.ravel().tolist()}
        for name, text in texts.items()
    }
    generation = corpus.build("r1", {name: [text] for name, text in texts.items()}, said=said).generation
    view = corpus.index.open(generation)
    query = model.token_states("heron pump").vectors
    found = view.search_tokens(query.tolist(), 10)
    by_hand = {
        f"{name}/text/0": float((query @ model.token_states(texts[name]).vectors.T).max(axis=1).mean())
        for name in ("pump", "heron", "both")
    }
    assert dict(found) == pytest.approx(by_hand, abs=1e-5)
    assert [hit for hit, _ in found] == sorted(by_hand, key=lambda name: -by_hand[name])
    assert found[0][0] == "both/text/0"
    assert [hit for hit, _ in view.search_tokens(query.tolist(), 1)] == ["both/text/0"]
    assert view.search_tokens(query.tolist(), 5, where=SearchFilter(tenant="other")) == []
    assert view.search_tokens([], 5) == []


@pytest.mark.parametrize("where", [SearchFilter(), SearchFilter(groups=()), SearchFilter(tenant="other")], ids=repr)
def test_a_generation_without_token_vectors_says_so_whatever_the_filter(view: LanceView, where: SearchFilter) -> None:
    with pytest.raises(ConfigurationError, match="holds no token vectors"):
        view.search_tokens([[1.0] * 8], 5, where=where)


def test_a_filter_that_leaves_only_rows_without_token_vectors_finds_nothing(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    said = {"with": {"token_vectors": [1.0] * 8}, "without": {"language": "de"}}
    view = corpus.index.open(corpus.build("r1", {"with": ["a word"], "without": ["ein Wort"]}, said=said).generation)
    assert view.search_tokens([[1.0] * 8], 5, where=SearchFilter(languages=("de",))) == []
    assert [hit for hit, _ in view.search_tokens([[1.0] * 8], 5)] == ["with/text/0"]


def test_a_generation_of_an_older_format_says_what_it_lacks(tmp_path: Path) -> None:
    import lance

    from schemas.stages import INDEX_ROWS
    from tasks.index.settings import IndexSettings

    old = pa.schema([field for field in INDEX_ROWS if field.name not in ("doc_class", "context", "token_vectors")])
    dataset = lance.write_dataset(old.empty_table(), tmp_path / "chunks-v1-r.lance", schema=old)
    older = LanceView(dataset, IndexSettings(), "hashing@1")
    with pytest.raises(RunError, match="before it had the column doc_class"):
        older.search_text("x", 1, where=SearchFilter(doc_classes=("policy",)))
    assert LanceIndex(tmp_path, IndexSettings()).live() is None
