"""The parse stage over files in a folder, without a run around it."""

import hashlib
from pathlib import Path

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import FETCH, PARSE
from tasks.documents.cage import CageLimits
from tasks.documents.sniff import declared_type, sniff
from tasks.parse.settings import ParseSettings
from tasks.parse.stage import STAGE
from tasks.stage import Batch, Resources
from tests.raw_bytes import NoRaw

SETTINGS = ParseSettings(limits=CageLimits(seconds_per_document=60, workers=2))


class Files(NoRaw):
    """Raw bytes that lie anywhere, each known by a hash of its path."""

    def __init__(self, paths):
        self.paths = {self.name(path): Path(path) for path in paths}

    @staticmethod
    def name(path):
        return hashlib.sha256(str(path).encode()).hexdigest()

    def path(self, content_sha):
        return self.paths[content_sha]


def parse(*paths, settings=SETTINGS, media_type=None):
    """Runs the stage over files; gives {name: row} and {name: failure}. Media types are sniffed where none is given."""
    documents, fetched = [], []
    for path in paths:
        documents.append(
            {"document_id": path.name, "source": "s", "uri": path.name, "locator": str(path), "doc_class": "c",
             "tenant": "t", "groups": [], "cohort": "new"}
        )  # fmt: skip
        fetched.append(
            {"document_id": path.name, "content_sha": Files.name(path), "size_bytes": path.stat().st_size,
             "media_type": media_type or sniff(path.read_bytes(), declared_type(path.name)), "unchanged": False}
        )  # fmt: skip
    batch = Batch(
        pa.Table.from_pylist(documents, schema=DOCUMENTS),
        {StageName.FETCH: pa.Table.from_pylist(fetched, schema=FETCH)},
    )
    output = STAGE.run(batch, settings, Resources(Files(paths), Path()))
    assert output.table.schema == PARSE
    assert set(output.costs) == {path.name for path in paths}
    rows = {row["document_id"]: row for row in output.table.to_pylist()}
    failures = {failure.document_id: failure for failure in output.failures}
    assert len(rows) + len(failures) == len(paths)
    return rows, failures


def text_of(row):
    return "\n\n".join(element["text"] for element in row["elements"])
