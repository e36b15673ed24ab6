"""An endpoint that misbehaves costs time, a document or the run, and never a wrong vector."""

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tasks.embedding.endpoint import EndpointModel, retry_seconds
from tasks.embedding.settings import EmbeddingSettings, EndpointSettings
from tasks.errors import ConfigurationError, RunError
from tests.tasks.embedding.server import Answer, Behaviour, Server, ok, right, vector_of


def model(server: Server, **settings: Any) -> EndpointModel:
    given = {"url": server.url, "model": "m", "dimension": 3, "backoff_seconds": 0.01, "attempts": 4} | settings
    return EndpointModel(EndpointSettings(**given))


TEXTS = ["alpha", "beta seen", "gamma here", "delta", "eee"]


def unit(text: str) -> np.ndarray[Any, Any]:
    vector = np.array(vector_of(text))
    return vector / np.linalg.norm(vector)


def expect(made: Any, texts: list[str] = TEXTS) -> None:
    assert made.refused == {}
    np.testing.assert_allclose(made.vectors, [unit(text) for text in texts], rtol=1e-6)


def test_texts_travel_in_batches_and_come_back_as_unit_vectors(server: Server) -> None:
    made = model(server, batch_size=2).embed(TEXTS)
    expect(made)
    assert server.asked == [TEXTS[:2], TEXTS[2:4], TEXTS[4:]]
    assert server.bodies[0].keys() == {"model", "input", "encoding_format"}


def test_prefixes_and_dimension_are_sent(server: Server) -> None:
    asked = model(server, query_prefix="query: ", passage_prefix="passage: ", send_dimension=True)
    asked.embed(["x"])
    asked.embed(["x"], query=True)
    assert server.asked == [["passage: x"], ["query: x"]]
    assert server.bodies[0]["dimensions"] == 3


@pytest.mark.parametrize(
    "trouble",
    [
        lambda texts: (500, {}, b"oops"),
        lambda texts: (503, {}, b""),
        lambda texts: (429, {"retry-after": "0"}, b"{}"),
        lambda texts: (200, {}, json.dumps({"data": right(texts)}).encode()[:-9]),
        lambda texts: (200, {}, b'{"error": "none"}'),
        lambda texts: (200, {}, b'{"data": 7}'),
        lambda texts: (200, {}, b"[]"),
        lambda texts: (200, {}, b"[" * 200_000),
        lambda texts: (200, {}, b'{"data": [{"index": 0, "embedding": ' + b"[" * 200_000),
        lambda texts: (503, {"retry-after": "\u00b2"}, b""),
    ],
    ids=["500", "503", "429", "torn JSON", "no data", "data is a number", "a list", "deep", "deep data", "superscript"],
)
def test_a_failed_answer_is_asked_for_again(server: Server, trouble: Behaviour) -> None:
    server.script = [trouble, trouble]
    expect(model(server).embed(TEXTS))
    assert server.asked == [TEXTS] * 3


def test_vectors_are_matched_by_index_not_by_order(server: Server) -> None:
    server.script = [lambda texts: ok(right(texts)[::-1])]
    expect(model(server).embed(TEXTS))


@pytest.mark.parametrize(
    ("spoil", "missing"),
    [
        (lambda items: items[:2], TEXTS[2:]),
        (lambda items: [*items[:1], *items[2:]], ["beta seen"]),
        (lambda items: [*items[:-1], items[0]], ["alpha", "eee"]),
        (lambda items: [items[0] | {"embedding": [float("nan")] * 3}, *items[1:]], ["alpha"]),
        (lambda items: [items[0] | {"embedding": [0, 0, 0]}, *items[1:]], ["alpha"]),
        (lambda items: [items[0] | {"embedding": [10**400, 1, 1]}, *items[1:]], ["alpha"]),
        (lambda items: [items[0] | {"embedding": None}, *items[1:]], ["alpha"]),
        (lambda items: [items[0] | {"embedding": ["1", "2", "3"]}, *items[1:]], ["alpha"]),
        (lambda items: [items[0] | {"index": 99}, *items[1:]], ["alpha"]),
        (lambda items: [{"embedding": items[0]["embedding"]}, *items[1:]], ["alpha"]),
        (lambda items: [*items, items[0] | {"index": 5}, items[1] | {"index": -1}], None),
    ],
    ids=[
        "short",
        "one missing",
        "one twice",
        "NaN",
        "zero",
        "huge",
        "null",
        "strings",
        "index beyond",
        "no index",
        "too many",
    ],
)
def test_only_what_is_missing_is_asked_for_again(server: Server, spoil: Any, missing: list[str] | None) -> None:
    server.script = [lambda texts: ok(spoil(right(texts)))]
    expect(model(server).embed(TEXTS))
    assert server.asked == ([TEXTS, missing] if missing else [TEXTS])


