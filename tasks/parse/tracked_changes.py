"""Word files as they read once their tracked changes are accepted: docling leaves out what was moved."""

import io
import re
import zipfile
from typing import Any

from lxml import etree

from tasks.documents.archives import read_member
from tasks.documents.xml import local_name, xml_root

_PARTS = re.compile(r"word/(?:document\d*|footnotes|endnotes)\.xml")
_TRACKED = re.compile(rb"[<:](?:ins|del|moveTo|moveFrom)[\s/>]")
_REMOVED = frozenset({"del", "moveFrom"})
_KEPT = frozenset({"ins", "moveTo"})
_NAMESPACES = ("wordprocessingml/2006/main", "wordprocessingml/main")
"""How the namespaces of the transitional and of the strict form end."""


def accepted(data: bytes, archive: zipfile.ZipFile) -> bytes:
    """The file with its changes accepted: what was put in or moved here stays, what was deleted or moved away goes.

    The bytes come back as they are where no change is tracked.

    Raises:
        DocumentError: `corrupt`.
    """
    changed: dict[str, bytes] = {}
    for name in archive.namelist():
        content = read_member(archive, name) if _PARTS.fullmatch(name) else None
        if content and _TRACKED.search(content) and (root := xml_root(content)) is not None:
            _accept(root)
            changed[name] = etree.tostring(root.getroottree(), xml_declaration=True, encoding="UTF-8", standalone=True)
    if not changed:
        return data
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for name in dict.fromkeys(archive.namelist()):
            copy.writestr(name, changed.get(name) or read_member(archive, name) or b"")
    return made.getvalue()


def _accept(root: Any) -> None:
    for node in list(root.iter()):
        if not _is_of_word(node) or node.getparent() is None:
            continue
        parent, name = node.getparent(), local_name(node)
        if name in _REMOVED:
            if local_name(parent) == "trPr":  # a row that was deleted
                row = parent.getparent()
                if row.getparent() is not None:
                    row.getparent().remove(row)
            elif len(node):
                parent.remove(node)
        elif name in _KEPT and len(node):
            place = parent.index(node)
            parent[place : place + 1] = list(node)


def _is_of_word(node: Any) -> bool:
    return isinstance(node.tag, str) and node.tag.partition("}")[0].endswith(_NAMESPACES)
