"""The second reading of Office Open XML, OpenDocument and EPUB: the XML of their parts, by no library of theirs."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from tasks.documents.archives import ContainerLimits, open_archive, read_member
from tasks.documents.raw_sheets import shared_strings, sheet_lines, sheet_styles
from tasks.documents.raw_text import RawText, UnreadableError, decode, paged, read_html
from tasks.documents.xml import local_name, xml_root
from tasks.errors import DocumentError

_WORD_PARTS = re.compile(r"word/(?:document\d*|footnotes|endnotes|header\d*|footer\d*|charts/[^/]+)\.xml")
_SPACES = frozenset({"tab", "br", "cr", "s", "line-break"})
_REMOVED = frozenset({"del", "moveFrom"})
_REMOVED_ODT = frozenset({"tracked-changes"})
_LINE_ENDS = frozenset({"p", "h", "tc", "table-cell", "pt", "si"})
_FOLLOWED = ("drawing", "chart", "notesSlide", "diagramData")
"""Relationships of a slide or a sheet to parts whose text it shows."""


def read_docx(data: bytes, limits: ContainerLimits) -> RawText:
    """All text of a Word file as one page, less what tracked changes took away.

    Its numbers of headings and lists are not in the file: Word counts them.
    """
    with _archive(data, limits) as archive:
        names = sorted(filter(_WORD_PARTS.fullmatch, archive.namelist()), key=lambda name: "document" not in name)
        roots = [_part(archive, name) for name in names]
    if not names or roots[0] is None:
        raise UnreadableError("word/document.xml is missing or not well-formed")
    return RawText.of_page(
        "\n".join(line for root in roots for line in text_lines(_without(root, _REMOVED))), computed_numbers=True
    )


def read_pptx(data: bytes, limits: ContainerLimits) -> RawText:
    """The text of each slide with its notes and charts, a page each."""
    with _archive(data, limits) as archive:
        slides = _listed(archive, "ppt/presentation.xml", "sldId")
        pages = ["\n".join(_with_related(archive, target)) for _, target in slides]
    return paged(pages, computed_numbers=True)


def read_xlsx(data: bytes, limits: ContainerLimits) -> RawText:
    """The values of each sheet row by row below its name, a page and a part each."""
    with _archive(data, limits) as archive:
        strings = shared_strings(_part(archive, "xl/sharedStrings.xml"))
        styles = sheet_styles(_part(archive, "xl/styles.xml"), _part(archive, "xl/workbook.xml"))
        pages: list[str] = []
        parts: dict[str, tuple[int, int]] = {}
        for name, target in _listed(archive, "xl/workbook.xml", "sheet"):
            lines = sheet_lines(_part(archive, target), strings, styles)
            pages.append("\n".join([name, *lines, *_with_related(archive, target, itself=False)]))
            parts[name] = (len(pages), 1)
    return paged(pages, parts=parts)


def read_odt(data: bytes, limits: ContainerLimits) -> RawText:
    """The text of an OpenDocument file as one page."""
    with _archive(data, limits) as archive:
        root = _part(archive, "content.xml")
    if root is None:
        raise UnreadableError("content.xml is missing or not well-formed")
    return RawText.of_page("\n".join(text_lines(_without(root, _REMOVED_ODT), all_text=True)), computed_numbers=True)


def read_epub(data: bytes, limits: ContainerLimits) -> RawText:
    """The text of each document of a book's spine, a page each."""
    with _archive(data, limits) as archive:
        container = _part(archive, "META-INF/container.xml")
        place = "" if container is None else next((n.get("full-path") or "" for n in _named(container, "rootfile")), "")
        package = _part(archive, place)
        if package is None:
            raise UnreadableError("the package file is missing or not well-formed")
        folder = posixpath.dirname(place)
        items = {
            node.get("id"): posixpath.normpath(posixpath.join(folder, unquote(node.get("href") or "")))
            for node in _named(package, "item")
            if "html" in (node.get("media-type") or "") or "dtbook" in (node.get("media-type") or "")
        }
        order = dict.fromkeys(node.get("idref") for node in _named(package, "itemref"))
        pages = [_chapter(archive, items[name]) for name in order if name in items]
    return paged(pages)


