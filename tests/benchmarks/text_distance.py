"""Exact edit distance of long texts against jiwer and un-hinted rapidfuzz: the same pairs in one process, CPU seconds.

    python -m tests.benchmarks.text_distance      (make bench-text)

`2 %` is a text with so many characters lost, changed or added, as a scan gives them. `passages` has whole passages
lost, doubled and exchanged beside that, as columns read in the wrong order give them; every fifth one is the same
boilerplate, so that anchors are misled. What is compared must be equal, else the benchmark ends with an error.
"""

import random
import time
from collections.abc import Callable
from typing import TypeVar

import jiwer
from rapidfuzz.distance import Levenshtein

from tasks.metrics.text_distance import align, edit_counts

T = TypeVar("T")
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
_SHOWN = 20
"""Edits that an evaluator tells by their place."""


def main() -> None:
    """Prints seconds and ratios; goals: 25 x jiwer at 100 kB, under 1.5 s and 20 x un-hinted rapidfuzz at 1 MB."""
    print("                            ours     jiwer   ratio  rapidfuzz   ratio")
    for name, size, make in (("2 %", 100_000, noisy), ("passages", 100_000, moved), ("2 %", 1_000_000, noisy)):
        reference = text(size, seed=1)
        hypothesis = make(reference, seed=2)
        for unit, left, right in (
            ("characters", reference, hypothesis),
            ("words", reference.split(), hypothesis.split()),
        ):
            ours, counts = timed(lambda: edit_counts(left, right), 5)  # noqa: B023
            jiwers = theirs = None
            if size < 1_000_000:
                call = jiwer.process_characters if unit == "characters" else jiwer.process_words
                jiwers, oracle = timed(lambda: call(reference, hypothesis), 1)  # noqa: B023
                must_equal(counts.distance, oracle.substitutions + oracle.deletions + oracle.insertions)
            theirs, distance = timed(lambda: Levenshtein.distance(left, right), 1)  # noqa: B023
            must_equal(counts.distance, distance)
            if not counts.exact:
                raise SystemExit("the distance is not said to be exact")
            print(
                f"{size // 1000:5} kB {name:9} {unit:10} {ours:7.4f} s {shown(jiwers, ours)} {shown(theirs, ours)}"
                f"   with {_SHOWN} places {timed(lambda: align(left, right, _SHOWN), 5)[0]:.4f} s"  # noqa: B023
            )


def text(size: int, seed: int) -> str:
    """Words of a made-up vocabulary."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(_LETTERS, k=draw.randint(2, 10))) for _ in range(20_000)]
    return " ".join(draw.choices(words, k=size // 7))[:size]


def noisy(reference: str, seed: int, rate: float = 0.02) -> str:
    """Characters lost, changed or added at this rate."""
    draw = random.Random(seed)
    out = []
    for character in reference:
        kind = draw.random() / rate * 3
        if kind >= 1:
            out.append(draw.choice(_LETTERS) if kind < 2 else character)
            if 2 <= kind < 3:
                out.append(draw.choice(_LETTERS))
    return "".join(out)


def moved(reference: str, seed: int) -> str:
    """Noise, and passages of 2,000 characters lost, doubled, exchanged, or replaced by boilerplate."""
    draw = random.Random(seed)
    found = noisy(reference, seed)
    passages = [found[i : i + 2000] for i in range(0, len(found), 2000)]
    out: list[str] = []
    for n, passage in enumerate(passages):
        kind = draw.random()
        if kind < 0.04:
            continue
        out.append("All rights reserved. " * 95 if n % 5 == 0 else passage)
        if kind > 0.96:
            out.append(passage)
        elif kind > 0.92 and len(out) > 1:
            out[-2:] = reversed(out[-2:])
    return "".join(out)


def timed(call: Callable[[], T], repeats: int) -> tuple[float, T]:
    """The least CPU seconds of so many calls, and what the call gives."""
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        result = call()
        best = min(best, time.process_time() - started)
    return best, result


def must_equal(ours: int, theirs: int) -> None:
    """Ends the benchmark where two distances differ."""
    if ours != theirs:
        raise SystemExit(f"not exact: {ours} against {theirs}")


def shown(seconds: float | None, ours: float) -> str:
    """Seconds and how many times ours they are."""
    return f"{'':18}" if seconds is None else f"{seconds:8.3f} s {seconds / ours:5.0f}x"


if __name__ == "__main__":
    main()
