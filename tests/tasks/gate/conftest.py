"""Small worlds to judge: metric rows of a few documents, aggregated by the code that aggregates every run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.measures import MEASURES
from schemas.names import StageName
from tasks.figures.catalogue import Catalogue, Metric
from tasks.figures.figures import run_figures
from tasks.figures.samples import details, document_samples
from tasks.gate.decide import Measured
from tasks.metrics.rows import MetricRows

_GOLD: dict[str, Any] = {
    "version": 1,
    "title": "of this test",
    "definition": "of this test",
    "needs": "gold",
    "labels": ("text",),
    "basis": "sample",
    "unit": "ratio",
    "range": (0.0, 1.0),
    "direction": "higher",
    "aggregation": ("macro",),
    "per": "document",
    "empty": "",
    "missing_score": None,
    "missing_note": "",
    "slices": (),
    "source": "",
    "oracle": "",
}
_CENSUS = {"needs": "free", "labels": (), "basis": "census", "aggregation": ("micro",)}


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """`quality` (higher is better), `error` (lower is better), `trial` (yes or no) and `complete` (a census)."""
    entries = [
        {"id": "quality", "stage": "parse"},
        {"id": "later_quality", "stage": "chunk"},
        {"id": "error", "stage": "parse", "direction": "lower", "range": (0.0, None)},
        {"id": "trial", "stage": "parse", "aggregation": ("micro",)},
        {"id": "complete", "stage": "parse", **_CENSUS},
    ]
    return Catalogue(metrics=tuple(Metric.model_validate(_GOLD | entry) for entry in entries))


def _documents(classes: Mapping[str, str], shas: Mapping[str, str]) -> pa.Table:
    rows = [
        {
            "document_id": document_id,
            "source": "s",
            "uri": document_id,
            "locator": document_id,
            "doc_class": doc_class,
            "tenant": "t",
            "groups": [],
            "content_sha": shas.get(document_id, "bytes"),
            "cohort": "unchanged",
        }
        for document_id, doc_class in classes.items()
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


@pytest.fixture
def measured(catalogue: Catalogue) -> Callable[..., Measured]:
    """Makes the figures of a run from `{measure: {class: values of its documents}}`."""

    def make(
        values: Mapping[str, Mapping[str, Sequence[float]]],
        *,
        labels: str | None = "labels",
        shas: Mapping[str, str] | None = None,
        version: int = 1,
    ) -> Measured:
        classes: dict[str, str] = {}
        tables = []
        for name, by_class in values.items():
            metric = next(metric for metric in catalogue.metrics if metric.id == name)
            rows = MetricRows(StageName(metric.stage))
            for doc_class, numbers in by_class.items():
                for i, number in enumerate(numbers):
                    classes[f"{doc_class}-{i}"] = doc_class
                    if metric.aggregation[0] == "micro":
                        rows.ratio(name, f"{doc_class}-{i}", number, 1.0, version=version)
                    else:
                        rows.value(name, f"{doc_class}-{i}", number, version=version)
            tables.append(rows.table())
        measures = pa.concat_tables(tables or [MEASURES.empty_table()]).unify_dictionaries()
        digest = pa.array([labels] * measures.num_rows, pa.string())
        measures = measures.set_column(MEASURES.get_field_index("label_digest"), MEASURES.field("label_digest"), digest)
        with duckdb.connect(":memory:") as connection:
            connection.register("documents", _documents(classes, shas or {}))
            connection.register("measures", measures)
            names = [metric.id for metric in catalogue.metrics]
            samples = [document_samples(connection, names) for _ in details(connection, catalogue, tuple(StageName))]
            return Measured(run_figures(connection, catalogue), pa.concat_tables(samples))

    return make
