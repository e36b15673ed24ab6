"""Edit distance of two ordered trees with cells in their leaves: exact, and fast where the trees are alike.

Equal subtrees at either end are dropped, the rest is laid out in arrays, and compared within a band of the distance's
table (`tree_kernel`): a cheap mapping found in a narrow band says how wide the band must be for the cheapest one.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

STEP_LIMIT = 500_000_000
"""Steps (cells of the distance's lines, and words of 64 tokens compared) after which a comparison is given up."""

BYTE_LIMIT = 200_000_000
"""Bytes of working memory up to which trees are compared; pages that are not needed are never filled."""

_FIRST_WIDTH = 4
_LEAST_WIDE = 64
_ROUNDING = 1e-7
"""What sums of fractions may be off; only ever widens the search."""

Content: TypeAlias = str | tuple[str, ...]
"""Tokens of a cell: a text's characters, or characters and tags; a text is never equal to a tuple of tokens."""


class TableTooLargeError(ValueError):
    """Two tables are too large to be compared in reasonable time or memory."""


class TableNode:
    """A node as the distance sees it: `label` is compared as a whole, `content` (of a cell only) by its tokens.

    A node with content has no children. `subtree` is set by `number_subtrees`.
    """

    __slots__ = ("children", "content", "label", "subtree")

    def __init__(self, label: tuple[str, int, int], content: Content | None) -> None:
        self.label = label
        self.content = content
        self.children: list[TableNode] = []
        self.subtree = -1


def number_subtrees(*trees: TableNode) -> None:
    """Numbers all subtrees so that two have the same number where, and only where, they are equal."""
    numbers: dict[tuple[Any, ...], int] = {}

    def number(node: TableNode) -> int:
        key = (node.label, node.content, *map(number, node.children))
        node.subtree = numbers.setdefault(key, len(numbers))
        return node.subtree

    for tree in trees:
        number(tree)


def tree_distance(truth: TableNode, predicted: TableNode) -> float:
    """The least cost of turning one tree into the other; 0 where they are equal, at most the nodes of both.

    Insert and delete cost 1. Renaming costs 1 where the labels differ, between cells the Levenshtein distance of
    their contents over the longer one's length, else 0. The first call in a process loads the compiled loops.

    Raises:
        TableTooLargeError: above `STEP_LIMIT` or `BYTE_LIMIT`.

    >>> row, longer = TableNode(("tr", 0, 0), None), TableNode(("tr", 0, 0), None)
    >>> row.children = [TableNode(("td", 1, 1), "ab")]
    >>> longer.children = [TableNode(("td", 1, 1), "ac"), TableNode(("td", 1, 1), "")]
    >>> tree_distance(row, longer)
    1.5
    """
    number_subtrees(truth, predicted)
    forests = _trimmed([truth], [predicted])
    if not all(forests):
        return float(sum(map(_count, forests[0] + forests[1])))
    return _narrowed(*_laid_out(*forests))


def _count(node: TableNode) -> int:
    return 1 + sum(map(_count, node.children))


def _trimmed(one: list[TableNode], other: list[TableNode]) -> tuple[list[TableNode], list[TableNode]]:
    """What is left of two forests without what a cheapest mapping maps to its equal anyway.

    Holds for any rename cost that is 0 between equals: mapping the equal parts to each other frees at least as many
    nodes on either side as it displaces.
    """
    while True:
        start, least = 0, min(len(one), len(other))
        while start < least and one[start].subtree == other[start].subtree:
            start += 1
        end = 0
        while end < least - start and one[-1 - end].subtree == other[-1 - end].subtree:
            end += 1
        one, other = one[start : len(one) - end], other[start : len(other) - end]
        if len(one) != 1 or len(other) != 1 or one[0].label != other[0].label or one[0].content is not None:
            return one, other
        one, other = one[0].children, other[0].children


@dataclass(frozen=True, slots=True)
class _Forest:
    """`nodes`: rows `LEFT` to `SLOT` of `tree_kernel` by nodes in postorder; content c is the tokens from starts[c]."""

    nodes: NDArray[np.int32]
    starts: NDArray[np.int64]


def _laid_out(*forests: Sequence[TableNode]) -> tuple[list[_Forest], NDArray[np.uint32]]:
    """The forests in arrays, and the tokens of their distinct contents end to end."""
    labels: dict[tuple[str, int, int], int] = {}
    contents: list[dict[Content, int]] = [{} for _ in forests]
    nodes = [_columns(*both, labels) for both in zip(forests, contents, strict=True)]
    starts = np.cumsum([0, *(len(content) for known in contents for content in known)], dtype=np.int64)
    tokens = _token_numbers([token for known in contents for content in known for token in content])
    ends = np.cumsum([0, *map(len, contents)])
    return [_Forest(columns, starts[ends[i] : ends[i + 1] + 1]) for i, columns in enumerate(nodes)], tokens


def _columns(
    forest: Sequence[TableNode], contents: dict[Content, int], labels: dict[tuple[str, int, int], int]
) -> NDArray[np.int32]:
    columns: list[tuple[int, ...]] = []
    inner = 0

    def visit(siblings: Sequence[TableNode], depth: int, slot: int) -> None:
        nonlocal inner
        for node in siblings:
            left, content, number = len(columns), -1, -1
            if node.children:
                visit(node.children, depth + 1, slot)
                number = inner
                inner += 1
            elif node.content is not None:
                content = contents.setdefault(node.content, len(contents))
            label = labels.setdefault(node.label, len(labels))
            columns.append((left, label, node.subtree, content, number, depth, slot))
            slot = depth

    visit(forest, 0, 0)
    return np.ascontiguousarray(np.array(columns, np.int32).T)


def _token_numbers(tokens: list[str]) -> NDArray[np.uint32]:
    """Code points of characters, and numbers above them for tags."""
    text = "".join(tokens)
    if len(text) == len(tokens):
        return np.frombuffer(bytearray(text.encode("utf-32-le", "surrogatepass")), "<u4")
    tags: defaultdict[str, int] = defaultdict(count(sys.maxunicode + 1).__next__)
    return np.array([ord(token) if len(token) == 1 else tags[token] for token in tokens], np.uint32)


def _narrowed(forests: Sequence[_Forest], tokens: NDArray[np.uint32]) -> float:
    """A bound from above in a narrow band, then in wider ones, then the distance within what the bound leaves open."""
    from tasks.metrics.tree_kernel import INNER, forest_distance

    one, other = forests
    n, m = one.nodes.shape[1], other.nodes.shape[1]
    inner = int(one.nodes[INNER].max()) + 1, int(other.nodes[INNER].max()) + 1
    distinct = one.starts.size - 1, other.starts.size - 1
    longest = max(int(np.diff(forest.starts).max(initial=0)) for forest in forests)
    edits = np.dtype(np.uint8 if longest < 255 else np.uint16)  # each is compiled when it is first needed
    if 8 * math.prod(inner) + edits.itemsize * math.prod(distinct) > BYTE_LIMIT:
        raise TableTooLargeError(f"tables of {n} and {m} nodes that differ take too much memory to be compared")
    pairs, known = np.empty(inner), np.zeros(distinct, edits)
    masks, steps = np.zeros(int(tokens.max(initial=0)) + 1, np.uint64), np.zeros(longest, np.int8)
    contents = tokens, one.starts, other.starts, masks, steps
    spent = np.array([0, STEP_LIMIT], np.int64)
    width, bound = _FIRST_WIDTH, float(n + m)
    while True:
        pairs.fill(-_ROUNDING)
        found = forest_distance(
            one.nodes, 0, n, other.nodes, 0, m, bound + _ROUNDING, width, pairs, known, contents, spent
        )
        if spent[0] > spent[1]:
            raise TableTooLargeError(f"tables of {n} and {m} nodes that differ take too long to be compared")
        better, bound = found < bound, min(bound, float(found))
        if 2 * (width + 1) + abs(n - m) >= bound:  # what leaving the band costs
            return bound
        # Rows that moved far are found by widening; tables with nothing in common gain nothing from it.
        width = 4 * width if 8 * width < bound and (better or width < _LEAST_WIDE) else n + m
