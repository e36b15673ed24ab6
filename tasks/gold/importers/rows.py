"""Rows of text and JSON files with the line that each begins in; what cannot be read is a bad row."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")


def text_lines(path: Path, bad: list[BadRow]) -> Iterator[tuple[int, str]]:
    """The lines of a text file in UTF-8 with their numbers, without their ends; a line that is none is a bad row."""
    for number, data in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            yield number, data.removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            bad.append(BadRow(path.name, number, "is no UTF-8"))


def json_lines(path: Path, bad: list[BadRow]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their line numbers; empty lines are passed over."""
    for number, line in text_lines(path, bad):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            yield number, record
        else:
            bad.append(BadRow(path.name, number, "is no JSON object"))


def json_records(path: Path, bad: list[BadRow]) -> Iterator[tuple[int, str | None, Any]]:
    """The members of one JSON array or object: the line that each begins in, its key (null in an array), its value.

    A file that is no JSON, or no array or object, is one bad row and gives no member.
    """
    try:
        text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
        whole = json.loads(text)
    except UnicodeDecodeError:
        bad.append(BadRow(path.name, None, "is no UTF-8"))
    except json.JSONDecodeError as error:
        bad.append(BadRow(path.name, error.lineno, "is no JSON"))
    else:
        if not isinstance(whole, dict | list):
            bad.append(BadRow(path.name, None, "is neither an array nor an object"))
            return
        keyed = isinstance(whole, dict)
        del whole
        yield from _members(text, keyed)


def unpacked(path: Path, bad: list[BadRow]) -> bytes | None:
    """The bytes in a gzip file; one that is none is a bad row."""
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error):
        bad.append(BadRow(path.name, None, "cannot be unpacked"))
        return None


def _members(text: str, keyed: bool) -> Iterator[tuple[int, str | None, Any]]:
    decode = json.JSONDecoder().raw_decode
    place = _after(_SPACE, text, _after(_SPACE, text, 0) + 1)
    line, counted = 1, 0
    while text[place] not in "]}":
        line += text.count("\n", counted, place)
        counted = place
        key = None
        if keyed:
            key, place = decode(text, place)
            place = _after(_COLON, text, place)
        value, place = decode(text, place)
        yield line, key, value
        place = _after(_COMMA, text, place)


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place
