"""Packs the elements of a section into ranges of redacted text that stay within a token budget."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from tasks.chunk.breaks import before_combining, break_levels, nearest_allowed
from tasks.chunk.ranges import Range
from tasks.chunk.settings import ChunkSettings
from tasks.chunk.structure import Piece, trim
from tasks.chunk.tables import table_header
from tasks.chunk.windows import windows
from tasks.embedding.model import Tokenizer

_SEPARATOR_TOKENS = 2
_WHOLE = ("list_item", "formula")
"""Kinds that are cut only where they alone are over the budget."""


class Packer:
    """Cuts the groups of one document: sections, pages, or whatever else the strategy keeps apart.

    Tokens are counted once per element, and the sums serve as an estimate; the finished texts are counted exactly,
    and a group with one over the limit is packed again with a budget smaller by the excess. `context_of` gives the
    context that is read before a range of the n-th group.
    """

    def __init__(
        self,
        text: str,
        forbidden: Sequence[tuple[int, int]],
        settings: ChunkSettings,
        counter: Tokenizer,
        context_of: Callable[[int, Range], str],
    ) -> None:
        self._text = text
        self._forbidden = forbidden
        self._settings = settings
        self._counter = counter
        self._context_of = context_of
        self._added = counter.count([""])[0]
        self._places: dict[Piece, tuple[list[int], list[int]]] = {}

    def pack(self, groups: Sequence[Sequence[Piece]]) -> list[tuple[list[Range], list[int]]]:
        """For each group its ranges in order, and the exact token count of each range's context and text."""
        sizes = iter(self._counter.count([self._text[p.start : p.end] for group in groups for p in group]))
        sized = [[(piece, next(sizes) - self._added) for piece in group] for group in groups]
        contexts = [
            self._context_of(i, Range(group[0].start, group[-1].end)) if group else "" for i, group in enumerate(groups)
        ]
        budgets = [max(1, self._settings.max_tokens - size) for size in self._counter.count(contexts)]
        packed: list[list[Range]] = [[] for _ in groups]
        counts: list[list[int]] = [[] for _ in groups]
        waiting = list(range(len(groups)))
        while waiting:
            for i in waiting:
                packed[i] = self._cut(sized[i], budgets[i])
            texts = [self._context_of(i, r) + self.chunk_text(r) for i in waiting for r in packed[i]]
            exact = iter(self._counter.count(texts))
            again = []
            for i in waiting:
                counts[i] = [next(exact) for _ in packed[i]]
                cuttable = (n for r, n in zip(packed[i], counts[i], strict=True) if not self._is_one_span(r))
                excess = max(cuttable, default=0) - self._settings.max_tokens
                if excess > 0 and budgets[i] > 1:
                    budgets[i] = max(1, budgets[i] - excess)
                    again.append(i)
            waiting = again
        return list(zip(packed, counts, strict=True))

    def _cut(self, sized: Sequence[tuple[Piece, int]], budget: int) -> list[Range]:
        if self._settings.strategy == "fixed":
            return windows(
                self._text, [piece for piece, _ in sized], self._forbidden, self._settings, self._counter, budget
            )
        return self._overlapped(self._ranges(sized, budget), sized)

    def _is_one_span(self, made: Range) -> bool:
        return any(start <= made.start and made.end <= end for start, end in self._forbidden)

    def chunk_text(self, made: Range) -> str:
        """The text of a chunk: the repeated prefix, then its range."""
        return made.prefix + self._text[made.start : made.end]

    def _ranges(self, sized: Sequence[tuple[Piece, int]], budget: int) -> list[Range]:
        budget = max(1, budget - self._settings.overlap_tokens)
        done: list[Range] = []
        current: Range | None = None
        used = 0
        headings_only = True
        for piece, tokens in sized:
            joined = used + _SEPARATOR_TOKENS if current else 0
            small = headings_only or used < self._settings.least_tokens
            if current is not None and joined + tokens <= budget:
                current, used = Range(current.start, piece.end, current.prefix), joined + tokens
            elif tokens <= budget and (current is None or not small or piece.kind in _WHOLE):
                if current is not None:
                    done.append(current)
                current, used = Range(piece.start, piece.end), tokens
            else:
                cut = _Cutter(self._text, piece, self._forbidden, self._settings, self._counter)
                first_room = budget - joined
                for start, end, prefix, size in cut.parts(first_room, budget, small):
                    if current is not None and start == piece.start and size <= first_room:
                        current, used = Range(current.start, end, current.prefix), joined + size
                        continue
                    if current is not None:
                        done.append(current)
                    current, used = Range(start, end, prefix), size
            headings_only = headings_only and piece.kind == "heading"
        if current is not None:
            done.append(current)
        return [Range(*trim(self._text, r.start, r.end), r.prefix) for r in done]

    def _overlapped(self, ranges: list[Range], sized: Sequence[tuple[Piece, int]]) -> list[Range]:
        wanted = self._settings.overlap_tokens
        if not wanted:
            return ranges
        made = ranges[:1]
        for before, this in pairwise(ranges):
            start = this.start if this.prefix else self._overlap_start(before, this, sized, wanted)
            made.append(Range(start, this.end, this.prefix))
        return made

    def _overlap_start(self, before: Range, this: Range, sized: Sequence[tuple[Piece, int]], wanted: int) -> int:
        """The first element, sentence, row or line start (else word) in the last `wanted` tokens before `this`."""
        starts = self._counter.starts(self._text[before.start : this.start])
        earliest = before.start + (int(starts[-wanted]) if len(starts) > wanted else 0)
        near = [piece for piece, _ in sized if piece.end > earliest and piece.start < this.start]
        places = [self._overlap_places(piece) for piece in near]
        for level in (0, 1):
            first = [
                lists[level][i] for lists in places if (i := bisect_left(lists[level], earliest)) < len(lists[level])
            ]
            if first and min(first) < this.start:
                return min(first)
        return this.start

    def _overlap_places(self, piece: Piece) -> tuple[list[int], list[int]]:
        """Where an overlap may begin in an element: its start and its best breaks, and at its spaces, ascending."""
        if piece not in self._places:
            levels = break_levels(self._text, piece, self._forbidden)
            words = [] if piece.kind in ("table", "code", *_WHOLE) else levels[2]
            self._places[piece] = [piece.start, *levels[0]], words
        return self._places[piece]


