"""Where the output of a parser outside corpusgate lies for a document, and what it weighs in the document's key."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tasks.errors import DocumentError

_SUFFIXES = {"markdown": ".md", "html": ".html", "elements": ".json"}
_ERROR = "outside_missing"
_SEPARATING = re.compile(r"[/?%\0]")
_SUFFIX = re.compile(r"(?<=[^/])\.[^./]+\Z")
_LONGEST_NAME = 240
"""Bytes of a name, which with its suffix stays within what file systems allow (255)."""


class OutsideSettings(BaseModel):
    """The output of another parser (a service, a vision model), judged as if corpusgate had parsed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path = Field(
        description="Folder that mirrors the sources: what was made of `reports/a.pdf` is `reports/a.pdf.md` in it, of "
        "`https://example.org/a?id=1` `example.org/a?id=1.md`, below a folder of the source's name where there is one. "
        "Relative to this file. What the files hold is part of the stage's key, where they lie is not.",
        json_schema_extra={"shapes_output": False},
    )
    format: Literal["auto", "pages", "markdown", "html", "elements"] = Field(
        default="auto",
        description="What the files are: one Markdown file a page (see pages), one Markdown (.md) or HTML file (.html) "
        "a document, a JSON list of elements (.json); or the first of these that is there.",
    )
    pages: str = Field(
        default="{path}.{page}.md",
        description="Names of Markdown files of single pages, with {page} (from 1) and {path}, the document's path "
        "with its suffix, or {stem}, without it.",
    )
    documents: Literal["{path}", "{stem}"] = Field(
        default="{path}",
        description="Names of files of whole documents, before their own suffix (.md, .html, .json): the document's "
        "path with its suffix, or without it. `a.pdf` and `a.docx` have the same {stem}: use it only where no two "
        "documents differ in nothing else.",
    )

    @field_validator("pages")
    @classmethod
    def _names_pages(cls, value: str) -> str:
        if value.count("{page}") != 1 or ("{path}" in value) == ("{stem}" in value):
            raise ValueError("name {page} once, and either {path} or {stem}")
        if set(re.findall(r"\{(.*?)\}", value)) - {"page", "path", "stem"}:
            raise ValueError("there are {page}, {path} and {stem}, and no other names in braces")
        return value


@dataclass(frozen=True, slots=True)
class OutsideFiles:
    """The files made of one document, by page (0: the whole document)."""

    kind: Literal["markdown", "html", "elements"]
    files: Mapping[int, Path]


def outside_files(settings: OutsideSettings, source: str, uri: str) -> OutsideFiles:
    """What another parser made of a document.

    Raises:
        DocumentError: `outside_missing`.
    """
    name = _name(uri)
    if name is not None:
        for folder in (settings.folder / source, settings.folder):
            if found := _in(folder, name, settings):
                return found
    raise DocumentError(
        _ERROR,
        "the folder stages.parse.outside has no output for the document",
        remedy="run the other parser over it and put its output there, or name the files' form in "
        "stages.parse.outside.format, .pages and .documents",
    )


def outside_digest(settings: OutsideSettings, source: str, uri: str) -> str:
    """A digest of the files made of a document; `none` where there are none."""
    try:
        found = outside_files(settings, source, uri)
    except DocumentError:
        return "none"
    whole = hashlib.sha256(found.kind.encode())
    for page, file in sorted(found.files.items()):
        state = file.stat()
        whole.update(f"{page}:{_sha256(file, state.st_mtime_ns, state.st_size)}".encode())
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class _Name:
    """A document's path below the folder, with its suffix and without."""

    path: str
    stem: str

    def in_place(self, template: str) -> str:
        """The template with `{path}` and `{stem}` filled in."""
        return re.sub(r"\{(path|stem)\}", lambda match: self.path if match[1] == "path" else self.stem, template)


def _name(uri: str) -> _Name | None:
    """How a document's files are named: different documents, different names.

    A URL's is what follows its scheme: host, path and query. Its %-escapes are decoded, but for those of characters
    that would make it another path; a `/` in the query is escaped. Null where no file can have the name, or where it
    would lead out of the folder.
    """
    parts = urlsplit(uri)
    path, query = uri, ""
    if parts.scheme in ("http", "https"):
        segments = parts.path.split("/")
        if not all(segments[1:-1]) or "." in segments:
            return None  # on a disk these are the path without them, which is another URL
        path = parts.netloc + "/".join(_SEPARATING.sub(_escaped, unquote(segment)) for segment in segments)
        query = f"?{parts.query.replace('/', '%2F')}" if parts.query else ""
    pieces = PurePosixPath(path + query)
    if pieces.is_absolute() or ".." in pieces.parts or "\0" in path or any(map(_too_long, pieces.parts)):
        return None
    return _Name(path + query, _SUFFIX.sub("", path) + query)


def _escaped(match: re.Match[str]) -> str:
    return quote(match[0], safe="")


def _too_long(piece: str) -> bool:
    return len(os.fsencode(piece)) > _LONGEST_NAME


def _in(folder: Path, name: _Name, settings: OutsideSettings) -> OutsideFiles | None:
    if settings.format in ("auto", "pages") and (pages := _page_files(folder, name, settings.pages)):
        return OutsideFiles("markdown", pages)
    kinds: tuple[Literal["markdown", "html", "elements"], ...] = ("markdown", "html", "elements")
    for kind in kinds:
        if settings.format in ("auto", kind):
            file = folder / f"{name.in_place(settings.documents)}{_SUFFIXES[kind]}"
            if file.is_file():
                return OutsideFiles(kind, {0: file})
    return None


def _page_files(folder: Path, name: _Name, template: str) -> dict[int, Path]:
    before, after = map(name.in_place, template.split("{page}"))
    start = folder / f"{before}x"  # so that its name is what stands before the number, and one letter
    if not start.parent.is_dir():
        return {}
    pattern = re.compile(re.escape(start.name[:-1]) + r"0*([1-9]\d{0,5})" + re.escape(after))
    found = {file: match for file in _names(start.parent) if (match := pattern.fullmatch(file))}
    return {int(match.group(1)): start.parent / file for file, match in found.items()}


def _names(folder: Path) -> tuple[str, ...]:
    return _listing(folder, folder.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _listing(folder: Path, modified: int) -> tuple[str, ...]:
    return tuple(sorted(file.name for file in folder.iterdir()))


@lru_cache(maxsize=65_536)
def _sha256(file: Path, modified: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
