"""Paths and URLs in the records of a run: as pii left them, or where pii has not seen the document, by its id.

A digest of the place stands beside each (`DOCUMENTS.place`), so that the next scan knows the document again.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import Outcome, StageName
from schemas.stages import PII
from tasks.documents.sniff import declared_type
from tasks.lake.erased import place_digest
from tasks.lake.files import read_table, write_json, write_table
from tasks.lake.layout import Lake
from tasks.lake.packed import read_places

_FIELDS = pa.schema([PII.field("document_id"), PII.field("fields")])
_IN_WORDS = ("error", "not_looked_after", "not_measured_again")


def withhold_names(lake: Lake, folder: Path) -> None:
    """Rewrites what a run's folder says of where its documents lie; the manifest tells when (`redacted_at`).

    Raises:
        RunError: a file is torn, or the disk refuses it.
    """
    kept = _left_by_pii(lake, folder)
    words: dict[str, str] = {}
    batches = sorted((folder / "batches").glob("*.parquet"))
    for path in (path for path in batches if not path.stem.endswith("-held")):
        _rewrite(path, kept, words)
    plan = folder / "plan.parquet"
    if plan.exists():
        rows = _read(plan, kept, words)
        # Before the plan, by which the words are found again if this is killed.
        _update(folder, lambda found: {name: _said(found[name], words) for name in _IN_WORDS if found.get(name)})
        write_table(rows, plan, DOCUMENTS)
    if not json.loads((folder / "manifest.json").read_text(encoding="utf-8")).get("redact_only"):
        (folder / "error.txt").unlink(missing_ok=True)  # the words of errors may be a document's
    _update(folder, lambda _: {"redacted_at": datetime.now(UTC).isoformat()})


def _rewrite(path: Path, kept: Mapping[str, str], words: dict[str, str]) -> None:
    write_table(_read(path, kept, words), path, DOCUMENTS)


def _read(path: Path, kept: Mapping[str, str], words: dict[str, str]) -> pa.Table:
    rows = [_withheld(row, kept, words) for row in read_table(path, DOCUMENTS).to_pylist()]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


def _update(folder: Path, facts: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    if told := facts(manifest):
        write_json(path, manifest | told)


def _left_by_pii(lake: Lake, folder: Path) -> dict[str, str]:
    """The paths as pii left them, by document."""
    kept: dict[str, str] = {}
    for path in sorted((folder / "progress" / StageName.PII).glob("*.parquet")):
        here = read_table(path, LOCATIONS).filter(pc.field("outcome") == Outcome.OK.value).to_pylist()
        rows = read_places(lake, {row["document_id"]: row["file"] for row in here}, _FIELDS)
        for row in rows.to_pylist():
            (kept[row["document_id"]],) = (field["value"] for field in row["fields"] if field["name"] == "uri")
    return kept


def _withheld(row: dict[str, Any], kept: Mapping[str, str], words: dict[str, str]) -> dict[str, Any]:
    if row["place"] is not None:
        return row
    uri, document_id = row["uri"], row["document_id"]
    name = kept.get(document_id, nameless(document_id, uri))
    before = name if row["previous_uri"] == uri else row["previous_uri"]
    if name == uri:
        return row | {"previous_uri": before}
    words |= {uri: name, row["locator"]: name}
    place = place_digest(row["source"], uri)
    return row | {"uri": name, "locator": name, "previous_uri": before, "place": place}


def nameless(document_id: str, uri: str) -> str:
    """What a document is called whose path nobody has searched: by its id, with the ending of its name if that tells
    a format.

    >>> nameless("doc-1", "letters/Jane Roe.pdf"), nameless("doc-1", "https://a.org/jane.roe")
    ('doc-1.pdf', 'doc-1')
    """
    ending = PurePosixPath(uri).suffix.lower()
    return document_id + (ending if declared_type(f"x{ending}") else "")


def _said(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _said(item, words) for key, item in value.items()}
    for before in sorted(words, key=len, reverse=True):
        value = value.replace(before, words[before]) if isinstance(value, str) else value
    return value
