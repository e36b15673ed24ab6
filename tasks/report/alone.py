"""Own fault or inherited: the stages of a run scored alone, as lines of a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from tasks.counted import counted
from tasks.figures.alone import beside_samples
from tasks.figures.catalogue import Catalogue
from tasks.gate.inheritance import TOLERANCE, Beside, Fault, beside
from tasks.lake.layout import Lake
from tasks.report.values import NOTHING, plain_text, shown_difference, shown_interval, shown_value

_REASONS = {
    "no_parse_label": "no label says what the document holds (structure, content or text)",
    "no_structure_label": "no structure label says which parts are headings, tables and so on",
    "no_positions": "labels do not say where running lines stand on the page",
    "not_parsed": "parse made nothing of it",
    "stale_label": "labels made for other bytes",
}


@dataclass(frozen=True, slots=True)
class AloneLine:
    """A measure of a stage in the cascade beside the same alone, as text. `lost` is empty where nothing was."""

    stage: str
    metric: str
    label: str
    definition: str
    doc_class: str
    documents: str
    cascade: str
    alone: str
    difference: str
    interval: str
    lost: str
    fault: str


@dataclass(frozen=True, slots=True)
class Alone:
    """What was scored alone, and what could not be, with the reason."""

    lines: tuple[AloneLine, ...]
    not_scored: tuple[str, ...]


def read_alone(lake: Lake, run_id: str, catalogue: Catalogue, connection: duckdb.DuckDBPyConnection) -> Alone:
    """The lines of a run, stage by stage; a class has one of its own where it differs or is at fault.

    `connection` is one to the run (`tasks.report.queries.connect`). Empty where the run was not scored alone.
    """
    lines = []
    for cascade, alone, lost in beside_samples(lake, run_id, catalogue):
        compared = beside(catalogue, pl.DataFrame(cascade), pl.DataFrame(alone), pl.DataFrame(lost))
        lines += [_line(found, catalogue) for found in _shown(list(compared))]
    return Alone(tuple(lines), tuple(_not_scored(connection)))


def print_alone(console: Console, alone: Alone) -> None:
    """Prints the table, as wide as its content; reads without colour."""
    if not alone.lines:
        console.print("No document could be scored alone.")
    else:
        console.print("Own fault or inherited: each stage in the cascade beside the same on gold inputs")
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("stage", "measure", "class"):
            table.add_column(name, overflow="fold")
        for name in ("documents", "cascade", "alone", "difference", "lost before"):
            table.add_column(name, justify="right", overflow="fold")
        table.add_column("fault", overflow="fold")
        for line in alone.lines:
            difference = f"{line.difference} ({line.interval})" if line.interval else line.difference
            counts = (line.documents, line.cascade, line.alone, difference, line.lost)
            table.add_row(line.stage, line.metric, plain_text(line.doc_class), *counts, line.fault)
        unbounded = Console(width=100_000)
        needed = Measurement.get(unbounded, unbounded.options, table).maximum
        wide = Console(file=console.file, width=max(needed, console.width), highlight=False)
        (console if console.is_terminal else wide).print(table)
    for sentence in alone.not_scored:
        console.print(f"not scored: {sentence}", markup=False, highlight=False)


def _shown(found: Sequence[Beside]) -> Iterable[Beside]:
    """A measure over all documents; a class where it loses more, or by another's fault, than the whole."""
    for part in found:
        differs = part.difference is not None and abs(part.difference) > TOLERANCE
        told = part.fault is not Fault.NOT_SHOWN and part.fault is not found[0].fault
        if part.doc_class is None or differs or part.lost or told:
            yield part


def _line(found: Beside, catalogue: Catalogue) -> AloneLine:
    metric = catalogue.get(found.stage, found.metric)
    interval = found.interval
    documents = f"{found.documents}"
    if found.alone_documents != found.documents:
        documents += f" of {found.alone_documents}"
    return AloneLine(
        stage=found.stage,
        metric=found.metric,
        label=metric.title,
        definition=metric.definition,
        doc_class=found.doc_class or "all",
        documents=documents,
        cascade=shown_value(found.cascade, metric.unit),
        alone=shown_value(found.alone, metric.unit),
        difference=shown_difference(found.cascade, found.alone, metric.unit) or NOTHING,
        interval=shown_interval(interval.low, interval.high, metric.unit) if interval else "",
        lost=f"{found.lost}" if found.lost else "",
        fault=found.fault.value,
    )


def _not_scored(connection: duckdb.DuckDBPyConnection) -> Iterable[str]:
    rows = connection.sql(
        """SELECT * FROM (SELECT stage, reason, count(*) AS n FROM alone_inputs WHERE NOT scored GROUP BY ALL)
           ORDER BY stage_order(stage), n DESC, reason"""
    ).fetchall()
    for stage, reason, count in rows:
        why = _REASONS.get(reason, f"it failed on its gold input at {reason}")
        yield f"{stage}: {counted(count, 'document')}: {why}"
