"""Making absurdly nested HTML shallow enough to be parsed."""

from html import escape
from html.parser import HTMLParser

_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
_RAW = frozenset({"script", "style"})


def without_deep_tags(text: str, depth: int = 500) -> str:
    """The same page without the tags that open deeper than `depth`; their text stays.

    >>> without_deep_tags("<p><b><i>deep</i> text</b></p>", depth=2)
    '<p><b> deep  text</b></p>'
    """
    cutter = _Cutter(depth)
    cutter.feed(text)
    cutter.close()
    return "".join(cutter.parts)


class _Cutter(HTMLParser):
    def __init__(self, depth: int) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._most = depth
        self._open: list[str] = []
        self._raw = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._raw = tag in _RAW
        if len(self._open) < self._most:
            self.parts.append(self.get_starttag_text() or "")
        else:
            self.parts.append(" ")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._raw = False
        if self._open and self._open[-1] == tag:
            self._open.pop()
        self.parts.append(f"</{tag}>" if len(self._open) < self._most else " ")

    def handle_data(self, data: str) -> None:
        if not self._raw:
            self.parts.append(escape(data, quote=False))
