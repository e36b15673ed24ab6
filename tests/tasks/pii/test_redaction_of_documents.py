"""What a document's text and fields look like after redaction."""

import hashlib
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import ConfigurationError
from tasks.pii.fields import title_of
from tasks.pii.settings import PiiSettings
from tasks.pii.stage import run

Redact = Callable[..., dict[str, Any]]


def test_hidden_characters_hide_nothing(redact: Redact, cases: Path) -> None:
    case = cases / "29-hidden-characters"
    expected = json.loads((case / "case.json").read_text())["expect"]
    text = redact((case / "contacts.md").read_text().split("\n\n"))["text"]
    assert all(part not in text for part in expected["if_masked_absent"])
    assert all(part in text for part in expected["text_contains"])
    assert "office" not in text.replace("\u00ad", "")


@pytest.mark.parametrize(
    "address",
    [
        "mara@exam\u2060ple.org",
        "mara\u200d@example.org",
        "ma\ufeffra@example.org",
        "mara\uff20example.org",
        "mara@example\u200c.org",
    ],
)
def test_an_address_is_seen_through_any_invisible_character(redact: Redact, address: str) -> None:
    assert redact([f"Write to {address} today."])["text"] == "Write to [EMAIL_ADDRESS] today."


def test_offsets_are_code_points_of_clean_and_redacted_text(redact: Redact) -> None:
    clean = "\U0001f9d1\u200d\U0001f692 Write to a.b@example.org or to c@example.net."
    row = redact([clean])
    assert [clean[s["start"] : s["end"]] for s in row["spans"]] == ["a.b@example.org", "c@example.net"]
    assert {row["text"][s["redacted_start"] : s["redacted_end"]] for s in row["spans"]} == {"[EMAIL_ADDRESS]"}


