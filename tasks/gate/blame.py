"""Where it went wrong first: per class from the findings, per document from its own losses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from schemas.names import StageName
from schemas.verdict import Blame, Finding, FindingOutcome
from tasks.figures.catalogue import Catalogue
from tasks.gate.decide import Measured, alike
from tasks.gate.settings import Rule

_ORDER: Mapping[str, int] = {stage.value: i for i, stage in enumerate(StageName)}
_ROUNDING = 1e-9
_OF_THEIR_OWN = frozenset({"quarantined", "unexpected_quarantine"})
"""A document in quarantine never reached a later stage: what failed there are other documents, each for itself."""

NO_LOSSES = pl.DataFrame(schema={"document_id": pl.String, "stage": pl.String, "metric": pl.String, "loss": pl.Float64})
"""What `document_losses` gives where nothing was lost."""

_DOCUMENTS = 20
"""So many documents are named; `corpusgate sql` lists all."""


def mark_consequences(findings: Sequence[Finding]) -> tuple[list[Finding], list[Blame]]:
    """Marks what follows from an earlier stage, and names that stage for each class and for the corpus as a whole.

    Within a class (or the corpus) the first stage in order with a broken rule is to blame; broken rules of later
    stages there are consequences. They still count: a consequence blocks as much as its cause.
    """
    marked = list(findings)
    blames = []
    for doc_class in sorted({_class_of(f) for f in findings if _located(f)}, key=lambda c: c or ""):
        here = [i for i, f in enumerate(findings) if _located(f) and _class_of(f) == doc_class]
        here.sort(key=lambda i: (_ORDER[findings[i].stage], -(findings[i].loss or 0.0), findings[i].rule))
        first = findings[here[0]]
        later = [i for i in here if findings[i].stage != first.stage and findings[i].metric not in _OF_THEIR_OWN]
        for i in later:
            marked[i] = replace(marked[i], consequence=True)
        stages = tuple(dict.fromkeys(findings[i].stage for i in later))
        blames.append(Blame(first.stage, first.metric, first.loss, stages, doc_class=doc_class))
    return marked, blames


def blame_documents(losses: pl.DataFrame) -> list[Blame]:
    """The documents that lost most against the baseline (`document_losses` of all measures), each with the first
    stage at which it lost.

    Those that lost at the earliest stage come first, as that is where the fault lies; among them, by their greatest
    loss. At most twenty.
    """
    if losses.is_empty():
        return []
    order = pl.col("stage").replace_strict(_ORDER, return_dtype=pl.Int32).alias("order")
    ranked = losses.with_columns(order).sort(["order", "loss", "metric"], descending=[False, True, False])
    documents = ranked.group_by("document_id", maintain_order=True).agg(
        pl.col("stage").first(),
        pl.col("metric").first(),
        pl.col("loss").first(),
        pl.col("stage").unique(maintain_order=True).alias("stages"),
        pl.col("order").first(),
        pl.col("loss").max().alias("worst"),
    )
    worst = documents.sort(["order", "worst", "document_id"], descending=[False, True, False]).head(_DOCUMENTS)
    return [
        Blame(row["stage"], row["metric"], row["loss"], tuple(row["stages"][1:]), document_id=row["document_id"])
        for row in worst.iter_rows(named=True)
    ]


def document_losses(rules: Sequence[Rule], catalogue: Catalogue, run: Measured, baseline: Measured) -> pl.DataFrame:
    """The losses of documents in the measures that these rules watch: document_id, stage, metric, loss (positive).

    A document loses at a stage when a measure is worse than in the baseline by more than a rule allows (more than
    rounding, where the rule allows no loss).
    """
    watched: dict[tuple[str, str], dict[str, object]] = {}
    for rule in rules:
        if rule.kind == "drift":
            continue
        metric = catalogue.get(rule.stage, rule.metric)
        if metric.direction == "none" or not {"micro", "macro"} & set(metric.aggregation):
            continue
        allowed = max(rule.max_loss or 0.0, _ROUNDING)
        entry = watched.setdefault(
            (rule.stage.value, rule.metric),
            {"sign": 1 if metric.direction == "higher" else -1, "gold": metric.needs == "gold", "allowed": allowed},
        )
        entry["allowed"] = max(float(str(entry["allowed"])), allowed)
    measures = pl.DataFrame(
        [{"stage": stage, "metric": metric, **entry} for (stage, metric), entry in watched.items()],
        schema={"stage": pl.String, "metric": pl.String, "sign": pl.Int8, "gold": pl.Boolean, "allowed": pl.Float64},
    )
    here, before = (pl.DataFrame(part.samples).filter(pl.col("slice_key").is_null()) for part in (run, baseline))
    own, own_base = pl.col("amount") / pl.col("weight"), pl.col("amount_base") / pl.col("weight_base")
    return (
        alike(here.join(measures, on=["stage", "metric"]), before)
        .with_columns((pl.col("sign") * (own_base - own)).alias("loss"))
        .filter(pl.col("loss") > pl.col("allowed"))
        .select("document_id", "stage", "metric", "loss")
    )


def _class_of(finding: Finding) -> str | None:
    return finding.slice_value if finding.slice_key == "class" else None


def _located(finding: Finding) -> bool:
    """Whether a finding names a culprit: it speaks of a class or of the whole (a cohort or an entity type lies across
    both), and it blocks or is a loss. A standing warning is nobody's fault.
    """
    at_fault = finding.severity == "fail" or finding.outcome is FindingOutcome.REGRESSED
    return finding.violated and at_fault and finding.slice_key in (None, "class")
