"""Writing gold sets: from rows in memory, or the manifest of label files that somebody wrote."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import ValidationError

from tasks.errors import ConfigurationError
from tasks.gold.gold_set import (
    MANIFEST,
    GoldFile,
    GoldManifest,
    GoldRow,
    bad_rows,
    faults_of,
    read_manifest,
    read_rows,
)
from tasks.gold.kinds import LABEL_KINDS


def write_gold_set(
    folder: Path,
    name: str,
    version: str,
    rows: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    description: str = "",
    licence: str = "",
    left_out: Mapping[str, int] = MappingProxyType({}),
) -> GoldManifest:
    """Writes rows by kind (as dictionaries, see `GoldRow`) and the manifest; the same rows give the same bytes.

    `left_out`: by file of the data set that the rows were made of, the bad rows that no label was made of.

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
                raise ConfigurationError(f"{kind} row {number}: {faults_of(error)}", remedy="mend the row") from error
            lines.append(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n")
        contents[f"{kind}.jsonl"] = data = "".join(lines).encode()
        files[f"{kind}.jsonl"] = GoldFile(sha256=hashlib.sha256(data).hexdigest(), items=len(lines))
    manifest = _manifest(name, version, files, description=description, licence=licence, left_out=left_out)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in contents.items():
        (folder / file).write_bytes(data)
    _write_manifest(folder, manifest)
    return manifest


def seal_gold_set(
    folder: Path, name: str | None = None, version: str | None = None, *, allow_bad_rows: bool = False
) -> GoldManifest:
    """Checks the label files of a folder and writes their manifest. What is not given stays as the manifest has it.

    Label files are never rewritten: allowed bad rows stay where they are, the manifest counts them, and reading leaves
    them out.

    Raises:
        ConfigurationError: there are no label files, rows are wrong (listed by file and line) and not allowed, or name
            or version are missing or wrong; the manifest is not touched then.
    """
    before = read_manifest(folder) if (folder / MANIFEST).exists() else None
    files: dict[str, GoldFile] = {}
    bad: list[str] = []
    for kind in LABEL_KINDS:
        path = folder / f"{kind}.jsonl"
        if path.is_file():
            data = path.read_bytes()
            before_this = len(bad)
            labels = read_rows(path.name, kind, data, bad)
            files[path.name] = GoldFile(
                sha256=hashlib.sha256(data).hexdigest(), items=len(labels), bad_rows=len(bad) - before_this
            )
    if bad and not allow_bad_rows:
        raise bad_rows(folder, bad)
    if not files:
        raise ConfigurationError(
            f"{folder} holds no label files",
            remedy=f"name them after their kind: {', '.join(f'{k}.jsonl' for k in LABEL_KINDS)}",
        )
    if before is None and (name is None or version is None):
        raise ConfigurationError(f"{folder} has no manifest yet", remedy="give --name and --version")
    manifest = _manifest(
        name or (before.name if before else ""),
        version or (before.version if before else ""),
        files,
        description=before.description if before else "",
        licence=before.licence if before else "",
        left_out=before.left_out if before else {},
    )
    if before is not None and before.files != files and before.version == manifest.version:
        raise ConfigurationError(
            f"the labels of {folder} have changed, and the version is still {before.version}",
            remedy="give a new --version: figures by other labels must not bear the same name",
        )
    _write_manifest(folder, manifest)
    return manifest


def _manifest(
    name: str,
    version: str,
    files: dict[str, GoldFile],
    *,
    description: str,
    licence: str,
    left_out: Mapping[str, int],
) -> GoldManifest:
    try:
        return GoldManifest(
            name=name,
            version=version,
            description=description,
            licence=licence,
            files=files,
            left_out=dict(sorted(left_out.items())),
        )
    except ValidationError as error:
        raise ConfigurationError(f"gold set {name!r}: {faults_of(error)}", remedy="mend its name or version") from error


def _write_manifest(folder: Path, manifest: GoldManifest) -> None:
    text = yaml.safe_dump(manifest.recorded(), sort_keys=False, allow_unicode=True)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
