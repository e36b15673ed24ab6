"""What Office files declare about themselves: `docProps/core.xml` (ECMA-376, part 2), `meta.xml` (OpenDocument)."""

import re
import zipfile
from typing import Any

from tasks.documents.archives import read_member
from tasks.documents.xml import local_name, xml_root

_PARTS = ("docProps/core.xml", "docprops/core.xml", "meta.xml")


def declared_properties(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Keyword arguments of `parsed`; empty where the file declares nothing, or nothing that can be read.

    The author is who made the file (in OpenDocument `initial-creator`; its `creator` is who changed it last).
    """
    content = next((found for name in _PARTS if (found := read_member(archive, name)) is not None), None)
    root = xml_root(content) if content else None
    if root is None:
        return {}
    stated: dict[str, str] = {}
    for node in root.iter():
        if local_name(node) and node.text:
            stated.setdefault(local_name(node), node.text.strip())
    return {
        "title": stated.get("title"),
        "authors": re.split(r"\s*;\s*", stated.get("initial-creator") or stated.get("creator", "")),
        "published": stated.get("created") or stated.get("creation-date"),
        "modified": stated.get("modified") or stated.get("date"),
        "language": stated.get("language"),
    }
