"""Chroma's chunking evaluation: evidence in windows of 1,200 characters, against a count of single characters."""

import csv
import json
from pathlib import Path
from statistics import mean

import pytest

from tasks.chunk.evidence import evidence_fit
from tasks.chunk.settings import ChunkSettings
from tasks.chunk.stage import chunk_document
from tests.tasks.chunk.conftest import rows_of

WINDOW = 1200


def test_windows_of_1200_characters_are_scored_as_by_counting_characters(shared_data: Path) -> None:
    folder = shared_data / "chunking" / "chroma-chunking-eval"
    settings = ChunkSettings(strategy="fixed", fixed_characters=WINDOW, max_tokens=2048, min_tokens=0)
    chunks: dict[str, list[tuple[int, int]]] = {}
    for path in (folder / "corpora").glob("*.md"):
        made = chunk_document("d", *rows_of([("paragraph", path.read_text(encoding="utf-8"))]), settings)["chunks"]
        chunks[path.stem] = [(chunk["start"], chunk["end"]) for chunk in made]
        # White space at the ends of a window is in no chunk.
        assert all(WINDOW - 8 <= end - start <= WINDOW for start, end in chunks[path.stem][:-1])
    found = []
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            passages = [(part["start_index"], part["end_index"]) for part in json.loads(row["references"])]
            fit = evidence_fit(passages, chunks[row["corpus_id"]])
            wanted = {i for start, end in passages for i in range(start, end)}
            read = {
                i for start, end in chunks[row["corpus_id"]] if wanted & {*range(start, end)} for i in range(start, end)
            }
            assert (fit.evidence, fit.held, fit.chunks) == (len(wanted), len(wanted & read), len(read))
            found.append(fit.held / (fit.evidence + fit.chunks - fit.held))
    assert len(found) == 319
    # 0.177 is published for the windows that an embedding finds, which are among these.
    assert mean(found) == pytest.approx(0.17, abs=0.02)
