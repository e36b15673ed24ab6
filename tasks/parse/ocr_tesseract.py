"""Tesseract, as a process, where the system has it."""

import ctypes
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from PIL import Image

from tasks.parse.ocr_geometry import Reading, Recognized

_LINE = 4
_WORD = 5
_PR_SET_PDEATHSIG = 1
_SURE_OF_TURN = 5.0
"""Its confidence in a page's orientation from which it is believed: pages really turned had 9 and more, and receipts
that stood upright and were taken for turned had 1 or less."""


def executable() -> str | None:
    """Its path; null where the system has none."""
    return shutil.which("tesseract")


@cache
def languages() -> tuple[str, frozenset[str]]:
    """Its folder of language data, and the languages in it."""
    answer = _run(["--list-langs"], b"").decode("utf-8", "replace")
    folder = re.search(r'in "([^"\n]*)"', answer)
    names = answer.split("\n")[1:]
    return folder.group(1) if folder else "", frozenset(name.strip() for name in names if name.strip())


@cache
def version() -> str:
    """Its version, as `5.3.0`."""
    found = re.search(r"tesseract v?(\S+)", _run(["--version"], b"").decode("utf-8", "replace"))
    return found.group(1) if found else "unknown"


def read_image(image: Image.Image, dpi: int, of_languages: Sequence[str], least_confidence: float) -> Reading:
    """The lines of an image, after turning it upright where the data for that (`osd`) is installed.

    An image that Tesseract fails on has no lines.
    """
    turn = _turn(image, dpi)
    if turn:
        image = image.rotate(-turn, expand=True)
    arguments = ["-", "-", "--dpi", str(dpi), "-l", "+".join(of_languages), "tsv"]
    try:
        table = _run(arguments, _png(image)).decode("utf-8", "replace")
    except subprocess.CalledProcessError:
        # One page that it cannot read must not cost the others; a page that shows something and gives no line counts
        # as missing.
        return Reading([], turn)
    return Reading([line for line in _lines(table) if line.confidence >= least_confidence], turn)


def _turn(image: Image.Image, dpi: int) -> int:
    if "osd" not in languages()[1]:
        return 0
    try:
        answer = _run(["-", "-", "--dpi", str(dpi), "--psm", "0"], _png(image)).decode("utf-8", "replace")
    except subprocess.CalledProcessError:
        return 0  # which is how it says that there is too little text to tell
    turn = re.search(r"^Rotate: (\d+)\s+Orientation confidence: (\S+)", answer, re.MULTILINE)
    return int(turn.group(1)) % 360 if turn and float(turn.group(2)) >= _SURE_OF_TURN else 0


def _lines(table: str) -> list[Recognized]:
    """Lines of Tesseract's TSV: words of one line, with the line's box and the mean of the words' confidences."""
    lines: list[Recognized] = []
    boxes: dict[tuple[str, ...], tuple[int, int, int, int]] = {}
    words: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for row in table.split("\n")[1:]:
        cells = row.split("\t")
        if len(cells) != 12:
            continue
        key = tuple(cells[1:5])
        if int(cells[0]) == _LINE:
            left, top, width, height = map(int, cells[6:10])
            boxes[key] = left, top, width, height
        elif int(cells[0]) == _WORD and cells[11].strip():
            words.setdefault(key, []).append((cells[11].strip(), float(cells[10])))
    for key, found in words.items():
        left, top, width, height = boxes[key]
        text = " ".join(word for word, _ in found)
        confidence = sum(score * len(word) for word, score in found) / sum(len(word) for word, _ in found) / 100
        lines.append(Recognized(text, confidence, left + width / 2, top + height / 2, width, height))
    return lines


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _run(arguments: Sequence[str], data: bytes) -> bytes:
    """Its answer. The process ends with this one, also when that is killed.

    Raises:
        CalledProcessError: it failed.
        FileNotFoundError: there is none.
    """
    found = executable()
    if found is None:
        raise FileNotFoundError("tesseract")
    return subprocess.run(
        [found, *arguments],
        input=data,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,
    ).stdout


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
