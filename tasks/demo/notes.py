"""Markdown and plain-text documents: support notes, bulletins, some of the articles."""

from collections.abc import Iterator, Sequence

from tasks.demo.authored import Source
from tasks.demo.blocks import Block, Cell, plain, read_blocks, unmark
from tasks.demo.labels import Placed, Rendered, visible


def render_note(source: Source) -> Rendered:
    """A Markdown file (`.md`, with a title line, and front matter where the source declares it) or plain text."""
    body = [Block("heading", source.title, 1), *read_blocks(source.body)]
    markdown = source.path.endswith(".md")
    parts = list(_markdown(body) if markdown else (_plain_text(block) for block in body))
    head = _front_matter(source) if markdown and "front-matter" in source.declares else ""
    if not markdown:
        # Plain text has no headings: what looks like one is a paragraph.
        body = [Block("paragraph" if block.kind == "heading" else block.kind, block.source) for block in body]
    placed = tuple(Placed(block) for block in body)
    return Rendered(
        (head + "\n\n".join(parts) + "\n").encode(), placed, "\n".join(visible(block.text) for block in body)
    )


def _front_matter(source: Source) -> str:
    authors = "".join(f"author: {author}\n" for author in source.authors)
    return f"---\ntitle: {source.title}\n{authors}date: {source.published}\n---\n\n"


def _markdown(body: Sequence[Block]) -> Iterator[str]:
    items: list[str] = []
    for block in body:
        if block.kind == "list_item":
            items.append(f"{'  ' * ((block.level or 1) - 1)}{'1.' if block.ordered else '-'} {unmark(block.source)}")
            continue
        if items:
            yield "\n".join(items)
            items = []
        if block.kind == "heading":
            yield f"{'#' * (block.level or 1)} {unmark(block.source)}"
        elif block.kind == "table":
            first, *rest = (_row(row) for row in block.rows)
            yield "\n".join([first, "|" + " --- |" * len(block.rows[0]), *rest])
        elif block.kind == "code":
            yield f"```\n{block.text}\n```"
        else:
            yield unmark(block.source)
    if items:
        yield "\n".join(items)


def _row(row: Sequence[Cell]) -> str:
    return "| " + " | ".join(unmark(cell.source) for cell in row) + " |"


def _plain_text(block: Block) -> str:
    return plain(block.source) if block.kind != "code" else block.text
