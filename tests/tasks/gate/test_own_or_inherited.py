"""Whose fault it is, from figures worked out by hand."""

from collections.abc import Sequence

import polars as pl
import pytest

from tasks.figures.catalogue import load_catalogue
from tasks.gate.inheritance import Beside, beside


def samples(found: Sequence[float], *, of: float = 2.0, metric: str = "pii_recall") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "stage": "pii",
            "metric": metric,
            "slice_key": pl.Series([None] * len(found), dtype=pl.String),
            "slice_value": pl.Series([None] * len(found), dtype=pl.String),
            "document_id": [f"doc-{i}" for i in range(len(found))],
            "doc_class": ["note" if i < 6 else "mail" for i in range(len(found))],
            "metric_version": 1,
            "label_hash": 1,
            "content_hash": 1,
            "amount": list(map(float, found)),
            "weight": of,
        }
    )


def compared(cascade: pl.DataFrame, alone: pl.DataFrame, lost: Sequence[str] = ()) -> dict[str | None, Beside]:
    gone = pl.DataFrame({"document_id": list(lost)}, schema={"document_id": pl.String})
    return {found.doc_class: found for found in beside(load_catalogue(), cascade, alone, gone)}


@pytest.mark.parametrize(
    ("cascade", "alone", "fault"),
    [
        ([2] * 6, [2] * 6, ""),
        ([1] * 6, [2] * 6, "inherited"),
        ([1] * 6, [1] * 6, "own"),
        ([0] * 6, [1] * 6, "both"),
        # Better than alone: nothing was inherited.
        ([2] * 6, [1] * 6, "own"),
        # Four documents cannot show it: 1 of 2^4 assignments of signs is more than 5 %.
        ([1] * 4, [2] * 4, ""),
        ([2, 2, 2, 2, 2, 1], [2] * 6, ""),
    ],
)
def test_a_fault_is_named_where_it_is_demonstrated(cascade: list[int], alone: list[int], fault: str) -> None:
    assert compared(samples(cascade), samples(alone))[None].fault == fault


def test_figures_are_over_the_documents_that_have_both() -> None:
    # Alone 2 of 2 in eight documents; in the cascade six of them came, with 1 of 2 and 0 of 2.
    found = compared(samples([1, 1, 1, 0, 0, 0]), samples([2] * 8))
    assert found[None].documents == 6
    assert found[None].alone_documents == 8
    assert found[None].cascade == 3 / 12
    assert found[None].alone == 1
    assert found[None].difference == -0.75
    interval = found[None].interval
    assert interval is not None
    # Of a resample all six may be of one kind: the difference is then −0.5 or −1.
    assert -1 <= interval.low < -0.75 < interval.high <= -0.5
    assert found["mail"].documents == 0
    assert found["mail"].cascade is None
    assert found["mail"].alone == 1


def test_five_documents_whose_passages_were_gone_show_an_inherited_loss() -> None:
    alone = samples([2] * 8)
    none = alone.clear()
    five = [f"doc-{i}" for i in range(5)]
    assert compared(none, alone, five)[None].fault == "inherited"
    assert compared(none, alone, five)["mail"].fault == ""
    assert compared(none, alone, five[:4])[None].fault == ""
    assert compared(none, alone, [*five[:4], "doc-of-no-figure"])[None].lost == 4


def test_lower_is_better_where_the_catalogue_says_so() -> None:
    flagged = samples([1] * 6, metric="hard_negatives")
    none = samples([0] * 6, metric="hard_negatives")
    assert compared(flagged, none)[None].fault == "inherited"
    assert compared(flagged, flagged)[None].fault == "own"
    assert compared(none, none)[None].fault == ""


def test_a_hundredth_is_nobodys_fault() -> None:
    assert compared(samples([199] * 6, of=200), samples([200] * 6, of=200))[None].fault == ""
    assert compared(samples([195] * 6, of=200), samples([200] * 6, of=200))[None].fault == "inherited"
    assert compared(samples([199] * 6, of=200), samples([199] * 6, of=200))[None].fault == ""
