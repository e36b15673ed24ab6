"""One document's way through the eleven stages."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from schemas.names import Cohort
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import Catalogue
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.proposed import addressed, proposed
from tasks.report.details import MOST_ROWS, add_details, read_details
from tasks.report.queries import connect, run_query
from tasks.report.values import plain_text, shown_value
from tasks.withhold.texts import WITHHELD

MOST_CHUNKS = 30

_PARTS = {"parse": "elements", "pii": "personal data spans", "chunk": "chunks", "embed": "vectors", "index": "rows"}
_WORDS = {"ok": "ok", "dropped": "DROPPED", "quarantined": "QUARANTINED", "not reached": "not reached"}
_STYLES = {"dropped": "yellow", "quarantined": "red", "not reached": "dim"}


@dataclass(frozen=True, slots=True)
class Trace:
    """A document's row of the plan, its eleven stages in order, its chunks, whose duplicate it is, if any (or, with
    `kind` contained, the longer document that holds it), its places at fault (rows of the query `details`; where they
    were asked for, with the words of edits), and where questions lost evidence (rows of the query `evidence_lost`).
    """

    run_id: str
    document: dict[str, Any]
    stages: tuple[dict[str, Any], ...]
    chunks: tuple[dict[str, Any], ...]
    duplicate_of: dict[str, Any] | None
    details: tuple[dict[str, Any], ...]
    lost_evidence: tuple[dict[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def read_trace(lake: Lake, run_id: str, name: str, catalogue: Catalogue, *, words: bool = False) -> Trace:
    """Finds a document by its id, the beginning of its id, or its path or URL, and follows it.

    With `words`, edits come with the words that were expected and found.

    Raises:
        ConfigurationError: no document of the run, or more than one, is meant.
    """
    with connect(lake, run_id, catalogue, figures=False) as connection:
        document = find_document(connection, run_id, name)
        parameters = {"document_id": document["document_id"]}
        kept = connection.sql(
            """SELECT p.document_id, p.uri, coalesce(d.kind, 'contained') AS kind, d.similarity, d.containment
               FROM dedup d JOIN documents p ON p.document_id = coalesce(d.duplicate_of, d.contained_in)
               WHERE d.document_id = $document_id""",
            params=parameters,
        ).to_arrow_table()
        details = read_details(connection, document["document_id"])
        if words:
            from tasks.report.words import with_words

            details = with_words(lake, run_id, connection, document["document_id"], details)
        return Trace(
            run_id,
            document,
            tuple(_stages(connection, parameters, withheld="redacted_at" in Runs(lake).manifest(run_id))),
            tuple(run_query(connection, "chunks_of_document", parameters).to_pylist()),
            next(iter(kept.to_pylist()), None),
            details,
            tuple(run_query(connection, "evidence_lost", parameters).to_pylist()),
        )


def _stages(
    connection: duckdb.DuckDBPyConnection, parameters: dict[str, str], *, withheld: bool
) -> Iterator[dict[str, Any]]:
    """The stages in order; `alone` are a stage's figures on gold inputs, `not_alone` says why it has none; `not_kept`
    why the lake has no row of the document where the stage made one (`withheld`: it keeps no text from before pii).
    """
    alone: dict[str, dict[str, float]] = {}
    reasons: dict[str, str] = {}
    for row in run_query(connection, "alone", parameters).to_pylist():
        if row["alone"] is not None:
            alone.setdefault(row["stage"], {})[row["metric"]] = row["alone"]
        elif row["reason"] is not None:
            reasons[row["stage"]] = row["reason"]
    for stage in run_query(connection, "one_document", parameters).to_pylist(maps_as_pydicts="strict"):
        not_kept = None
        if stage["in_lake"] is False:
            by_the_mode = withheld and stage["stage"] in WITHHELD
            not_kept = "not kept (redact-only)" if by_the_mode else "not in the lake any more"
        more = {"alone": alone.get(stage["stage"], {}), "not_alone": reasons.get(stage["stage"]), "not_kept": not_kept}
        yield stage | more


def print_trace(console: Console, trace: Trace, catalogue: Catalogue, config: Path | None = None) -> None:
    """Prints the way as a tree: a branch per stage with its outcome, figures and file. Reads without colour.

    `config` is the configuration that proposed commands are about.
    """
    document = trace.document
    console.print(Text(plain_text(document["uri"]), style="bold"), soft_wrap=True)
    about = (
        f"{document['document_id']} · class {document['doc_class']} · {document['cohort']} · "
        f"source {document['source']} · run {trace.run_id}"
    )
    tree = Tree(Text(plain_text(about)))
    for stage in trace.stages:
        branch = tree.add(Text(_headline(stage), style=_STYLES.get(stage["outcome"], "")))
        for line in _details(stage, trace.duplicate_of, catalogue, config):
            branch.add(Text(line))
        _add_losses(branch, [loss for loss in trace.lost_evidence if loss["stage"] == stage["stage"]])
        add_details(branch, [detail for detail in trace.details if detail["stage"] == stage["stage"]])
        if stage["stage"] == "chunk" and trace.chunks:
            _add_chunks(branch, trace.chunks)
    console.print(tree)
    rows = f"sql one_document -p document_id={document['document_id']} --run {trace.run_id} --format json"
    console.print(
        f"The rows behind it: {proposed(rows, config)}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _told_apart(row: dict[str, Any]) -> str:
    about = f"{row['document_id']}, source {row['source']}, class {row['doc_class']}, {row['cohort']}"
    return plain_text(f"{row['uri']} ({about})")


def find_document(connection: duckdb.DuckDBPyConnection, run_id: str, name: str) -> dict[str, Any]:
    """A run's row of the plan of the document that is meant by an id, the beginning of one, a path or a URL.

    Raises:
        ConfigurationError: no document of the run, or more than one, is meant.
    """
    found: list[dict[str, Any]] = (
        connection.sql(
            """SELECT * EXCLUDE (locator, source_version),
                      CASE WHEN document_id = $name OR uri = $name THEN 0
                           WHEN starts_with(document_id, $name) OR starts_with(document_id, 'doc-' || $name) THEN 1
                           ELSE 2 END AS distance
               FROM documents
               WHERE distance < 2 OR ends_with(uri, '/' || $name)
               ORDER BY distance, uri""",
            params={"name": name},
        )
        .to_arrow_table()
        .to_pylist()
    )
    nearest = [row for row in found if row["distance"] == found[0]["distance"]]
    # Of a document that came back under another id (its source was renamed, say) the old one is a tombstone.
    nearest = [row for row in nearest if row["cohort"] != Cohort.DELETED] or nearest
    if len(nearest) == 1:
        return {key: value for key, value in nearest[0].items() if key != "distance"}
    if nearest:
        several = ", ".join(map(_told_apart, nearest[:5]))
        raise ConfigurationError(
            f"{len(nearest)} documents of run {run_id} match {name!r}", remedy=f"give the id of one of them: {several}"
        )
    raise ConfigurationError(
        f"no document of run {run_id} matches {name!r}",
        remedy="give its id, the beginning of it, or its path in the source; list them: "
        '`corpusgate sql "SELECT document_id, uri FROM documents"`',
    )


def _headline(stage: dict[str, Any]) -> str:
    outcome = stage["outcome"]
    parts = [f"{stage['stage']:<12}{_WORDS.get(outcome, outcome)}"]
    if outcome != "not reached":
        parts.append("computed" if stage["computed"] else "kept from an earlier run")
        if stage["seconds"] is not None:
            parts.append(shown_value(stage["seconds"], "seconds"))
    if stage["not_kept"]:
        parts.append(f"{_PARTS.get(stage['stage'], 'rows')} {stage['not_kept']}")
    elif stage["parts"] is not None:
        parts.append(f"{stage['parts']} {_PARTS[stage['stage']]}")
    if stage["reason"] and outcome != "ok":
        parts.append(f"reason: {plain_text(stage['reason'])}")
    return " · ".join(parts)


def _details(
    stage: dict[str, Any], duplicate_of: dict[str, Any] | None, catalogue: Catalogue, config: Path | None
) -> list[str]:
    lines = []
    if stage["outcome"] == "quarantined" and stage["message"]:
        lines += [plain_text(stage["message"]), f"what to do: {plain_text(addressed(stage['remedy'], config))}"]
    if stage["stage"] == "dedup" and duplicate_of is not None:
        similarity = duplicate_of["similarity"]
        alike = "" if similarity is None else f", similarity {shown_value(similarity)}"
        kept = f"{plain_text(duplicate_of['uri'])} ({duplicate_of['document_id']})"
        held = duplicate_of["containment"]
        if held is None:
            lines.append(f"{duplicate_of['kind']} duplicate of {kept}{alike}")
        else:
            lines.append(f"contained in {kept}, {shown_value(held)} of its shingles{alike}")
    if figures := stage["figures"]:
        lines.append(", ".join(f"{name} {_value(catalogue, stage['stage'], name, v)}" for name, v in figures.items()))
    if alone := stage["alone"]:
        said = ", ".join(f"{name} {_value(catalogue, stage['stage'], name, v)}" for name, v in alone.items())
        lines.append(f"alone, on gold inputs: {said}")
    elif stage["not_alone"]:
        lines.append(f"not scored alone: {stage['not_alone']}")
    if stage["file"] and not stage["not_kept"]:
        lines.append(f"rows in {stage['file']}")
    return lines


def _value(catalogue: Catalogue, stage: str, metric: str, value: float) -> str:
    return shown_value(value, catalogue.get(stage, metric).unit)


def _add_losses(branch: Tree, losses: Sequence[dict[str, Any]]) -> None:
    """A line per question whose evidence falls here."""
    for loss in losses[:MOST_ROWS]:
        passages = f"{loss['passages_before']} → {loss['passages_after']} of {loss['passages']}"
        branch.add(Text(f"evidence lost: question {plain_text(loss['question_id'])}, passages {passages}"))
    if len(losses) > MOST_ROWS:
        branch.add(Text(f"… and of {len(losses) - MOST_ROWS} more questions"))


def _add_chunks(branch: Tree, chunks: tuple[dict[str, Any], ...]) -> None:
    for chunk in chunks[:MOST_CHUNKS]:
        first, last = chunk["page_first"], chunk["page_last"]
        pages = "" if first is None else f" · page {first}" if first == last else f" · pages {first} to {last}"
        # Without the document id that every chunk id begins with.
        name = plain_text(chunk["chunk_id"].partition("/")[2])
        branch.add(Text(f"{name} · characters {chunk['start']} to {chunk['end']} · {chunk['tokens']} tokens{pages}"))
    if len(chunks) > MOST_CHUNKS:
        branch.add(Text(f"… and {len(chunks) - MOST_CHUNKS} more"))
