"""Commands that look at a lake and change nothing: status, report, trace, compare, sql, graph."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from flows.cli.options import ConfigOption, JsonOption, RunArgument, existing_lake
from tasks.counted import counted
from tasks.errors import ConfigurationError
from tasks.proposed import DEFAULT_CONFIG

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

_WIDTH_ELSEWHERE = 120
"""Columns where output goes to a file or a pipe."""

RunOption = Annotated[
    str,
    typer.Option(
        "--run", metavar="RUN", help="A run id, the beginning of one, or `last`: the newest that got to its gate."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for command in (status, report, trace, compare, sql, graph):
        app.command(rich_help_panel="Look")(command)


def status(config: ConfigOption = DEFAULT_CONFIG, as_json: JsonOption = False) -> None:
    """What is live, the last runs with their verdicts, what is in quarantine, and what to do next.

    Examples:

        corpusgate status

        corpusgate status --json
    """
    from tasks.report.status import print_status, read_status

    _, lake = existing_lake(config)
    found = read_status(lake, config)
    if as_json:
        _write_json(found.to_json())
    else:
        print_status(_console(), found)


def report(
    run_id: RunArgument = "last",
    config: ConfigOption = DEFAULT_CONFIG,
    path_only: Annotated[bool, typer.Option("--open", help="Print only the path of the HTML page.")] = False,
) -> None:
    """Prints a run's report as Markdown; the same as a page lies beside it.

    The report is made anew from the lake, so it also shows what was re-scored or judged again since.

    Examples:

        corpusgate report

        xdg-open "$(corpusgate report last --open)"
    """
    from tasks.figures.catalogue import load_catalogue
    from tasks.lake.runs import Runs
    from tasks.report.write import write_report

    _, lake = existing_lake(config)
    page = write_report(lake, Runs(lake).resolve(run_id), load_catalogue(), config)
    sys.stdout.write(f"{page}\n" if path_only else page.with_suffix(".md").read_text(encoding="utf-8"))


def trace(
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="A document id, the beginning of one, or its path or URL.")
    ],
    run_id: RunOption = "last",
    config: ConfigOption = DEFAULT_CONFIG,
    words: Annotated[
        bool,
        typer.Option("--words", help="Also the words of edits, as labelled and as found; they may be personal data."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """One document's way through the eleven stages: what became of it, its figures, faults, and where its rows are.

    Examples:

        corpusgate trace reports/q3.pdf

        corpusgate trace reports/q3.pdf --words

        corpusgate trace doc-4f1c --run 20261130t02 --json
    """
    from tasks.figures.catalogue import load_catalogue
    from tasks.lake.runs import Runs
    from tasks.report.trace import print_trace, read_trace

    _, lake = existing_lake(config)
    catalogue = load_catalogue()
    found = read_trace(lake, Runs(lake).resolve(run_id), document, catalogue, words=words)
    if as_json:
        _write_json(found.to_json())
    else:
        print_trace(_console(), found, catalogue, config)


def compare(
    run_a: Annotated[str, typer.Argument(metavar="RUN_A", help="The earlier run: an id, its beginning, or `last`.")],
    run_b: Annotated[str, typer.Argument(metavar="RUN_B", help="The later run.")] = "last",
    config: ConfigOption = DEFAULT_CONFIG,
    stage: Annotated[str | None, typer.Option(help="One stage only.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also figures that are equal in both.")] = False,
    costs: Annotated[bool, typer.Option("--costs", help="Also seconds and bytes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Two runs side by side: figures that differ, over all documents and by class, and how many documents pair up.

    Examples:

        corpusgate compare 20261129t02 last

        corpusgate compare 20261129t02 20261130t02 --stage parse --all
    """
    from tasks.figures.catalogue import load_catalogue
    from tasks.lake.runs import Runs
    from tasks.report.queries import connect_two, run_query

    _, lake = existing_lake(config)
    runs = Runs(lake)
    first, second = runs.resolve(run_a), runs.resolve(run_b)
    with connect_two(lake, first, second, load_catalogue()) as connection:
        parameters = {"stage": stage, "changed_only": str(not everything), "costs": str(costs)}
        rows = run_query(connection, "two_runs", parameters)
    if as_json:
        _write_json({"run_a": first, "run_b": second, "figures": rows.to_pylist(maps_as_pydicts="strict")})
        return
    console = _console()
    console.print(f"a = run {first}, b = run {second}", highlight=False)
    if rows.num_rows:
        _print_table(console, rows)
    else:
        console.print("no figure differs" if not everything else "neither run has a figure here")


