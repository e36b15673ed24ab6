"""What a configuration itself says of personal data: its recognizers, deny list and allow list, and their limits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.errors import ConfigurationError
from tasks.pii.settings import PiiSettings
from tasks.pii.stage import run
from tasks.run.configuration import parse_configuration

Redact = Callable[..., dict[str, Any]]

EMPLOYEE = {
    "name": "EMPLOYEE_ID",
    "patterns": [{"regex": r"\bE-\d{5}\b", "score": 0.3}],
    "context": ["badge", "Ausweis"],
}


def of(**about: Any) -> PiiSettings:
    return PiiSettings.model_validate(about)


def test_a_pattern_is_masked_where_its_context_stands_before_it(redact: Redact) -> None:
    settings = of(recognizers=[EMPLOYEE])
    text = "Show the badge E-10442 at the gate. The pump E-10443 hums."
    row = redact([text], settings)
    assert row["text"] == "Show the badge [EMPLOYEE_ID] at the gate. The pump E-10443 hums."
    assert [(s["type"], s["score"], s["action"]) for s in row["spans"]] == [("EMPLOYEE_ID", 0.65, "mask")]
    # Own recognizers know no language: the words of their context are the user's own.
    assert redact(["Ausweis: E-10442"], settings, language="de")["text"] == "Ausweis: [EMPLOYEE_ID]"
    eager = of(recognizers=[EMPLOYEE], thresholds={"EMPLOYEE_ID": 0.2}, policy={"EMPLOYEE_ID": "drop"})
    assert redact(["The pump E-10443 hums."], eager)["text"] == "The pump  hums."


def test_own_values_are_found_in_title_authors_and_path(redact: Redact) -> None:
    settings = of(recognizers=[{"name": "EMPLOYEE_ID", "patterns": [{"regex": r"E-\d{5}"}]}])
    row = redact(["Text."], settings, uri="staff/E-10442.md", title="On E-10442", authors=["E-10442"])
    assert [(f["name"], f["value"]) for f in row["fields"]] == [
        ("title", "On [EMPLOYEE_ID]"),
        ("author", "[EMPLOYEE_ID]"),
        ("uri", "staff/[EMPLOYEE_ID].md"),
    ]


def test_a_denied_value_is_always_found_and_an_allowed_one_never(redact: Redact) -> None:
    text = "Rubija  Šime met Project Nightjar at office@example.org, not desk@example.org."
    settings = of(
        deny_list={"PERSON": ["rubija šime"]},
        recognizers=[{"name": "PROJECT", "deny_list": ["Nightjar"]}],
        allow_list=["Office@Example.org"],
    )
    found = redact([text], settings, language="hr")["text"]
    assert found == "[PERSON] met Project [PROJECT] at office@example.org, not [EMAIL_ADDRESS]."
    # As whole words only.
    assert redact(["Nightjars"], settings, language="hr")["text"] == "Nightjars"


def test_a_name_with_digits_is_believed_where_the_deny_list_says_so(redact: Redact) -> None:
    assert redact(["agent 99 left"], of(deny_list={"PERSON": ["agent 99"]}))["text"] == "[PERSON] left"


def test_a_pattern_that_never_ends_costs_its_document_and_no_other(
    make_batch: Callable[..., Any], make_document: Callable[..., Any]
) -> None:
    # Each letter may be taken in two ways: twice the time for every letter more.
    settings = of(recognizers=[{"name": "X_CODE", "patterns": [{"regex": r"(?:a|a)+#"}]}], regex_seconds=0.2)
    batch = make_batch(make_document("bad", ["secretword " + "a" * 80 + "!"]), make_document("good", ["aaa#"]))
    output = run(batch, settings, None)  # type: ignore[arg-type]
    assert [row["text"] for row in output.table.to_pylist()] == ["[X_CODE]"]
    (failure,) = output.failures
    assert (failure.document_id, failure.error_class, failure.transient) == ("bad", "timeout", False)
    assert "X_CODE" in failure.message
    assert "secretword" not in failure.message + failure.remedy


@pytest.mark.parametrize(
    ("pattern", "said"),
    [(r"E-(\d+", "no regular expression"), (r"\d*", "matches the empty text"), ("", "at least 1 character")],
)
def test_a_wrong_pattern_is_named_with_its_place(pattern: str, said: str, tmp_path: Path) -> None:
    pii = {"recognizers": [{"name": "EMPLOYEE_ID", "patterns": [{"regex": r"E-\d+"}, {"regex": pattern}]}]}
    data = {
        "lake": "lake",
        "sources": [{"name": "s", "type": "files", "root": "corpus"}],
        "stages": {"pii": pii},
    }
    with pytest.raises(ConfigurationError, match=said) as raised:
        parse_configuration(data, tmp_path / "corpusgate.yaml")
    assert "stages.pii.recognizers.0.patterns.1.regex" in str(raised.value)


def test_a_recognizer_that_can_find_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="neither patterns nor a deny_list"):
        of(recognizers=[{"name": "EMPLOYEE_ID", "context": ["badge"]}])
