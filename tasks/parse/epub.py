"""EPUB books: the XHTML documents of the spine, each read as a page of the web."""

import posixpath
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import etree

from tasks.documents.archives import open_archive, read_member
from tasks.documents.cage_worker import Pages
from tasks.documents.xml import local_name, xml_root
from tasks.errors import DocumentError
from tasks.parse.elements import Elements, Row, parsed
from tasks.parse.encoding import decode
from tasks.parse.html_blocks import add_blocks, parse_tree

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_DOCUMENTS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


@dataclass(frozen=True, slots=True)
class _Package:
    """What the package file says: its documents in reading order, and its metadata by name."""

    documents: tuple[str, ...]
    metadata: Mapping[str, tuple[str, ...]]


def parse_epub(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The blocks of a book in the order of its spine, a page for each document there.

    A document that is missing or holds nothing that can be read is a page without output; one without text (a cover)
    is blank.

    Raises:
        DocumentError: `corrupt`, `encrypted`, `archive_limit`.
    """
    elements = Elements()
    missing: list[int] = []
    with open_archive(Path(path), settings["containers"]) as archive:
        package = _package(archive)
        locked = _locked(archive)
        if any(name in locked for name in package.documents):
            raise DocumentError(
                "encrypted",
                "the text of the book is encrypted (DRM)",
                remedy="ask its publisher for a copy that can be read by programs",
            )
        for page, name in enumerate(package.documents, start=1):
            root = _document(archive, name) if pages.enter(page) else None
            if root is None:
                missing.append(page)
            else:
                chapter = Elements()
                add_blocks(chapter, root)
                elements.add_parsed({"elements": chapter.rows}, level=0, first_page=page)
        pages.done()
    said = package.metadata
    row = parsed(
        elements,
        pages=len(package.documents),
        pages_without_output=missing,
        title=next(iter(said.get("title", ())), None),
        authors=said.get("creator", ()),
        published=next(iter(said.get("date", ())), None),
        modified=next(iter(said.get("dcterms:modified", ())), None),
        language=next(iter(said.get("language", ())), None),
    )
    return row | {"parser": "lxml", "parser_version": ".".join(map(str, etree.LXML_VERSION[:3]))}


def _document(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        content = read_member(archive, name)
    except DocumentError:
        return None  # one damaged chapter is a page without output, not a lost book
    return parse_tree(decode(content, markup=True)[0]) if content else None


def _package(archive: zipfile.ZipFile) -> _Package:
    container = _xml(archive, _CONTAINER)
    place = next((node.get("full-path") for node in container.iter() if local_name(node) == "rootfile"), None)
    root = _xml(archive, place or "")
    folder = posixpath.dirname(place or "")
    files: dict[str, str] = {}
    spine: list[str] = []
    metadata: dict[str, tuple[str, ...]] = {}
    for node in root.iter():
        kind = local_name(node)
        if kind == "item" and node.get("media-type") in _DOCUMENTS:
            target = unquote((node.get("href") or "").partition("#")[0])
            files[node.get("id") or ""] = posixpath.normpath(posixpath.join(folder, target))
        elif kind == "itemref":
            spine.append(node.get("idref") or "")
        elif node.text and node.text.strip():
            name = node.get("property") if kind == "meta" else kind
            metadata[name or kind] = (*metadata.get(name or kind, ()), node.text.strip())
    documents = tuple(files[name] for name in dict.fromkeys(spine) if name in files)
    if not documents:
        raise DocumentError(
            "corrupt",
            "the book names no documents in reading order",
            remedy="open it in a reader for books: if it shows text there, report a defect",
        )
    return _Package(documents, metadata)


def _xml(archive: zipfile.ZipFile, name: str) -> Any:
    content = read_member(archive, name)
    root = xml_root(content) if content else None
    if root is None:
        raise DocumentError(
            "corrupt",
            "the book's own description is missing or not well-formed",
            remedy="fetch the file again, or convert it anew",
        )
    return root


def _locked(archive: zipfile.ZipFile) -> frozenset[str]:
    """The members that are encrypted; fonts often are, which takes nothing from the text."""
    content = read_member(archive, _ENCRYPTION)
    root = xml_root(content) if content else None
    if root is None:
        return frozenset()
    return frozenset(unquote(node.get("URI") or "") for node in root.iter() if local_name(node) == "CipherReference")
