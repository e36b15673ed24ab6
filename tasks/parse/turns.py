"""Text that is turned on its page by a quarter, a half or three quarters: its frame, and its place among the rest.

A frame is the page turned so that text of one direction stands upright. Turns are degrees clockwise.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tasks.parse.blocks import Block, paragraphs
from tasks.parse.lines import Box, Line, union
from tasks.parse.order import reading_order

_NEAR = 1.5
"""Distance in type sizes within which turned lines belong together."""
_MOST_TURNED = 2000
"""Turned lines of one page that are looked at for groups: maps have many, and no order."""


def main_turn(lines: Sequence[Line]) -> int:
    """By how much most of a page's characters are turned; 0 where nothing is more frequent."""
    letters = Counter({0: 0})
    for line in lines:
        if line.turn is not None:
            letters[line.turn] += len(line.text)
    return max(letters, key=lambda turn: (letters[turn], -turn))


def to_frame(box: Box, turn: int, size: tuple[float, float]) -> Box:
    """A box of a page of this size in the frame of a turn.

    >>> to_frame((500, 100, 510, 300), 90, (600, 800))
    (100, 90, 300, 100)
    """
    width, height = size
    left, top, right, bottom = box
    if turn == 90:
        return top, width - right, bottom, width - left
    if turn == 180:
        return width - right, height - bottom, width - left, height - top
    if turn == 270:
        return height - bottom, left, height - top, right
    return box


def from_frame(box: Box, turn: int, size: tuple[float, float]) -> Box:
    """The way back from `to_frame`; `size` is that of the page.

    >>> from_frame((100, 90, 300, 100), 90, (600, 800))
    (500, 100, 510, 300)
    """
    return to_frame(box, -turn % 360, _frame_size(size, turn))


def ordered_blocks(
    lines: Sequence[Line], number: int, size: tuple[float, float], tables: Sequence[Block] = ()
) -> list[Block]:
    """The blocks of a page in reading order, as one reads it who turns it so that most of its text stands upright.

    Lines beside one another that are turned otherwise (a table laid sideways) are read in their own frame, and stand,
    as tables do, before the first block that begins below their top in a column that they touch.
    """
    turn = main_turn(lines)
    seen = [_turned(line, turn, size) for line in lines]
    within = _frame_size(size, turn)
    groups = _groups(seen)
    grouped = {id(line) for group in groups for line in group}
    blocks = _blocks([line for line in seen if id(line) not in grouped], number)
    aside = [replace(table, box=to_frame(table.box, turn, size)) for table in tables]
    for group in groups:
        inner = group[0].turn or 0
        found = _blocks([_turned(line, inner, within) for line in group], number)
        box = union(line.box for line in group)
        place = _place(blocks, box)
        blocks[place:place] = [replace(block, box=from_frame(block.box, inner, within)) for block in found]
    for table in aside:
        blocks.insert(_place(blocks, table.box), table)
    return [replace(block, box=from_frame(block.box, turn, size)) for block in blocks] if turn else blocks


def _blocks(lines: Sequence[Line], number: int) -> list[Block]:
    return [block for group in reading_order(lines) for block in paragraphs(group, number)]


def _place(blocks: Sequence[Block], box: Box) -> int:
    follows = (
        i
        for i, block in enumerate(blocks)
        if block.box[1] >= box[1] and block.box[0] < box[2] and block.box[2] > box[0]
    )
    return next(follows, len(blocks))


def _turned(line: Line, turn: int, size: tuple[float, float]) -> Line:
    if turn == 0:
        return line
    rest = None if line.turn is None else (line.turn - turn) % 360
    return replace(line, box=to_frame(line.box, turn, size), turn=rest)


def _frame_size(size: tuple[float, float], turn: int) -> tuple[float, float]:
    return (size[1], size[0]) if turn in (90, 270) else size


def _groups(lines: Sequence[Line]) -> list[list[Line]]:
    """Two lines or more that are turned alike and stand near one another; one alone (a stamp) is in no group."""
    found = []
    for turn in (90, 180, 270):
        rest = [line for line in lines if line.turn == turn]
        while 1 < len(rest) <= _MOST_TURNED:
            group, rest = _beside(rest[0], rest[1:])
            if len(group) > 1:
                found.append(group)
    return found


def _beside(first: Line, others: list[Line]) -> tuple[list[Line], list[Line]]:
    """The lines that are reached from the first over near neighbours, and the rest; both in their given order."""
    group, waiting = [first], [first]
    while waiting:
        line = waiting.pop()
        near = [other for other in others if _are_near(line, other)]
        if near:
            taken = {id(other) for other in near}
            others = [other for other in others if id(other) not in taken]
            group += near
            waiting += near
    return group, others


def _are_near(one: Line, other: Line) -> bool:
    reach = _NEAR * min(one.size, other.size)
    a, b = one.box, other.box
    return a[0] - reach < b[2] and b[0] - reach < a[2] and a[1] - reach < b[3] and b[1] - reach < a[3]
