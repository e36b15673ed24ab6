"""Commands that set a corpus up: init, schema, gold import, seal and check."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tasks.errors import ConfigurationError
from tasks.gold.importers.formats import FORMATS
from tasks.proposed import proposed
from tasks.report.values import plain_lines

if TYPE_CHECKING:
    from tasks.gold.gold_set import GoldManifest

BadRowsOption = Annotated[
    bool, typer.Option("--allow-bad-rows", help="Leave bad rows out instead of refusing; the manifest counts them.")
]

gold = typer.Typer(no_args_is_help=True, help="Label sets: import them from public formats, seal your own, check them.")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command(rich_help_panel="Set up")(init)
    app.command(rich_help_panel="Set up")(schema)
    app.add_typer(gold, name="gold", rich_help_panel="Set up")


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("corpusgate.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Writes a commented configuration to start from.

    Examples:

        corpusgate init

        corpusgate init handbook.yaml
    """
    from tasks.run.template import commented_configuration

    if path.exists() and not force:
        raise ConfigurationError(f"{path} exists already", remedy="give another name, or --force to replace it")
    try:
        path.write_text(commented_configuration(), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error.strerror}", remedy="give a path in a folder that exists"
        ) from error
    Console(soft_wrap=True).print(f"wrote {path}; next: {proposed('run', path)}", highlight=False, markup=False)


def schema() -> None:
    """Prints the configuration's JSON Schema (for an editor, or to see every setting with its meaning).

    Examples:

        corpusgate schema > corpusgate.schema.json
    """
    from tasks.run.configuration import Configuration

    sys.stdout.write(json.dumps(Configuration.model_json_schema(by_alias=True), indent=2, ensure_ascii=False) + "\n")


@gold.command("import")
def import_labels(
    data_format: Annotated[
        str, typer.Argument(metavar="FORMAT", help=f"One of: {', '.join(form.name for form in FORMATS)}.")
    ],
    source: Annotated[Path, typer.Argument(help="The folder of the data set.")],
    target: Annotated[Path, typer.Argument(help="The folder to write `corpus/` and `gold/` to.")],
    allow_bad_rows: BadRowsOption = False,
) -> None:
    """Turns a public labelled data set into a gold set, with a corpus that it speaks of.

    What each format expects and gives: corpusgate gold formats. A file with bad rows is refused, and they are named.

    Examples:

        corpusgate gold import icdar2013 data/tables/icdar2013 gold/icdar2013

        corpusgate gold import article-extraction-benchmark data/article-extraction-benchmark gold/articles
    """
    from tasks.gold.importers.registry import import_gold

    summary = import_gold(data_format, source, target, allow_bad_rows=allow_bad_rows)
    Console(soft_wrap=True).print(plain_lines(str(summary)), highlight=False, markup=False)


@gold.command("formats")
def list_formats() -> None:
    """Lists the formats that can be imported: what each expects in its folder, and what it gives.

    Examples:

        corpusgate gold formats
    """
    console = Console(soft_wrap=True)
    for form in FORMATS:
        text = f"{form.name}\n  expects: {form.expects}\n  gives: {form.gives}".replace("`", "")
        console.print(text, highlight=False, markup=False)


@gold.command("seal")
def seal_labels(
    folder: Annotated[Path, typer.Argument(help="The folder with the label files (text.jsonl, tables.jsonl, …).")],
    name: Annotated[str | None, typer.Option(help="Name of the set; needed for its first manifest.")] = None,
    version: Annotated[str | None, typer.Option(help="Version; a new one whenever labels changed.")] = None,
    allow_bad_rows: BadRowsOption = False,
) -> None:
    """Checks the rows of label files and writes the manifest that makes them a gold set. The files stay as they are.

    Examples:

        corpusgate gold seal gold/ --name handbook --version 1

        corpusgate gold seal gold/ --version 2
    """
    from tasks.gold.writing import seal_gold_set

    manifest = seal_gold_set(folder, name, version, allow_bad_rows=allow_bad_rows)
    _say(manifest)


@gold.command("check")
def check_labels(folder: Annotated[Path, typer.Argument(help="The folder of the gold set.")]) -> None:
    """Reads a gold set and says what it holds, or names every bad row by file and line.

    Examples:

        corpusgate gold check gold/
    """
    from tasks.gold.gold_set import read_gold_set

    _say(read_gold_set(folder).manifest)


def _say(manifest: "GoldManifest") -> None:
    console = Console(soft_wrap=True)
    labels = sum(file.items for file in manifest.files.values())
    lines = [f"{manifest.name}@{manifest.version}: {labels} labels"]
    for name, file in sorted(manifest.files.items()):
        lines.append(f"  {name}: {file.items}" + (f", left out: {file.bad_rows} bad rows" if file.bad_rows else ""))
    lines += [f"  left out in the import: {count} bad rows of {name}" for name, count in manifest.left_out.items()]
    console.print(plain_lines("\n".join(lines)), highlight=False, markup=False)
