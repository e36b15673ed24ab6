"""Text under edit that remembers where each part came from."""

from collections.abc import Iterable
from typing import NamedTuple


class Run(NamedTuple):
    """[start, end) of the text comes from [source_start, source_end); equal lengths map one to one."""

    start: int
    end: int
    source_start: int
    source_end: int


class Edit(NamedTuple):
    """[start, end) of the text becomes `replacement`."""

    start: int
    end: int
    replacement: str


class MappedText:
    """A text and the runs that lead from it back to its source.

    The runs cover the text without gaps, in order; what was removed is a gap on the source's side.

    >>> m = MappedText("a\u00adb  c")
    >>> m.apply([Edit(1, 2, ""), Edit(4, 5, "")])
    >>> m.text, [tuple(run) for run in m.runs]
    ('ab c', [(0, 1, 0, 1), (1, 3, 2, 4), (3, 4, 5, 6)])
    """

    __slots__ = ("runs", "text")

    def __init__(self, source: str) -> None:
        self.text = source
        self.runs: list[Run] = [Run(0, len(source), 0, len(source))] if source else []

    def apply(self, edits: Iterable[Edit]) -> None:
        """Applies edits; they are sorted, do not overlap, and none inserts between two characters (start < end)."""
        pieces: list[str] = []
        runs: list[Run] = []
        done = 0
        cursor = 0
        length = 0

        def emit(size: int, source_start: int, source_end: int) -> None:
            nonlocal length
            last = runs[-1] if runs else None
            if (
                last is not None
                and size == source_end - source_start
                and last.source_end == source_start
                and last.end - last.start == last.source_end - last.source_start
            ):
                runs[-1] = Run(last.start, length + size, last.source_start, source_end)
            else:
                runs.append(Run(length, length + size, source_start, source_end))
            length += size

        def keep(until: int) -> None:
            """Copies the runs of [done, until); a run that maps as a whole stays whole where only a part is kept."""
            nonlocal cursor
            at = done
            while at < until:
                run = self.runs[cursor]
                stop = min(run.end, until)
                emit(stop - at, *_source_of(run, at, stop))
                at = stop
                if stop == run.end:
                    cursor += 1

        for edit in edits:
            if edit.start > done:
                keep(edit.start)
                pieces.append(self.text[done : edit.start])
            first = cursor
            while self.runs[cursor].end < edit.end:
                cursor += 1
            if edit.replacement:
                source_start, _ = _source_of(self.runs[first], edit.start, edit.start + 1)
                _, source_end = _source_of(self.runs[cursor], edit.end - 1, edit.end)
                emit(len(edit.replacement), source_start, source_end)
                pieces.append(edit.replacement)
            if self.runs[cursor].end == edit.end:
                cursor += 1
            done = edit.end
        if done == 0 and not pieces:
            return
        end = len(self.text)
        if done < end:
            keep(end)
            pieces.append(self.text[done:])
        self.text = "".join(pieces)
        self.runs = runs


def _source_of(run: Run, start: int, end: int) -> tuple[int, int]:
    if run.end - run.start == run.source_end - run.source_start:
        shift = run.source_start - run.start
        return start + shift, end + shift
    return run.source_start, run.source_end
