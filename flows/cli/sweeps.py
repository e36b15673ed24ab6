"""The command `sweep`: a setting's values held against one another on the corpus of a finished run."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flows.cli.options import ConfigOption, JsonOption, WaitOption, existing_lake
from tasks.proposed import DEFAULT_CONFIG
from tasks.run.context import Progress

_WIDTH_ELSEWHERE = 120


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(rich_help_panel="Run")(sweep)


def sweep(
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SETTING=VALUES",
            help="A setting by its dotted path and the values it takes, as YAML with commas between them; of several "
            "settings every combination is a point. A mapping is laid over what stands there.",
        ),
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    preset: Annotated[
        str | None,
        typer.Option(help="Ready-made settings and measures: parsers, boilerplate, dedup, pii or chunks."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="MEASURE",
            help="A measure to show, as `pair_f1` or `dedup.pair_f1`; may be given several times. The points are taken "
            "as far as the last stage of these. Where none is named: those that labels give at the swept stage.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="SLICE", help="Figures also by `class`, or by a slice of the measures such as `entity_type`."
        ),
    ] = None,
    run_id: Annotated[
        str, typer.Option("--run", metavar="RUN", help="The run whose documents are taken; `last` that finished.")
    ] = "last",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where table, figures and plots go; else the sweep's folder in the lake."),
    ] = None,
    as_json: JsonOption = False,
    wait: WaitOption = 0.0,
) -> None:
    """Tries values of a setting on the corpus of the last finished run: a table and a plot of what each gives.

    Only what differs is computed, and a second time nothing is. No source is asked, nothing is judged, nothing goes
    live; the configuration stays as it is. A point is called best only where the others are shown to be worse.

    Examples:

        corpusgate sweep stages.dedup.threshold=0.7,0.8,0.9

        corpusgate sweep stages.boilerplate.extractor=trafilatura,resiliparse,justext --by class

        corpusgate sweep stages.chunk.max_tokens=128,256,512 -m retrieved_evidence_recall -m chunk.evidence_iou

        corpusgate sweep 'stages.pii.thresholds={PERSON: 0.5},{PERSON: 0.9}' --by entity_type --json

        corpusgate sweep --preset dedup --out sweep-dedup
    """
    from tasks.figures.catalogue import load_catalogue
    from tasks.run.configuration import read_mapping
    from tasks.run.withholding import refuse_without_texts
    from tasks.sweep.drive import drive, source_run
    from tasks.sweep.order import make_order
    from tasks.sweep.presets import wanted
    from tasks.sweep.result import read_result
    from tasks.sweep.terminal import print_result
    from tasks.sweep.write import to_json, write_result

    _, lake = existing_lake(config)
    catalogue = load_catalogue()
    source = source_run(lake, run_id)
    refuse_without_texts(lake, source, "a sweep")
    axes, measures, sliced = wanted(settings or [], preset, lake, source)
    order = make_order(read_mapping(config), config, axes, measure or measures, by or sliced, catalogue)
    progress = Console(stderr=True)

    @contextmanager
    def shown(title: str) -> Iterator[Progress]:
        from flows.cli.progress import shown_progress

        progress.print(title, markup=False, highlight=False)
        with shown_progress(progress) as bars:
            yield bars

    with lake.exclusive(wait):
        driven = drive(order, lake, source, shown)
        result = read_result(order, driven, lake, catalogue)
        folder = out or lake.sweep(driven.sweep_id)
        write_result(result, folder)
    if as_json:
        sys.stdout.write(json.dumps(to_json(result), indent=2, ensure_ascii=False, default=str) + "\n")
        return
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH_ELSEWHERE)
    print_result(console, result, str(folder))