def test_actions_follow_the_policy(redact: Redact, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ["a@example.org, 4111 1111 1111 1111, 203.0.113.7"]
    settings = PiiSettings(policy={"EMAIL_ADDRESS": "hash", "CREDIT_CARD": "drop", "IP_ADDRESS": "keep"})
    monkeypatch.delenv(settings.hash_key_variable, raising=False)
    with pytest.raises(ConfigurationError, match="holds no key"):
        redact(text, settings)
    monkeypatch.setenv(settings.hash_key_variable, "a secret of more than sixteen")
    key = hashlib.sha512(b"a secret of more than sixteen").digest()
    digest = hashlib.blake2b(b"a@example.org", key=key, digest_size=8, person=b"EMAIL_ADDRESS").hexdigest()
    row = redact(text, settings)
    assert row["text"] == f"[EMAIL_ADDRESS:{digest}], , 203.0.113.7"
    assert [span["action"] for span in row["spans"]] == ["hash", "drop", "keep"]


def test_equal_values_hash_alike_whatever_their_case(redact: Redact, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = PiiSettings(policy={"EMAIL_ADDRESS": "hash"})
    monkeypatch.setenv(settings.hash_key_variable, "a secret of more than sixteen")
    one, other = redact(["Ann@Example.org"], settings)["text"], redact(["ann@example.org"], settings)["text"]
    assert one == other


def test_a_policy_for_one_type_leaves_the_others_masked() -> None:
    assert PiiSettings(policy={"PERSON": "keep"}).action("EMAIL_ADDRESS") == "mask"


def test_an_unknown_type_in_the_policy_is_an_error(redact: Redact) -> None:
    with pytest.raises(ConfigurationError, match="EMAIL_ADRESS"):
        redact(["x"], PiiSettings(policy={"EMAIL_ADRESS": "mask"}))


def test_other_languages_are_searched_by_patterns_only(redact: Redact) -> None:
    row = redact(["John Smith schreibt an j.smith@example.org."], language="de")
    assert row["coverage"] == "unsupported_language"
    assert row["text"] == "John Smith schreibt an [EMAIL_ADDRESS]."
    assert redact(["John Smith writes."], language="und")["coverage"] == "unsupported_language"
    assert redact(["John Smith writes."], language="en")["text"] == "[PERSON] writes."


def test_title_and_path_follow_the_policy_and_authors_their_own(redact: Redact) -> None:
    about = {"uri": "people/john-smith/j.smith%40example.org?page=1", "authors": ["John Smith", "Ann <ann@x.org>"]}
    text = ["Report by John Smith", "John Smith lives here and works there."]
    row = redact(text, kinds={0: "heading"}, **about)
    fields = [(field["name"], field["value"]) for field in row["fields"]]
    assert fields == [
        ("title", "Report by [PERSON]"),
        ("author", "John Smith"),
        ("author", "Ann <[EMAIL_ADDRESS]>"),
        ("uri", "people/[PERSON]/[EMAIL_ADDRESS]?page=1"),
    ]
    masked = redact(text, PiiSettings(authors="mask"), **about)["fields"]
    assert [field["value"] for field in masked if field["name"] == "author"] == ["[PERSON]", "[PERSON]"]
    dropped = redact(text, PiiSettings(authors="drop"), **about)["fields"]
    assert not [field for field in dropped if field["name"] == "author"]


def test_a_heading_is_a_title_as_it_stands_in_the_clean_text() -> None:
    """As parsed, headings of a court's order hold the numbers that stand beside the lines."""
    parsed = {
        "meta_title": None,
        "elements": [
            {"element_id": 0, "kind": "heading", "level": 2, "text": "7 Cut away"},
            {"element_id": 1, "kind": "paragraph", "level": None, "text": "Filed in May."},
            {"element_id": 2, "kind": "heading", "level": 2, "text": "1 ORDER ON MOTION\n2 TO DISMISS"},
            {"element_id": 3, "kind": "heading", "level": 2, "text": "3 Background"},
        ],
    }
    text = "Filed in May.\n\nORDER ON MOTION\nTO DISMISS\n\nBackground"
    spans = [(0, 0, 0), (1, 0, 13), (2, 15, 41), (3, 43, 53)]
    clean = {"text": text, "elements": [{"element_id": i, "start": a, "end": b} for i, a, b in spans]}
    assert title_of(parsed, clean) == "ORDER ON MOTION TO DISMISS"
    parsed["elements"][3]["level"] = 1
    assert title_of(parsed, clean) == "Background"
    assert title_of(parsed, clean | {"elements": clean["elements"][:2]}) is None


def test_the_declared_title_comes_before_headings(redact: Redact) -> None:
    row = redact(["A heading"], title="Contact: a@example.org", kinds={0: "heading"})
    assert row["fields"][0]["value"] == "Contact: [EMAIL_ADDRESS]"


def test_what_was_found_once_is_redacted_everywhere(redact: Redact) -> None:
    row = redact(["Call me at 467 3395 please.", "467 3395"])
    assert row["text"] == "Call me at [PHONE_NUMBER] please.\n\n[PHONE_NUMBER]"


def test_a_batch_gives_the_rows_of_its_documents_alone(
    make_batch: Callable[..., Any], make_document: Callable[..., Any]
) -> None:
    documents = [
        make_document("a", ["John Smith met Mary Jones in Paris.", "Phone 020 7946 0958"]),
        make_document("b", ["Mary Jones wrote a long letter to the editor.", "mary@example.org"]),
        make_document("c", [], language="und"),
    ]
    settings = PiiSettings()
    together = run(make_batch(*documents), settings, None).table.to_pylist()  # type: ignore[arg-type]
    alone = [run(make_batch(d), settings, None).table.to_pylist()[0] for d in documents]  # type: ignore[arg-type]
    backwards = run(make_batch(*documents[::-1]), settings, None).table.to_pylist()  # type: ignore[arg-type]
    assert together == alone == backwards[::-1]


def test_nothing_is_fetched_from_the_network(redact: Redact, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert redact(["Mail a@example.co.uk"])["text"] == "Mail [EMAIL_ADDRESS]"


def test_a_text_longer_than_the_model_takes_is_searched_all_the_same(redact: Redact) -> None:
    # spaCy refuses more than a million characters at once. An SSN without the word for it scores too little.
    # Long words, since what takes its time is their number.
    lid = "green" * 40
    rows = "".join(f"Row {number} of the list has a {lid} lid.\n" for number in range(5_000))
    found = redact([f"Her social security number is 536-22-8714.\n{rows}Write to mara@example.org today."])["text"]
    assert len(rows) > 1_000_000
    assert found.startswith("Her social security number is [US_SSN].\nRow 0 of")
    assert found.endswith(f"Row 4999 of the list has a {lid} lid.\nWrite to [EMAIL_ADDRESS] today.")


def test_a_word_before_a_number_counts_in_every_piece_of_a_long_text(redact: Redact) -> None:
    filler = "The weir opens at noon and closes at dusk.\n" * 600  # 25,800 characters: more than one piece
    line = "Her social security number is 536-22-8714.\n"
    text = redact([line + filler + line + filler + line])["text"]
    assert text.count("[US_SSN]") == 3
    assert "8714" not in text
