"""The command `plan`, and the options that it shares with `run`."""

import json
import sys
from typing import Annotated

import typer
from rich.console import Console

from flows.cli.options import ConfigArgument, JsonOption
from schemas.names import StageName
from tasks.proposed import DEFAULT_CONFIG
from tasks.run.configuration import load_configuration
from tasks.run.options import RunOptions

OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="DOCUMENTS",
        help="Take in these documents only: SOURCE, SOURCE:GLOB or GLOB; may be given several times. The others stay "
        "as live has them, and nothing is deleted.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        help="Take in so many documents at most, new and changed ones first; the others as with --only.",
    ),
]
ForceOption = Annotated[
    list[StageName] | None,
    typer.Option(
        "--force-stage",
        help="Compute this stage again for every document taken in; may be given several times. Later stages follow "
        "where its output is another.",
    ),
]
MassDeleteOption = Annotated[
    bool,
    typer.Option("--allow-mass-delete", help="Go on though more of a source is gone than run.max_deleted_share."),
]


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(rich_help_panel="Run")(plan)


def run_options(
    only: list[str] | None, limit: int | None, force: list[StageName] | None, allow_mass_delete: bool
) -> RunOptions:
    """The options as the command line gives them."""
    return RunOptions(tuple(only or ()), limit, frozenset(force or ()), allow_mass_delete)


def plan(
    config: ConfigArgument = DEFAULT_CONFIG,
    as_json: JsonOption = False,
    names: Annotated[int, typer.Option("--names", min=0, help="How many documents of each kind are named.")] = 10,
    only: OnlyOption = None,
    limit: LimitOption = None,
    force_stage: ForceOption = None,
    allow_mass_delete: MassDeleteOption = False,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask-servers",
            help="Ask web servers whether documents of live have changed, by conditional requests that take no "
            "document; 1,000 at most.",
        ),
    ] = False,
) -> None:
    """Shows what `run` with the same options would do: documents by kind, failures, work per stage. Does nothing.

    Files are hashed and stores listed. Pages are not asked for, so that of these it cannot tell whether they changed,
    unless it is given --ask-servers.

    Examples:

        corpusgate plan corpusgate.yaml

        corpusgate plan --only handbook:policies/** --json

        corpusgate plan --ask-servers
    """
    from tasks.report.plan_lines import print_plan
    from tasks.run.preview import preview

    options = run_options(only, limit, force_stage, allow_mass_delete)
    found = preview(load_configuration(config), options, names=names, ask=ask)
    if as_json:
        sys.stdout.write(json.dumps(found.to_json(), indent=2, ensure_ascii=False) + "\n")
    else:
        print_plan(Console(soft_wrap=True), found, names=names)
