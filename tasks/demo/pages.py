"""Web pages: the main text of a source inside navigation, notice, sidebar and footer."""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from tasks.demo.authored import FOLDER, Source, read_yaml
from tasks.demo.blocks import Block, inline_html, read_blocks, table_html
from tasks.demo.labels import Placed, Rendered, visible


@lru_cache(maxsize=1)
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader

    return Environment(loader=FileSystemLoader(FOLDER), autoescape=True).get_template("page.html.j2")


@lru_cache(maxsize=1)
def _chrome() -> Any:
    return read_yaml("chrome.yaml")


def render_page(source: Source) -> Rendered:
    """An HTML page. Its reference text is all visible text in the order of the markup."""
    chrome = _chrome()["magazine" if source.layout == "magazine" else "page"]
    body = read_blocks(source.body)
    byline, before, after = _byline(source)
    html = _template().render(
        source=source,
        chrome=chrome,
        head_title=source.file_title or f"{source.title} | {chrome['site']}",
        json_ld=_json_ld(source),
        byline=byline,
        byline_before=before,
        byline_after=after,
        body="\n".join(_body_html(body)),
    )
    placed = tuple(_placed(source, chrome, body, byline))
    return Rendered(html.encode(), placed, "\n".join(visible(p.block.text) for p in placed))


def _byline(source: Source) -> tuple[str, str, str]:
    """The line under the title, and what stands before and after the date in it."""
    if "byline" not in source.declares and "time" not in source.declares:
        return "", "", ""
    names = " and ".join(source.authors)
    before, after = (f"By {names}, published on ", "") if names else ("Published on ", " by the service desk")
    return f"{before}{source.published}{after}", before, after


def _json_ld(source: Source) -> str:
    return json.dumps(
        {
            "@context": "https://schema.org",
            "@type": "Article",
            "headline": source.title,
            "author": [{"@type": "Person", "name": author} for author in source.authors],
            "dateModified": source.committed,
            "datePublished": source.published,
        },
        ensure_ascii=False,
    ).replace("</", "<\\/")


def _placed(source: Source, chrome: Any, body: Sequence[Block], byline: str) -> Iterator[Placed]:
    def furniture(kind: str, *texts: str, level: int | None = None) -> Iterator[Placed]:
        return (Placed(Block(kind, text, level), main=False) for text in texts)

    def aside() -> Iterator[Placed]:
        yield from furniture("heading", chrome["related_heading"], level=2)
        yield from furniture("list_item", *chrome["related"], level=1)
        yield from furniture("paragraph", chrome["status"])

    yield from furniture("paragraph", chrome["site"])
    yield from furniture("list_item", *chrome["nav"], level=1)
    yield from furniture("paragraph", chrome["notice"], chrome["breadcrumb"])
    if source.layout == "magazine":
        yield from aside()
    yield Placed(Block("heading", source.title, 1))
    if byline:
        for author in source.authors:
            byline = byline.replace(author, f"[[PERSON:{author}]]")
        yield Placed(Block("paragraph", byline), main=False)
    yield from (Placed(block) for block in body)
    if source.layout != "magazine":
        yield from aside()
    yield from furniture("paragraph", *chrome["footer"])
    if source.layout == "classic":
        yield from furniture("paragraph", *(item for row in chrome["footer_grid"] for item in row))


_TAGS = {"paragraph": "p", "caption": 'p class="caption"', "footnote": 'p class="footnote"', "code": "pre"}


def _body_html(body: Sequence[Block]) -> Iterator[str]:
    open_lists: list[str] = []
    for block in body:
        level = block.level or 1
        if block.kind == "list_item":
            while len(open_lists) > level:
                yield f"</li></{open_lists.pop()}>"
            if len(open_lists) == level:
                yield "</li>"
            while len(open_lists) < level:
                open_lists.append("ol" if block.ordered else "ul")
                yield f"<{open_lists[-1]}>"
            yield f"<li>{inline_html(block.source)}"
            continue
        while open_lists:
            yield f"</li></{open_lists.pop()}>"
        if block.kind == "table":
            yield table_html(block.rows, rich=True)
        elif block.kind == "heading":
            yield f"<h{level}>{inline_html(block.source)}</h{level}>"
        else:
            tag = _TAGS[block.kind]
            yield f"<{tag}>{inline_html(block.source)}</{tag.split()[0]}>"
    while open_lists:
        yield f"</li></{open_lists.pop()}>"
