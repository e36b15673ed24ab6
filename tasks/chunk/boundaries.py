"""Do chunks end where a person says they should, and nowhere where a person says they should not?"""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.names import MetricStatus
from tasks.documents.quotes import locate
from tasks.gold.kinds import BoundariesLabel, BoundaryLabel, Quote
from tasks.gold.labels import Labels
from tasks.metrics.rows import MetricRows

METRIC = "boundary_quality"


def boundary_rows(
    rows: MetricRows, document_id: str, clean: str, chunks: Sequence[Mapping[str, Any]], labels: Labels
) -> None:
    """A row per labelled place: 1 where the chunks are cut there just if that is labelled as sensible."""
    if labels.is_stale(document_id, "boundaries"):
        rows.without_value(METRIC, document_id, MetricStatus.STALE_LABEL)
    label = labels.of(document_id, BoundariesLabel, "boundaries")
    for number, place in enumerate(label.boundaries if label else (), start=1):
        unit_id = f"{document_id}#place-{number}"
        gap = find_gap(clean, place)
        if gap is None:
            rows.without_value(METRIC, document_id, MetricStatus.LOST_UPSTREAM, unit_id=unit_id)
            continue
        agrees = is_cut(gap, chunks) == place.sensible
        kind = "sensible" if place.sensible else "harmful"
        rows.ratio(METRIC, document_id, agrees, 1, unit_id=unit_id)
        rows.ratio(METRIC, document_id, agrees, 1, unit_id=unit_id, slice_of=("boundary", kind))


def is_cut(gap: tuple[int, int], chunks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a chunk starts or ends in the gap, its ends included.

    >>> is_cut((5, 6), [{"start": 0, "end": 5}]), is_cut((5, 6), [{"start": 0, "end": 4}, {"start": 3, "end": 9}])
    (True, False)
    """
    return any(gap[0] <= edge <= gap[1] for chunk in chunks for edge in (chunk["start"], chunk["end"]))


def find_gap(clean: str, place: BoundaryLabel) -> tuple[int, int] | None:
    """The end of what stands before the place and the start of what stands after it, only white space between.

    >>> find_gap("A b. C d. A b. E", BoundaryLabel(before="A b.", after="E", sensible=True))
    (14, 15)
    """
    for space in (" ", ""):
        found = locate(clean, Quote(exact=place.before, suffix=space + place.after))
        if found is None:
            return None
        rest = clean[found[1] :]
        skipped = len(rest) - len(rest.lstrip())
        follows = locate(rest[skipped : skipped + 2 * len(place.after) + 100], Quote(exact=place.after))
        if follows is not None and follows[0] == 0:
            return found[1], found[1] + skipped
    return None
