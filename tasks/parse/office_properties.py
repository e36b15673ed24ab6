"""What an Office Open XML file declares about itself, in `docProps/core.xml` (ECMA-376, part 2)."""

import re
import zipfile
from typing import Any

from tasks.documents.archives import read_member
from tasks.documents.xml import local_name, xml_root

_PARTS = ("docProps/core.xml", "docprops/core.xml")


def core_properties(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Keyword arguments of `parsed`; empty where the file declares nothing, or nothing that can be read."""
    content = next((found for name in _PARTS if (found := read_member(archive, name)) is not None), None)
    root = xml_root(content) if content else None
    if root is None:
        return {}
    stated: dict[str, str] = {}
    for node in root:
        if isinstance(node.tag, str) and node.text:
            stated.setdefault(local_name(node), node.text.strip())
    return {
        "title": stated.get("title"),
        "authors": re.split(r"\s*;\s*", stated.get("creator", "")),
        "published": stated.get("created"),
        "modified": stated.get("modified"),
        "language": stated.get("language"),
    }
