"""Embeddings from a server that speaks OpenAI's protocol, which may be slow, busy, wrong or gone.

Every text is asked for until it has a usable vector: a failed or partial answer costs only the texts that are still
without one. Vectors are matched to texts by the answer's `index`, never by its order.
"""

import json
import math
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.model import Embedded
from tasks.embedding.settings import EndpointSettings
from tasks.embedding.tokenizers import DEFAULT_TOKENIZER, tokenizer
from tasks.errors import ConfigurationError, RunError
from tasks.http_logging import tell_no_requests

_BUSY = frozenset({408, 409, 425, 429})
_NOT_ALLOWED = frozenset({401, 402, 403, 404, 405, 407})
_LARGEST_ANSWER = 1 << 30
_UNUSABLE = "the endpoint sent no usable vector for it"
_REFUSED = "the endpoint refused it"
_SHORTEST_TEXT = "word"


class EndpointModel:
    """A model behind an endpoint."""

    name = "endpoint"
    cached = True

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._tokenizer = tokenizer(str(settings.tokenizer_file or DEFAULT_TOKENIZER))
        self._client: Any = None
        self._has_answered = False

    @property
    def dimension(self) -> int:
        """As the settings state it; every answer is held against it."""
        return self._settings.dimension

    @property
    def max_tokens(self) -> int | None:
        """As the settings state it."""
        return self._settings.max_tokens

    @property
    def version(self) -> str:
        """The model's name, revision and dimension, and a digest of the address and the prefixes."""
        s = self._settings
        beside = json.dumps(
            [s.url, s.query_prefix, s.passage_prefix, s.send_dimension, dict(self._tokenizer.fingerprint)]
        )
        parts = [s.model, s.revision, str(s.dimension), sha256(beside.encode()).hexdigest()[:12]]
        return "+".join(part for part in parts if part)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        """Vectors of unit norm. A text that has none after all attempts is in `refused`; white space is never sent.

        Raises:
            ConfigurationError: the key is not set, or the endpoint does not accept it, does not know the model, sends
                elsewhere, or has a vector for nothing.
            RunError: the endpoint does not answer, or its vectors have another dimension than stated.
        """
        s = self._settings
        prefix = s.query_prefix if query else s.passage_prefix
        vectors = np.zeros((len(texts), s.dimension), np.float32)
        refused: dict[int, str] = {}
        said = [i for i, text in enumerate(texts) if text.strip()]
        for start in range(0, len(said), s.batch_size):
            part = said[start : start + s.batch_size]
            made, without = self._insist([prefix + texts[i] for i in part])
            for position, vector in made.items():
                vectors[part[position]] = vector
            if not made:
                self._check_that_it_answers(prefix)
            refused |= {part[position]: why for position, why in without.items()}
        return Embedded(vectors, np.array(self._tokenizer.count([prefix + t for t in texts]), np.int32), refused)

    def _check_that_it_answers(self, prefix: str) -> None:
        """Tells texts at fault from an endpoint at fault: until it has given a vector, a single word is tried.

        Raises:
            ConfigurationError: there is no vector for it either.
        """
        if self._has_answered:
            return
        _, without = self._insist([prefix + _SHORTEST_TEXT])
        if without:
            raise ConfigurationError(
                f"the embedding endpoint {self._settings.url} has a vector for no text of the first request, and for "
                f"a single word neither: {without[0]}",
                remedy="look at the endpoint's own log for what it does not accept; check endpoint.model, "
                "endpoint.send_dimension and the prefixes",
            )

    def _insist(self, texts: Sequence[str]) -> tuple[dict[int, NDArray[np.float32]], dict[int, str]]:
        """({position: vector}, {position: why there is none}). Only what is missing is asked for again."""
        made: dict[int, NDArray[np.float32]] = {}
        refused: dict[int, str] = {}
        groups = [list(range(len(texts)))]
        while groups:
            group = groups.pop()
            waits = self._waits()
            problem = _UNUSABLE
            while group:
                response = self._ask([texts[i] for i in group])
                if isinstance(response, _Refusal):
                    if len(group) == 1:
                        refused[group[0]] = f"{_REFUSED} ({response.status})"
                    else:  # one text spoils the request: halves find it
                        groups += [group[: len(group) // 2], group[len(group) // 2 :]]
                    break
                if isinstance(response, _Trouble):
                    problem, retry_after = response.problem, response.retry_after
                else:
                    found = self._usable(response, len(group))
                    self._has_answered = self._has_answered or bool(found)
                    made |= {group[position]: vector for position, vector in found.items()}
                    group = [i for position, i in enumerate(group) if position not in found]
                    problem, retry_after = _UNUSABLE, 0.0
                if not group:
                    break
                wait = next(waits, None)
                if wait is None:
                    if problem != _UNUSABLE:
                        raise self._gone(problem)
                    refused |= dict.fromkeys(group, _UNUSABLE)
                    break
                if retry_after > self._settings.longest_wait_seconds:
                    raise self._gone(f"it asks to wait {retry_after:.0f} s")
                time.sleep(max(wait, retry_after))
        return made, refused

    def _waits(self) -> Iterator[float]:
        """Seconds before each further attempt: doubled, up to a limit, less a random part so that clients spread."""
        for n in range(self._settings.attempts - 1):
            longest = min(self._settings.backoff_seconds * 2**n, self._settings.longest_wait_seconds)
            yield longest * (1 - random.random() / 4)  # noqa: S311

    def _ask(self, texts: Sequence[str]) -> "list[Any] | _Trouble | _Refusal":
        """The answer's `data`, or what went wrong.

        Raises:
            ConfigurationError: as `embed`.
        """
        import httpx

        s = self._settings
        body: dict[str, Any] = {"model": s.model, "input": list(texts), "encoding_format": "float"}
        if s.send_dimension:
            body["dimensions"] = s.dimension
        started = time.monotonic()
        received = bytearray()
        try:
            with self._http().stream("POST", f"{s.url}/embeddings", json=body, headers=self._headers()) as response:
                # A time-out of the client counts from the last byte; a trickle must end too.
                for block in response.iter_bytes():
                    received += block
                    if time.monotonic() - started > s.timeout_seconds:
                        return _Trouble(f"no whole answer within {s.timeout_seconds:g} s")
                    if len(received) > _LARGEST_ANSWER:
                        return _Trouble("an answer of more than 1 GiB")
                status, headers = response.status_code, response.headers
        except httpx.TimeoutException:
            return _Trouble(f"no answer within {s.timeout_seconds:g} s")
        except httpx.TransportError as error:
            return _Trouble(f"no connection ({type(error).__name__})")
        if 300 <= status < 400:
            raise ConfigurationError(
                f"the embedding endpoint {s.url} answers {status}: it sends elsewhere, which is not followed",
                remedy="set endpoint.url to the address that answers itself",
            )
        if status in _NOT_ALLOWED:
            raise ConfigurationError(
                f"the embedding endpoint {s.url} answers {status} for model {s.model!r}",
                remedy="check endpoint.url and endpoint.model, and the key in the variable that api_key_env names",
            )
        if status in _BUSY or status >= 500:
            return _Trouble(f"it answers {status}", retry_seconds(headers.get("retry-after")))
        if status != 200:
            return _Refusal(status)
        try:
            data = json.loads(received)["data"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return _Trouble("its answer is no JSON with `data`")
        return data if isinstance(data, list) else _Trouble("its answer is no JSON with `data`")

    def _usable(self, data: Sequence[Any], asked: int) -> dict[int, NDArray[np.float32]]:
        """The sound vectors by position, scaled to unit norm. An index that two items claim belongs to neither.

        Raises:
            RunError: a vector has another dimension than stated.
        """
        found: dict[int, NDArray[np.float32]] = {}
        claimed: set[int] = set()
        for item in data:
            index = item.get("index") if isinstance(item, Mapping) else None
            if type(index) is not int or not 0 <= index < asked:
                continue
            if index in claimed:
                found.pop(index, None)
                continue
            claimed.add(index)
            vector = _numbers(item.get("embedding"))
            if vector is None:
                continue
            if len(vector) != self._settings.dimension:
                raise RunError(
                    f"the embedding endpoint {self._settings.url} sends vectors of {len(vector)} numbers, "
                    f"{self._settings.dimension} are stated",
                    remedy="set endpoint.dimension to what the model gives; nothing of this answer was stored",
                )
            norm = float(np.linalg.norm(vector))
            if math.isfinite(norm) and norm > 0:
                found[index] = (vector / norm).astype(np.float32)
        return found

    def _headers(self) -> dict[str, str]:
        name = self._settings.api_key_env
        return {} if name is None else {"Authorization": f"Bearer {api_key(name)}"}

    def _http(self) -> Any:
        if self._client is None:
            import httpx

            tell_no_requests()
            self._client = httpx.Client(timeout=self._settings.timeout_seconds)
        return self._client

    def _gone(self, problem: str) -> RunError:
        return RunError(
            f"the embedding endpoint {self._settings.url} gives no vectors: {problem}",
            remedy="see to the endpoint, then give the same command again; what is embedded is kept",
        )


class _Trouble:
    """The whole request has to be made again."""

    def __init__(self, problem: str, retry_after: float = 0.0) -> None:
        self.problem = problem
        self.retry_after = retry_after


class _Refusal:
    """The request will never be accepted as it is."""

    def __init__(self, status: int) -> None:
        self.status = status


def api_key(name: str) -> str:
    """The key in an environment variable.

    Raises:
        ConfigurationError: it is not set, is empty, or cannot stand in a header.
    """
    key = os.environ.get(name, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigurationError(
            f"the environment variable {name} holds no key for the embedding endpoint",
            remedy=f"set it: export {name}=…",
        )
    return key


def retry_seconds(value: str | None) -> float:
    """Seconds that a `Retry-After` header asks to wait, given as a number or a date (RFC 9110, 10.2.3); else 0.

    >>> retry_seconds("7"), retry_seconds("soon"), retry_seconds("²"), retry_seconds(None)
    (7.0, 0.0, 0.0, 0.0)
    """
    if value is None:
        return 0.0
    if value.isascii() and value.strip().isdigit():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return 0.0


def _numbers(value: Any) -> NDArray[np.float64] | None:
    if not isinstance(value, list) or not value:
        return None
    if not all(type(number) in (int, float) for number in value):
        return None
    try:
        return np.array(value, np.float64) if all(map(math.isfinite, value)) else None
    except OverflowError:  # an integer beyond any float
        return None
