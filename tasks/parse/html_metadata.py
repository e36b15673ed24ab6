"""What an HTML page declares about itself: title, authors, dates, language."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tasks.parse.elements import iso_date
from tasks.parse.html_blocks import visible_text

_AUTHOR = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author", "parsely-author")
_PUBLISHED = (
    "article:published_time",
    "og:article:published_time",
    "datepublished",
    "dc.date",
    "dc.date.issued",
    "dcterms.created",
    "dcterms.issued",
    "citation_publication_date",
    "citation_date",
    "date",
    "pubdate",
    "parsely-pub-date",
)
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified")
_MOST_NODES = 10_000
"""JSON-LD objects that are looked at; a page holds a few dozen."""


def page_metadata(root: Any) -> dict[str, Any]:
    """Keyword arguments of `parsed`, as the page states them.

    Title: the only `h1` of the page, else `og:title`, else `title`. Authors and dates: `meta` elements first, then
    JSON-LD, then (dates) `time` elements.
    """
    metas = _metas(root)
    linked = list(_linked_data(root))
    headings = [text for node in root.iter("h1") if (text := " ".join(visible_text(node).split()))]
    title = headings[0] if len(headings) == 1 else None
    page_title = next((" ".join("".join(node.itertext()).split()) for node in root.iter("title")), None)
    authors = [value for name in _AUTHOR for value in metas.get(name, []) if not re.match(r"https?://|/", value)]
    return {
        "title": title or next(iter(metas.get("og:title", [])), None) or page_title,
        "authors": authors or [name for entry in linked for name in _names(entry.get("author"))],
        "published": _date(metas, _PUBLISHED, linked, "datePublished") or _time(root),
        "modified": _date(metas, _MODIFIED, linked, "dateModified"),
        "language": root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang"),
    }


def _metas(root: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in root.iter("meta"):
        name = node.get("property") or node.get("name") or node.get("itemprop")
        content = (node.get("content") or "").strip()
        if name and content:
            found.setdefault(name.strip().lower(), []).append(content)
    return found


def _date(metas: dict[str, list[str]], names: tuple[str, ...], linked: list[dict[str, Any]], key: str) -> str | None:
    declared = [value for name in names for value in metas.get(name, [])]
    declared += [value for entry in linked if isinstance(value := entry.get(key), str)]
    return next((value for value in declared if iso_date(value)), None)


def _time(root: Any) -> str | None:
    """The `time` element marked as the date of publication, else the first one in the article or the page's header."""
    times = [node for node in root.iter("time") if iso_date(node.get("datetime"))]
    marked = [node for node in times if node.get("pubdate") is not None or node.get("itemprop") == "datePublished"]
    inside = [node for node in times if any(above.tag in {"article", "header"} for above in node.iterancestors())]
    return next((str(node.get("datetime")) for node in [*marked, *inside]), None)


def _linked_data(root: Any) -> Iterator[dict[str, Any]]:
    """The objects of all JSON-LD scripts that have a date or an author; broken scripts hold none."""
    for node in root.iter("script"):
        if (node.get("type") or "").strip().lower() != "application/ld+json":
            continue
        try:
            waiting: list[Any] = [json.loads(node.text or "", strict=False)]
        except (ValueError, RecursionError):
            continue
        for _ in range(_MOST_NODES):
            if not waiting:
                break
            value = waiting.pop(0)
            if isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, dict):
                if value.keys() & {"datePublished", "dateModified", "author"}:
                    yield value
                waiting.extend(inner for inner in value.values() if isinstance(inner, (dict, list)))


def _names(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in values]
    return [name for name in names if isinstance(name, str) and not name.startswith("http")]
