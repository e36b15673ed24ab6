"""What striprtf does not see to in RTF: footnotes, which it leaves out, hidden and deleted text, which it shows."""

import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

MARK = "\ufdd0"
"""Stands where a note was taken out: a character that no text holds (Unicode noncharacter)."""

_CONCERNED = re.compile(r"\\(?:footnote|deleted|v)(?![A-Za-z])")
_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})?[ ]?|\\'(?P<code>[0-9a-fA-F]{2})|\\(?P<symbol>[^A-Za-z])"
    r"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+"
)
_CHARACTERS = frozenset(
    {"par", "line", "sect", "page", "tab", "emdash", "endash", "emspace", "enspace", "qmspace", "bullet"}
    | {"lquote", "rquote", "ldblquote", "rdblquote", "u"}
)
"""Control words that stand for characters. Those of cells and rows stay: a table keeps its shape."""
_ENCODING = re.compile(r"\\ansicpg\d+")


@dataclass(slots=True)
class _State:
    """What the open group says of its text. A note's group has its text in `notes`, not where it stands."""

    hidden: bool = False
    deleted: bool = False
    font: str = ""
    is_note: bool = False

    @property
    def is_gone(self) -> bool:
        return self.hidden or self.deleted


class Parted(NamedTuple):
    """RTF without its notes and what is hidden or deleted, a `MARK` where each note stood; and the notes as RTF."""

    text: str
    notes: tuple[str, ...] = ()


def part_notes(source: str, fonts: str) -> Parted:
    r"""Takes footnotes and endnotes out, and drops text that is hidden (`\v`) or deleted with tracked changes.

    `fonts` is the font table, which the notes need to be decoded by.

    >>> part_notes(r"{\rtf1 One{\footnote two} {\v three}{\deleted four}five}", "")
    Parted(text='{\\rtf1 One{\ufdd0} {\\v }{\\deleted }five}', notes=('{\\rtf1 {two}}',))
    """
    if not _CONCERNED.search(source):
        return Parted(source)
    reader = _Reader(source)
    reader.read()
    encoding = _ENCODING.search(source)
    head = "{\\rtf1" + (encoding[0] if encoding else "") + " " + fonts
    return Parted("".join(reader.out), tuple(head + note + "}" for note in reader.notes))


@dataclass(slots=True)
class _Reader:
    source: str
    out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _stack: list[tuple[_State, list[str], int]] = field(default_factory=list)
    """For each open group: what was said before it, where that text goes, and the place of its brace there."""
    _state: _State = field(default_factory=_State)

    def read(self) -> None:
        position = 0
        while match := _TOKEN.match(self.source, position):
            position = match.end()
            if match["word"] == "bin":
                position += max(0, int(match["number"] or 0))
            elif match["word"]:
                self._word(match["word"], match["number"], match.group())
            elif match["brace"] == "{":
                self._stack.append((self._state, self.out, len(self.out)))
                self._state = replace(self._state, is_note=False)
                self.out.append("{")
            elif match["brace"]:
                self._close()
            elif not self._state.is_gone or match["symbol"] == "*":
                self.out.append(match.group())
        while self._stack:  # of a file that was cut off
            self._close()

    def _close(self) -> None:
        self.out.append("}")
        if not self._stack:
            return
        closed, inner = self._state, self.out
        self._state, self.out, _ = self._stack.pop()
        if closed.is_note and not self._state.is_gone:
            self.notes.append("".join(inner))
            self.out.append("{" + MARK + "}")

    def _word(self, word: str, number: str | None, token: str) -> None:
        on = number is None or int(number) != 0
        if word == "footnote" and self._stack:
            if not self._state.is_note:
                _, outer, place = self._stack[-1]
                del outer[place:]
                self._state.is_note = True
                self.out = ["{", self._state.font]
            return
        if word == "v":
            self._state.hidden = on
        elif word == "deleted":
            self._state.deleted = on
        elif word == "plain":
            self._state.hidden = self._state.deleted = False
        elif word == "f":
            self._state.font = f"\\f{number or 0} "
        if not (word in _CHARACTERS and self._state.is_gone):
            self.out.append(token)
