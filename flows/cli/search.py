"""The command that searches the live index."""

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from flows.cli.options import ConfigOption, JsonOption, existing_lake
from tasks.errors import ConfigurationError
from tasks.proposed import DEFAULT_CONFIG

if TYPE_CHECKING:
    from tasks.run.search import Hit

_SNIPPET = 240


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(rich_help_panel="Look")(search)


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or words.")],
    config: ConfigOption = DEFAULT_CONFIG,
    k: Annotated[int, typer.Option("--k", min=1, max=1000, help="How many chunks.")] = 10,
    by: Annotated[
        str, typer.Option(help="`vector`, `keyword` or `late-interaction` (needs stages.embed.token_vectors).")
    ] = "vector",
    exact: Annotated[bool, typer.Option("--exact", help="Compare with every vector, not by the index.")] = False,
    tenant: Annotated[str | None, typer.Option(help="Only what belongs to this tenant.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Ask as a member of this group (may be repeated); else as of all groups.")
    ] = None,
    no_group: Annotated[bool, typer.Option("--no-group", help="Ask as a member of no group.")] = False,
    doc_class: Annotated[
        list[str] | None, typer.Option("--class", help="Only documents of this class (may be repeated).")
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="Only this language, as an ISO 639 code (may be repeated).")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only what was published on this day or later.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only what was published on this day or earlier.")
    ] = None,
    path: Annotated[str | None, typer.Option(help="Only documents whose path or URL begins with this.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Searches the live index, with the filters that every search of it should set.

    Without --tenant all tenants are searched, without --group as of all groups: give both to see what a reader would.

    Examples:

        corpusgate search "how much does a bicycle cost"

        corpusgate search "QX-5518" --by keyword --tenant acme --group staff --k 3 --json
    """
    from tasks.report.values import json_text
    from tasks.run.search import SearchBy, search_live
    from tasks.stage import SearchFilter

    if by not in list(SearchBy):
        raise ConfigurationError(f"there is no search by {by!r}", remedy=f"use one of: {', '.join(SearchBy)}")
    if no_group and group:
        raise ConfigurationError("--group and --no-group exclude one another", remedy="give one of the two")
    where = SearchFilter(
        tenant=tenant,
        groups=() if no_group else tuple(group) if group else None,
        doc_classes=tuple(doc_class or ()),
        languages=tuple(language or ()),
        published_from=since.date() if since else None,
        published_to=until.date() if until else None,
        uri_prefix=path,
    )
    configuration, lake = existing_lake(config)
    hits = search_live(configuration, lake, query, k=k, by=SearchBy(by), exact=exact, where=where)
    if as_json:
        sys.stdout.write(json_text([hit.to_json() for hit in hits]) + "\n")
    else:
        _print(Console(soft_wrap=True, highlight=False), hits)


def _print(console: Console, hits: "list[Hit]") -> None:
    from tasks.report.values import plain_text

    for hit in hits:
        pages = "" if hit.page_first is None else f", p. {hit.page_first}"
        if hit.page_last != hit.page_first:
            pages += f"-{hit.page_last}"
        above = plain_text(" > ".join(hit.section_path))
        console.print(f"{hit.rank:>3}  {hit.score:.3f}  {plain_text(hit.uri)}{pages}  {above}".rstrip(), markup=False)
        text = plain_text(hit.text.strip())
        console.print(f"            {hit.document_id}", style="dim", markup=False)
        console.print(f"            {text[:_SNIPPET]}{'…' if len(text) > _SNIPPET else ''}", style="dim", markup=False)
    if not hits:
        console.print("nothing found", markup=False)
