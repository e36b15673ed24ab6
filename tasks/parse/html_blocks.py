"""HTML as blocks in reading order: everything a reader of the page can see, navigation and banners included.

Left out is what a browser does not show: scripts, styles, templates, `noscript`, embedded objects, form lists; elements
with the `hidden` attribute or an inline style `display: none` or `visibility: hidden`; a `dialog` that is not open.
`aria-hidden` hides from screen readers only and stays. Style sheets are not applied.
"""

import re
from typing import Any

from lxml import etree

from schemas.names import ElementKind
from tasks.parse.elements import Elements
from tasks.parse.html_depth import without_deep_tags
from tasks.parse.html_tables import is_data_table, read_table

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INVISIBLE = frozenset(
    {"script", "style", "template", "noscript", "head", "title", "meta", "link", "map", "noframes", "noembed"}
    | {"iframe", "object", "embed", "applet", "svg", "canvas", "audio", "video", "select", "datalist", "textarea"}
)
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup"}
    | {"hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "search", "section", "summary", "ul"}
    | {"pre", "listing", "xmp", "plaintext", "table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"}
)
_SOFT_IN_ITEM = frozenset({"p", "div", "center", "section", "article", "address"})
"""Blocks that do not part a list item in two."""

_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_CODE = frozenset({"pre", "listing", "xmp", "plaintext"})
_HIDING = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\n\r\f]+")


def parse_tree(text: str) -> Any:
    """The document element of HTML text, or null where there is nothing in it.

    libxml2 stops at a depth of 2048 and drops the rest; such a page is read again with its deepest tags taken out.
    """
    text = text.replace("\0", "\ufffd")
    root, stopped = _parse(text)
    return _parse(without_deep_tags(text))[0] if stopped else root


def _parse(text: str) -> tuple[Any, bool]:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    data = text.encode("utf-8", errors="replace")
    try:
        root = etree.fromstring(data, parser) if data.strip() else None
    except etree.XMLSyntaxError:
        root = None
    return root, any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log)


def add_fragment(elements: Elements, html: str) -> None:
    """Adds the blocks of a piece of HTML."""
    root = parse_tree(html)
    if root is not None:
        add_blocks(elements, root)


def is_hidden(node: Any) -> bool:
    """Whether a browser without style sheets shows nothing of this element."""
    tag = node.tag
    if not isinstance(tag, str) or tag in _INVISIBLE:
        return True
    if node.get("hidden") is not None and (node.get("hidden") or "").lower() != "until-found":
        return True
    return bool(_HIDING.search(node.get("style") or "")) or (tag == "dialog" and node.get("open") is None)


def visible_text(node: Any) -> str:
    """The visible text of an element; line breaks and blocks give white space."""
    parts: list[str] = []
    walk = etree.iterwalk(node, events=("start", "end"))
    for event, part in walk:
        if event == "start":
            if part is not node and is_hidden(part):
                walk.skip_subtree()
                continue
            if part.tag in _BLOCKS or part.tag == "br":
                parts.append("\n")
            parts.append(part.text or "")
        elif part is not node:
            if part.tag in _BLOCKS:
                parts.append("\n")
            parts.append(part.tail or "")
    return "".join(parts)


def add_blocks(elements: Elements, root: Any) -> None:
    """Adds the blocks below an element, in document order."""
    reader = _Reader(elements)
    walk = etree.iterwalk(root, events=("start", "end"))
    skipped: set[int] = set()
    for event, node in walk:
        if event == "start":
            if not reader.start(node):
                skipped.add(id(node))
                walk.skip_subtree()
        else:
            if id(node) in skipped:
                skipped.discard(id(node))
            else:
                reader.end(node)
            if node is not root:
                reader.characters(node.tail)
    reader.flush()


