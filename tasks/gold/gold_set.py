"""Gold sets on disk: a folder with `manifest.yaml` and one `<kind>.jsonl` per kind of label.

A row names its document as `"document": "<source>:<path or URL>"` or by `"document_id"`, and binds its label to the
bytes it was made for: `{"document": ..., "content_sha": "<SHA-256>", "label": {...}}`.
"""

import hashlib
import io
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tasks.errors import ConfigurationError
from tasks.gold.kinds import LABEL_KINDS, Label
from tasks.gold.labels import BoundLabel, Labels, PackedLabel
from tasks.gold.naming import NamedDocuments

MANIFEST = "manifest.yaml"
_SHA = r"^[0-9a-f]{64}$"
_LISTED = 20


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GoldFile(_Record):
    """A file of a gold set: its SHA-256 and how many labels it holds."""

    sha256: str = Field(pattern=_SHA)
    items: int = Field(ge=0)


class GoldManifest(_Record):
    """What a gold set is, where it may be used, and what belongs to it."""

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    version: str = Field(min_length=1)
    description: str = ""
    licence: str = ""
    files: dict[str, GoldFile]


class GoldRow(_Record):
    """One label as it stands in a file; exactly one of `document` and `document_id` names its document."""

    document: str | None = Field(default=None, min_length=1)
    document_id: str | None = Field(default=None, min_length=1)
    content_sha: str = Field(pattern=_SHA)
    label: dict[str, Any]

    @model_validator(mode="after")
    def _one_name(self) -> "GoldRow":
        if (self.document is None) == (self.document_id is None):
            raise ValueError("name the document by either `document` or `document_id`")
        return self


@dataclass(frozen=True, slots=True)
class GoldLabel:
    """A label of a gold set, before it is known which document of a run it belongs to."""

    kind: str
    document: str | None
    document_id: str | None
    content_sha: str
    packed: PackedLabel

    @property
    def label(self) -> Label:
        """The label itself."""
        return self.packed.label


@dataclass(frozen=True, slots=True)
class GoldSet:
    """A gold set as read; `bad_rows` says file, line and fault of each row that was left out."""

    manifest: GoldManifest
    labels: tuple[GoldLabel, ...]
    bad_rows: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The name and version by which its figures are stamped."""
        return f"{self.manifest.name}@{self.manifest.version}"


def read_gold_set(folder: Path, *, allow_bad_rows: bool = False) -> GoldSet:
    """Reads and checks a gold set.

    Raises:
        ConfigurationError: there is no manifest, a file is missing, foreign or not the one the manifest names, or
            rows are wrong (listed by file and line) and `allow_bad_rows` is not set.
    """
    manifest = _read_manifest(folder)
    labels: list[GoldLabel] = []
    bad: list[str] = []
    for name, file in sorted(manifest.files.items()):
        kind = name.removesuffix(".jsonl")
        if kind not in LABEL_KINDS or not name.endswith(".jsonl"):
            raise ConfigurationError(
                f"{folder / MANIFEST} names {name!r}, which is no kind of label",
                remedy=f"name label files after their kind: {', '.join(f'{k}.jsonl' for k in LABEL_KINDS)}",
            )
        _read_file(folder / name, kind, file, labels, bad)
    if bad and not allow_bad_rows:
        listed = "\n".join(bad[:_LISTED])
        more = f"\n… and {len(bad) - _LISTED} more" if len(bad) > _LISTED else ""
        raise ConfigurationError(
            f"gold set {folder} has {len(bad)} bad rows:\n{listed}{more}",
            remedy="mend these lines and write the manifest anew",
        )
    return GoldSet(manifest, tuple(labels), tuple(bad))


def _read_manifest(folder: Path) -> GoldManifest:
    path = folder / MANIFEST
    try:
        return GoldManifest.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"{path} does not exist", remedy="name a folder that holds a gold set, or import one"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is no YAML: {error}", remedy="mend the manifest") from error
    except ValidationError as error:
        raise ConfigurationError(f"{path} is no manifest: {_faults(error)}", remedy="mend the manifest") from error


def _read_file(path: Path, kind: str, expected: GoldFile, labels: list[GoldLabel], bad: list[str]) -> None:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}", remedy="restore the file, or take it out of the manifest"
        ) from error
    if hashlib.sha256(data).hexdigest() != expected.sha256:
        raise ConfigurationError(
            f"{path} is not the file that {MANIFEST} names (its SHA-256 differs)",
            remedy="restore the file; where the labels changed on purpose, write the set anew under a new version",
        )
    model = LABEL_KINDS[kind]
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.strip():
            continue
        try:
            row = GoldRow.model_validate_json(line)
            label = model.model_validate(row.label)
        except ValidationError as error:
            bad.append(f"{path.name}:{number}: {_faults(error)}")
        else:
            labels.append(GoldLabel(kind, row.document, row.document_id, row.content_sha, PackedLabel.of(label)))


def _faults(error: ValidationError) -> str:
    """What is wrong and where, without the values: labels may hold personal data."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'row'}: {fault['msg']}"
        for fault in error.errors(include_input=False, include_url=False, include_context=False)
    )


