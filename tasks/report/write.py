"""The report of a run, as one self-contained HTML page and as Markdown, in the run's folder."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from tasks.figures.catalogue import Catalogue
from tasks.lake.files import write_text
from tasks.lake.layout import Lake
from tasks.report.content import read_content
from tasks.report.terminal import OPEN
from tasks.report.values import NOTHING, markdown_text, plain_text, shown_value


def write_report(lake: Lake, run_id: str, catalogue: Catalogue, config: Path | None = None) -> Path:
    """Writes `report.html` and `report.md` of a judged run; returns the path of the page.

    Neither holds text of a document. Both come from the lake alone, so they can be written again at any time.
    Commands in them are about `config`, or the configuration that the run was started with.

    Raises:
        ConfigurationError: the run did not get as far as the gate.
    """
    content = read_content(lake, run_id, catalogue, config)
    page = lake.run(run_id) / "report.html"
    for path, template in ((page.with_suffix(".md"), "report.md.j2"), (page, "report.html.j2")):
        write_text(path, _environment().get_template(template).render(content=content))
    return page


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("tasks.report"),
        # Everything in the page is escaped; Markdown has no such thing, so its template escapes each foreign text.
        autoescape=select_autoescape(enabled_extensions=("html.j2",), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"plain": plain_text, "md": markdown_text, "figure": shown_value}
    environment.globals |= {"nothing": NOTHING, "open_heading": OPEN}
    return environment
