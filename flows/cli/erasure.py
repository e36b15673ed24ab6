"""The command that removes a document for good."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from flows.cli.options import ConfigOption, JsonOption, existing_lake
from tasks.proposed import DEFAULT_CONFIG


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(rich_help_panel="Look after")(erase)


def erase(
    document: Annotated[
        str,
        typer.Argument(metavar="DOCUMENT", help="An id, the beginning of one, or a path or URL, as `trace` finds it."),
    ],
    config: ConfigOption = DEFAULT_CONFIG,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
    allow_again: Annotated[
        bool, typer.Option("--allow-again", help="Erases nothing: lets the next run take an erased document in again.")
    ] = False,
) -> None:
    """Removes a document from the lake: bytes, rows, measures, labels, vectors, every kept index, plans, reports.

    Says first what will go, and asks. Later runs do not take the document in again while its source still holds it.
    Labels in your own gold sets, and copies of the lake, are yours to clean.

    Examples:

        corpusgate erase contracts/berth.pdf

        corpusgate erase doc-3f9a2c1d --yes --json
    """
    from tasks.erase.found import find_document, measure
    from tasks.erase.steps import Eraser
    from tasks.erase.wording import print_erasures, print_footprint
    from tasks.errors import ConfigurationError
    from tasks.figures.catalogue import load_catalogue
    from tasks.index.store import LanceIndex
    from tasks.lake.erased import read_erased, write_erased
    from tasks.report.values import json_text

    configuration, lake = existing_lake(config)
    console = Console(soft_wrap=True, stderr=as_json)
    with lake.exclusive():
        erased = read_erased(lake)
        stones = erased.named(document, [source.name for source in configuration.sources])
        if allow_again:
            if not stones:
                raise ConfigurationError(
                    f"no erased document matches {document!r}", remedy="give its id, or its whole path in the source"
                )
            write_erased(lake, erased.without(stones))
            console.print("the next run takes it in again, if its source holds it", highlight=False)
            return
        index = LanceIndex(lake.index, configuration.stages.index)
        eraser = Eraser(lake, index, configuration.run.keep_generations, load_catalogue())
        # What was begun was asked for before.
        done = eraser.go_on()
        try:
            meant = find_document(lake, document)
        except ConfigurationError:
            if not done and not stones:
                raise
        else:
            footprint = measure(lake, index, configuration.run.keep_generations, meant)
            print_footprint(console, footprint)
            if not (yes or _agreed()):
                console.print("nothing was removed", highlight=False)
                raise typer.Exit(1)
            done.append(eraser.erase(meant))
    if as_json:
        sys.stdout.write(json_text({"erased": [erasure.to_json() for erasure in done]}) + "\n")
    else:
        print_erasures(console, done)


def _agreed() -> bool:
    from tasks.errors import ConfigurationError

    if not sys.stdin.isatty():
        raise ConfigurationError(
            "nobody is there to be asked whether to erase this", remedy="give --yes if it is to go: it cannot come back"
        )
    return typer.confirm("Erase it? This cannot be undone.", err=True)
