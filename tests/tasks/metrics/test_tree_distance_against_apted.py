"""The compiled distance against apted, rapidfuzz and hand calculation."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from tasks.metrics.table_tree import teds
from tasks.metrics.tree_distance import TableNode, tree_distance
from tests.without_cache import run_without_cache


def random_table(draw: random.Random, rows: int, columns: int, letters: str = "ab") -> str:
    """A table with spans, headers, inline tags, empty rows and any order of sections."""

    def cell() -> str:
        text = "".join(draw.choices(letters, k=draw.choice((0, 1, 2, 3))))
        text = draw.choice((text, text, text, f"<b>{text}</b>", f" {text}  x"))
        spans = draw.choice(("", "", "", " colspan=2", " rowspan=2", " rowspan=3 colspan=2"))
        tag = draw.choice(("td", "td", "td", "th"))
        return f"<{tag}{spans}>{text}</{tag}>"

    def lines() -> str:
        counts = [draw.randint(0, columns) for _ in range(draw.randint(0, rows))]
        return "".join(f"<tr>{''.join(cell() for _ in range(count))}</tr>" for count in counts)

    sections = draw.choice(((), ("tbody",), ("thead", "tbody"), ("thead", "tbody", "tbody", "tfoot")))
    body = "".join(f"<{section}>{lines()}</{section}>" for section in sections) if sections else lines()
    return f"<table>{body}</table>"


def agree(one: str, other: str, *, published: bool = False, structure_only: bool = False) -> bool:
    exact, apted = (
        teds(one, other, published=published, structure_only=structure_only, algorithm=algorithm)
        for algorithm in ("exact", "apted")
    )
    return exact == pytest.approx(apted, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_two_thousand_small_tables_with_spans(seed: int) -> None:
    draw = random.Random(seed)
    for i in range(500):
        size = draw.choice((2, 3))
        pair = random_table(draw, size, size), random_table(draw, size, size)
        assert agree(*pair, published=i % 2 == 0), pair
        assert agree(*pair, published=i % 2 == 0, structure_only=True), pair


@pytest.mark.parametrize("seed", range(6))
def test_larger_tables(seed: int) -> None:
    draw = random.Random(100 + seed)
    pair = random_table(draw, 9, 6, "abcdefg"), random_table(draw, 9, 6, "abcdefg")
    assert agree(*pair)
    assert agree(*pair, published=True, structure_only=True)


def rows(*cells: str) -> str:
    return "".join(f"<tr>{''.join(f'<td>{text}' for text in row.split())}</tr>" for row in cells)


@pytest.mark.parametrize(
    ("truth", "predicted", "distance", "nodes"),
    [
        # A row is renamed to a body, two rows are put in: rows matched with rows only would cost more.
        (rows("a b c d"), f"<tbody>{rows('a b', 'c d')}</tbody>", 3, 7),
        # One row split into two: taken out, and two put in, which is less than two cells and a row elsewhere.
        (rows("a b c d"), rows("a b", "c d"), 3, 6),
        # A body that is not there: one node.
        (f"<tbody>{rows('a b', 'c d')}</tbody>", rows("a b", "c d"), 1, 7),
        # The header's row counted to the body: both sections are taken out, one around both rows is put in.
        (f"<thead>{rows('a b')}</thead><tbody>{rows('c d')}</tbody>", f"<tbody>{rows('a b', 'c d')}</tbody>", 3, 8),
        # An empty row against a cell, another tag: renamed.
        ("<tr></tr>", "<td>a</td>", 1, 1),
        # Nothing on one side.
        ("", rows("a b"), 3, 3),
    ],
)
def test_hand_made_counterexamples(truth: str, predicted: str, distance: float, nodes: int) -> None:
    truth, predicted = f"<table>{truth}</table>", f"<table>{predicted}</table>"
    for pair in ((truth, predicted), (predicted, truth)):
        assert teds(*pair, published=True) == pytest.approx(1 - distance / nodes)
        assert agree(*pair, published=True)


def test_rows_moved_further_than_the_first_bands_are_wide() -> None:
    # Cells have no character in common, so eight rows of four nodes are cheapest taken out here and put in there.
    lines = [" ".join(chr(0x4E00 + 3 * row + column) for column in range(3)) for row in range(24)]
    pair = f"<table>{rows(*lines)}</table>", f"<table>{rows(*lines[8:], *lines[:8])}</table>"
    assert teds(*pair) == pytest.approx(1 - 64 / 96)
    assert agree(*pair)


WORDS = (
    st.text("ab", max_size=6) | st.text("abc", min_size=60, max_size=70) | st.text("abcd", min_size=120, max_size=300)
)


@settings(max_examples=200)
@given(WORDS, WORDS)
def test_a_cell_is_renamed_at_the_normalized_levenshtein_distance(one: str, other: str) -> None:
    nodes = [TableNode(("td", 1, 1), text) for text in (one, other)]
    assert tree_distance(*nodes) == pytest.approx(Levenshtein.normalized_distance(one, other), abs=1e-12)


@settings(max_examples=30)
@given(st.randoms(use_true_random=False))
def test_the_distance_is_symmetric_and_at_most_both_tables(draw: random.Random) -> None:
    one, other = random_table(draw, 5, 5), random_table(draw, 5, 5)
    assert teds(one, other, published=True) == pytest.approx(teds(other, one, published=True), abs=1e-9)
    assert 0.0 <= teds(one, other) <= 1.0


TWO_THREADS = """
from concurrent.futures import ThreadPoolExecutor
from tasks.metrics.tree_distance import TableNode, tree_distance

def distance(text):
    return tree_distance(TableNode(("td", 1, 1), "ab"), TableNode(("td", 1, 1), text))

with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(distance, ["ax", "abcd", "xy"])))
"""


def test_two_threads_at_once_and_no_folder_for_compiled_code(tmp_path: Path) -> None:
    room = tmp_path / "tasks" / "metrics"
    names = ("compilation.py", "tree_distance.py", "tree_kernel.py")
    done = run_without_cache(TWO_THREADS, [f"tasks/metrics/{name}" for name in names], tmp_path)
    assert (done.stdout.strip(), done.returncode) == ("[0.5, 0.5, 1.0]", 0), done.stderr
    assert sorted(path.name for path in room.iterdir()) == [
        "__pycache__",
        "compilation.py",
        "tree_distance.py",
        "tree_kernel.py",
    ]
