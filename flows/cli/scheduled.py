"""Commands that stay and start runs by themselves: serve, watch."""

from typing import Annotated

import typer
from rich.console import Console

from flows.cli.options import ConfigArgument, duration, finite
from flows.cli.runs import FailOnOption
from tasks.errors import ConfigurationError
from tasks.proposed import DEFAULT_CONFIG

WaitOption = Annotated[
    float,
    typer.Option(min=0, max=31_536_000, callback=finite, help="Seconds that a run waits for another on the same lake."),
]


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command(rich_help_panel="Run")(serve)
    app.command(rich_help_panel="Run")(watch)


def serve(
    config: ConfigArgument = DEFAULT_CONFIG,
    cron: Annotated[
        str | None, typer.Option("--cron", metavar="CRON", help='When runs are due, five fields: "15 2 * * *".')
    ] = None,
    every: Annotated[
        float | None,
        typer.Option("--every", metavar="TIME", parser=duration, help="Time between runs: 30m, 1h, 1d."),
    ] = None,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="Time zone of --cron.")] = "UTC",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the deployment; the configuration's folder by default.")
    ] = None,
    fail_on: FailOnOption = "fail",
    wait: WaitOption = 600.0,
) -> None:
    """Stays, and runs the whole pipeline on a schedule; for one machine.

    Without PREFECT_API_URL a private Prefect server keeps the schedule and shows the runs on a loopback port. A run
    that is blocked is a failed flow run; the next one comes as planned. Ctrl-C or SIGTERM ends it.

    Examples:

        corpusgate serve corpusgate.yaml --cron "15 2 * * *"

        corpusgate serve corpusgate.yaml --every 1h
    """
    from flows.schedule import Timing
    from flows.schedule import serve as serve_flow

    if (cron is None) == (every is None):
        raise ConfigurationError("a schedule is missing or there are two", remedy="give either --cron or --every")
    if every is not None and every < 1:
        raise ConfigurationError("--every is less than a second", remedy="give a longer time, such as 1h")
    serve_flow(
        config,
        Timing(cron, timezone, every),
        name=name or config.resolve().parent.name or "corpus",
        wait=wait,
        fail_on=fail_on,
        say=_say,
    )


def watch(
    config: ConfigArgument = DEFAULT_CONFIG,
    every: Annotated[
        float, typer.Option("--every", metavar="TIME", parser=duration, help="How often the sources are looked at.")
    ] = "10s",  # type: ignore[assignment] # parsed like what is given
    quiet_for: Annotated[
        float, typer.Option("--quiet-for", metavar="TIME", parser=duration, help="How long a change must rest.")
    ] = "5s",  # type: ignore[assignment]
    at_latest: Annotated[
        float,
        typer.Option("--at-latest", metavar="TIME", parser=duration, help="When a change is taken that never rests."),
    ] = "5m",  # type: ignore[assignment]
    once: Annotated[bool, typer.Option("--once", help="End after the first run, with its exit code.")] = False,
    fail_on: FailOnOption = "fail",
    wait: WaitOption = 600.0,
) -> None:
    """Stays, and runs the pipeline when files are new, changed or gone; for one machine.

    What is there at the beginning is run first. A run that is blocked does not end the watch; a source that cannot be
    listed and a run without a verdict are told and tried again, with longer and longer pauses. Ctrl-C or SIGTERM ends
    it. Pages named by URL alone do not tell that they changed: use a schedule for these.

    Examples:

        corpusgate watch corpusgate.yaml

        corpusgate watch corpusgate.yaml --every 30s --quiet-for 2m
    """
    from flows.watch import Pace
    from flows.watch import watch as watch_sources

    if every < 0.1:
        raise ConfigurationError("--every is less than 0.1 s", remedy="give a longer time, such as 10s")
    pace = Pace(every, quiet_for, at_latest)
    raise typer.Exit(watch_sources(config, pace, wait=wait, fail_on=fail_on, once=once, say=_say))


def _say(line: str) -> None:
    Console(stderr=True, soft_wrap=True).print(f"corpusgate: {line}", highlight=False, markup=False)
