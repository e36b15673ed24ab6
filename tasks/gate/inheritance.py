"""Own fault or inherited: a stage's figures in the cascade beside its figures on gold inputs."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

from tasks.figures.catalogue import Catalogue, Metric
from tasks.figures.figures import seed_of
from tasks.gate.decide import paired
from tasks.gate.evidence import ALPHA, Demonstration, Paired, adjusted, bound_test, documents_needed
from tasks.metrics.statistics import Interval

TOLERANCE = 0.01
"""Shortfalls up to this are nobody's fault."""

_NOTHING_SHOWN = Demonstration(1.0, 1.0)


class Fault(StrEnum):
    """Whose fault it is that a figure is short of its best."""

    OWN = "own"
    INHERITED = "inherited"
    BOTH = "both"
    NOT_SHOWN = ""


@dataclass(frozen=True, slots=True)
class Beside:
    """A measure of a stage in the cascade beside the same alone, over the documents that have it in both.

    `doc_class` is null over all documents. `difference` is cascade less alone, `interval` its 95 % interval (null where
    no document differs). `alone_documents` have the measure alone; of these, `lost` had passages in the cascade that
    were gone before they reached the stage.
    """

    stage: str
    metric: str
    doc_class: str | None
    documents: int
    alone_documents: int
    lost: int
    cascade: float | None
    alone: float | None
    difference: float | None
    interval: Interval | None
    fault: Fault


def beside(catalogue: Catalogue, cascade: pl.DataFrame, alone: pl.DataFrame, lost: pl.DataFrame) -> Iterator[Beside]:
    """Compares one measure over all documents, then by class where there are several.

    `cascade` and `alone` are its `document_samples`; `lost` names (`document_id`) the documents with passages that were
    lost upstream in the cascade.

    An inherited loss is shown where the documents lose more than a hundredth to the cascade (sign flips, 5 %, Holm over
    all and the classes), or where five documents or more had passages that were gone before. An own fault is shown
    where the figure alone lies more than a hundredth below the best there is, by the test of a floor.

    Of six documents each half found alone, none of it the fault of the stages before:

    >>> from tasks.figures.catalogue import load_catalogue
    >>> six = pl.DataFrame({"stage": "pii", "metric": "pii_recall", "slice_key": None, "slice_value": None,
    ...                     "document_id": [f"d{i}" for i in range(6)], "doc_class": "note", "metric_version": 1,
    ...                     "label_hash": 1, "content_hash": 1, "amount": 1.0, "weight": 2.0})
    >>> [(b.doc_class, b.cascade, b.alone, b.fault.value) for b in beside(load_catalogue(), six, six, six.clear())]
    [(None, 0.5, 0.5, 'own')]
    """
    alone = alone.filter(pl.col("slice_key").is_null())
    if alone.is_empty():
        return
    cascade = cascade.filter(pl.col("slice_key").is_null())
    metric = catalogue.get(alone.item(0, "stage"), alone.item(0, "metric"))
    gone = set(lost.get_column("document_id").to_list())
    classes = sorted(alone.get_column("doc_class").drop_nulls().unique().to_list())
    classes = classes if len(classes) > 1 else []
    parts = [(name, _of(cascade, name), _of(alone, name)) for name in (None, *classes)]
    pairs = [paired(metric, here, by_labels) for _, here, by_labels in parts]
    seed = seed_of(metric)
    inherited, _ = adjusted([pair.test(TOLERANCE, seed) if pair else _NOTHING_SHOWN for pair in pairs])
    own, _ = adjusted([_own(metric, by_labels, seed) for _, _, by_labels in parts])
    for (name, _, by_labels), pair, p_inherited, p_own in zip(parts, pairs, inherited, own, strict=True):
        documents = by_labels.get_column("document_id").to_list()
        passages = sum(document_id in gone for document_id in documents)
        interval = pair.interval(seed) if pair else None
        yield Beside(
            stage=metric.stage,
            metric=metric.id,
            doc_class=name,
            documents=len(pair.amounts) if pair else 0,
            alone_documents=len(documents),
            lost=passages,
            cascade=pair.value if pair else None,
            alone=pair.base_value if pair else float(by_labels["amount"].sum()) / float(by_labels["weight"].sum()),
            difference=pair.value - pair.base_value if pair else None,
            interval=_raw(interval, pair) if pair and interval else None,
            fault=_fault(p_own <= ALPHA, p_inherited <= ALPHA or passages >= documents_needed(ALPHA)),
        )


def _of(samples: pl.DataFrame, doc_class: str | None) -> pl.DataFrame:
    return samples if doc_class is None else samples.filter(pl.col("doc_class") == doc_class)


def _own(metric: Metric, alone: pl.DataFrame, seed: int) -> Demonstration:
    """Whether the figure alone is more than the tolerance short of its best; nothing where there is no best."""
    sign = 1 if metric.direction == "higher" else -1
    best = metric.range[1 if sign > 0 else 0]
    if best is None:
        return _NOTHING_SHOWN
    amounts, weights = (
        np.asarray(alone.get_column(name).to_numpy(), dtype=np.float64) for name in ("amount", "weight")
    )
    return bound_test(amounts, weights, best - sign * TOLERANCE, sign, seed)


def _raw(loss: Interval, pair: Paired) -> Interval:
    """An interval of the loss as one of cascade less alone."""
    low, high = sorted((-pair.sign * loss.low, -pair.sign * loss.high))
    return Interval(low, high)


def _fault(own: bool, inherited: bool) -> Fault:
    if own and inherited:
        return Fault.BOTH
    return Fault.OWN if own else Fault.INHERITED if inherited else Fault.NOT_SHOWN
