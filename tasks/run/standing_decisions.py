"""Decisions on documents that a partial run does not take in, where they were made for want of a text.

Another decision than the one that live was made by sends a document on its way through the stages behind dedup. One
whose text cannot be had would be lost there, though it, and what was decided of it, is as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.names import StageName
from schemas.stages import DEDUP
from tasks.lake.packed import read_places
from tasks.run.context import BatchRef, RunContext
from tasks.run.held import standing_rows

_AT_ONCE = 64
_KEPT = "kept"

Decision = dict[str, Any]
TextOf = Callable[[Sequence[str]], Mapping[str, str]]


def standing_decisions(
    context: RunContext, batch: BatchRef, previous: Mapping[str, str]
) -> dict[str, tuple[dict[str, Any], Decision]]:
    """By id, the location row and the decision that held documents of a batch had when live was made.

    `previous` are the keys by which documents came to the stage.
    """
    rows = standing_rows(context, StageName.DEDUP, batch, previous)
    places = {i: row["file"] for i, row in rows.items() if row["file"] is not None}
    if not places:
        return {}
    decided = read_places(context.lake, places, DEDUP).to_pylist()
    return {decision["document_id"]: (rows[decision["document_id"]], decision) for decision in decided}


def that_stand(former: Mapping[str, Decision], decisions: Mapping[str, Decision], text_of: TextOf) -> set[str]:
    """Held documents whose decision of when live was made stands, though now it is another one.

    They would go on from here, or have no signature, and their text cannot be had. One that was kept stays. One that
    was dropped stays dropped if the document that stood for it does so still; else nothing is left of what it says.

    Args:
        former: the decisions of when live was made, of all held documents.
        decisions: those of now, of documents that have a signature.
        text_of: gives the texts that can be had.
    """
    going_on = [
        i
        for i, before in former.items()
        if i not in decisions or (decisions[i]["decision"] == _KEPT and decisions[i] != before)
    ]
    parts = [going_on[start : start + _AT_ONCE] for start in range(0, len(going_on), _AT_ONCE)]
    lost = {i for some in parts for i in set(some) - text_of(some).keys()}
    keeping = {row["duplicate_of"] for row in decisions.values()}
    stand = {i for i in lost if former[i]["decision"] == _KEPT}
    for i in lost - stand - keeping:
        keeper = former[i]["duplicate_of"]
        now = decisions.get(keeper)
        if keeper in former and (keeper in stand or (now is not None and now["decision"] == _KEPT)):
            stand.add(i)
    return stand
