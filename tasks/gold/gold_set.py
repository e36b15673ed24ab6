"""Gold sets on disk: a folder with `manifest.yaml` and one `<kind>.jsonl` per kind of label.

A row names its document as `"document": "<source>:<path or URL>"` or by `"document_id"`, and binds its label to the
bytes it was made for: `{"document": ..., "content_sha": "<SHA-256>", "label": {...}}`.
"""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tasks.errors import ConfigurationError
from tasks.gold.kinds import LABEL_KINDS, Label
from tasks.gold.labels import PackedLabel

MANIFEST = "manifest.yaml"
_SHA = r"^[0-9a-f]{64}$"
_LISTED = 20


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GoldFile(_Record):
    """A file of a gold set: its SHA-256, how many labels it holds, and how many rows of it are known to be none.

    Bad rows that were allowed when the set was sealed are left out in reading; any other number of them is an error.
    """

    sha256: str = Field(pattern=_SHA)
    items: int = Field(ge=0)
    bad_rows: int = Field(default=0, ge=0)


class GoldManifest(_Record):
    """What a gold set is, where it may be used, and what belongs to it.

    `left_out`: by file of the published data set it was imported from, the bad rows that no label was made of.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    version: str = Field(min_length=1)
    description: str = ""
    licence: str = ""
    files: dict[str, GoldFile]
    left_out: dict[str, int] = Field(default_factory=dict)

    def recorded(self) -> dict[str, Any]:
        """The manifest as it is written: what counts no bad row is not said."""
        said = self.model_dump(exclude={"left_out"} if not self.left_out else None)
        for file in said["files"].values():
            if not file["bad_rows"]:
                del file["bad_rows"]
        return said

    @property
    def bad_rows(self) -> int:
        """All rows that were left out knowingly, when the set was imported or sealed."""
        return sum(self.left_out.values()) + sum(file.bad_rows for file in self.files.values())


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
    """A gold set as read."""

    manifest: GoldManifest
    labels: tuple[GoldLabel, ...]

    @property
    def version(self) -> str:
        """The name and version by which its figures are stamped."""
        return f"{self.manifest.name}@{self.manifest.version}"


def read_gold_set(folder: Path) -> GoldSet:
    """Reads and checks a gold set. As many bad rows of a file as its manifest knows of are left out.

    Raises:
        ConfigurationError: there is no manifest, a file is missing, foreign or not the one the manifest names, or
            rows are wrong (listed by file and line) that its manifest does not know of.
    """
    manifest = read_manifest(folder)
    labels: list[GoldLabel] = []
    unknown: list[str] = []
    for name, file in sorted(manifest.files.items()):
        kind = name.removesuffix(".jsonl")
        if kind not in LABEL_KINDS or not name.endswith(".jsonl"):
            raise ConfigurationError(
                f"{folder / MANIFEST} names {name!r}, which is no kind of label",
                remedy=f"name label files after their kind: {', '.join(f'{k}.jsonl' for k in LABEL_KINDS)}",
            )
        bad: list[str] = []
        _read_file(folder / name, kind, file, labels, bad)
        if len(bad) != file.bad_rows:
            unknown += bad or [f"{name}: has no bad row, and {MANIFEST} knows of {file.bad_rows}"]
    if unknown:
        raise bad_rows(folder, unknown)
    return GoldSet(manifest, tuple(labels))


def bad_rows(folder: Path, bad: Sequence[str]) -> ConfigurationError:
    """The error that names the rows of a set that are no labels, the first of them."""
    return ConfigurationError(
        f"gold set {folder} has {len(bad)} bad rows:\n{listed(bad)}",
        remedy=f"mend these lines, then write the manifest anew: `corpusgate gold seal {folder}` "
        "(--allow-bad-rows leaves them out, and the manifest says how many)",
    )


def listed(bad: Sequence[str]) -> str:
    """The first of these, a line each, and how many more there are."""
    more = f"\n… and {len(bad) - _LISTED} more" if len(bad) > _LISTED else ""
    return "\n".join(bad[:_LISTED]) + more


def read_manifest(folder: Path) -> GoldManifest:
    """The manifest of a gold set.

    Raises:
        ConfigurationError: there is none, or it is none.
    """
    path = folder / MANIFEST
    try:
        return GoldManifest.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"{path} does not exist",
            remedy="name a folder that holds a gold set, or write the manifest of label files: `corpusgate gold seal`",
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is no YAML: {error}", remedy="mend the manifest") from error
    except ValidationError as error:
        raise ConfigurationError(f"{path} is no manifest: {faults_of(error)}", remedy="mend the manifest") from error


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
            remedy="restore the file; where labels changed on purpose: `corpusgate gold seal`, with a new --version",
        )
    labels += read_rows(path.name, kind, data, bad)


def read_rows(name: str, kind: str, data: bytes, bad: list[str]) -> list[GoldLabel]:
    """The labels in the lines of a file; what is wrong with a line goes to `bad`, by file and line."""
    labels: list[GoldLabel] = []
    model = LABEL_KINDS[kind]
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.strip():
            continue
        try:
            row = GoldRow.model_validate_json(line)
            label = model.model_validate(row.label)
        except ValidationError as error:
            bad.append(f"{name}:{number}: {faults_of(error)}")
        else:
            labels.append(GoldLabel(kind, row.document, row.document_id, row.content_sha, PackedLabel.of(label)))
    return labels


def faults_of(error: ValidationError) -> str:
    """What is wrong and where, without the values: labels may hold personal data."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'row'}: {fault['msg']}"
        for fault in error.errors(include_input=False, include_url=False, include_context=False)
    )
