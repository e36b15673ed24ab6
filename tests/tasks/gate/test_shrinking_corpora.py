"""A folder that is not mounted looks like a deletion of everything in it; half of what is live cannot go unseen."""

import duckdb
import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import VerdictStatus
from tasks.fetch.evaluator import facts
from tasks.fetch.settings import FetchSettings
from tasks.figures.catalogue import load_catalogue
from tasks.figures.figures import run_figures
from tasks.figures.samples import details, document_samples
from tasks.gate.decide import Measured, decide, status_of
from tasks.gate.rules import default_rules
from tasks.gold.labels import NO_LABELS
from tasks.lake.runs import timestamp
from tasks.stage import CorpusEvidence

RULES = [rule for rule in default_rules() if rule.metric == "live_kept"]


def status(**documents: list[str]) -> VerdictStatus:
    """What the shipped rules say of the documents of some classes, given by their cohorts."""
    rows = [
        {"document_id": f"{doc_class}-{i}", "source": "s", "uri": f"{i}", "locator": f"{i}", "doc_class": doc_class,
         "tenant": "t", "groups": [], "content_sha": "0", "cohort": cohort}
        for doc_class, cohorts in documents.items()
        for i, cohort in enumerate(cohorts)
    ]  # fmt: skip
    plan = pa.Table.from_pylist(rows, schema=DOCUMENTS)
    started = timestamp("2026-11-30T02:15:00+00:00")
    assert started is not None
    evidence = CorpusEvidence(
        documents=plan,
        locations=LOCATIONS.empty_table(),
        outputs=lambda _: iter(()),
        labels=NO_LABELS,
        index=None,
        live=None,
        started=started,
    )
    with duckdb.connect(":memory:") as connection:
        connection.register("documents", plan)
        connection.register("measures", facts(evidence, FetchSettings()))
        (samples,) = [
            document_samples(connection, ["live_kept"]) for _ in details(connection, load_catalogue(), ["fetch"])
        ]
        run = Measured(run_figures(connection, load_catalogue()), samples)
    return status_of(decide(RULES, load_catalogue(), run, {"live": None}))


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ({"a": ["unchanged"] * 10}, VerdictStatus.PASS),
        ({"a": ["unchanged", "changed", "moved", "new"] * 9, "b": ["new"]}, VerdictStatus.PASS),
        ({"a": ["unchanged"] * 5 + ["deleted"] * 5}, VerdictStatus.PASS),
        # 4 of 10 are left; the new ones are no substitute.
        ({"a": ["unchanged"] * 4 + ["deleted"] * 6 + ["new"] * 20}, VerdictStatus.FAIL),
        ({"a": ["deleted"] * 10}, VerdictStatus.FAIL),
        # Too few to say.
        ({"a": ["deleted"] * 9}, VerdictStatus.PASS),
        # 10 of 13 are left, and none of a class.
        ({"a": ["unchanged"] * 10, "b": ["deleted"] * 3}, VerdictStatus.WARN),
        # Nothing was live.
        ({"a": ["new"] * 3}, VerdictStatus.PASS),
    ],
)
def test_half_of_what_is_live_does_not_go_unseen(documents: dict[str, list[str]], expected: VerdictStatus) -> None:
    assert status(**documents) == expected
