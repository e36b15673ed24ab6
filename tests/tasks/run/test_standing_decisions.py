"""Which earlier decisions on held documents stand where their texts cannot be had."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tasks.run.standing_decisions import that_stand


def kept(document_id: str, inside: str | None = None) -> dict[str, Any]:
    return {"document_id": document_id, "decision": "kept", "duplicate_of": None, "contained_in": inside}


def dropped(document_id: str, keeper: str) -> dict[str, Any]:
    return {"document_id": document_id, "decision": "dropped", "duplicate_of": keeper, "contained_in": None}


def by_id(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["document_id"]: row for row in rows}


@pytest.mark.parametrize(
    ("former", "now", "lost", "stand"),
    [
        # Nothing is decided of a text that cannot be had: it was a copy, and now looks like none.
        ([kept("k"), dropped("d", "k")], [kept("k"), kept("d")], "d", {"d"}),
        ([kept("k"), dropped("d", "k")], [kept("k"), kept("d")], "", set()),
        # The keeper is taken in, so it is another document, or it is dropped, or gone.
        ([dropped("d", "k")], [kept("k"), kept("d")], "d", set()),
        ([kept("k"), dropped("d", "k")], [dropped("k", "x"), kept("x"), kept("d")], "d", set()),
        ([kept("k"), dropped("d", "k")], [kept("d")], "d", set()),
        # Another document is dropped for the one that comes back: nobody would say what it says.
        ([kept("k"), dropped("d", "k")], [kept("k"), kept("d"), dropped("x", "d")], "d", set()),
        # An excerpt whose container cannot be told any more; one that nobody can sign under the settings of now.
        ([kept("e", inside="k")], [kept("e")], "e", {"e"}),
        ([kept("e")], [], "e", {"e"}),
        ([kept("k"), dropped("d", "k")], [], "dk", {"d", "k"}),
        # What is dropped now needs no text.
        ([kept("e")], [dropped("e", "k"), kept("k")], "e", set()),
    ],
)
def test_what_stands(
    former: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]], lost: str, stand: set[str]
) -> None:
    def text_of(document_ids: Sequence[str]) -> Mapping[str, str]:
        return {i: "text" for i in document_ids if i not in lost}

    assert that_stand(by_id(*former), by_id(*now), text_of) == stand
