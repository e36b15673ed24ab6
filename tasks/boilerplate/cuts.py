"""Parts of a parsed element that are no content."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Cut(NamedTuple):
    """Code points [start, end) of the parsed text of an element that go; `element` is its position."""

    element: int
    start: int
    end: int


def without(text: str, cuts: Iterable[tuple[int, int]]) -> str:
    """The text less the parts [start, end), which are sorted and do not overlap.

    >>> without("12 The gate\\n13 was shut", [(0, 3), (12, 15)])
    'The gate\\nwas shut'
    """
    pieces = []
    at = 0
    for start, end in cuts:
        pieces.append(text[at:start])
        at = end
    return "".join([*pieces, text[at:]])


def kept_texts(elements: Sequence[Mapping[str, Any]], output: Mapping[str, Any]) -> list[str]:
    """The texts of the elements that a `BOILERPLATE` row keeps, less its cuts; none where it keeps nothing."""
    cuts: dict[int, list[tuple[int, int]]] = {}
    for cut in output["cuts"] or ():
        cuts.setdefault(cut["element_id"], []).append((cut["start"], cut["end"]))
    keep = output["keep"] or [False] * len(elements)
    return [
        without(element["text"], cuts.get(element["element_id"], ()))
        for element, kept in zip(elements, keep, strict=True)
        if kept
    ]
