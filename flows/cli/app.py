"""The command line's root: commands, exit codes, how errors are shown."""

import sys
import traceback

import typer
from rich.console import Console

from flows.cli import administration, corpora, erasure, inspection, plan, quarantine, runs, scheduled, search, sweeps
from flows.cli.options import given_config
from tasks.errors import ConfigurationError, CorpusgateError
from tasks.proposed import addressed
from tasks.report.values import plain_lines

EXIT_WRONG_USAGE = 2
EXIT_RUN_FAILED = 3
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="corpusgate",
    help="Measures every ingestion stage of a RAG corpus and lets a new index go live only if each one holds.\n\n"
    "Exit codes: 0 pass, 1 blocked, 2 wrong usage or configuration, 3 the run failed, 4 blocked as undetermined.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
plan.add_to(app)
runs.add_to(app)
sweeps.add_to(app)
scheduled.add_to(app)
corpora.add_to(app)
inspection.add_to(app)
search.add_to(app)
quarantine.add_to(app)
administration.add_to(app)
erasure.add_to(app)


def main() -> None:
    """Runs the command line; a user's mistake ends in a message and an exit code, never in a traceback."""
    try:
        app()
    except CorpusgateError as error:
        console = Console(stderr=True, soft_wrap=True, highlight=False)
        console.print(plain_lines(f"corpusgate: {error}"), style="red", markup=False)
        for line in (f"what to do: {error.remedy}", *getattr(error, "__notes__", ())):
            console.print(plain_lines(f"  {addressed(line, given_config())}"), markup=False)
        sys.exit(EXIT_WRONG_USAGE if isinstance(error, ConfigurationError) else EXIT_RUN_FAILED)
    except SystemExit as leaving:  # typer's answer to Ctrl-C
        if leaving.code == EXIT_INTERRUPTED:
            Console(stderr=True, soft_wrap=True).print(
                "corpusgate: interrupted; what is done is kept, give the same command again to go on", style="yellow"
            )
        raise
    except Exception:  # noqa: BLE001 - the last border: Python's own exit code would say `blocked`
        traceback.print_exc()
        Console(stderr=True, soft_wrap=True).print(
            "corpusgate: this is a defect; please report it with the lines above", style="red"
        )
        sys.exit(EXIT_RUN_FAILED)
