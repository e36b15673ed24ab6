"""The section path of a chunk is what lies above all of it, whatever the strategy; the measure says where it is not."""

from pathlib import Path
from typing import Any

import pytest

from tasks.chunk.settings import ChunkSettings
from tasks.chunk.stage import chunk_document
from tests.tasks.chunk.conftest import measured, rows_of
from tests.tasks.chunk.test_strategies import BOOK, STRATEGIES, WEIR

ELEMENTS: list[tuple[Any, ...]] = [
    ("heading", "Guide", 1), ("heading", "Weir", 2), ("paragraph", WEIR), ("heading", "Notes", 3), ("paragraph", BOOK),
    ("heading", "Books", 2), ("heading", "Notes", 3), ("paragraph", BOOK), ("paragraph", f"{WEIR} {BOOK} " * 6),
    ("heading", "Annex", 1), ("heading", "Left empty", 2),
]  # fmt: skip


def _figure(
    folder: Path, elements: list[tuple[Any, ...]], settings: ChunkSettings, path: list[str] | None = None
) -> tuple[float, list[dict[str, Any]]]:
    """`hierarchy_preserved`, and the chunks; where `path` is given, it takes the place of every chunk's own."""
    rows = rows_of(elements)
    made = chunk_document("d", *rows, settings)
    if path is not None:
        made["chunks"] = [chunk | {"section_path": path} for chunk in made["chunks"]]
    file = folder / "guide.md"
    file.write_text(rows[1]["text"])
    found = [row for row in measured(file, rows, made, settings) if row["metric"] == "hierarchy_preserved"]
    (row,) = found
    return row["value"], made["chunks"]


@pytest.mark.parametrize("max_tokens", [64, 128, 1024])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_can_hold_it(tmp_path: Path, strategy: str, max_tokens: int) -> None:
    settings = ChunkSettings(strategy=strategy, max_tokens=max_tokens, min_tokens=4, overlap_tokens=8)
    value, chunks = _figure(tmp_path, ELEMENTS, settings)
    assert value == 1
    assert {element for chunk in chunks for element in chunk["element_ids"]} == set(range(len(ELEMENTS)))


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ([0, 1, 2], ["Guide", "Weir"]),
        ([0, 1, 2, 3, 4], ["Guide", "Weir"]),
        ([0, 1, 2, 5, 6, 7], ["Guide"]),
        # Two sections of one name are two sections.
        ([0, 1, 3, 4, 5, 6, 7], ["Guide"]),
        ([0, 1, 2, 9], ["Guide", "Weir"]),
        ([0, 1, 2, 9, 10, 2], []),
        ([0, 1], ["Guide", "Weir"]),
        ([0, 1, 3], ["Guide", "Weir", "Notes"]),
        ([0, 1, 5], ["Guide"]),
        ([0, 9], []),
    ],
    ids=str,
)
def test_the_path_is_what_all_elements_share(tmp_path: Path, elements: list[int], expected: list[str]) -> None:
    chosen = [ELEMENTS[i] for i in elements]
    settings = ChunkSettings(strategy="recursive", max_tokens=1024)
    value, (chunk,) = _figure(tmp_path, chosen, settings)
    assert (chunk["section_path"], value) == (expected, 1)
    for wrong in ([*expected, "Notes"], expected[:-1] if expected else ["Guide"]):
        assert _figure(tmp_path, chosen, settings, wrong)[0] == 0