def test_a_text_that_never_gets_a_vector_is_named_and_the_others_are_kept(server: Server) -> None:
    server.script = [lambda texts: ok([item for item in right(texts) if texts[item["index"]] != "delta"])] * 9
    made = model(server).embed(TEXTS)
    assert made.refused == {3: "the endpoint sent no usable vector for it"}
    assert not made.vectors[3].any()
    np.testing.assert_allclose(made.vectors[4], unit("eee"), rtol=1e-6)
    assert server.asked == [TEXTS, ["delta"], ["delta"], ["delta"]]


def test_a_text_that_spoils_its_request_is_found_and_the_others_are_embedded(server: Server) -> None:
    server.script = [
        lambda texts: (400, {}, b'{"error": "too long"}') if "gamma here" in texts else ok(right(texts))
    ] * 20
    made = model(server).embed(TEXTS)
    assert made.refused == {2: "the endpoint refused it (400)"}
    for i in (0, 1, 3, 4):
        np.testing.assert_allclose(made.vectors[i], unit(TEXTS[i]), rtol=1e-6)


def test_vectors_of_another_length_stop_the_run(server: Server) -> None:
    with pytest.raises(RunError, match="sends vectors of 3 numbers, 4 are stated"):
        model(server, dimension=4).embed(TEXTS)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_is_said_at_once(server: Server, status: int) -> None:
    server.script = [lambda texts: (status, {}, b"secret details")]
    with pytest.raises(ConfigurationError, match=f"answers {status} for model 'm'"):
        model(server).embed(TEXTS)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_another_address_is_not_followed_but_named_as_a_mistake(server: Server, status: int) -> None:
    server.script = [lambda texts: (status, {"location": server.url + "/elsewhere"}, b"")]
    with pytest.raises(ConfigurationError, match=f"answers {status}: it sends elsewhere"):
        model(server).embed(TEXTS)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 413, 415, 422])
@pytest.mark.parametrize("texts", [TEXTS, ["alpha"]], ids=["five texts", "one text"])
def test_an_endpoint_that_refuses_everything_is_a_mistake_of_the_configuration(
    server: Server, status: int, texts: list[str]
) -> None:
    server.script = [lambda texts: (status, {}, b"private words")] * 20
    with pytest.raises(ConfigurationError, match=rf"a single word neither: the endpoint refused it \({status}\)"):
        model(server, passage_prefix="p: ").embed(texts)
    assert server.asked[-1] == ["p: word"]
    assert {text for asked in server.asked[:-1] for text in asked} == {f"p: {text}" for text in texts}


def test_texts_that_are_refused_alone_among_none_sound_are_their_own_fault(server: Server) -> None:
    refusing = model(server)
    server.script = [lambda texts: (400, {}, b"")] * 3
    assert refusing.embed(["alpha", "delta"]).refused == dict.fromkeys((0, 1), "the endpoint refused it (400)")
    assert server.asked == [["alpha", "delta"], ["delta"], ["alpha"], ["word"]]
    server.script = [lambda texts: (400, {}, b"")]
    assert refusing.embed(["eee"]).refused == {0: "the endpoint refused it (400)"}
    assert server.asked[4:] == [["eee"]]


