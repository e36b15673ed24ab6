"""The eleven stages in their order. Adding one means a room and a line here; `corpusgate doctor` checks the rest."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from schemas.names import StageName
from tasks.boilerplate.stage import STAGE as BOILERPLATE
from tasks.chunk.stage import STAGE as CHUNK
from tasks.dedup.stage import STAGE as DEDUP
from tasks.embed.stage import STAGE as EMBED
from tasks.fetch.stage import STAGE as FETCH
from tasks.index.stage import STAGE as INDEX
from tasks.language.stage import STAGE as LANGUAGE
from tasks.metadata.stage import STAGE as METADATA
from tasks.normalize.stage import STAGE as NORMALIZE
from tasks.parse.stage import STAGE as PARSE
from tasks.pii.stage import STAGE as PII
from tasks.stage import Stage
from tasks.survival import evaluator as survival

STAGES: Mapping[StageName, Stage[Any]] = MappingProxyType(
    {
        stage.name: stage
        for stage in (
            FETCH,
            PARSE,
            BOILERPLATE,
            NORMALIZE,
            LANGUAGE,
            DEDUP,
            PII,
            CHUNK,
            METADATA,
            EMBED,
            INDEX,
        )
    }
)

PREVIOUS: Mapping[StageName, StageName] = MappingProxyType(dict(zip(list(StageName)[1:], StageName, strict=False)))
"""The stage before each one."""


def scorer(name: StageName) -> str:
    """The version by which a stage is scored: that of its own evaluators, and that of evidence survival."""
    return f"{STAGES[name].scorer_version}.{survival.VERSION}"


def scorers() -> dict[str, str]:
    """`scorer` of every stage: two runs are measured alike where these and the labels are the same."""
    return {str(name): scorer(name) for name in STAGES}


def labels_read(name: StageName) -> tuple[str, ...]:
    """The kinds of label that shape a stage's measures: those that its evaluators read, and evidence survival."""
    return tuple(dict.fromkeys((*STAGES[name].labels, *survival.LABELS[name])))
