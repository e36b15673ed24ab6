"""Long texts are read in pieces that lose nothing; what is loaded is lent to one at a time and kept."""

import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.language_models.pieces import pieces
from tasks.language_models.pool import Pool, let_idle_go


@given(st.text(alphabet="ab \n"), st.integers(1, 9))
def test_pieces_are_the_text_and_none_is_too_long(text: str, longest: int) -> None:
    found = list(pieces(text, longest))
    assert "".join(piece for _, piece in found) == text
    assert all(text[offset : offset + len(piece)] == piece and len(piece) <= longest for offset, piece in found)


def test_a_text_is_cut_at_a_line_else_at_a_space_else_anywhere() -> None:
    assert [piece for _, piece in pieces("a b\nc d", 6)] == ["a b", "\nc d"]
    assert [piece for _, piece in pieces("aa bb", 4)] == ["aa", " bb"]
    assert [piece for _, piece in pieces("aaaaa", 4)] == ["aaaa", "a"]
    assert list(pieces("")) == [(0, "")]


def test_two_at_a_time_get_two_and_one_after_the_other_the_same() -> None:
    pool: Pool[object] = Pool()
    with pool.lend("en", object) as first, pool.lend("en", object) as second, pool.lend("fr", object) as other:
        assert len({id(first), id(second), id(other)}) == 3
    with pytest.raises(ValueError, match="amid"), pool.lend("en", object) as again:
        raise ValueError("amid")
    assert again is first or again is second
    with pool.lend("en", object) as one, pool.lend("en", object) as two:
        assert {id(one), id(two)} == {id(first), id(second)}


def test_what_is_idle_goes_and_what_is_lent_stays() -> None:
    class Loaded:
        """It holds itself in a circle, as a language model does."""

        def __init__(self) -> None:
            self.own = self

    pool: Pool[Loaded] = Pool()
    with pool.lend("en", Loaded) as idle:
        gone = weakref.ref(idle)
    del idle
    with pool.lend("fr", Loaded) as lent:
        let_idle_go()
        assert gone() is None
        assert pool.idle() == 0
    assert pool.idle() == 1
    with pool.lend("fr", Loaded) as again, pool.lend("en", Loaded):
        assert again is lent
