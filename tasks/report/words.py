"""The words behind edits, read from the lake: they may be personal data, so they are shown only when asked for."""

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow.compute as pc

from tasks.gold.kinds import TextLabel
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.parse.evaluator import compared_texts
from tasks.run.labels import stored_labels
from tasks.run.withholding import refuse_without_texts


def with_words(
    lake: Lake, run_id: str, connection: duckdb.DuckDBPyConnection, document_id: str, details: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], ...]:
    """The details, those of `cer` and `wer` with `expected_text` and `found_text`.

    They are cut out of the label as the run used it and of the elements as the run has them, by the same rule as the
    evaluator's. Personal data spans stay without words.
    """
    refuse_without_texts(lake, run_id, "showing the words of edits")
    runs = Runs(lake)
    plan = runs.plan(run_id).filter(pc.field("document_id") == document_id)
    labels = stored_labels(lake, runs.manifest(run_id).get("gold_digest"), plan)
    label = labels.of(document_id, TextLabel, "text")
    if label is None:
        return tuple(details)
    parsed = connection.sql(
        "SELECT elements FROM parse WHERE document_id = $document_id", params={"document_id": document_id}
    )
    elements = [element for row in parsed.to_arrow_table().to_pylist() for element in row["elements"]]
    expected, found = compared_texts(label, elements)
    texts = {"cer": ("", expected, found), "wer": (" ", expected.split(), found.split())}
    made = []
    for detail in details:
        if detail["metric"] in texts:
            space, left, right = texts[detail["metric"]]
            detail = detail | {
                "expected_text": space.join(left[detail["start"] : detail["end"]]),
                "found_text": space.join(right[detail["found_start"] : detail["found_end"]]),
            }
        made.append(detail)
    return tuple(made)