class _Reader:
    """What is known while a document is walked through: the open blocks, and the text gathered so far."""

    def __init__(self, elements: Elements) -> None:
        self._elements = elements
        self._parts: list[str] = []
        self._words = False  # something other than formulas was gathered
        self._open: list[str] = []  # tags of open blocks
        self._ids: list[tuple[int, str]] = []  # ids of open elements, with their place in the document
        self._pending_id: str | None = None  # an id inside the block that is being gathered
        self._heading_id: tuple[int, str] | None = None
        self._place = 0

    def start(self, node: Any) -> bool:
        """Enters an element; false when its subtree is done with."""
        tag = node.tag
        if is_hidden(node):
            return False
        self._place += 1
        name = node.get("id") or (node.get("name") if tag == "a" else None)
        if tag == "math":
            self._add_formula(node)
            return False
        if tag in _BLOCKS and not self._is_soft(tag):
            self.flush()
            self._open.append(tag)
        elif tag == "br" or tag in _BLOCKS:
            self._break()
        if name:
            self._ids.append((self._place, name))
            self._pending_id = self._pending_id or name
        if tag == "table" and is_data_table(node):
            caption = node.find("caption")
            if caption is not None:
                self._elements.add(ElementKind.CAPTION, _flow(visible_text(caption)), anchor=self._anchor())
            self._elements.add_table(read_table(node, visible_text), anchor=self._anchor())
            self._leave(node)
            return False
        self.characters(node.text)
        return True

    def end(self, node: Any) -> None:
        """Leaves an element."""
        if node.tag in _BLOCKS:
            if self._is_soft(node.tag):
                self._break()
            else:
                self.flush()
        self._leave(node)

    def characters(self, text: str | None) -> None:
        """Gathers text."""
        if text:
            self._parts.append(text if self._in_code() else _SPACE.sub(" ", text))
            self._words = self._words or not text.isspace()

    def flush(self) -> None:
        """Turns what was gathered into an element of the kind of the innermost block that has one."""
        raw = "".join(self._parts)
        text = raw.strip("\n").rstrip() if self._in_code() else _flow(raw, keep_lines=True)
        formula = not self._words
        self._parts, self._words = [], False
        if text.strip():
            kind, level = self._kind(formula)
            anchor = self._anchor()
            self._elements.add(kind, text, level=level, anchor=anchor)
            if kind is ElementKind.HEADING and anchor:
                self._heading_id = (self._place, anchor)
        self._pending_id = None

    def _kind(self, formula: bool) -> tuple[ElementKind, int | None]:
        for tag in reversed(self._open):
            if tag in _HEADINGS:
                return ElementKind.HEADING, _HEADINGS[tag]
            if tag in _CODE:
                return ElementKind.CODE, None
            if tag in {"figcaption", "caption"}:
                return ElementKind.CAPTION, None
            if tag in {"li", "dt", "dd"}:
                lists = sum(1 for open_tag in self._open if open_tag in _LISTS or open_tag == "dl")
                return ElementKind.LIST_ITEM, max(lists, 1)
            if tag in {"td", "th", "blockquote"}:
                break
        return (ElementKind.FORMULA if formula else ElementKind.PARAGRAPH), None

    def _is_soft(self, tag: str) -> bool:
        return tag in _SOFT_IN_ITEM and bool(self._open) and self._open[-1] in {"li", "dt", "dd", *_HEADINGS}

    def _in_code(self) -> bool:
        return any(tag in _CODE for tag in self._open[-3:])

    def _break(self) -> None:
        self._parts.append("\n" if self._in_code() else "\v")

    def _leave(self, node: Any) -> None:
        if node.tag in _BLOCKS and self._open and self._open[-1] == node.tag:
            self._open.pop()
        name = node.get("id") or (node.get("name") if node.tag == "a" else None)
        if name and self._ids and self._ids[-1][1] == name:
            self._ids.pop()

    def _anchor(self) -> str | None:
        """The id in the block itself, else that of the nearest open element or of the heading above, the later one."""
        if self._pending_id:
            return self._pending_id
        candidates = [*self._ids[-1:], *([self._heading_id] if self._heading_id else [])]
        return max(candidates)[1] if candidates else None

    def _add_formula(self, node: Any) -> None:
        source = node.find(".//{*}annotation[@encoding='application/x-tex']")
        text = (source.text if source is not None else None) or node.get("alttext") or "".join(node.itertext())
        text = " ".join(text.split())
        if node.get("display") == "block":
            self.flush()
            self._elements.add(ElementKind.FORMULA, text, anchor=self._anchor())
        else:
            self._parts.append(text)


def _flow(text: str, *, keep_lines: bool = False) -> str:
    """Running text with single spaces; breaks (\\v) become line ends, or spaces."""
    lines = [_SPACE.sub(" ", line).strip(" ") for line in text.split("\v")]
    return ("\n" if keep_lines else " ").join(line for line in lines if line)
