"""What should have been kept, by the labels; and which gold elements the stage cannot be judged on."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from schemas.names import StageName
from schemas.stages import BOILERPLATE
from tasks.boilerplate.alignment import coverage
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.documents.gold_elements import GOLD_PARSER, lacks_structure
from tasks.gold.kinds import ContentLabel
from tasks.gold.labels import Labels
from tasks.stage import Batch

_NOT_CONTENT = "not_in_content_label"
_HELD = 0.5
"""Share of an element's words that the labelled content must hold, in order, for the element to be kept."""


def gold_rows(batch: Batch, labels: Labels, settings: BoilerplateSettings) -> pa.Table:
    """`BOILERPLATE` rows that keep the elements which the labelled main text holds, of documents with such a label."""
    rows = []
    for document, stages in batch.rows():
        label = labels.of(document["document_id"], ContentLabel, "content")
        if label is None:
            continue
        keep = kept([element["text"] for element in stages[StageName.PARSE]["elements"]], label.text)
        rows.append(
            {
                "document_id": document["document_id"],
                "extractor": GOLD_PARSER,
                "extractor_version": "content",
                "keep": keep,
                "reasons": ["" if flag else _NOT_CONTENT for flag in keep],
            }
        )
    return pa.Table.from_pylist(rows, schema=BOILERPLATE)


def kept(elements: Sequence[str], content: str) -> list[bool]:
    """Which elements the content holds: half of their words or more, in their order.

    An element without words (a line of dashes) is kept where it stands in the content as it is.

    >>> kept(["Home Shop", "The boat is green.", "* * *", "Terms of sale"], "The boat is green. * * *")
    [False, True, True, False]
    """
    flat = " ".join(content.split())
    return [
        found.share >= _HELD if found.words else " ".join(text.split()) in flat
        for text, found in zip(elements, coverage(elements, content), strict=True)
    ]


def unfit_alone(
    document: Mapping[str, Any], rows: Mapping[StageName, dict[str, Any]], settings: BoilerplateSettings
) -> str | None:
    """What a text is made of must be known; and running lines, where they are looked for, are known by their places."""
    parsed = rows[StageName.PARSE]
    if why := lacks_structure(parsed):
        return why
    own = settings.for_class(document["doc_class"])
    paged = parsed["pages"] > 1 and (own.running or own.line_numbers)
    if paged and not any(element["bbox"] for element in parsed["elements"]):
        return "no_positions"
    return None
