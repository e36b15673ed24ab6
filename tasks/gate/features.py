"""What drift looks at: one value per document, from the stage rows and measures of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from schemas.names import StageName


@dataclass(frozen=True, slots=True)
class Feature:
    """One value per document. `sql` gives `document_id` and `value`; `{p}` is the prefix of the run's views. `rows_of`
    are the stages whose rows it reads, if it reads any and not measures or locations alone."""

    title: str
    kind: Literal["number", "category"]
    sql: str
    rows_of: tuple[StageName, ...] = ()


def _measure(stage: str, metric: str) -> str:
    return (
        f"SELECT document_id, value FROM {{p}}measures WHERE stage = '{stage}' AND metric = '{metric}' "  # noqa: S608
        "AND status = 'ok' AND slice_key IS NULL AND unit_id IS NULL AND value IS NOT NULL"
    )


FEATURES: Mapping[tuple[StageName, str], Feature] = MappingProxyType(
    {
        (StageName.PARSE, "garbage_ratio"): Feature(
            "characters that stand for nothing", "number", _measure("parse", "garbage_ratio")
        ),
        (StageName.PARSE, "tables_per_page"): Feature(
            "tables a page",
            "number",
            "SELECT document_id, len(list_filter(elements, lambda e: e.kind = 'table')) / greatest(pages, 1) AS value "
            "FROM {p}parse",
            (StageName.PARSE,),
        ),
        (StageName.BOILERPLATE, "kept_ratio"): Feature("share kept", "number", _measure("boilerplate", "kept_ratio")),
        (StageName.NORMALIZE, "characters"): Feature(
            "characters of clean text",
            "number",
            "SELECT document_id, length(text) AS value FROM {p}normalize",
            (StageName.NORMALIZE,),
        ),
        (StageName.LANGUAGE, "language"): Feature(
            "language",
            "category",
            "SELECT document_id, language AS value FROM {p}language",
            (StageName.LANGUAGE,),
        ),
        (StageName.CHUNK, "chunks_per_page"): Feature(
            "chunks a page",
            "number",
            "SELECT document_id, len(chunks) / greatest(pages, 1) AS value "
            "FROM {p}chunk JOIN {p}parse USING (document_id)",
            (StageName.CHUNK, StageName.PARSE),
        ),
        (StageName.INDEX, "quarantined"): Feature(
            "quarantined on the way to the index",
            "category",
            "SELECT document_id, CASE WHEN bool_or(outcome = 'quarantined') THEN 'yes' ELSE 'no' END AS value "
            "FROM {p}locations GROUP BY document_id",
        ),
    }
)
"""Features by the stage that makes them and their name."""

MEASURED: frozenset[tuple[StageName, str]] = frozenset({(StageName.EMBED, "drift_classifier_auc")})
"""Drift that a stage measures itself, over samples: its figures are judged, not a value per document."""
