"""What a sweep shows, in words: which point is best, and what is not shown."""

from collections.abc import Iterator

from tasks.gate.evidence import ALPHA, documents_needed
from tasks.report.values import shown_value
from tasks.sweep.chosen import Chosen
from tasks.sweep.result import Result
from tasks.sweep.standing import Standing

_EQUAL = 1e-9

MARKS = {"best": "*", "level": "~", "worse": "", None: ""}
LEGEND = (
    "* best: every other point is shown to be worse (95 %, paired by document, corrected for the number of points). "
    "~ level: not shown to be worse than the best figure. No mark: shown to be worse, or not ranked."
)


def title(chosen: Chosen) -> str:
    """A measure with its direction: `dedup pair_f1 (higher is better)`."""
    note = {"higher": "higher is better", "lower": "lower is better", "none": "a signal, no better or worse"}
    return f"{chosen.stage} {chosen.metric.id} ({note[chosen.metric.direction]})"


def conclusions(result: Result) -> Iterator[str]:
    """A sentence for each measure and part of the documents that can be ranked."""
    for standing in result.standings:
        if standing.chosen in result.measures and len(standing.points) > 1:
            yield conclusion(result, standing)


def conclusion(result: Result, standing: Standing) -> str:
    """Which point is best and whether that is shown; along one setting also the first value that is level with it."""
    labels = {point.number: point.label for point in result.order.points}
    chosen, leader = standing.chosen, standing.leader
    values = _values(result, standing)
    head = f"{chosen.stage} {chosen.metric.id}{'' if standing.group is None else f' · {standing.group}'}:"
    figure = shown_value(values[leader], chosen.metric.unit)
    alike = [p for p in standing.level if p != leader and abs(values[p] - values[leader]) <= _EQUAL]
    unshown = [p for p in standing.level if p != leader and p not in alike]
    if len(alike) + 1 == len(standing.points):
        return f"{head} the same at all points ({figure})"
    if len(standing.level) == 1:
        return f"{head} {labels[leader]} is best ({figure}); every other point is shown to be worse"
    said = f"{head} {labels[leader]} has the best figure ({figure})"
    if alike:
        said += f", the same as {_named(labels, alike)}"
    if not standing.tested:
        return f"{said}; it is one of the corpus as a whole, not of documents, so no difference can be shown"
    if not unshown:
        return f"{said}; every other point is shown to be worse"
    if not standing.enough:
        return f"{said}; nothing can be shown: at least {documents_needed(ALPHA)} labelled documents must differ"
    said += f"; that it is better than {_named(labels, unshown)} is not shown"
    if len(result.order.axes) == 1 and len(standing.level) > 2 and (first := min(standing.level)) != leader:
        said += f"; the first value that is not shown to be worse: {labels[first]}"
    return said


def _values(result: Result, standing: Standing) -> dict[int, float]:
    place = (str(standing.chosen.stage), standing.chosen.metric.id, standing.group)
    cells = result.cells
    return {point: cells[point, *place]["value"] for point in standing.points}


def _named(labels: dict[int, str], points: list[int]) -> str:
    if len(points) > 4:
        return f"{len(points)} others"
    return " or ".join(labels[point] for point in points)
