"""Stage keys: per document and chained, so that a change re-runs what it shapes and nothing else."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from schemas.names import StageName
from tasks.run.registry import scorers
from tasks.stage import Stage, StageSettings

_KNOWN = 1024


def digest(value: Any) -> str:
    """A 32-digit BLAKE2b digest of a JSON value, independent of the order of its keys."""
    return hashlib.blake2b(_json(value).encode(), digest_size=16).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


@lru_cache(maxsize=1024)
def _json_of_name(value: str) -> str:
    return _json(value)


def _quoted(text: str) -> str:
    return f'"{text}"' if text.isalnum() and text.isascii() else _json(text)


def shaping_settings(settings: BaseModel) -> dict[str, Any]:
    """The settings that shape a stage's output; time limits, worker counts and the like are left out.

    A field is left out when it is declared with `json_schema_extra={"shapes_output": False}`.
    """
    kept: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, Mapping) and extra.get("shapes_output") is False:
            continue
        value = getattr(settings, name)
        kept[name] = shaping_settings(value) if isinstance(value, BaseModel) else _plain(value)
    return kept


def measuring_settings(settings: BaseModel) -> dict[str, Any]:
    """The settings that shape a stage's measures but not its output, where they are not as by default.

    A field is such when it is declared with `json_schema_extra={"shapes_output": False, "shapes_measures": True}`.
    """
    return {
        name: _plain(value)
        for name, field in type(settings).model_fields.items()
        if isinstance(extra := field.json_schema_extra, Mapping)
        and extra.get("shapes_measures") is True
        and (value := getattr(settings, name)) != field.get_default(call_default_factory=True)
    }


def stage_base(stage: Stage[Any], settings: StageSettings) -> str:
    """What all keys of a stage share in one run: its version, its settings, the libraries and models behind it."""
    return digest(
        [stage.name.value, stage.version, shaping_settings(settings), dict(stage.fingerprint(settings))],
    )


def document_key(base: str, previous: str, context: Mapping[str, Any]) -> str:
    """A document's key of one stage: the stage before, the stage itself, the context columns that shape the output."""
    return digest([base, previous, context])


class DocumentKeys:
    """`document_key` of many documents: what they share is written as JSON once."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def of(self, base: str, previous: str, context: Mapping[str, Any]) -> str:
        """The document's key."""
        name = repr(context)
        tail = self._known.get(name)
        if tail is None:
            # Every document has a context of its own where a path or a time is in it: those are not worth keeping.
            tail = self._known[name] = f",{_json(context)}]".encode()
            if len(self._known) > _KNOWN:
                self._known.clear()
        head = f"[{_quoted(base)},{_quoted(previous)}".encode()
        return hashlib.blake2b(head + tail, digest_size=16).hexdigest()


def code_digest(bases: Mapping[StageName, str]) -> str:
    """What made a run's figures: every stage with its settings and libraries, and every scorer's version."""
    return digest([dict(bases), scorers()])


def fetch_key(version: int, content_sha: str, media_type_declared: str | None) -> str:
    """The first link of the chain: the bytes, and the type that their name or server declares (it decides what the
    bytes leave open). How they were fetched does not matter.
    """
    return digest(["fetch", version, content_sha, media_type_declared])


def measures_key(
    stage_key: str,
    file: str,
    scorer: str,
    label_digest: str | None,
    measuring: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """The key of a document's metric rows: new labels, a new scorer or other `measuring_settings` re-score without
    re-ingesting.

    So does a new `file` under the same stage key: the bytes were fetched again, which cost what it cost then.
    """
    labels = "null" if label_digest is None else _quoted(label_digest)
    beside = f",{_json(dict(measuring))}" if measuring else ""
    text = f'["measures",{_quoted(stage_key)},{_json_of_name(file)},{_json_of_name(scorer)},{labels}{beside}]'
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, BaseModel):
        return shaping_settings(value)
    return value
