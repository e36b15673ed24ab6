"""Documents travel in at least four batches where there are enough; changed ones travel together."""

import pyarrow as pa

from schemas.documents import DOCUMENTS
from tasks.run.planning import split_batches


def plan(cohorts: list[str]) -> pa.Table:
    rows = [
        {
            "document_id": f"doc-{i:03}",
            "source": "s",
            "uri": f"{i}",
            "locator": f"/{i}",
            "doc_class": "c",
            "tenant": "t",
            "groups": [],
            "cohort": cohort,
        }
        for i, cohort in enumerate(cohorts)
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


def sizes(cohorts: list[str], batch_size: int) -> list[int]:
    return [batch.documents.num_rows for batch in split_batches(plan(cohorts), batch_size)]


def test_at_least_four_batches_where_there_are_documents_enough() -> None:
    assert sizes(["new"] * 10, 128) == [3, 3, 3, 1]
    assert sizes(["new"] * 2, 128) == [1, 1]
    assert sizes([], 128) == []


def test_a_batch_is_never_larger_than_the_setting() -> None:
    assert sizes(["new"] * 1000, 128) == [128] * 7 + [104]


def test_deleted_documents_travel_nowhere_and_changed_ones_first() -> None:
    batches = split_batches(plan(["unchanged", "deleted", "changed", "unchanged", "new"]), 2)
    order = [cohort for batch in batches for cohort in batch.documents.column("cohort").to_pylist()]
    assert order == ["changed", "new", "unchanged", "unchanged"]
