"""What erasing a document removes, and what it removed, for people."""

from collections.abc import Sequence

from rich.console import Console

from tasks.erase.found import Footprint
from tasks.erase.steps import Erasure
from tasks.report.values import plain_text


def print_footprint(console: Console, found: Footprint) -> None:
    """Prints what would go."""
    document = found.document
    _say(console, f"document {document.document_id}")
    for source, uri in document.places:
        _say(console, f"  source {source}: {plain_text(uri)}")
    _say(console, "this will go from the lake:")
    for part, rows in found.rows.items():
        _say(console, f"  {part:<20} {rows} rows")
    _say(console, f"  {'gold':<20} {found.labels} labels")
    shared = f"; of {found.shared} more the bytes stay, since another document has them" if found.shared else ""
    _say(console, f"  {'raw':<20} {found.raw} versions{shared}")
    for run, chunks in found.generations.items():
        _say(console, f"  {'index':<20} {chunks} chunks of the generation of run {run}")
    _say(console, f"  and the vectors of its texts in the cache; {len(document.runs)} runs are told anew without it")
    if found.copies:
        several = ", ".join(found.copies[:5]) + (" …" if len(found.copies) > 5 else "")
        _say(console, f"these say the same, and stay: {several}")


def print_erasures(console: Console, done: Sequence[Erasure]) -> None:
    """Prints what went."""
    if not done:
        _say(console, "it was erased before; nothing of it is left")
    for erasure in done:
        _say(
            console,
            f"erased {erasure.document_id}: {erasure.rows} rows, {erasure.raw} versions of its bytes, "
            f"{erasure.vectors} vectors of the cache, {len(erasure.anew)} generations of the index made anew",
        )
        if erasure.retired:
            _say(console, f"given up, since they could not be made anew: runs {', '.join(erasure.retired)}")
    _say(console, "labels in your own gold sets, copies of the lake and logs outside it may still hold it")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
