"""From recognized lines in an image to lines on an upright page, and back to the page as it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tasks.parse.lines import Box, Line, union

_LEAST_TILT = 0.3
"""Degrees below which a page counts as straight."""

_SMALL, _LARGE = 0.67, 1.5
"""Heights between these shares of the median are the same type: the box of a line is as high as its letters are."""

_EM_PER_HEIGHT = 0.8
"""Type size for the height of a line's box; engines draw it round ascenders and descenders, with a little air."""


@dataclass(frozen=True, slots=True)
class Recognized:
    """A line as an engine gives it: text, confidence from 0 to 1, and its box in pixels of the upright image.

    The box has a middle, a length along the line, a height across it, and an angle in degrees, clockwise from level.
    """

    text: str
    confidence: float
    x: float
    y: float
    length: float
    height: float
    angle: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What an engine read: the lines, and by how many degrees the image was turned clockwise to stand upright."""

    lines: Sequence[Recognized]
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """How a page that was turned and straightened for reading lies in the page as it is. All in points.

    `width` and `height` are the page's as it is; `turn` (0, 90, 180, 270) and then `tilt` were taken out, clockwise.
    """

    width: float
    height: float
    turn: int = 0
    tilt: float = 0.0

    @property
    def upright(self) -> tuple[float, float]:
        """Width and height of the turned page."""
        return (self.height, self.width) if self.turn in (90, 270) else (self.width, self.height)

    def straightened(self, x: float, y: float) -> tuple[float, float]:
        """A point of the turned page after its tilt was taken out."""
        return _rotated(x, y, -self.tilt, self.upright)

    def to_page(self, box: Box) -> Box:
        """The box around a straightened box in the page as it is.

        >>> Frame(200, 100, turn=90).to_page((0, 0, 10, 30))
        (0.0, 90.0, 30.0, 100.0)
        """
        corners = [(x, y) for x in (box[0], box[2]) for y in (box[1], box[3])]
        tilted = [_rotated(x, y, self.tilt, self.upright) for x, y in corners]
        back = [self._turned_back(x, y) for x, y in tilted]
        x0, y0, x1, y1 = union((x, y, x, y) for x, y in back)
        return max(x0, 0.0), max(y0, 0.0), min(x1, self.width), min(y1, self.height)

    def _turned_back(self, x: float, y: float) -> tuple[float, float]:
        if self.turn == 90:
            return y, self.height - x
        if self.turn == 180:
            return self.width - x, self.height - y
        if self.turn == 270:
            return self.width - y, x
        return x, y


def page_frame(reading: Reading, width: float, height: float) -> Frame:
    """The frame of a page of this size in points: the tilt is the median angle of its longer lines."""
    lengths = sorted(line.length for line in reading.lines)
    longer = [line.angle for line in reading.lines if line.length >= lengths[len(lengths) // 2]]
    tilt = median(longer) if longer else 0.0
    return Frame(width, height, reading.turn, tilt if abs(tilt) >= _LEAST_TILT else 0.0)


def straight_lines(reading: Reading, frame: Frame, points_per_pixel: float) -> list[Line]:
    """The lines on the straightened page, in points, with a type size each."""
    if not reading.lines:
        return []
    usual = median(line.height for line in reading.lines)
    lines = []
    for line in reading.lines:
        x, y = frame.straightened(line.x * points_per_pixel, line.y * points_per_pixel)
        half, up = line.length * points_per_pixel / 2, line.height * points_per_pixel / 2
        same = _SMALL * usual <= line.height <= _LARGE * usual
        size = _EM_PER_HEIGHT * points_per_pixel * (usual if same else line.height)
        box = x - half, y - up, x + half, y + up
        turn = 0 if abs(line.angle - frame.tilt) < 10 else None
        lines.append(Line(line.text, box, size, False, False, False, turn, ocr=True))
    return lines


def _rotated(x: float, y: float, degrees: float, size: tuple[float, float]) -> tuple[float, float]:
    """A point rotated clockwise about the middle of the page; y grows downwards."""
    if not degrees:
        return float(x), float(y)
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    dx, dy = x - size[0] / 2, y - size[1] / 2
    return size[0] / 2 + dx * cosine - dy * sine, size[1] / 2 + dx * sine + dy * cosine
