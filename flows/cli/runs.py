"""Commands that run the pipeline or parts of it: run, demo, evaluate, gate, rollback."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from flows.cli.options import (
    ConfigArgument,
    ConfigOption,
    JsonOption,
    RunArgument,
    WaitOption,
    existing_lake,
)
from flows.cli.plan import ForceOption, LimitOption, MassDeleteOption, OnlyOption, run_options
from schemas.names import StageName
from tasks.proposed import DEFAULT_CONFIG
from tasks.run.options import WHOLE, RunOptions

FailOn = Literal["fail", "warn"]
FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="From which verdict on the exit code is 1.")]


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command(rich_help_panel="Run")(run)
    app.command(rich_help_panel="Run")(demo)
    app.command(rich_help_panel="Run")(evaluate)
    app.command(rich_help_panel="Run")(gate)
    app.command(rich_help_panel="Run")(rollback)


def run(
    config: ConfigArgument = DEFAULT_CONFIG,
    as_json: JsonOption = False,
    fail_on: FailOnOption = "fail",
    wait: WaitOption = 0.0,
    only: OnlyOption = None,
    limit: LimitOption = None,
    force_stage: ForceOption = None,
    allow_mass_delete: MassDeleteOption = False,
) -> None:
    """Takes the corpus through all eleven stages, measures each, judges the new index and promotes it.

    What was done before under the same settings is not computed again, so the same command also resumes a run
    that was killed.

    Examples:

        corpusgate run corpusgate.yaml

        corpusgate run corpusgate.yaml --json --fail-on warn > verdict.json

        corpusgate run --only handbook:policies/** --force-stage parse
    """
    options = run_options(only, limit, force_stage, allow_mass_delete)
    raise typer.Exit(run_and_report(config, as_json=as_json, fail_on=fail_on, wait=wait, options=options))


def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo corpus and its lake go.")] = Path("demo"),
    regress: Annotated[bool, typer.Option("--regress", help="Run the second, damaged state of the corpus.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Builds the demo corpus and runs the whole pipeline on it.

    With --regress the corpus has changed since: documents were edited, added, moved and deleted, and one class
    was damaged. The run must end blocked, and what is live stays as it was.

    Examples:

        corpusgate demo

        corpusgate demo --regress
    """
    console = Console(stderr=True)
    if regress and not (folder / "lake" / "index" / "live.json").exists():
        console.print("the healthy state first: a regression needs something live to compare with", highlight=False)
        config = _demo(folder, regress=False)
        if (code := run_and_report(config, as_json=False, fail_on="fail", wait=0.0, quiet=True)) != 0:
            raise typer.Exit(code)
    config = _demo(folder, regress=regress)
    raise typer.Exit(run_and_report(config, as_json=as_json, fail_on="fail", wait=0.0))


def _demo(folder: Path, *, regress: bool) -> Path:
    """Writes the demo and returns its configuration."""
    from tasks.demo.build import build
    from tasks.errors import ConfigurationError

    try:
        return build(folder, state="regressed" if regress else "healthy").configuration
    except OSError as error:
        raise ConfigurationError(
            f"the demo cannot be written to {folder}: {error.strerror}",
            remedy="give a folder that can be made and written: `corpusgate demo --folder FOLDER`",
        ) from error


def run_and_report(
    config: Path, *, as_json: bool, fail_on: FailOn, wait: float, quiet: bool = False, options: RunOptions = WHOLE
) -> int:
    """Runs a configuration, shows progress and the verdict, and gives the exit code."""
    from flows.cli.progress import shown_progress
    from flows.launch import launch
    from tasks.report.terminal import print_verdict
    from tasks.report.values import json_text

    console = Console(stderr=True)
    with shown_progress(console) as progress:
        finished = launch(config, progress=progress, wait=wait, fail_on=fail_on, options=options)
    for line in finished.changed_outputs:
        console.print(f"corpusgate: {line}", style="red", markup=False, highlight=False, soft_wrap=True)
    if finished.notified is not None:
        console.print(finished.notified.sentence, style=None if finished.notified.delivered else "yellow", markup=False)
    if as_json:
        sys.stdout.write(json_text(finished.verdict.to_json()) + "\n")
    elif not quiet:
        print_verdict(Console(soft_wrap=True), finished.verdict, finished.folder, finished.promotion, config)
    return finished.verdict.exit_code(fail_on)


def evaluate(
    run_id: RunArgument = "last",
    stage: Annotated[
        list[StageName] | None, typer.Option("--stage", help="Only this stage; may be given several times.")
    ] = None,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone", help="Run and score labelled stages on gold inputs instead, and show own faults and inherited."
        ),
    ] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Scores the stages of a finished run again, from the lake alone; no stage runs and no source is read.

    With --alone each stage that has labels runs again on the labelled documents, given what the labels say that the
    stage before should have made; the result stands beside the figures of the run, which stay as they are.

    Examples:

        corpusgate evaluate last --stage parse

        corpusgate evaluate 20261130t02

        corpusgate evaluate last --alone
    """
    from flows.reopen import reopen

    console = Console(soft_wrap=True)
    if alone:
        _score_alone(config, run_id, stage, console)
        return
    with reopen(config, run_id) as session:
        for name in stage or list(StageName):
            rows = session.rescore(name)
            said = "as it was: its generation of the index is kept no more, so that nothing can be read from it again"
            if rows is not None:
                said = f"{rows.rows} rows, digest {rows.digest}"
            console.print(f"{name}: {said}", highlight=False)


def _score_alone(config: Path, run_id: str, stage: list[StageName] | None, console: Console) -> None:
    from flows.reopen import reopen
    from tasks.errors import ConfigurationError
    from tasks.report.alone import print_alone, read_alone
    from tasks.report.queries import connect

    if stage:
        raise ConfigurationError(
            "--stage does not go with --alone: what a stage is given alone is made stage by stage",
            remedy="leave --stage away, and ask for one stage afterwards: `corpusgate sql alone -p stage=pii`",
        )
    with reopen(config, run_id) as session:
        session.score_alone()
        session.report()
        lake, run = session.context.lake, session.context.run_id
        with connect(lake, run, session.catalogue, figures=False) as connection:
            print_alone(console, read_alone(lake, run, session.catalogue, connection))


def gate(
    run_id: RunArgument = "last",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
    fail_on: FailOnOption = "fail",
) -> None:
    """Judges a finished run again with the rules as they are now. Promotes nothing.

    Examples:

        corpusgate gate last

        corpusgate gate last --json
    """
    from flows.reopen import reopen
    from tasks.report.terminal import print_verdict
    from tasks.report.values import json_text

    with reopen(config, run_id, scores=False) as session:
        verdict = session.rejudge()
        if as_json:
            sys.stdout.write(json_text(verdict.to_json()) + "\n")
        else:
            print_verdict(
                Console(soft_wrap=True),
                verdict,
                session.context.folder,
                "judged again; live is untouched",
                config,
            )
    raise typer.Exit(verdict.exit_code(fail_on))


def rollback(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Makes the generation that was live before the live one again. Needs no verdict: it passed once.

    Examples:

        corpusgate rollback --config corpusgate.yaml
    """
    from tasks.errors import ConfigurationError
    from tasks.index.store import LanceIndex
    from tasks.lake.runs import Runs

    configuration, lake = existing_lake(config)
    with lake.exclusive():
        index = LanceIndex(lake.index, configuration.stages.index)
        live = index.live()
        if live is None:
            raise ConfigurationError("nothing is live yet", remedy="promote something first: `corpusgate run`")
        now = index.rollback(expected=live, recorded=Runs(lake).ids())
    Console(soft_wrap=True).print(
        f"live again: run {now.generation.run_id} (was {live.generation.run_id})", highlight=False
    )