def write_gold_set(
    folder: Path,
    name: str,
    version: str,
    rows: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    description: str = "",
    licence: str = "",
) -> GoldManifest:
    """Writes rows by kind (as dictionaries, see `GoldRow`) and the manifest; the same rows give the same bytes.

    Raises:
        ConfigurationError: a kind, a row, the name or the version is wrong; nothing is written then.
    """
    files: dict[str, GoldFile] = {}
    contents: dict[str, bytes] = {}
    for kind, of_kind in sorted(rows.items()):
        if kind not in LABEL_KINDS:
            raise ConfigurationError(f"{kind!r} is no kind of label", remedy=f"use one of {', '.join(LABEL_KINDS)}")
        lines: list[str] = []
        for number, row in enumerate(of_kind, 1):
            try:
                LABEL_KINDS[kind].model_validate(GoldRow.model_validate(row).label)
            except ValidationError as error:
                raise ConfigurationError(f"{kind} row {number}: {_faults(error)}", remedy="mend the row") from error
            lines.append(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n")
        contents[f"{kind}.jsonl"] = data = "".join(lines).encode()
        files[f"{kind}.jsonl"] = GoldFile(sha256=hashlib.sha256(data).hexdigest(), items=len(lines))
    try:
        manifest = GoldManifest(name=name, version=version, description=description, licence=licence, files=files)
    except ValidationError as error:
        raise ConfigurationError(f"gold set {name!r}: {_faults(error)}", remedy="mend its name or version") from error
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in contents.items():
        (folder / file).write_bytes(data)
    text = yaml.safe_dump(manifest.model_dump(), sort_keys=False, allow_unicode=True)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return manifest


def bind(gold_sets: Sequence[GoldSet], documents: pa.Table, kinds: Collection[str] | None = None) -> Labels:
    """Labels of these documents (`DOCUMENTS` rows; deleted ones have none), of all kinds where none are named.

    A label means the document of its path while that has the bytes the label was made for. Where it has not, it means
    the one document of the same source with these bytes (it was moved, and its old path is gone or somebody else's);
    where there is none, it stays with its path and is stale. What names no document is left out here and counted by
    `unbound`.

    Raises:
        ConfigurationError: two labels of one kind for one document; the error names the sets and the document.
    """
    named = NamedDocuments(documents)
    bound: dict[tuple[str, str], BoundLabel] = {}
    origin: dict[tuple[str, str], str] = {}
    for gold_set, gold, document_id in _placed(gold_sets, named):
        if document_id is None or (kinds is not None and gold.kind not in kinds):
            continue
        key = (document_id, gold.kind)
        if key in bound:
            raise ConfigurationError(
                f"document {document_id} has two {gold.kind} labels, from {origin[key]} and {gold_set.version}",
                remedy="take one of the two out of its gold set",
            )
        origin[key] = gold_set.version
        bound[key] = BoundLabel(gold.packed, gold.content_sha, named.shas[document_id] != gold.content_sha)
    version = "+".join(sorted(gold_set.version for gold_set in gold_sets)) or None
    return Labels(version, bound)


def unbound(gold_sets: Sequence[GoldSet], documents: pa.Table) -> Mapping[tuple[str, str], int]:
    """How many labels name no document of the run, by (gold set, kind); what has none is not listed."""
    placed = _placed(gold_sets, NamedDocuments(documents))
    return Counter((gold_set.version, gold.kind) for gold_set, gold, document_id in placed if document_id is None)


def _placed(gold_sets: Sequence[GoldSet], named: NamedDocuments) -> list[tuple[GoldSet, GoldLabel, str | None]]:
    """Each label with the document that it means. A document that has a label of its own takes in none that moved."""
    labels = [
        (gold_set, gold, gold.document_id or gold.document or "") for gold_set in gold_sets for gold in gold_set.labels
    ]
    by_name = [named.by_name(name) for _, _, name in labels]
    taken = {
        (document_id, gold.kind)
        for (_, gold, _), document_id in zip(labels, by_name, strict=True)
        if document_id is not None and named.shas[document_id] == gold.content_sha
    }
    placed: list[tuple[GoldSet, GoldLabel, str | None]] = []
    for (gold_set, gold, name), document_id in zip(labels, by_name, strict=True):
        found = named.find(name, gold.content_sha)
        if found is not None and found != document_id and (found, gold.kind) not in taken:
            taken.add((found, gold.kind))
            document_id = found
        placed.append((gold_set, gold, document_id))
    return placed
