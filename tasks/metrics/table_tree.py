"""TEDS: how much of a table's structure and content was recovered, as an edit distance of HTML trees.

Source: Zhong, ShafieiBavani and Jimeno Yepes, Image-based table recognition, 2019 (PubTabNet). Inserting and deleting
a node cost 1. Renaming costs 1 where tag, rowspan or colspan differ; between two `td` it costs the normalized
Levenshtein distance of their contents (characters and inline tags), else 0.
"""

from typing import Any, Literal, TypeAlias

from rapidfuzz.distance import Levenshtein

from tasks.metrics.table_cells import span, table_element
from tasks.metrics.tree_distance import Content, TableNode, TableTooLargeError, number_subtrees, tree_distance

Algorithm: TypeAlias = Literal["exact", "apted"]

NODE_PRODUCT_LIMIT = 250_000
"""Nodes of one table times nodes of the other that apted compares: some 5 s (two tables of 50 rows by 9 cells)."""


def teds(
    truth_html: str,
    predicted_html: str,
    *,
    structure_only: bool = False,
    published: bool = False,
    algorithm: Algorithm = "exact",
) -> float:
    """1 − tree edit distance / nodes of the larger table, between the first tables of two HTML texts.

    Range 0 to 1, higher is better; 0 where either has no table. Trees of wholly unlike shape (a chain and a star) are
    further apart than the larger has nodes: they count as 0, and below 0 in the published definition.
    `structure_only` leaves the contents out. The product's figure counts `th` as `td` in both tables, and collapses
    white space in cells; `published` is PubTabNet's own definition, in which `th` is a node without content and white
    space counts. Nodes are all elements below `<table>`, inline ones in cells included, in both. Both algorithms give
    the same distance; apted is the reference for tests, slower by orders of magnitude from some 20 cells on.

    Raises:
        TableTooLargeError: exact: above the limits of `tree_distance` on steps and memory; apted: the product of the
            node counts is above `NODE_PRODUCT_LIMIT`.

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
    trees = [table_tree(table, structure_only=structure_only, published=published) for table in (truth, predicted)]
    distance = tree_distance if algorithm == "exact" else apted_distance
    score = 1.0 - distance(trees[0], trees[1]) / max(sizes)
    return score if published else max(0.0, score)


def table_tree(element: Any, *, structure_only: bool = False, published: bool = False) -> TableNode:
    """An lxml element of a table as the distance sees it; the flags as in `teds`."""
    tag = "td" if element.tag == "th" and not published else str(element.tag)
    if tag == "td":
        label = (tag, span(element, "colspan"), span(element, "rowspan"))
        return TableNode(label, "" if structure_only else _cell_content(element, published))
    node = TableNode((tag, 0, 0), None)
    node.children = [table_tree(child, structure_only=structure_only, published=published) for child in element]
    return node


def _cell_content(element: Any, published: bool) -> Content:
    if len(element):
        tokens = tuple(_content(element))
        return tokens if published else _collapsed(tokens)
    text = str(element.text or "")
    return text if published else " ".join(text.split())


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


def apted_distance(truth: TableNode, predicted: TableNode, *, limit: int = NODE_PRODUCT_LIMIT) -> float:
    """What `tree_distance` gives, by M. Pawlik and N. Augsten's algorithm in Python: the reference, slow.

    Raises:
        TableTooLargeError: the product of the node counts is above `limit`.
    """
    from apted import APTED, Config

    number_subtrees(truth, predicted)
    if truth.subtree == predicted.subtree:
        return 0.0
    nodes = _count(truth), _count(predicted)
    if nodes[0] * nodes[1] > limit:
        raise TableTooLargeError(f"tables of {nodes[0]} and {nodes[1]} nodes: their product is above {limit}")
    known: dict[tuple[Content, Content], float] = {}

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
