"""TEDS: how much of a table's structure and content was recovered, as an edit distance of HTML trees.

Source: Zhong, ShafieiBavani and Jimeno Yepes, Image-based table recognition, 2019 (PubTabNet). Inserting and deleting
a node cost 1. Renaming costs 1 where tag, rowspan or colspan differ; between two `td` it costs the normalized
Levenshtein distance of their contents (characters and inline tags), else 0.
"""

from typing import Any

from rapidfuzz.distance import Levenshtein

from tasks.metrics.table_cells import span, table_element

NODE_PRODUCT_LIMIT = 250_000
"""Nodes of one table times nodes of the other that are compared: some 5 s (two tables of 50 rows by 9 cells)."""


class TableTooLargeError(ValueError):
    """Two tables are too large to be compared in reasonable time."""


class TableNode:
    """A node as the distance sees it: `label` is compared as a whole, `content` (of `td` only) by its characters."""

    __slots__ = ("children", "content", "label")

    def __init__(self, label: tuple[str, int, int], content: tuple[str, ...] | None) -> None:
        self.label = label
        self.content = content
        self.children: list[TableNode] = []


def teds(truth_html: str, predicted_html: str, *, structure_only: bool = False, published: bool = False) -> float:
    """1 − tree edit distance / nodes of the larger table, between the first tables of two HTML texts.

    Range 0 to 1, higher is better; 0 where either has no table. Trees of wholly unlike shape (a chain and a star) are
    further apart than the larger has nodes: they count as 0, and below 0 in the published definition.
    `structure_only` leaves the contents out. The product's figure counts `th` as `td` in both tables, and collapses
    white space in cells; `published` is PubTabNet's own definition, in which `th` is a node without content and white
    space counts. Nodes are all elements below `<table>`, inline ones in cells included, in both.

    Raises:
        TableTooLargeError: the product of the node counts is above `NODE_PRODUCT_LIMIT`.

    Three nodes (`tr` and two `td`), one of them with half its characters wrong: 1 − 0.5 / 3.

    >>> truth = "<table><tr><td>ab</td><td>c</td></tr></table>"
    >>> round(teds(truth, "<table><tr><td>ax</td><td>c</td></tr></table>"), 6)
    0.833333
    >>> teds(truth, "<table><tr><th>a b</th><td> c </td></tr></table>", structure_only=True)
    1.0
    """
    truth, predicted = table_element(truth_html), table_element(predicted_html)
    if truth is None or predicted is None:
        return 0.0
    sizes = len(truth.xpath(".//*")), len(predicted.xpath(".//*"))
    if not max(sizes):
        return 1.0
    trees = [_tree(table, structure_only, published) for table in (truth, predicted)]
    score = 1.0 - _distance(trees[0], trees[1]) / max(sizes)
    return score if published else max(0.0, score)


def _tree(element: Any, structure_only: bool, published: bool) -> TableNode:
    tag = "td" if element.tag == "th" and not published else str(element.tag)
    if tag == "td":
        content = () if structure_only else tuple(_content(element))
        return TableNode(
            (tag, span(element, "colspan"), span(element, "rowspan")), content if published else _collapsed(content)
        )
    node = TableNode((tag, 0, 0), None)
    node.children = [_tree(child, structure_only, published) for child in element]
    return node


def _content(element: Any) -> list[str]:
    """The characters and inline tags inside an element, in order."""
    tokens = list(element.text or "")
    for child in element:
        tokens += [f"<{child.tag}>", *_content(child)]
        if child.tag != "unk":
            tokens.append(f"</{child.tag}>")
        if child.tag != "td":
            tokens += list(child.tail or "")
    return tokens


def _collapsed(tokens: tuple[str, ...]) -> tuple[str, ...]:
    kept: list[str] = []
    for token in tokens:
        if not token.isspace():
            kept.append(token)
        elif kept and kept[-1] != " ":
            kept.append(" ")
    if kept and kept[-1] == " ":
        kept.pop()
    return tuple(kept)


def _distance(truth: TableNode, predicted: TableNode) -> float:
    from apted import APTED, Config

    nodes = _count(truth), _count(predicted)
    if _same(truth, predicted):
        return 0.0
    if nodes[0] * nodes[1] > NODE_PRODUCT_LIMIT:
        raise TableTooLargeError(
            f"tables of {nodes[0]} and {nodes[1]} nodes: their product is above {NODE_PRODUCT_LIMIT}"
        )
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = {}

    class Costs(Config):  # type: ignore[misc]
        def rename(self, one: TableNode, other: TableNode) -> float:
            if one.label != other.label:
                return 1.0
            if one.content is None or other.content is None or one.content == other.content:
                return 0.0
            key = (one.content, other.content)
            if key not in known:
                longest = max(len(one.content), len(other.content))
                known[key] = Levenshtein.distance(one.content, other.content) / longest
            return known[key]

    return float(APTED(truth, predicted, Costs()).compute_edit_distance())


def _count(node: TableNode) -> int:
    return 1 + sum(_count(child) for child in node.children)


def _same(one: TableNode, other: TableNode) -> bool:
    return (
        one.label == other.label
        and one.content == other.content
        and len(one.children) == len(other.children)
        and all(_same(*both) for both in zip(one.children, other.children, strict=True))
    )
