"""XML of foreign origin: entities are not resolved, nothing is fetched."""

from typing import Any

from lxml import etree


def xml_root(content: bytes) -> Any:
    """The root of a document; null where it is not well-formed. Comments and processing instructions are left out."""
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=True, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        return None


def local_name(node: Any) -> str:
    """A tag without its namespace; the empty string for what is no element.

    >>> local_name(xml_root(b'<w:p xmlns:w="urn:w"/>'))
    'p'
    """
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
