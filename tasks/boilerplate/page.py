"""What the markup of a web page says about a piece of its text: links, and parts that are not content."""

import re
from functools import cached_property, lru_cache
from typing import Any

from lxml import etree

_SPACE = re.compile(r"\s+")
_WORD_CHARACTER = re.compile(r"\w")
_FEWEST_LINKS = 3
_LINKED = 0.9
_LARGEST_PART = 0.5
_LONGEST_CELL = 60
_FEWEST_WORDS = 4
"""A text of fewer words is looked up as a whole piece of a marked part: as part of a longer one it says nothing."""

_UNMISTAKABLE = 12
"""A link text of so many characters is found also where another word is glued to it."""

_APART = (
    "//nav|//aside|//figure|//figcaption|//form|//dialog|//button|//footer[not(ancestor::article)]"
    "|//header[not(ancestor::article) and not(ancestor::main) and not(.//h1)]"
    "|//*[img or picture or video][string-length(normalize-space()) < 200]"
    "|//*[@role='navigation' or @role='banner' or @role='contentinfo' or @role='complementary' or @role='dialog'"
    " or @role='search' or @role='alertdialog' or @role='menu']"
)
_CAMEL = re.compile("(?<=[a-z])(?=[A-Z])")
_APART_NAME = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|banner|nav|navbar|menu|breadcrumbs?|sidebar|share|sharing|social|related|"
    r"recommended|promo|newsletter|subscribe|signup|advert|ads?|sponsor(?:ed)?|comments?|footer|copyright|login|tags?|"
    r"popular|widget|toolbar|pagination|pager|byline|author|credits?|caption)(?:$|[\s_-])",
    re.IGNORECASE,
)


def flat(text: str) -> str:
    """Text with every run of white space as one space."""
    return _SPACE.sub(" ", text).strip()


@lru_cache(maxsize=4096)
def _is_apart_name(name: str) -> bool:
    return _APART_NAME.search(_CAMEL.sub("-", name)) is not None


class Page:
    """The markup of one page; everything is worked out when first asked for."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree

    @cached_property
    def _links(self) -> list[str]:
        texts = {flat(link.text_content()) for link in self._tree.xpath("//a[@href]")}
        return sorted((text for text in texts if text), key=lambda text: (-len(text), text))

    @cached_property
    def _apart(self) -> tuple[str, frozenset[str]]:
        """(text of the outermost marked parts, their pieces); but for `nav`, one with most of the text is content."""
        marked = set(self._tree.xpath(_APART))
        marked.update(
            node
            for node in self._tree.xpath("//body//*[@class or @id]")
            if _is_apart_name(node.get("class") or "") or _is_apart_name(node.get("id") or "")
        )
        largest = len(self._tree.text_content()) * _LARGEST_PART
        whole: list[str] = []
        pieces: set[str] = set()
        walk = etree.iterwalk(self._tree, events=("start",))
        for _, node in walk:
            if node in marked:
                parts = list(node.itertext())
                if node.tag == "nav" or sum(map(len, parts)) <= largest:
                    pieces.update(map(flat, parts))
                    whole.append(flat("".join(parts)))
                    walk.skip_subtree()
        return "\n".join(whole), frozenset(pieces)

    @cached_property
    def _rows(self) -> dict[str, set[int]]:
        """Texts of table cells and of the blocks in them, with the rows they stand in; rows of short cells only."""
        rows: dict[str, set[int]] = {}
        for number, row in enumerate(self._tree.xpath("//tr[not(.//table)][count(td|th) > 1]")):
            if all(cell.text_content().count(" ") < _LONGEST_CELL for cell in row):
                for node in row.iterdescendants():
                    rows.setdefault(flat(node.text_content()), set()).add(number)
        return rows

    def in_one_row(self, text: str, other: str) -> bool:
        """Whether both texts stand in the cells of one table row."""
        return not self._rows.get(flat(text), set()).isdisjoint(self._rows.get(flat(other), ()))

    @cached_property
    def _link_cells(self) -> str:
        cells = self._tree.xpath(f"//td[count(.//a[@href]) >= {_FEWEST_LINKS} and not(.//table)]")
        texts = [flat(cell.text_content()) for cell in cells]
        return "\n".join(text for text in texts if self.linked(text)[0] >= _LINKED)

    def linked(self, text: str) -> tuple[float, int]:
        """(share of the word characters of `text` that link texts of the page account for, how many links)."""
        rest = flat(text)
        total = len(_WORD_CHARACTER.findall(rest))
        found = 0
        for link in self._links:
            if len(link) > len(rest):
                continue
            if link in rest:
                guard = r"\b" if len(link) < _UNMISTAKABLE else ""
                rest, times = re.subn(f"{guard}{re.escape(link)}{guard}", "\n", rest)
                found += times
        left = len(_WORD_CHARACTER.findall(rest))
        return ((total - left) / total if total else 0.0), found

    def is_apart(self, text: str) -> bool:
        """Whether `text` stands in a part of the page that is marked as navigation, banner, form or the like."""
        line = flat(text)
        whole, pieces = self._apart
        return line in pieces or (line.count(" ") >= _FEWEST_WORDS - 1 and line in whole)

    def is_navigation(self, text: str) -> bool:
        """Whether `text` is all links: three or more, or in a table cell of such, or in a marked part."""
        line = flat(text)
        if len(line) > 300:
            return False
        share, links = self.linked(line)
        return share >= _LINKED and (links >= _FEWEST_LINKS or line in self._link_cells or self.is_apart(line))