def sql(
    query: Annotated[
        str | None, typer.Argument(metavar="[NAME|SELECT]", help="The name of a query (see --list), or a SELECT.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="KEY=VALUE", help="A parameter of a named query.")
    ] = None,
    run_id: RunOption = "last",
    config: ConfigOption = DEFAULT_CONFIG,
    output: Annotated[
        str, typer.Option("--format", "-f", metavar="table|csv|json|FILE.parquet", help="How the rows are given out.")
    ] = "table",
    list_queries: Annotated[bool, typer.Option("--list", help="List the named queries with their parameters.")] = False,
) -> None:
    """Asks a run's tables: with a query by name, or with your own SELECT over its views. Nothing can be written.

    Examples:

        corpusgate sql --list

        corpusgate sql worst_documents -p metric=cer -p per_measure=10

        corpusgate sql "SELECT doc_class, count(*) FROM documents GROUP BY ALL" --format csv

        corpusgate sql "SHOW TABLES"
    """
    from tasks.report.queries import available, connect, run_query, run_select

    if list_queries or query is None:
        _list_queries(_console())
        return
    from tasks.figures.catalogue import load_catalogue
    from tasks.lake.runs import Runs

    _check_format(output)
    named = query in available() or query.strip().isidentifier()
    if param and not named:
        raise ConfigurationError("--param goes with a named query", remedy="write the value into the SELECT itself")
    if query == "two_runs":
        raise ConfigurationError("two_runs reads two runs", remedy="`corpusgate compare RUN_A RUN_B`")
    _, lake = existing_lake(config)
    # Aggregating takes a moment; a query that does not name the figures need not wait for it.
    text = available()[query].text if query in available() else query
    with connect(lake, Runs(lake).resolve(run_id), load_catalogue(), figures="figures" in text.lower()) as connection:
        rows = run_query(connection, query, _parameters(param or [])) if named else run_select(connection, query)
    _give_out(rows, output)


def graph() -> None:
    """Prints the graph of a run as a Mermaid flowchart.

    Examples:

        corpusgate graph > graph.mmd
    """
    from flows.graph import mermaid

    sys.stdout.write(mermaid() + "\n")


def _console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_ELSEWHERE)


def _write_json(value: Any) -> None:
    from tasks.report.values import json_text

    sys.stdout.write(json_text(value) + "\n")


def _parameters(given: list[str]) -> dict[str, str]:
    parameters = {}
    for item in given:
        name, separator, value = item.partition("=")
        if not separator:
            raise ConfigurationError(f"--param {item!r} is not KEY=VALUE", remedy="for example: --param stage=parse")
        parameters[name.strip()] = value
    return parameters


def _check_format(output: str) -> None:
    if output not in ("table", "csv", "json") and not output.endswith(".parquet"):
        raise ConfigurationError(
            f"--format {output!r} is unknown", remedy="give table, csv, json, or the path of a file ending in .parquet"
        )


def _give_out(rows: "pa.Table", output: str) -> None:
    if output == "table":
        _print_table(_console(), rows)
    elif output == "csv":
        _write_csv(rows)
    elif output == "json":
        _write_json(rows.to_pylist(maps_as_pydicts="strict"))
    else:
        import pyarrow.parquet as pq

        try:
            pq.write_table(rows, output)
        except OSError as error:
            raise ConfigurationError(
                f"{output} cannot be written: {error.strerror or error}", remedy="give a path in a folder that exists"
            ) from error
        _console().print(f"wrote {rows.num_rows} rows to {output}", markup=False)


def _write_csv(rows: "pa.Table") -> None:
    import csv

    from tasks.report.values import spreadsheet_text

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.column_names)
    for row in rows.to_pylist(maps_as_pydicts="strict"):
        writer.writerow([_cell(value, spreadsheet_text) for value in row.values()])


def _cell(value: Any, text: "Callable[[str], str]") -> Any:
    if value is None:
        return ""
    return value if isinstance(value, (bool, int, float)) else text(str(value))


def _print_table(console: Console, rows: "pa.Table") -> None:
    """A plain table; on a terminal too narrow for it a block per row, so that nothing is folded beyond reading.

    In a pipe or a file it is as wide as its content.
    """
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    cells = [{name: _shown(value) for name, value in row.items()} for row in rows.to_pylist(maps_as_pydicts="strict")]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for field in rows.schema:
        table.add_column(Text(field.name), justify="right" if _is_number(field.type) else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(value) for value in row.values()))
    unbounded = Console(width=100_000)
    needed = Measurement.get(unbounded, unbounded.options, table).maximum
    if not console.is_terminal:
        console = Console(highlight=False, width=max(_WIDTH_ELSEWHERE, needed), file=sys.stdout)
    if needed <= console.width:
        console.print(table)
    else:
        width = max(len(name) for name in rows.column_names)
        for row in cells:
            for name, value in row.items():
                console.print(Text(f"{name:<{width}}  {value}"), soft_wrap=True)
            console.print()
    console.print(counted(rows.num_rows, "row"), markup=False)


def _shown(value: Any) -> str:
    from tasks.report.values import NOTHING, plain_text, shown_value

    if isinstance(value, float):
        return shown_value(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    return NOTHING if value is None else plain_text(str(value))


def _is_number(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _list_queries(console: Console) -> None:
    from tasks.report.queries import available

    for query in available().values():
        console.print(query.name, style="bold", markup=False)
        console.print(f"    {query.answers}", markup=False)
        for parameter in query.parameters:
            default = "" if parameter.required else f" (default: {parameter.default or 'none'})"
            console.print(f"    {parameter.name}{default}: {parameter.meaning}", markup=False)
        console.print(f"    $ {query.example}", markup=False)
    console.print('Or give a SELECT over the views; `corpusgate sql "SHOW TABLES"` lists them.', markup=False)