class _Cutter:
    """Cuts one element into parts within a budget."""

    def __init__(
        self,
        text: str,
        piece: Piece,
        forbidden: Sequence[tuple[int, int]],
        settings: ChunkSettings,
        counter: Tokenizer,
    ) -> None:
        self._text = text
        self._piece = piece
        self._forbidden = forbidden
        self._starts = counter.starts(text[piece.start : piece.end]) + piece.start
        self._levels = break_levels(text, piece, forbidden)
        self._prefix, self._prefix_tokens = self._header(settings)

    def parts(self, first_room: int, room: int, stay: bool) -> list[tuple[int, int, str, int]]:
        """(start, end, prefix, tokens) of each part.

        The first part has `first_room`; if nothing fits there at the best level, it gets the whole `room` (and goes
        to a chunk of its own), except that with `stay` running text is cut at a lower level to stay with the little
        that stands before it.
        """
        piece, made = self._piece, []
        position, prefix = piece.start, ""
        while position < piece.end:
            space = room - (self._prefix_tokens if prefix else 0)
            first = position == piece.start
            end = self._end(position, first_room, lowest=self._lowest(stay)) if first else None
            if end is None:
                end = self._end(position, max(1, space), lowest=len(self._levels))
            assert end is not None  # noqa: S101
            made.append((position, end, prefix, self._tokens(position, end) + (room - space)))
            position, prefix = end, self._prefix
        return made

    def _lowest(self, stay: bool) -> int:
        return len(self._levels) - 1 if stay and self._piece.kind not in ("table", "code") else 1

    def _tokens(self, start: int, end: int) -> int:
        return int(self._starts.searchsorted(end) - self._starts.searchsorted(start))

    def _end(self, start: int, room: int, *, lowest: int) -> int | None:
        """Where a part that starts at `start` ends; null where no break above level `lowest` lies within `room`."""
        index = int(self._starts.searchsorted(start)) + max(0, room)
        if index >= len(self._starts):
            return self._piece.end
        limit = int(self._starts[index])
        for level in self._levels[:lowest]:
            i = bisect_right(level, limit) - 1
            if i >= 0 and level[i] > start:
                return level[i]
        if lowest < len(self._levels):
            return None
        return self._hard_end(start, max(limit, start + 1))

    def _hard_end(self, start: int, limit: int) -> int:
        end = nearest_allowed(before_combining(self._text, limit, start), self._forbidden)
        if end > start:
            return end
        # A PII span alone is over the budget: it stays whole, and the chunk is reported as truncated.
        return min(self._piece.end, next(stop for begin, stop in self._forbidden if begin <= start < stop))

    def _header(self, settings: ChunkSettings) -> tuple[str, int]:
        """The header rows to repeat, and their tokens; none where they would take more than half a chunk."""
        header = table_header(self._text, self._piece, self._levels[0], settings)
        tokens = self._tokens(self._piece.start, self._piece.start + len(header))
        if tokens > settings.max_tokens // 2:
            return "", 0
        self._levels[0] = [start for start in self._levels[0] if start > self._piece.start + len(header)]
        return header, tokens
