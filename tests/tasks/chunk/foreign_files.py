"""Evidence for the chunk evaluator from files on disk, and second readers that misbehave on files that ask for it."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tasks.documents import attribution
from tasks.documents.cage_worker import Pages
from tests.raw_bytes import RawFiles

TEXT = "The pump by the weir was oiled."


def misbehaving_reader(
    path: str, media_type: str, encoding: str | None, passages: Any, containers: Any, pages: Pages
) -> Any:
    """`check_file`, but a file that begins with SPIN, DIE or HOARD does so to its process."""
    begin = Path(path).read_bytes()[:5]
    if begin.startswith(b"SPIN"):
        (Path(path).parent / f"pid-{os.getpid()}").touch()
        while True:
            pass
    if begin.startswith(b"DIE"):
        os.kill(os.getpid(), signal.SIGSEGV)
    hoard = []
    while begin.startswith(b"HOARD"):
        hoard.append(bytearray(32 * 2**20))
    return attribution.check_file(path, media_type, encoding, passages, containers, pages)


def measures_of(files: Sequence[Path], **limits: Any) -> list[dict[str, Any]]:
    """The evaluator's rows for plain-text files, each with one chunk that claims to hold `TEXT`."""
    import pyarrow as pa

    from schemas.documents import DOCUMENTS
    from schemas.stages import CHUNK, FETCH, NORMALIZE, PARSE, PII
    from tasks.chunk.settings import ChunkSettings
    from tasks.chunk.stage import STAGE
    from tasks.documents.cage import CageLimits
    from tasks.gold.labels import NO_LABELS
    from tasks.stage import Batch, Evidence

    def table(schema: Any, row: dict[str, Any]) -> Any:
        return pa.Table.from_pylist([row | {"document_id": file.name} for file in files], schema=schema)

    element = {"element_id": 0, "kind": "paragraph", "level": None, "text": TEXT, "section_path": []}
    span = {"element_id": 0, "start": 0, "end": len(TEXT)}
    rows: dict[pa.Schema, dict[str, Any]] = {
        FETCH: {"content_sha": "", "media_type": "text/plain", "size_bytes": 9, "unchanged": False},
        PARSE: {
            "parser": "p", "parser_version": "1", "pages": 1, "pages_without_output": [], "meta_authors": [],
            "elements": [element],
        },
        NORMALIZE: {"text": TEXT, "elements": [span], "offsets": []},
        PII: {"coverage": "model", "fields": [], "text": TEXT, "spans": []},
    }  # fmt: skip
    documents = [
        {
            "document_id": file.name, "source": "s", "uri": "u", "locator": "l", "doc_class": "x", "tenant": "t",
            "groups": [], "content_sha": file.name, "cohort": "new",
        }
        for file in files
    ]  # fmt: skip
    chunk = {
        "chunk_id": "d/1", "ordinal": 0, "start": 0, "end": len(TEXT), "text": TEXT, "prefix_length": 0,
        "section_path": [], "element_ids": [0], "tokens": 9, "text_sha": "",
    }  # fmt: skip
    tables = {stage: table(schema, row) for stage, (schema, row) in zip(STAGE.reads, rows.items(), strict=True)}
    evidence = Evidence(
        Batch(pa.Table.from_pylist(documents, schema=DOCUMENTS), tables),
        table(CHUNK, {"chunks": [chunk], "dropped": []}),
        NO_LABELS,
        {},
        RawFiles(files),
    )
    made: list[dict[str, Any]] = STAGE.evaluate(evidence, ChunkSettings(limits=CageLimits(**limits))).to_pylist()
    return made