def test_an_endpoint_that_stays_busy_stops_the_run_after_the_attempts(server: Server) -> None:
    server.script = [lambda texts: (429, {}, b"")] * 9
    with pytest.raises(RunError, match="gives no vectors: it answers 429") as caught:
        model(server).embed(TEXTS)
    assert len(server.asked) == 4
    assert "alpha" not in str(caught.value)


def test_a_longer_retry_after_is_kept_and_one_too_long_stops_the_run(server: Server) -> None:
    server.script = [lambda texts: (429, {"retry-after": "1"}, b"")]
    started = time.monotonic()
    expect(model(server).embed(TEXTS))
    assert time.monotonic() - started >= 1
    server.script = [lambda texts: (503, {"retry-after": "3600"}, b"")]
    with pytest.raises(RunError, match="it asks to wait 3600 s"):
        model(server).embed(TEXTS)


def test_a_retry_after_may_be_a_date() -> None:
    in_a_minute = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 55 < retry_seconds(in_a_minute) <= 60
    assert retry_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0


@pytest.mark.parametrize("value", ["²", "٣", "-5", "1e9", "", "Wed, 21 Oct 99999999999 07:28:00 +9999999999"])
def test_a_retry_after_that_is_none_asks_for_no_wait(value: str) -> None:
    assert retry_seconds(value) == 0


def test_a_slow_answer_is_given_up(server: Server) -> None:
    def slow(texts: list[str]) -> Answer:
        time.sleep(1)
        return ok(right(texts))

    server.script = [slow]
    expect(model(server, timeout_seconds=0.3).embed(TEXTS))
    assert len(server.asked) == 2
    server.script = [slow, slow]
    with pytest.raises(RunError, match=r"no answer within 0.2 s"):
        model(server, timeout_seconds=0.2, attempts=2).embed(TEXTS)


def test_nobody_at_the_address_stops_the_run(server: Server) -> None:
    gone = model(server, attempts=2)
    server.close()
    with pytest.raises(RunError, match=r"no connection \(ConnectError\)"):
        gone.embed(TEXTS)
    server.close = lambda: None  # type: ignore[method-assign]


def test_the_key_is_read_from_its_variable_and_stands_nowhere_else(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyed = model(server, api_key_env="CORPUSGATE_TEST_KEY")
    with pytest.raises(ConfigurationError, match="the environment variable CORPUSGATE_TEST_KEY holds no key"):
        keyed.embed(["x"])
    monkeypatch.setenv("CORPUSGATE_TEST_KEY", "s3cr3t")
    keyed.embed(["x"])
    assert server.keys == ["Bearer s3cr3t"]
    assert "s3cr3t" not in keyed.version


def test_white_space_is_never_sent_and_has_the_zero_vector(server: Server) -> None:
    made = model(server).embed(["", "alpha", " \n"])
    assert server.asked == [["alpha"]]
    assert [bool(row.any()) for row in made.vectors] == [False, True, False]


def test_whatever_shapes_a_vector_is_in_the_version(server: Server) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"model": "n"},
        {"revision": "2"},
        {"dimension": 4},
        {"query_prefix": "q"},
        {"passage_prefix": "q"},
        {"url": server.url + "/x"},
    ]
    assert len({model(server, **change).version for change in changes}) == len(changes)
    assert model(server, timeout_seconds=5, batch_size=1).version == model(server).version


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "https://user:pw@host/v1",
        "host/v1",
        "http://",
        "https://host/v1?key=s3cr3t",
        "https://host?key=s3cr3t",
        "https://host/v1#s3cr3t",
        "https://host/v1\n",
    ],
)
def test_an_address_that_is_none_or_carries_a_secret_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match=r"must be http.* api_key_env"):
        EndpointSettings(url=url, model="m", dimension=3)


def test_model_and_its_settings_go_together() -> None:
    with pytest.raises(ValidationError, match="go together"):
        EmbeddingSettings(model="endpoint")
    with pytest.raises(ValidationError, match="go together"):
        EmbeddingSettings(endpoint=EndpointSettings(url="http://h/v1", model="m", dimension=3))
