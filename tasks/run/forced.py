"""Stages that are told to compute again: what came out otherwise under the same key, and how the chain learns of it.

A stage key stands for one output. Where a forced stage makes another under the same key, the ledger's row of that key
names the new file and says so in its `reason`; what follows is chained to a key of its own, under which the ledger has
the same file. So later stages run again for that document and for no other, in this run and wherever it is taken up.
"""

import math
import threading
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import Outcome, StageName
from tasks.run.keys import digest

FIRST = 5
"""How many ids of documents are named."""

_MARK = "output "
_TOLERANCE = 1e-4
VOLATILE: Mapping[str, frozenset[str]] = MappingProxyType(
    {StageName.FETCH: frozenset({"commit_time", "etag", "last_modified", "http_status", "unchanged"})}
)
"""Columns that tell how a source answered and not what it gave."""


class Reworked:
    """What the stages of a run that were forced made anew, and of how many documents it came out otherwise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._computed: dict[str, int] = {}
        self._changed: dict[str, set[str]] = {}

    def add(self, stage: str, computed: int, changed: Iterable[str]) -> None:
        """One batch more."""
        with self._lock:
            self._computed[stage] = self._computed.get(stage, 0) + computed
            self._changed.setdefault(stage, set()).update(changed)

    def sentences(self) -> tuple[str, ...]:
        """`changed_sentences` of all stages."""
        return tuple(changed_sentences(self.told()).values())

    def told(self) -> dict[str, dict[str, Any]]:
        """{stage: documents computed, how many came out otherwise, the first of these}, for a manifest."""
        with self._lock:
            return {
                stage: {
                    "computed": computed,
                    "changed": len(self._changed[stage]),
                    "first": sorted(self._changed[stage])[:FIRST],
                }
                for stage, computed in sorted(self._computed.items())
            }


def changed_sentences(told: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """{stage: what is wrong} from what `Reworked.told` says, for stages whose output came out otherwise."""
    return {
        stage: f"stage {stage} gave another output for {found['changed']} of {found['computed']} documents, though its "
        f"version, its settings and its libraries are the same: {', '.join(found['first'])}. Where its "
        "code was changed, its version must be raised; else it is not deterministic"
        for stage, found in told.items()
        if found["changed"]
    }


def chained_key(row: Mapping[str, Any]) -> str:
    """The key by which the next stage goes on from a ledger row."""
    reason = row.get("reason")
    if row["outcome"] == Outcome.OK and reason is not None and reason.startswith(_MARK):
        return digest([row["stage_key"], reason])
    return str(row["stage_key"])


def chained_keys(rows: pa.Table) -> pa.ChunkedArray:
    """`chained_key` of ledger rows in a table (`outcome`, `reason`, `stage_key`)."""
    if not pc.any(pc.starts_with(rows.column("reason"), _MARK)).as_py():
        return rows.column("stage_key")
    plain = rows.select(["outcome", "reason", "stage_key"]).to_pylist()
    return pa.chunked_array([[chained_key(row) for row in plain]], pa.string())


def changed_outputs(
    stage: str, before: Iterable[Mapping[str, Any]], now: Iterable[Mapping[str, Any]]
) -> dict[str, str]:
    """The mark of each document whose row came out otherwise, from rows of both outputs (by `document_id`).

    Numbers may differ by a ten-thousandth: the order in which they are added up depends on the batch.
    """
    left_out = VOLATILE.get(stage, frozenset())
    old = {row["document_id"]: _without(row, left_out) for row in before}
    marks = {}
    for row in now:
        made = _without(row, left_out)
        if row["document_id"] in old and not same_values(old[row["document_id"]], made):
            marks[row["document_id"]] = _MARK + digest(made)
    return marks


def same_values(one: Any, other: Any) -> bool:
    """Whether two plain values are equal, numbers nearly so.

    >>> same_values({"a": [0.1, None]}, {"a": [0.100001, None]}), same_values({"a": [0.1]}, {"a": [0.2]})
    (True, False)
    """
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE) or (
            math.isnan(one) and math.isnan(other)
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_values(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_values, one, other))
    return type(one) is type(other) and bool(one == other)


def _without(row: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
