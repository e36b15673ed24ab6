"""What rooms must know of elements that were made from labels instead of being parsed."""

from collections.abc import Mapping
from typing import Any

GOLD_PARSER = "labels"
"""What a row of parse names as its parser when its elements are those of labels; `parser_version` is their kind."""


def lacks_structure(parsed: Mapping[str, Any]) -> str | None:
    """`no_structure_label` where gold elements are mere paragraphs, of which nobody knows what is a heading.

    >>> lacks_structure({"parser_version": "text"}), lacks_structure({"parser_version": "structure"})
    ('no_structure_label', None)
    """
    return None if parsed["parser_version"] == "structure" else "no_structure_label"
