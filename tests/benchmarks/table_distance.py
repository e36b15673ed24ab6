"""Exact tree distance of tables, compiled, against apted: the same pairs in one process, seconds of CPU.

    python -m tests.benchmarks.table_distance      (make bench-tables)

The predicted table has errors as parsers make them: in a tenth of the cells characters differ, some rows lost or
gained a cell, some rows are missing or new. `unlike` are two tables without anything in common, the worst case.
"""

import random
import resource
import time
from collections.abc import Callable

from tasks.metrics.table_cells import table_element
from tasks.metrics.table_tree import apted_distance, table_tree, teds
from tasks.metrics.tree_distance import tree_distance

Rows = list[list[str]]
_ALPHABET = "0123456789.,abcdefghij "
_ERRORS = 0.1


def main() -> None:
    """Prints seconds, ratios and memory."""
    small = _html([["a"]]), _html([["b"]])
    first = _seconds(lambda: teds(*small), 1)
    print(f"first call in the process (numba, compiled code from the cache or compiled now): {first:.2f} s")
    print(f"peak memory of the process by then: {_peak():.0f} MiB\n")
    for name, pair in (
        ("300 x 20", _pair(300, 20)),
        ("300 x 20 unlike", (_html(_table(300, 20, 1)), _html(_table(300, 20, 2)))),
    ):
        seconds = _seconds(lambda: teds(*pair), 1)  # noqa: B023
        print(f"{name:16} {seconds:6.2f} s   peak memory of the process {_peak():.0f} MiB")
    print("goal for 300 x 20: under 2.5 s and 250 MB\n")
    print("tree distance     exact       apted     ratio  goal   whole teds()")
    for rows, columns, goal in ((5, 4, ""), (20, 8, "500x"), (50, 12, "1000x")):
        pair = _pair(rows, columns)
        one, other = (table_tree(table_element(html)) for html in pair)
        exact = _seconds(lambda: tree_distance(one, other), 25)  # noqa: B023
        apted = _seconds(lambda: apted_distance(one, other, limit=10**9), 3 if rows < 50 else 1)  # noqa: B023
        whole = _seconds(lambda: teds(*pair), 9)  # noqa: B023
        size = f"{rows} x {columns}"
        print(f"{size:12} {exact:10.5f} s {apted:9.3f} s {apted / exact:7.0f}x  {goal:5} {whole:10.5f} s")


def _seconds(call: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _text(draw: random.Random) -> str:
    return "".join(draw.choices(_ALPHABET, k=draw.randint(3, 14)))


def _table(rows: int, columns: int, seed: int) -> Rows:
    draw = random.Random(seed)
    return [[_text(draw) for _ in range(columns)] for _ in range(rows)]


def _pair(rows: int, columns: int) -> tuple[str, str]:
    truth, draw = _table(rows, columns, 1), random.Random(2)
    predicted: Rows = []
    for row in truth:
        found = [
            "".join(draw.choice(_ALPHABET) if draw.random() < 0.2 else character for character in text)
            if draw.random() < _ERRORS
            else text
            for text in row
        ]
        if draw.random() < _ERRORS:
            found.pop(draw.randrange(columns))
        if draw.random() < _ERRORS:
            found.insert(draw.randrange(columns), _text(draw))
        if draw.random() > _ERRORS / 4:
            predicted.append(found)
        if draw.random() < _ERRORS / 4:
            predicted.append([_text(draw) for _ in range(columns)])
    return _html(truth), _html(predicted)


def _html(rows: Rows) -> str:
    lines = "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><tbody>{lines}</tbody></table>"


if __name__ == "__main__":
    main()
