"""Office Open XML packages, written part by part (ECMA-376, part 2)."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

from tasks.demo.authored import Source

_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WRITTEN = (2025, 1, 1, 0, 0, 0)
"""The time of all members, so that equal parts make equal bytes."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a package: its XML, its content type after `application/`, and who refers to it as what.

    `of` is the part that refers to it ("" for the package itself), `role` the last word of the relationship's type.
    """

    xml: str
    content_type: str
    of: str
    role: str


def package(parts: Mapping[str, Part], source: Source) -> bytes:
    """The file that holds these parts by name (`word/document.xml`), with core properties from the source.

    Relationships are named rId1, rId2 … in the order of the parts, for each part that refers to others.
    """
    core = Part(_core_properties(source), "vnd.openxmlformats-package.core-properties+xml", "", "core-properties")
    parts = {**parts, "docProps/core.xml": core}
    members = {"[Content_Types].xml": _content_types(parts)}
    for owner in dict.fromkeys(part.of for part in parts.values()):
        folder, _, name = owner.rpartition("/")
        members[f"{folder}/_rels/{name}.rels".lstrip("/")] = _relationships(owner, folder, parts)
    members |= {name: part.xml for name, part in parts.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, xml in members.items():
            archive.writestr(
                zipfile.ZipInfo(name, _WRITTEN), f"{_DECLARATION}\n{xml}", compress_type=zipfile.ZIP_DEFLATED
            )
    return buffer.getvalue()


def _content_types(parts: Mapping[str, Part]) -> str:
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="application/{part.content_type}"/>' for name, part in parts.items()
    )
    relationships = f'<Default Extension="rels" ContentType="application/{_RELATIONSHIPS_TYPE}"/>'
    return f'<Types xmlns="{_PACKAGE}/content-types">{relationships}{overrides}</Types>'


_RELATIONSHIPS_TYPE = "vnd.openxmlformats-package.relationships+xml"


def _relationships(owner: str, folder: str, parts: Mapping[str, Part]) -> str:
    referred = [(name, part) for name, part in parts.items() if part.of == owner]
    lines = []
    for i, (name, part) in enumerate(referred, 1):
        namespace = f"{_PACKAGE}/relationships/metadata" if part.role == "core-properties" else _OFFICE
        target = name.removeprefix(f"{folder}/") if folder else name
        lines.append(f'<Relationship Id="rId{i}" Type="{namespace}/{part.role}" Target="{target}"/>')
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(lines)}</Relationships>'


def _core_properties(source: Source) -> str:
    moment = source.committed[:19] + "Z"
    return (
        f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{escape(source.file_title or source.title)}</dc:title>"
        f"<dc:creator>{escape('; '.join(source.authors))}</dc:creator>"
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{moment}</dcterms:created>'
        f'<dcterms:modified xsi:type="dcterms:W3CDTF">{moment}</dcterms:modified>'
        "</cp:coreProperties>"
    )
