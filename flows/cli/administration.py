"""Commands for the people who run it: doctor, ui."""

from typing import Annotated

import typer
from rich.console import Console

from flows.cli.options import ConfigOption, existing_lake
from tasks.proposed import DEFAULT_CONFIG, addressed


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command(rich_help_panel="Look after")(doctor)
    app.command(rich_help_panel="Look after")(ui)


def doctor(
    config: ConfigOption = DEFAULT_CONFIG,
    deep: Annotated[bool, typer.Option("--deep", help="Read every file, not only its presence.")] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend torn and missing files first, so that a run makes them anew.")
    ] = False,
) -> None:
    """Checks the installation, the configuration, the lake and the index, and says how to mend what is wrong.

    Examples:

        corpusgate doctor

        corpusgate doctor --config corpusgate.yaml --deep

        corpusgate doctor --repair
    """
    from tasks.run.doctor import examine, examine_installation
    from tasks.run.repair import repair as mend

    console = Console(soft_wrap=True)
    findings = list(examine_installation())
    if config.exists():
        configuration, lake = existing_lake(config)
        if repair:
            with lake.exclusive():
                for sentence in mend(configuration, lake):
                    console.print(f"mended: {sentence}", highlight=False, markup=False)
        findings += examine(configuration, lake, deep=deep)
    else:
        console.print(f"{config} is not there: only the installation was checked", highlight=False, markup=False)
    for finding in findings:
        console.print(f"{'ok  ' if finding.ok else 'BAD '} {finding.what}", highlight=False, markup=False)
        if not finding.ok:
            console.print(f"     what to do: {addressed(finding.remedy, config)}", highlight=False, markup=False)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


def ui(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Serves Prefect's pages with this lake's runs on a loopback port, until interrupted.

    Examples:

        corpusgate ui
    """
    from flows.server import serve_ui

    _, lake = existing_lake(config)
    serve_ui(lake.root / "prefect")
