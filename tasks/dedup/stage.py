"""The dedup stage: exact and near duplicates, verified, deterministic, never across access scopes.

It is a barrier of two parts. `sign` gives a batch's signatures, made once per text and stored; `decide` turns the
signatures of a whole run into decisions. Both import the compiled code only when they are called.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from schemas.names import StageName
from schemas.stages import DEDUP
from tasks.dedup.compared import Compared
from tasks.dedup.evaluator import evaluate, facts
from tasks.dedup.settings import DedupSettings
from tasks.installed import version
from tasks.stage import Batch, Resources, Stage, StageOutput


def sign(batch: Batch, settings: DedupSettings, resources: Resources) -> StageOutput:
    """Signatures of a batch's documents (`SIGNATURE` rows)."""
    from tasks.dedup.sign import signature_rows

    texts = batch.tables[StageName.NORMALIZE].column("text").to_pylist()
    return StageOutput(signature_rows(batch.documents, texts, settings))


def decide(
    signatures: Iterable[pa.Table],
    text_of: Callable[[Sequence[str]], Mapping[str, str]],
    settings: DedupSettings,
    precedence: Mapping[str, int],
    compared: Compared | None = None,
) -> pa.Table:
    """`DEDUP` rows of a run, sorted by document id; see `tasks.dedup.decisions.decide`."""
    from tasks.dedup import decisions

    return decisions.decide(signatures, text_of, settings, precedence, compared)


def fingerprint(settings: DedupSettings) -> Mapping[str, str]:
    """The libraries that shape the decisions."""
    return {"numpy": version("numpy"), "rapidfuzz": version("rapidfuzz")}


STAGE = Stage(
    name=StageName.DEDUP,
    version=2,
    reads=(StageName.NORMALIZE,),
    # What the stage says of a document. The output of `run` on a batch has the `SIGNATURE` schema: the engine stores
    # it by document and hands all of it to `decide`, which makes these rows.
    writes=DEDUP,
    settings=DedupSettings,
    run=sign,
    fingerprint=fingerprint,
    scorer_version=5,
    evaluate=evaluate,
    context=("tenant", "groups"),
    labels=("pairs",),
    facts=facts,
)
