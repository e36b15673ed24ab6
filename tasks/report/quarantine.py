"""What is in quarantine: by stage, reason, class and source, and one document with all that was tried."""

from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from schemas.names import StageName
from tasks.counted import counted
from tasks.figures.catalogue import Catalogue
from tasks.lake.layout import SIGNATURES, Lake
from tasks.lake.quarantine import Quarantine
from tasks.proposed import addressed, proposed
from tasks.report.queries import connect, run_query
from tasks.report.trace import find_document
from tasks.report.values import plain_text, shown_time

_AGAIN = "a later attempt may succeed: every run tries again"
_NOT_AGAIN = "not tried again until its bytes, the settings or the stage change"
_EXPECTED = "the gate expects it there (gate.expected_quarantine)"
_UNEXPECTED = "if it may stay there: name its path and the stage {stage} in gate.expected_quarantine"


@dataclass(frozen=True, slots=True)
class Held:
    """A document in quarantine. `since` is when it first failed with these bytes at this stage.

    `has_bytes` says that the lake has its bytes, so that it can be tried again without its source. `expected` says that
    a rule of the gate names this failure as known.
    """

    document_id: str
    path: str
    doc_class: str
    source: str
    stage: str
    reason: str
    message: str | None
    remedy: str | None
    transient: bool
    attempts: int
    since: datetime | None
    expected: bool

    @property
    def has_bytes(self) -> bool:
        """Whether the lake has what it takes to try again."""
        return self.stage != StageName.FETCH


