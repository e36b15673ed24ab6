"""Windows of equal size over a text, whatever stands there; only rows, redacted values and letters stay whole."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.chunk.breaks import before_combining, break_levels, nearest_allowed
from tasks.chunk.ranges import Range
from tasks.chunk.settings import ChunkSettings
from tasks.chunk.structure import Piece, trim
from tasks.chunk.tables import table_header
from tasks.embedding.model import Tokenizer


@dataclass(frozen=True, slots=True)
class _Table:
    start: int
    end: int
    rows: list[int]
    header: str
    header_tokens: int


def windows(
    text: str,
    pieces: Sequence[Piece],
    forbidden: Sequence[tuple[int, int]],
    settings: ChunkSettings,
    counter: Tokenizer,
    budget: int,
) -> list[Range]:
    """Windows of `budget` tokens, or of `fixed_characters` where that is less, from the first piece to the last.

    A window that would end inside a table's row ends before it, if it has more than that row; one that begins after
    the header rows of a table repeats them. Each begins `overlap_tokens` before the end of the one before, but where
    that is inside a table or a redacted value.
    """
    if not pieces:
        return []
    starts = _token_starts(text, pieces, counter)
    tables = _tables(text, pieces, forbidden, settings, starts)
    stop = pieces[-1].end
    made: list[Range] = []
    position = pieces[0].start
    while position < stop:
        table = next((t for t in tables if t.start < position < t.end), None)
        header = table.header if table is not None and position >= _body(table) else ""
        room = max(1, budget - (table.header_tokens if table is not None and header else 0))
        end = _end(text, position, room, stop, starts, tables, forbidden, settings)
        start, finish = trim(text, position, end)
        if start < finish:
            made.append(Range(start, finish, header))
        position = max(_overlap(text, position, end, starts, tables, forbidden, settings), position + 1)
        if end >= stop:
            break
    return made


def _body(table: _Table) -> int:
    """Where the rows after the header begin."""
    return table.start + len(table.header)


def _end(
    text: str,
    position: int,
    room: int,
    stop: int,
    starts: Sequence[int],
    tables: Sequence[_Table],
    forbidden: Sequence[tuple[int, int]],
    settings: ChunkSettings,
) -> int:
    index = bisect_left(starts, position) + room
    end = starts[index] if index < len(starts) else stop
    if settings.fixed_characters is not None:
        end = min(end, position + settings.fixed_characters)
    if end >= stop:
        return stop
    end = max(end, position + 1)
    table = next((t for t in tables if t.start < end < t.end), None)
    if table is not None:
        row = bisect_right(table.rows, end) - 1
        whole = table.rows[row] if row >= 0 else table.start
        end = whole if whole > position else end
    allowed = nearest_allowed(before_combining(text, end, position), forbidden)
    if allowed > position:
        return allowed
    # A redacted value alone is over the budget: it stays whole, and the chunk is reported as truncated.
    return min(stop, next((after for begin, after in forbidden if begin <= position < after), end))


def _overlap(
    text: str,
    position: int,
    end: int,
    starts: Sequence[int],
    tables: Sequence[_Table],
    forbidden: Sequence[tuple[int, int]],
    settings: ChunkSettings,
) -> int:
    """Where the next window begins."""
    if not settings.overlap_tokens or any(t.start < end < t.end for t in tables):
        return end
    index = max(bisect_left(starts, position) + 1, bisect_left(starts, end) - settings.overlap_tokens)
    if index >= len(starts) or starts[index] >= end:
        return end
    begin = nearest_allowed(before_combining(text, starts[index], position), forbidden)
    inside = any(t.start < begin < t.end for t in tables)
    return begin if position < begin < end and not inside else end


def _token_starts(text: str, pieces: Sequence[Piece], counter: Tokenizer) -> list[int]:
    """Where tokens start; the line ends between two elements count as one token, which starts where the first ends."""
    found: list[int] = []
    for piece in pieces:
        found += (counter.starts(text[piece.start : piece.end]) + piece.start).tolist()
        found.append(piece.end)
    return found


def _tables(
    text: str,
    pieces: Sequence[Piece],
    forbidden: Sequence[tuple[int, int]],
    settings: ChunkSettings,
    starts: Sequence[int],
) -> list[_Table]:
    made = []
    for piece in pieces:
        if piece.kind == "table":
            rows = break_levels(text, piece, forbidden)[0]
            header = table_header(text, piece, rows, settings)
            tokens = bisect_left(starts, piece.start + len(header)) - bisect_left(starts, piece.start)
            if tokens > settings.max_tokens // 2:
                header, tokens = "", 0
            made.append(_Table(piece.start, piece.end, rows, header, tokens))
    return made
