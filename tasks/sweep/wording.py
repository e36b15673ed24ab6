"""What a sweep shows, in words: which point is best, and what is not shown."""

from collections.abc import Iterator

from tasks.report.values import shown_value
from tasks.sweep.chosen import Chosen
from tasks.sweep.result import Result
from tasks.sweep.standing import Standing

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
    where = "" if standing.group is None else f" · {standing.group}"
    value = result.cells()[standing.leader, str(standing.chosen.stage), standing.chosen.metric.id, standing.group]
    figure = shown_value(value["value"], standing.chosen.metric.unit)
    head = f"{standing.chosen.stage} {standing.chosen.metric.id}{where}:"
    if standing.of(standing.leader) == "best":
        return f"{head} {labels[standing.leader]} is best ({figure}); every other point is shown to be worse"
    others = [point for point in standing.level if point != standing.leader]
    same = all(
        result.cells()[p, str(standing.chosen.stage), standing.chosen.metric.id, standing.group]["value"]
        == value["value"]
        for p in standing.points
    )
    if same:
        return f"{head} the same at all points ({figure})"
    if not standing.tested:
        return (
            f"{head} {labels[standing.leader]} has the best figure ({figure}); it is one of the corpus as a whole, "
            f"without parts by document, so no difference can be shown"
        )
    if standing.chosen.metric.basis == "census":
        return f"{head} {labels[standing.leader]} is best ({figure}), level with {_named(labels, others)}"
    said = (
        f"{head} {labels[standing.leader]} has the best figure ({figure}); that it is better than "
        f"{_named(labels, others)} is not shown"
    )
    if len(result.order.axes) == 1 and len(others) > 1 and (first := min(standing.level)) != standing.leader:
        said += f"; the first value that is not shown to be worse: {labels[first]}"
    return said


def _named(labels: dict[int, str], points: list[int]) -> str:
    if len(points) > 4:
        return f"{len(points)} others"
    return " or ".join(labels[point] for point in points)
