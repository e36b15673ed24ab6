"""The catalogue of measures, read from `data_contracts/metrics.yaml`."""

import hashlib
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Literal, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict

Aggregation: TypeAlias = Literal["micro", "macro", "sum", "max", "min", "p50", "p95", "p99"]


class Metric(BaseModel):
    """What a measure means; the fields are explained at the head of the catalogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    stage: str
    version: int
    title: str
    definition: str
    needs: Literal["gold", "free"]
    labels: tuple[str, ...]
    basis: Literal["census", "sample"]
    unit: str
    range: tuple[float | None, float | None]
    direction: Literal["higher", "lower", "none"]
    aggregation: tuple[Aggregation, ...]
    per: Literal["document", "unit", "run"]
    empty: str
    missing_score: float | None
    missing_note: str
    slices: tuple[str, ...]
    places: str | None = None
    source: str
    oracle: str
    proven_in: tuple[str, ...] = ()


class Catalogue(BaseModel):
    """All measures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[Metric, ...]

    @cached_property
    def digest(self) -> str:
        """What tells one catalogue from another, in twelve characters."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    def of_stage(self, stage: str) -> tuple[Metric, ...]:
        """The measures of a stage, those that every stage has included."""
        return tuple(metric for metric in self.metrics if metric.stage in (stage, "all"))

    def get(self, stage: str, metric_id: str) -> Metric:
        """One measure.

        Raises:
            KeyError: the catalogue does not hold it.
        """
        for metric in self.metrics:
            if metric.id == metric_id and metric.stage in (stage, "all"):
                return metric
        raise KeyError(f"the catalogue has no measure {metric_id!r} of stage {stage!r}")


@lru_cache(maxsize=1)
def load_catalogue() -> Catalogue:
    """The catalogue that ships with the project."""
    text = files("data_contracts").joinpath("metrics.yaml").read_text(encoding="utf-8")
    return Catalogue.model_validate({"metrics": yaml.load(text, yaml.CSafeLoader)})
