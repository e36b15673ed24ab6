"""Reading order on a page: columns are found by the empty gutter between them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import median

from tasks.parse.lines import Line, merged, rows_of, union

_FEW_CROSSING, _MOST_CROSSING = 0.1, 0.25
"""Shares of lines (titles, wide captions) that may cross a gutter: with few, columns go before strips."""

_MOST_DEPTH = 6


def reading_order(lines: Sequence[Line], depth: int = 0) -> list[list[Line]]:
    """Groups of lines in reading order; a group is the stretch of one column between two lines that span columns.

    Runs that stand beside one another inside a column are joined to one line. A gutter is an x that few lines cross,
    that has running text on both sides, side by side over most of the height; columns of short runs (a list's
    numbers, a table's cells) make no gutter. Where none is clear over the whole height, the page is cut across
    at its widest empty strip, and each part has its own columns.
    """
    if not lines:
        return []
    deep = depth >= _MOST_DEPTH
    gutter = None if deep else _gutter(lines, _FEW_CROSSING)
    if gutter is None and not deep and (parts := _cut_across(lines)):
        return [group for part in parts for group in reading_order(part, depth + 1)]
    if gutter is None and not deep:
        gutter = _gutter(lines, _MOST_CROSSING)
    if gutter is None:
        return [[merged(row) for row in rows_of(lines)]]
    groups: list[list[Line]] = []
    band: list[Line] = []
    spanning: list[Line] = []
    for line in sorted(lines, key=lambda line: line.middle):
        if line.box[0] < gutter < line.box[2]:
            groups += _columns(band, gutter, depth)
            band = []
            spanning.append(line)
        else:
            if band or not _beside(line, spanning):
                groups += reading_order(spanning, depth + 1)
                spanning = []
                band.append(line)
            else:
                spanning.append(line)
    groups += reading_order(spanning, depth + 1)
    return groups + _columns(band, gutter, depth)


def _cut_across(lines: Sequence[Line]) -> tuple[list[Line], list[Line]] | None:
    """The lines above and below the widest empty strip over the whole width; null where none is a line high."""
    if len(lines) < 16:
        return None
    ordered = sorted(lines, key=lambda line: line.box[1])
    bottom, best, place = ordered[0].box[3], 0.0, 0
    for i, line in enumerate(ordered[1:], start=1):
        if line.box[1] - bottom > best:
            best, place = line.box[1] - bottom, i
        bottom = max(bottom, line.box[3])
    if best < 0.8 * median(line.size for line in lines):
        return None
    return ordered[:place], ordered[place:]


def _beside(line: Line, spanning: Sequence[Line]) -> bool:
    return bool(spanning) and abs(spanning[-1].middle - line.middle) < 0.4 * line.size


def _columns(band: Sequence[Line], gutter: float, depth: int) -> list[list[Line]]:
    left = [line for line in band if line.box[2] <= gutter]
    right = [line for line in band if line.box[2] > gutter]
    return reading_order(left, depth + 1) + reading_order(right, depth + 1)


def _gutter(lines: Sequence[Line], most_crossing: float) -> float | None:
    if len(lines) < 8:
        return None
    starts, ends = sorted(line.box[0] for line in lines), sorted(line.box[2] for line in lines)
    size = median(line.size for line in lines)
    best: tuple[float, float] | None = None
    for end in sorted({round(end, 1) for end in ends}):
        after = bisect_left(starts, end - 0.1)
        following = starts[after] if after < len(starts) else None
        if following is None:
            break
        x = (end + max(following, end)) / 2 + 0.05
        crossing = bisect_left(starts, x) - bisect_right(ends, x)
        gap = following - end
        if gap < 0.6 * size or crossing > most_crossing * len(lines) or not _is_gutter(lines, x):
            continue
        if best is None or (crossing, -gap) < best[:2]:
            best = (crossing, -gap)
            found = x
    return found if best else None


def _is_gutter(lines: Sequence[Line], x: float) -> bool:
    left = [line for line in lines if line.box[2] <= x]
    right = [line for line in lines if line.box[0] >= x]
    if min(len(left), len(right)) < 4:
        return False
    a, b = union(line.box for line in left), union(line.box for line in right)
    shared = min(a[3], b[3]) - max(a[1], b[1])
    if shared < 0.5 * min(a[3] - a[1], b[3] - b[1]):
        return False
    running = [_is_running_text(left), _is_running_text(right)]
    return all(running) or (any(running) and _share_on_one_line(left, right) < 0.5)


def _is_running_text(side: Sequence[Line]) -> bool:
    """Half of the lines hold at least 18 characters: text in narrow columns does, a table's cells do not.

    Formulas are many short runs among few long ones: there, four lines of at least 30 characters must hold half of all.
    """
    lengths = [len(line.text) for line in side]
    long = [length for length in lengths if length >= 30]
    return median(lengths) >= 18 or (len(long) >= 4 and 2 * sum(long) >= sum(lengths))


def _share_on_one_line(left: Sequence[Line], right: Sequence[Line]) -> float:
    """The share of a side's lines that stand at the height of a line on the other side; the greater of both sides'."""
    return max(_share_beside(left, right), _share_beside(right, left))


def _share_beside(lines: Sequence[Line], others: Sequence[Line]) -> float:
    heights = sorted(line.middle for line in others)
    beside = 0
    for line in lines:
        i = bisect_left(heights, line.middle - 0.2 * line.size)
        beside += i < len(heights) and heights[i] <= line.middle + 0.2 * line.size
    return beside / len(lines)