@dataclass(frozen=True, slots=True)
class Group:
    """Documents in quarantine that are alike."""

    stage: str
    reason: str
    doc_class: str
    source: str
    transient: bool
    documents: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One failure of a document; `traceback` is the file that says where in the code, for defects only."""

    recorded_at: datetime
    run_id: str
    stage: str
    reason: str
    message: str
    remedy: str
    transient: bool
    traceback: str | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A document, why it is in quarantine (null where it is not, or not any more), and every failure it had."""

    run_id: str
    document: dict[str, Any]
    held: Held | None
    attempts: tuple[Attempt, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which documents of a quarantine are meant; what is not given does not restrict."""

    stage: StageName | None = None
    reason: str | None = None
    doc_class: str | None = None
    source: str | None = None

    def fits(self, held: Held) -> bool:
        """Whether a document is meant."""
        pairs = (
            (self.stage, held.stage),
            (self.reason, held.reason),
            (self.doc_class, held.doc_class),
            (self.source, held.source),
        )
        return all(wanted is None or wanted == found for wanted, found in pairs)


def read_quarantine(lake: Lake, run_id: str, catalogue: Catalogue, selection: Selection | None = None) -> list[Held]:
    """The documents that a run left in quarantine, unexpected ones first, then in the order of stages and paths.

    Raises:
        ConfigurationError: the run did not come far enough to be read.
    """
    with connect(lake, run_id, catalogue, figures=False) as connection:
        rows = run_query(connection, "quarantine").to_pylist()
    held = [
        Held(
            document_id=row["document_id"],
            path=row["uri"],
            doc_class=row["doc_class"],
            source=row["source"],
            stage=row["stage"],
            reason=row["error_class"],
            message=row["message"],
            remedy=row["remedy"],
            transient=bool(row["transient"]),
            attempts=row["attempt"] or 0,
            since=row["since"],
            expected=row["expected"],
        )
        for row in rows
    ]
    return [each for each in held if (selection or Selection()).fits(each)]


def grouped(held: list[Held]) -> list[Group]:
    """Documents alike counted, the largest groups first."""
    groups: dict[tuple[str, str, str, str, bool], list[Held]] = defaultdict(list)
    for each in held:
        groups[each.stage, each.reason, each.doc_class, each.source, each.transient].append(each)
    made = [
        Group(*key, len(alike), min((each.since for each in alike if each.since is not None), default=None))
        for key, alike in groups.items()
    ]
    return sorted(made, key=lambda group: (-group.documents, group.stage, group.reason, group.doc_class, group.source))


def show_document(lake: Lake, run_id: str, name: str, catalogue: Catalogue) -> Shown:
    """A document by its id, the beginning of one, or its path or URL.

    Raises:
        ConfigurationError: no document of the run, or more than one, is meant.
    """
    with connect(lake, run_id, catalogue, figures=False) as connection:
        document = find_document(connection, run_id, name)
    document_id = document["document_id"]
    held = next((each for each in read_quarantine(lake, run_id, catalogue) if each.document_id == document_id), None)
    quarantine = Quarantine(lake.quarantine)
    rows = [row for row in quarantine.read().to_pylist() if row["document_id"] == document_id]
    attempts = []
    for row in sorted(rows, key=lambda row: row["recorded_at"]):
        # A signature is a part of dedup, under whose name its traceback lies.
        stage = str(StageName.DEDUP) if row["stage"] == SIGNATURES else row["stage"]
        trace = quarantine.traceback(row["run_id"], stage, document_id)
        attempts.append(
            Attempt(
                recorded_at=row["recorded_at"],
                run_id=row["run_id"],
                stage=stage,
                reason=row["error_class"],
                message=row["message"],
                remedy=row["remedy"],
                transient=row["transient"],
                traceback=str(trace) if trace.exists() else None,
            )
        )
    return Shown(run_id, document, held, tuple(attempts))


def print_quarantine(console: Console, run_id: str, held: list[Held], config: Path | None = None) -> None:
    """Prints the groups as a table, and the command to give next, which is about `config`."""
    if not held:
        _say(console, f"nothing in quarantine (run {run_id})")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("stage", "reason", "class", "source"):
        table.add_column(name, overflow="fold")
    table.add_column("documents", justify="right")
    table.add_column("since", no_wrap=True)
    table.add_column("tried again", no_wrap=True)
    for group in grouped(held):
        named = (group.stage, group.reason, group.doc_class, group.source, str(group.documents))
        since = shown_time(group.since.isoformat() if group.since else None)
        again = "by every run" if group.transient else "on request"
        table.add_row(*(Text(plain_text(value)) for value in (*named, since, again)))
    console.print(table)
    expected = sum(each.expected for each in held)
    several = f"{counted(len(held), 'document')} of run {run_id}"
    _say(console, f"{several}, {expected} of them expected by the gate's settings (gate.expected_quarantine)")
    _say(console, f"next  {proposed(f'quarantine show {held[0].document_id}', config)}")


def print_shown(console: Console, shown: Shown, config: Path | None = None) -> None:
    """Prints one document: why it is in quarantine, what to do (by commands about `config`), every attempt."""
    document, held = shown.document, shown.held
    console.print(Text(plain_text(document["uri"]), style="bold"), soft_wrap=True)
    about = f"{document['document_id']} · class {document['doc_class']} · source {document['source']}"
    _say(console, plain_text(f"{about} · run {shown.run_id}"))
    if held is None:
        _say(console, "not in quarantine" + (", though it failed before" if shown.attempts else ""))
    else:
        _say(console, f"stage {held.stage}, {held.reason}: {plain_text(held.message or 'no cause is recorded')}")
        _say(console, f"what to do: {plain_text(addressed(held.remedy or 'run again', config))}")
        _say(console, _AGAIN if held.transient else f"{_NOT_AGAIN}, or on request:")
        if not held.transient:
            _say(console, f"  {proposed(f'quarantine retry {held.document_id}', config)}")
        _say(console, _EXPECTED if held.expected else _UNEXPECTED.format(stage=held.stage))
    for number, attempt in enumerate(shown.attempts, start=1):
        at = shown_time(attempt.recorded_at.isoformat())
        _say(console, f"{number}. {at}, run {attempt.run_id}: {attempt.stage}, {plain_text(attempt.reason)}")
        if attempt.traceback:
            _say(console, f"   traceback: {attempt.traceback}")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
