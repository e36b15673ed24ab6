"""What parsing should have given, by the labels: the elements that the stages after it are judged on alone."""

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

from schemas.names import ElementKind, StageName
from schemas.stages import PARSE
from tasks.documents.gold_elements import GOLD_PARSER
from tasks.gold.kinds import BlockLabel, ContentLabel, StructureLabel, TableLabel, TablesLabel, TextLabel
from tasks.gold.labels import Labels
from tasks.parse.elements import Elements
from tasks.stage import Batch, StageSettings

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_KINDS = frozenset(ElementKind)


def gold_rows(batch: Batch, labels: Labels, settings: StageSettings) -> pa.Table:
    """`PARSE` rows with the elements that labels describe, of the documents that have such labels.

    They are the blocks of `structure`, or else the paragraphs of `content` (which say nothing of what is no content),
    or else those of `text`; `parser_version` says which. The HTML of `tables` goes with the table blocks, in order,
    where there are as many. What no label speaks of is as the parser read it: the number of pages, the encoding, and
    what the file declares of itself (`meta_*`). `batch.tables` holds the stage's own rows for that.
    """
    rows = []
    for document, stages in batch.rows():
        document_id = document["document_id"]
        found = _elements(labels, document_id)
        if found is None or not found[1].rows:
            continue
        kind, elements = found
        parsed = stages[StageName.PARSE]
        pages = max(parsed["pages"], *(row["page"] or 1 for row in elements.rows))
        rows.append(
            parsed
            | {
                "parser": GOLD_PARSER,
                "parser_version": kind,
                "pages": pages,
                "pages_without_output": [],
                "parts": None,
                "elements": elements.rows,
            }
        )
    return pa.Table.from_pylist(rows, schema=PARSE)


def _elements(labels: Labels, document_id: str) -> tuple[str, Elements] | None:
    if (structure := labels.of(document_id, StructureLabel, "structure")) is not None:
        tables = labels.of(document_id, TablesLabel, "tables")
        return "structure", _blocks(structure.blocks, tables.tables if tables else ())
    if (content := labels.of(document_id, ContentLabel, "content")) is not None:
        return "content", _paragraphs(content.text)
    if (text := labels.of(document_id, TextLabel, "text")) is not None:
        return "text", _paragraphs(text.text)
    return None


def _blocks(blocks: Sequence[BlockLabel], tables: Sequence[TableLabel]) -> Elements:
    """A kind that elements do not have is a paragraph."""
    html: Iterator[str] = iter(())
    if len(tables) == sum(block.kind == ElementKind.TABLE for block in blocks):
        html = (table.html for table in tables)
    elements = Elements()
    for block in blocks:
        kind = ElementKind(block.kind) if block.kind in _KINDS else ElementKind.PARAGRAPH
        table = next(html, None) if kind is ElementKind.TABLE else None
        elements.add(kind, block.text, level=block.level, html=table, page=block.page)
    return elements


def _paragraphs(text: str) -> Elements:
    elements = Elements()
    for paragraph in _BLANK_LINE.split(text):
        elements.add(ElementKind.PARAGRAPH, paragraph)
    return elements
