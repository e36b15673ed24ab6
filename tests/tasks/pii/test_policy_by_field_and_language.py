"""The policy of one field, and models of other languages."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.errors import ConfigurationError
from tasks.pii.detection import check_policy
from tasks.pii.settings import PiiSettings
from tasks.pii.stage import fingerprint

Redact = Callable[..., dict[str, Any]]


def of(**about: Any) -> PiiSettings:
    return PiiSettings.model_validate(about)


def test_a_field_may_have_a_policy_of_its_own(redact: Redact, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = of(field_policy={"title": {"PERSON": "keep", "EMAIL_ADDRESS": "hash"}, "uri": {"PERSON": "drop"}})
    about = {"title": "Report by John Smith, j@example.org", "uri": "people/john-smith/notes.md"}
    monkeypatch.delenv(settings.hash_key_variable, raising=False)
    with pytest.raises(ConfigurationError, match="holds no key"):
        redact(["x"], settings)
    monkeypatch.setenv(settings.hash_key_variable, "a secret of more than sixteen")
    row = redact(["John Smith lives here. Mail j@example.org."], settings, **about)
    assert row["text"] == "[PERSON] lives here. Mail [EMAIL_ADDRESS]."
    title, uri = ({f["name"]: f for f in row["fields"]}[name] for name in ("title", "uri"))
    assert title["value"].startswith("Report by John Smith, [EMAIL_ADDRESS:")
    assert title["types"] == ["EMAIL_ADDRESS"]
    assert (uri["value"], uri["types"]) == ("people//notes.md", ["PERSON"])


def test_a_type_that_one_field_alone_redacts_is_looked_for(redact: Redact) -> None:
    settings = of(field_policy={"title": {"LOCATION": "mask"}})
    row = redact(["She lives in London now."], settings, title="A walk through London")
    assert row["text"] == "She lives in London now."
    assert [(s["type"], s["action"]) for s in row["spans"]] == [("LOCATION", "keep")]
    assert row["fields"][0]["value"] == "A walk through [LOCATION]"


def test_authors_are_hashed_whole(redact: Redact, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = of(authors="hash")
    monkeypatch.setenv(settings.hash_key_variable, "a secret of more than sixteen")
    fields = redact(["x"], settings, authors=["Ann Lee", "ANN LEE", "Bo Ek"])["fields"]
    one, same, other = (field["value"] for field in fields if field["name"] == "author")
    assert one == same != other
    assert one.startswith("[PERSON:")
    with pytest.raises(ValidationError, match="key `authors`"):
        of(field_policy={"authors": {"PERSON": "mask"}})


def test_an_unknown_type_in_the_policy_of_a_field_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"stages\.pii\.field_policy\.title names unknown .*PRESON"):
        check_policy(of(field_policy={"title": {"PRESON": "mask"}}))


def test_a_language_with_a_model_is_searched_for_names(redact: Redact) -> None:
    text = "Le rapport a été écrit par Élodie Marchand à Lyon, tél. 01 70 18 42 11."
    plain = redact([text], language="fr")
    assert plain["coverage"] == "unsupported_language"
    assert "Élodie Marchand" in plain["text"]
    french = of(models={"fr": "fr_core_news_sm"})
    row = redact([text], french, language="fr")
    assert row["coverage"] == "model"
    assert row["text"] == "Le rapport a été écrit par [PERSON] à Lyon, tél. [PHONE_NUMBER]."
    # English keeps its model, and a language without one its status.
    assert redact(["John Smith writes."], french)["text"] == "[PERSON] writes."
    assert redact(["John Smith schreibt."], french, language="de")["coverage"] == "unsupported_language"
    assert fingerprint(french)["fr_core_news_sm"] == "3.8.0"
    assert "fr_core_news_sm" not in fingerprint(PiiSettings())


def test_a_model_can_be_taken_away(redact: Redact) -> None:
    row = redact(["John Smith writes from j@example.org."], of(models={"en": None}))
    assert (row["coverage"], row["text"]) == ("unsupported_language", "John Smith writes from [EMAIL_ADDRESS].")


def test_a_model_that_is_not_installed_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match=r"stages\.pii\.models\.pt.*pt_core_none_sm is not installed"):
        check_policy(of(models={"pt": "pt_core_none_sm"}))
