"""Lines of text on a page, whoever read them: the text layer of a PDF or an OCR engine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tasks.parse.leftward import spoken_order

Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """A run of text on one base line. `bold` and `mono` hold when nearly all of it is; `ocr` when it was recognized.

    `turn` is by how many degrees clockwise its text is turned: 0, 90, 180 or 270; null where it stands askew.
    """

    text: str
    box: Box
    size: float
    bold: bool
    mono: bool
    raised: bool
    turn: int | None
    ocr: bool = False

    @property
    def upright(self) -> bool:
        """Whether it is read from the left to the right of the page."""
        return self.turn == 0

    @property
    def middle(self) -> float:
        """The height of its middle, from the top of the page."""
        return (self.box[1] + self.box[3]) / 2


def union(boxes: Iterable[Sequence[float]]) -> Box:
    """The smallest box around all of these."""
    edges = list(zip(*boxes, strict=True))
    return min(edges[0]), min(edges[1]), max(edges[2]), max(edges[3])


def quarter_turn(x: float, y: float) -> int | None:
    """The turn of text that runs in this direction, y from the top; null where it is none of the four.

    >>> quarter_turn(1, 0), quarter_turn(0, 1), quarter_turn(-1, 0.01), quarter_turn(0, -1), quarter_turn(0.7, 0.7)
    (0, 90, 180, 270, None)
    """
    long = max(abs(x), abs(y))
    if min(abs(x), abs(y)) > 0.1 * long:
        return None
    return (0 if x >= 0 else 180) if abs(x) == long else (90 if y >= 0 else 270)


def rows_of(lines: Sequence[Line]) -> list[list[Line]]:
    """Groups runs that stand beside one another, from the top, each row from the left."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.middle, line.box[0])):
        last = rows[-1][0] if rows else None
        if last and abs(line.middle - last.middle) < 0.4 * min(_height(line), _height(last)):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.box[0]) for row in rows]


def merged(row: Sequence[Line]) -> Line:
    """The runs of one row, which stand from the left, as one line."""
    if len(row) == 1:
        return row[0]
    longest = max(row, key=lambda line: len(line.text))
    texts = [line.text for line in row]
    return Line(
        " ".join(texts[place] for place in spoken_order(texts)),
        union(line.box for line in row),
        longest.size,
        all(line.bold for line in row),
        all(line.mono for line in row),
        row[0].raised,
        longest.turn,
        row[0].ocr,
    )


def _height(line: Line) -> float:
    return line.box[3] - line.box[1]