def _chapter(archive: zipfile.ZipFile, name: str) -> str:
    try:
        content = read_member(archive, name)
    except DocumentError:
        return ""
    return "\n".join(read_html(decode(content, html=True)).pages) if content else ""


def _named(root: Any, name: str) -> Iterator[Any]:
    return (node for node in root.iter() if local_name(node) == name)


def _without(root: Any, names: frozenset[str]) -> Any:
    """A part without the elements of these names; what follows them stays."""
    for node in [] if root is None else [node for node in root.iter() if local_name(node) in names]:
        parent = node.getparent()
        if parent is not None:
            before = node.getprevious()
            if node.tail and before is not None:
                before.tail = (before.tail or "") + node.tail
            elif node.tail:
                parent.text = (parent.text or "") + node.tail
            parent.remove(node)
    return root


def text_lines(root: Any, *, all_text: bool = False) -> Iterator[str]:
    """The text of a part, a line for each paragraph or cell.

    Office Open XML has text in elements named `t` (and `v` in charts); OpenDocument anywhere (`all_text`).
    """
    line: list[str] = []
    for event, node in _walk(root):
        name = local_name(node)
        if event == "start":
            if name in _SPACES:
                line.append(" ")
            if node.text and (all_text or name in ("t", "v")):
                line.append(node.text)
        else:
            if name in _LINE_ENDS and line:
                yield "".join(line)
                line = []
            if all_text and node.tail and node is not root:
                line.append(node.tail)
    if line:
        yield "".join(line)


def _walk(root: Any) -> Iterator[tuple[str, Any]]:
    from lxml import etree

    return iter(()) if root is None else etree.iterwalk(root, events=("start", "end"))


def _archive(data: bytes, limits: ContainerLimits) -> zipfile.ZipFile:
    try:
        return open_archive(io.BytesIO(data), limits.model_dump())
    except DocumentError as error:
        raise UnreadableError(error.error_class) from None


def _part(archive: zipfile.ZipFile, name: str) -> Any:
    """The root of a part; null where it is missing or not well-formed."""
    try:
        content = read_member(archive, name)
    except DocumentError as error:
        raise UnreadableError(error.error_class) from None
    return xml_root(content) if content else None


def _listed(archive: zipfile.ZipFile, index: str, tag: str) -> list[tuple[str, str]]:
    """(name, part) of the slides or sheets that the main part lists, in its order."""
    root = _part(archive, index)
    if root is None:
        raise UnreadableError(f"{index} is missing or not well-formed")
    targets = {key: target for key, (_, target) in _related(archive, index).items()}
    found = []
    for node in root.iter():
        if local_name(node) == tag:
            key = next((value for name, value in node.attrib.items() if name.endswith("}id")), "")
            if key in targets:
                found.append((node.get("name") or "", targets[key]))
    return found


def _related(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """The relationships of a part: id → (kind, part)."""
    folder, name = posixpath.split(part)
    root = _part(archive, f"{folder}/_rels/{name}.rels")
    made: dict[str, tuple[str, str]] = {}
    for node in root if root is not None else ():
        if node.get("TargetMode") != "External" and node.get("Target"):
            target = posixpath.normpath(posixpath.join("/" + folder, node.get("Target"))).lstrip("/")
            made[node.get("Id") or ""] = ((node.get("Type") or "").rpartition("/")[2], target)
    return made


def _with_related(archive: zipfile.ZipFile, part: str, *, itself: bool = True, depth: int = 2) -> list[str]:
    """The text of a part and of the drawings, charts and notes that it shows."""
    lines = list(text_lines(_part(archive, part))) if itself else []
    for kind, target in _related(archive, part).values() if depth else ():
        if kind in _FOLLOWED:
            lines += _with_related(archive, target, depth=depth - 1)
    return lines
