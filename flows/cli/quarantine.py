"""Commands about documents that a stage could not process: quarantine list, show and retry."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from flows.cli.inspection import RunOption
from flows.cli.options import ConfigOption, JsonOption, WaitOption, existing_lake
from flows.cli.runs import FailOnOption, run_and_report
from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.proposed import DEFAULT_CONFIG, proposed
from tasks.run.options import RunOptions

if TYPE_CHECKING:
    from tasks.report.quarantine import Held

StageOption = Annotated[StageName | None, typer.Option("--stage", help="Only what failed at this stage.")]
ReasonOption = Annotated[
    str | None, typer.Option("--reason", metavar="REASON", help="Only this error class, such as `encrypted`.")
]

quarantine = typer.Typer(
    no_args_is_help=True, help="Documents that a stage could not process: list them, look at one, try again."
)


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.add_typer(quarantine, name="quarantine", rich_help_panel="Look after")


@quarantine.command("list")
def list_quarantine(
    stage: StageOption = None,
    reason: ReasonOption = None,
    doc_class: Annotated[str | None, typer.Option("--class", metavar="CLASS", help="Only this class.")] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="SOURCE", help="Only this source.")] = None,
    run_id: RunOption = "last",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """How many documents are in quarantine, by stage, reason, class and source, and since when.

    With --json also every document, with cause and remedy.

    Examples:

        corpusgate quarantine list

        corpusgate quarantine list --stage parse --reason encrypted --json
    """
    from tasks.figures.catalogue import load_catalogue
    from tasks.lake.runs import Runs
    from tasks.report.quarantine import Selection, grouped, print_quarantine, read_quarantine

    _, lake = existing_lake(config)
    found = Runs(lake).resolve(run_id)
    held = read_quarantine(lake, found, load_catalogue(), Selection(stage, reason, doc_class, source))
    if as_json:
        groups, documents = ([asdict(each) for each in part] for part in (grouped(held), held))
        _write_json({"run": found, "groups": groups, "documents": documents})
    else:
        print_quarantine(Console(), found, held, config)


@quarantine.command("show")
def show_quarantine(
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="A document id, the beginning of one, or its path or URL.")
    ],
    run_id: RunOption = "last",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
) -> None:
    """Why a document is in quarantine, what to do about it, and every attempt so far.

    Examples:

        corpusgate quarantine show reports/q3.pdf
    """
    from tasks.figures.catalogue import load_catalogue
    from tasks.lake.runs import Runs
    from tasks.report.quarantine import print_shown, show_document

    _, lake = existing_lake(config)
    shown = show_document(lake, Runs(lake).resolve(run_id), document, load_catalogue())
    if as_json:
        _write_json(shown.to_json())
    else:
        print_shown(Console(), shown, config)


@quarantine.command("retry")
def retry_quarantine(
    documents: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DOCUMENT]...", help="Document ids, beginnings of them, or paths or URLs."),
    ] = None,
    stage: StageOption = None,
    reason: ReasonOption = None,
    everything: Annotated[bool, typer.Option("--all", help="All documents in quarantine.")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: JsonOption = False,
    fail_on: FailOnOption = "fail",
    wait: WaitOption = 0.0,
) -> None:
    """Tries documents in quarantine again, at once, from the bytes that the lake has. No source is asked.

    A run over the documents of the last scan, with its gate and its promotion: what is done is not computed again.
    A document that failed at fetch has no bytes in the lake; `corpusgate run` asks its source again.

    Examples:

        corpusgate quarantine retry reports/q3.pdf

        corpusgate quarantine retry --stage parse --reason timeout

        corpusgate quarantine retry --all
    """
    if not (documents or stage or reason or everything):
        raise ConfigurationError(
            "no document is named", remedy="name documents, --stage or --reason, or give --all for the whole quarantine"
        )
    from tasks.lake.runs import Runs
    from tasks.run.withholding import refuse_without_texts

    _, lake = existing_lake(config)
    refuse_without_texts(lake, Runs(lake).resolve("last"), "trying again from the lake")
    wanted = _wanted(config, documents or [], stage, reason)
    without = [held for held in wanted if not held.has_bytes]
    if without:
        Console(stderr=True, soft_wrap=True).print(
            f"{len(without)} documents failed at fetch, so the lake has no bytes of them; "
            f"{proposed('run', config)} asks their sources again",
            highlight=False,
        )
    if not (ids := [held.document_id for held in wanted if held.has_bytes]):
        raise ConfigurationError(
            "no document in quarantine can be tried again from the lake"
            if without
            else "nothing to try again is in quarantine",
            remedy="`corpusgate run` asks the sources"
            if without
            else "`corpusgate quarantine list` shows what there is",
        )
    Console(stderr=True, soft_wrap=True).print(f"documents that are tried again: {len(ids)}", highlight=False)
    options = RunOptions(retry=tuple(ids))
    raise typer.Exit(run_and_report(config, as_json=as_json, fail_on=fail_on, wait=wait, options=options))


def _wanted(config: ConfigOption, documents: list[str], stage: StageName | None, reason: str | None) -> "list[Held]":
    from tasks.figures.catalogue import load_catalogue
    from tasks.lake.runs import Runs
    from tasks.report.quarantine import Selection, read_quarantine, show_document

    _, lake = existing_lake(config)
    run_id, catalogue = Runs(lake).resolve("last"), load_catalogue()
    held = read_quarantine(lake, run_id, catalogue, Selection(stage, reason))
    if not documents:
        return held
    named = {show_document(lake, run_id, name, catalogue).document["document_id"]: name for name in documents}
    absent = [name for document_id, name in named.items() if document_id not in {each.document_id for each in held}]
    if absent:
        raise ConfigurationError(
            f"{absent[0]} is not in quarantine{' under these conditions' if stage or reason else ''}",
            remedy="`corpusgate quarantine list` shows what there is",
        )
    return [each for each in held if each.document_id in named]


def _write_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")
