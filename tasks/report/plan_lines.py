"""A plan for people: what has changed at the sources, what failed before, what each stage would compute."""

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from schemas.names import Cohort, StageName
from tasks.run.preview import HELD, TO_BE_ASKED, Preview, StageWork

_NAMED = (Cohort.NEW, Cohort.CHANGED, Cohort.MOVED, Cohort.DELETED, Cohort.RETAINED, TO_BE_ASKED)
_SHOWN = {TO_BE_ASKED: "to be asked", HELD: "as in live"}


def print_plan(console: Console, plan: Preview, *, names: int) -> None:
    """Prints the plan; `names` is how many failed documents are named."""
    for line in _head(plan):
        _say(console, line)
    console.print()
    kinds = list(plan.documents)
    for title, groups in (("source", plan.by_source), ("class", plan.by_class)):
        if groups:
            console.print(_table(title, groups, kinds))
            console.print()
    for kind in _NAMED:
        if found := plan.names.get(kind):
            _say(console, f"{_SHOWN.get(kind, kind)}: {', '.join(found)}{_more(plan.documents[kind] - len(found))}")
    if plan.failed:
        again = sum(failed.again for failed in plan.failed)
        _say(console, f"failed before: {again} will be tried again, {len(plan.failed) - again} will not")
        for failed in plan.failed[:names]:
            what = "tried again" if failed.again else "not tried: same bytes, same settings"
            _say(console, f"  {failed.source}:{failed.uri} ({failed.stage}, {failed.error_class}; {what})")
    console.print()
    _say(console, "documents that each stage would compute")
    for work in plan.stages:
        _say(console, f"  {work.stage:<12} {_amount(work)}")
    for line in _doubts(plan):
        _say(console, f"  {line}")
    for removal in plan.stopped_by:
        console.print(
            f"the run would stop: {removal.deleted} of the {removal.live} live documents of source "
            f"{removal.source!r} would be deleted (--allow-mass-delete)",
            style="red",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _head(plan: Preview) -> Iterator[str]:
    if plan.live_run is None:
        yield "nothing is live yet: every document is new"
    else:
        yield f"against what is live (run {plan.live_run})"
    told = ", ".join(f"{count} {_SHOWN.get(kind, kind)}" for kind, count in plan.documents.items())
    yield f"documents: {told or 'none'}"
    if plan.left_out:
        yield f"left out: {plan.left_out} that live does not have"


def _table(title: str, groups: Mapping[str, Mapping[str, int]], kinds: list[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title)
    for kind in kinds:
        table.add_column(_SHOWN.get(kind, kind), justify="right")
    for name, counts in groups.items():
        table.add_row(Text(name), *(str(counts.get(kind, "")) for kind in kinds))
    return table


def _amount(work: StageWork) -> str:
    if work.exact:
        return str(work.certain)
    if not work.following:
        return f"at least {work.certain}"
    more = f"{work.certain} and {work.following} more" if work.certain else str(work.following)
    return f"{'' if work.settled else 'at least '}{more} if they come so far"


def _doubts(plan: Preview) -> Iterator[str]:
    exact = {work.stage: work.exact for work in plan.stages}
    if asked := plan.documents.get(TO_BE_ASKED):
        yield f"{asked} documents are fetched to see whether they have changed; those that have go on from there"
    if not exact[StageName.DEDUP]:
        yield "dedup decides over the whole corpus: copies that it decides on otherwise than before are computed too"


def _more(count: int) -> str:
    return f" … and {count} more" if count > 0 else ""


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
