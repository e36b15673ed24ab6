"""Headers of scientific papers from GROBID's training data (Apache-2.0): title and authors in the text of a first page.

The files hold the text of a page's head with marks in it, not the PDF; a corpus of plain text is made of them. Names of
authors stand there as they were read off the page, with notes and numbers, so the authors are cut out of that line.
"""

import re
from pathlib import Path
from typing import Any

from lxml import etree

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument

_BETWEEN = re.compile(r"\s*(?:[,;•·&]|\band\b|[\d*†‡§∗¶#]+)[\s,;]*")
_BLOCKS = frozenset(("reference", "docTitle", "byline", "address", "email", "div", "date", "note", "keyword", "idno"))


def read(folder: Path) -> DataSet:
    """Texts `<name>.txt` with title and authors, of every `*.header.tei.xml` below the folder."""
    documents: list[MadeDocument] = []
    bad: list[BadRow] = []
    skipped: list[str] = []
    for path in sorted(folder.rglob("*.header.tei.xml")):
        try:
            front = etree.parse(path, _parser()).getroot().find(".//front")
        except etree.XMLSyntaxError as error:
            bad.append(BadRow(path.name, error.lineno, "is no XML"))
            continue
        title = _line(front.find(".//titlePart")) if front is not None else ""
        if front is None or not title:
            skipped.append(f"{path.name}: marks no title")
            continue
        authors = [name for author in front.iter("docAuthor") for name in author_names(_line(author))]
        name = path.name.split(".header.", 1)[0].removesuffix(".training")
        label = {"title": title, "authors": authors}
        documents.append(MadeDocument(f"{name}.txt", _text(front).encode(), {"metadata": label}))
    return DataSet(tuple(documents), tuple(bad), tuple(skipped))


def _parser() -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def author_names(line: str) -> list[str]:
    """The names in a line of authors.

    >>> author_names("Ada Moor 1, Jon Reed 2* and Li Wu")
    ['Ada Moor', 'Jon Reed', 'Li Wu']
    """
    return [name for part in _BETWEEN.split(line) if (name := part.strip(" .()")) and sum(map(str.isalpha, name)) > 2]


def _line(node: Any) -> str:
    return " ".join("".join(node.itertext()).split()) if node is not None else ""


def _text(front: Any) -> str:
    """The text as printed: a line per line break, a blank line around each marked part."""
    parts: list[str] = []

    def walk(node: Any) -> None:
        if not isinstance(node.tag, str):
            return
        if node.tag in _BLOCKS:
            parts.append("\n\n")
        parts.append("\n" if node.tag == "lb" else " ".join((node.text or "").split()) + " ")
        for child in node:
            walk(child)
            parts.append(" ".join((child.tail or "").split()) + " ")
        if node.tag in _BLOCKS:
            parts.append("\n\n")

    walk(front)
    lines = [" ".join(line.split()) for line in "".join(parts).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"
