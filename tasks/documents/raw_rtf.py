"""The second reading of RTF: control words, groups and bytes, after the specification (RTF 1.9.1)."""

import codecs
import re

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|([^\\{}\r\n])|[\r\n]+"
)
_SILENT = frozenset({b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pict", b"listtable", b"rsidtbl", b"themedata"})
_SHOWN = frozenset({b"fldinst", b"shpinst", b"shptxt"})
"""Groups that a reader may skip if it does not know them, whose text is seen all the same."""
_BREAKS = {b"par": "\n", b"line": "\n", b"row": "\n", b"sect": "\n", b"page": "\n", b"cell": " ", b"tab": " "}
_CHARSETS = {
    128: "cp932", 129: "cp949", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254", 177: "cp1255", 178: "cp1256",
    186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip
_FONT = re.compile(rb"\\f(\d+)[^;{}]*?\\fcharset(\d+)")


def rtf_text(data: bytes) -> str:
    """The text with its headers and notes, less what is hidden or deleted; a damaged file as far as it goes."""
    return _Reader(data).text()


class _Reader:
    """The state of the reading: what the open group says, and bytes that wait for their code page."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._fonts = {int(font): _CHARSETS.get(int(charset)) for font, charset in _FONT.findall(data[:500_000])}
        stated = re.search(rb"\\ansicpg(\d+)", data[:4096])
        self._codepage = _codec(int(stated[1])) if stated else "cp1252"
        self._silent, self._fallback, self._font = False, 1, -1
        self._to_skip = 0
        self._bytes = b""
        self._hidden = self._deleted = False
        self._parts: list[str] = []
        self._notes: list[str] = []
        """Below the text, so that a sentence with a note in it stays whole."""

    def text(self) -> str:
        """Reads it all."""
        stack: list[tuple[bool, int, int, bool, bool, list[str]]] = []
        optional = False
        position = 0
        while match := _TOKEN.match(self._data, position):
            position = match.end()
            word, argument, code, symbol, brace, plain = match.groups()
            if code or plain:
                self._byte(bytes.fromhex(code.decode()) if code else plain)
                optional = False
                continue
            self._flush()
            if brace == b"{":
                stack.append((self._silent, self._fallback, self._font, self._hidden, self._deleted, self._parts))
            elif brace and stack:
                self._silent, self._fallback, self._font, self._hidden, self._deleted, self._parts = stack.pop()
            elif word:
                if word == b"bin":
                    position += max(0, int(argument or 0))
                self._word(word, int(argument) if argument else None, optional)
            elif symbol and self._is_shown:
                self._parts.append({b"~": " ", b"_": "-", b"\n": "\n", b"\r": "\n"}.get(symbol, ""))
                if symbol in (b"\\", b"{", b"}"):
                    self._parts.append(symbol.decode())
            if not (match.group().isspace()):
                optional = symbol == b"*"
        self._flush()
        # What a damaged file left open goes where it began.
        text = stack[0][-1] if stack else self._parts
        return "".join([*text, *self._notes])

    @property
    def _is_shown(self) -> bool:
        return not (self._silent or self._hidden or self._deleted)

    def _word(self, word: bytes, argument: int | None, optional: bool) -> None:
        self._to_skip = 0
        if word in _SILENT or (optional and word not in _SHOWN):
            self._silent = True
        elif word == b"footnote":
            self._parts = self._notes
            self._notes.append("\n")
        elif word == b"v":
            self._hidden = argument != 0
        elif word == b"deleted":
            self._deleted = argument != 0
        elif word == b"plain":
            self._hidden = self._deleted = False
        elif word == b"uc":
            self._fallback = max(0, argument or 0)
        elif word == b"f" and argument is not None:
            self._font = argument
        elif word == b"u" and argument is not None:
            code = argument + 0x10000 if argument < 0 else argument
            if self._is_shown and code <= 0x10FFFF:
                self._parts.append(chr(code))
            self._to_skip = self._fallback
        elif self._is_shown:
            self._parts.append(_BREAKS.get(word, ""))

    def _byte(self, byte: bytes) -> None:
        if self._to_skip:
            self._to_skip -= 1
        elif self._is_shown:
            self._bytes += byte

    def _flush(self) -> None:
        if self._bytes:
            self._parts.append(self._bytes.decode(self._fonts.get(self._font) or self._codepage, "replace"))
            self._bytes = b""


def _codec(codepage: int) -> str:
    name = {10000: "mac_roman", 65001: "utf-8"}.get(codepage, f"cp{codepage}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
