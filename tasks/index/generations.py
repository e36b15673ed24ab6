"""Generations of the index and the one that is live: `live.json`, and the record of every change of it.

`live.json` is replaced as a whole, so a reader sees the old or the new generation and nothing between. Each change
is written to `generations.jsonl` first, with a number that counts up; a line counts once `live.json` has reached its
number. A promoter killed between the two has changed nothing, and its line is overruled by the next one. The first
change alone is written the other way round, so that a record without `live.json` is a lake that lost it.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tasks.errors import RunError
from tasks.index.locks import held
from tasks.index.records import Generation, Live
from tasks.lake.files import sync_folder, write_json, write_text


@dataclass(frozen=True, slots=True)
class _Entry:
    number: int
    action: str
    live: Live


_FIRST_KNOWN = "first-known"
"""The action of the change with which a record begins that was torn: what went before is not known."""


class Generations:
    """The record of what is and was live. Changes happen under a lock that ends with its process."""

    def __init__(self, root: Path, lock_seconds: float) -> None:
        self._live_path = root / "live.json"
        self._log_path = root / "generations.jsonl"
        self._lock_path = root / "live.lock"
        self._lock_seconds = lock_seconds

    def live(self) -> Live | None:
        """The generation in use, or null before the first promotion.

        Raises:
            RunError: `live.json` is there and cannot be read.
        """
        entry = self._current()
        return None if entry is None else entry.live

    def number(self) -> int:
        """How many changes of live there have been."""
        entry = self._current()
        return 0 if entry is None else entry.number

    def history(self) -> list[Live]:
        """All that was live, oldest first; a rollback adds the generation it went back to once more.

        Raises:
            RunError: the record lacks changes that live has gone through, or `live.json` cannot be read.
        """
        return [entry.live for entry in self._entries()]

    def standing(self) -> list[Live]:
        """Live and the generations that rollbacks would lead to, oldest first. What was rolled back is not in it."""
        stack: list[Live] = []
        for entry in self._entries():
            if entry.action == "rollback":
                stack = stack[:-1] or [entry.live]  # what it went back to may have been promoted before the first line
            else:
                stack.append(entry.live)
        return stack

    def live_since(self, moment: datetime) -> list[Live]:
        """What was taken out of use at or after the moment, oldest first. A change dated in the future, by a clock that
        was set back since, counts as long ago."""
        changes, now = self._entries(), datetime.now(UTC)
        return [at.live for at, after in pairwise(changes) if moment <= after.live.flipped_at <= now]

    def rolled_back(self) -> Live | None:
        """What the last change of live took out of use, if that was a rollback; null where it was a promotion, or
        where the record is gone."""
        entries = self._entries() if self._log_path.exists() else []
        return entries[-2].live if len(entries) > 1 and entries[-1].action == "rollback" else None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps live as it is for as long as it is held.

        Raises:
            RunError: another process has held it for longer than the setting allows.
        """
        with held(self._lock_path, self._lock_seconds, "changes which generation is live"):
            yield

    def promote(self, generation: Generation, *, expected: Live | None, verdict_digest: str) -> Live:
        """Makes a generation live; call it under `lock`.

        Raises:
            RunError: live is not what the verdict was given against, or the verdict was used before.
        """
        self._refuse_unless(expected)
        if any(entry.action != "rollback" and entry.live.verdict_digest == verdict_digest for entry in self._entries()):
            raise RunError(
                f"the verdict {verdict_digest[:12]} was used for a promotion before",
                remedy="a verdict promotes once; start a new run and promote with its verdict",
            )
        return self._write("promote", generation, verdict_digest)

    def roll_back(self, *, expected: Live) -> Live:
        """Makes the generation before live the live one again; call it under `lock`.

        Raises:
            RunError: live is not `expected`, or nothing was live before it.
        """
        self._refuse_unless(expected)
        standing = self.standing()
        if len(standing) < 2:
            raise RunError(
                f"no generation was live before that of run {expected.generation.run_id}",
                remedy="there is nothing to roll back to; promote a new run instead",
            )
        target = standing[-2]
        return self._write("rollback", target.generation, target.verdict_digest)

    def replace(self, anew: Mapping[Generation, Generation]) -> None:
        """Puts generations that were made anew in the place of the old ones, in the record and in live; call it under
        `lock`. A crash between the two leaves the old one live, which is still there; the next call mends it.
        """
        entries = [_renamed(entry, anew) for entry in self._entries()]
        if entries:
            self._rewrite(entries)
            self._put_live(entries[-1])

    def restore_live(self) -> str:
        """Writes a torn or missing `live.json` anew from the last whole line of the record; says so, or nothing where
        it is whole.

        Raises:
            RunError: no line of the record names a generation.
        """
        try:
            self._current()
        except RunError as torn:
            state = "torn" if self._live_path.exists() else "missing"
            for line in reversed(self._lines()):
                if (entry := _entry_of(line)) is None:
                    continue
                self._put_live(entry)
                run = entry.live.generation.run_id
                return (
                    f"index/live.json was {state}: the last line of {self._log_path.name} says that run {run} is live"
                )
            raise RunError(
                f"{torn}, and {self._log_path.name} names no generation",
                remedy="restore the lake from a copy; or delete the folder of its index and run again",
            ) from torn
        return ""

    def restore_record(self) -> str:
        """Writes a record that lacks changes anew, from the first change after the last one that it lacks, or from live
        alone; says so, or nothing where it is whole. Call it when `live.json` is whole.
        """
        current, found = self._current(), self._known()
        if current is None or not self._lacking(found, current):
            return ""
        known = [current]
        while found.get(current.number) is not None and known[0].number - 1 in found:
            known.insert(0, found[known[0].number - 1])
        self._rewrite([replace(known[0], action=_FIRST_KNOWN), *known[1:]])
        return (
            f"index/{self._log_path.name} was torn: of {current.number} changes of live the last {len(known)} are "
            "known; no rollback leads further back"
        )

    def _refuse_unless(self, expected: Live | None) -> None:
        found = self.live()
        if found != expected:
            raise RunError(
                f"live is {_name(found)}, not {_name(expected)} as expected: it was changed in the meantime",
                remedy="look at `corpusgate status`, then run again so that the verdict is given against what is live",
            )

    def _write(self, action: str, generation: Generation, verdict_digest: str) -> Live:
        before, live = self._current(), Live(generation, verdict_digest, datetime.now(UTC))
        entry = _Entry(before.number + 1 if before else 1, action, live)
        if before is None:
            self._put_live(entry)
            self._append(entry)
            return live
        if before.number == 1 and 1 not in self._known():
            self._append(before)  # its promoter was killed before it could
        self._append(entry)
        self._put_live(entry)
        return live

    def _append(self, entry: _Entry) -> None:
        with self._log_path.open("a", encoding="utf-8") as log:
            # The leading line end closes a line that a killed writer left torn.
            log.write("\n" + _line(entry))
            log.flush()
            os.fsync(log.fileno())

    def _put_live(self, entry: _Entry) -> None:
        write_json(self._live_path, _record(entry))
        sync_folder(self._live_path.parent)

    def _rewrite(self, entries: Iterable[_Entry]) -> None:
        write_text(self._log_path, "".join(_line(entry) for entry in entries))

    def _current(self) -> _Entry | None:
        try:
            text = self._live_path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            if not any(line.strip() for line in self._lines()):
                return None
            if self._live_path.exists():  # the first promotion came between the two looks
                return self._current()
            raise self._unreadable("is missing, and there is a record of what was live") from error
        try:
            return _entry(json.loads(text))
        except (KeyError, TypeError, ValueError) as error:
            raise self._unreadable(f"cannot be read: {error}") from error

    def _unreadable(self, what: str) -> RunError:
        return RunError(
            f"{self._live_path} {what}",
            remedy=f"`corpusgate doctor --repair` writes it anew from the last line of {self._log_path.name}",
        )

    def _entries(self) -> list[_Entry]:
        current, found = self._current(), self._known()
        if current is None:
            return []
        if lacking := self._lacking(found, current):
            raise RunError(
                f"{self._log_path} is torn: it lacks {len(lacking)} of the {current.number} changes of live",
                remedy="`corpusgate doctor --repair` writes it anew with the changes that are known",
            )
        return [found[number] for number in sorted(found) if number <= current.number] or [current]

    def _known(self) -> dict[int, _Entry]:
        """What the record tells, by number. Of a number that was written twice the later line counts; an empty line, or
        one torn by a kill, tells nothing: its number was never reached, or is lacking."""
        return {entry.number: entry for line in self._lines() if (entry := _entry_of(line))}

    def _lines(self) -> list[str]:
        try:
            return self._log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    @staticmethod
    def _lacking(found: Mapping[int, _Entry], current: _Entry) -> list[int]:
        """Numbers of changes that live has gone through and the record does not tell. The very first one may be told by
        live alone, when its promoter was killed."""
        if current.number == 1:
            return []
        first = max((n for n, entry in found.items() if entry.action == _FIRST_KNOWN), default=1)
        return [number for number in range(first, current.number + 1) if number not in found]


def _entry(record: dict[str, Any]) -> _Entry:
    live = Live(
        Generation(**record["generation"]), record["verdict_digest"], datetime.fromisoformat(record["flipped_at"])
    )
    return _Entry(record["number"], record["action"], live)


def _entry_of(line: str) -> _Entry | None:
    try:
        return _entry(json.loads(line))
    except (KeyError, TypeError, ValueError):
        return None


def _record(entry: _Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "action": entry.action,
        "generation": asdict(entry.live.generation),
        "verdict_digest": entry.live.verdict_digest,
        "flipped_at": entry.live.flipped_at.isoformat(),
    }


def _line(entry: _Entry) -> str:
    return json.dumps(_record(entry), sort_keys=True) + "\n"


def _renamed(entry: _Entry, anew: Mapping[Generation, Generation]) -> _Entry:
    generation = entry.live.generation
    return replace(entry, live=replace(entry.live, generation=anew.get(generation, generation)))


def _name(live: Live | None) -> str:
    return "nothing" if live is None else f"the generation of run {live.generation.run_id}"
