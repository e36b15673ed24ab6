"""Identifiers, dates, versions and log lines are left alone; what is personal among them is not."""

from collections.abc import Callable
from typing import Any

import pytest

Redact = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    "text",
    [
        "id 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "sha1 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "Part number 555-0143-7788",
        "Part no. 123-456-7890",
        "order 2025550143",
        "serial G-20917",
        "ISBN 978-3-16-148410-0",
        "2024-05-01 12:34:56,789 INFO [main] c.a.Service - took 1234567 ms pid=20145 id=1700000000 thread-12",
        "Version 10.0.19041.1 and v1.2.3.4",
        "localhost is 127.0.0.1, the mask 255.255.255.0",
        "Released 12.05.2021, meeting 01/02/2024 - 03/04/2024",
        "1.234.567,89 EUR for 12 345 678 people",
        "std::vector<int>",
        "UTC 20240501123456",
        "16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48",
        "ratio 10:20:30:40:50:60",
        "tracking 1Z999AA10123456784",
    ],
)
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_look_alike_is_not_flagged(redact: Redact, text: str, language: str) -> None:
    assert redact([text], language=language)["text"] == text


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Tel. 020 7946 0958", "Tel. [PHONE_NUMBER]"),
        ("Call (555) 123-4567 now", "Call [PHONE_NUMBER] now"),
        ("Phone: 467 3395", "Phone: [PHONE_NUMBER]"),
        ("Reach us at +1 555 010 0199 x12.", "Reach us at [PHONE_NUMBER]."),
        ("card 4111 1111 1111 1111", "card [CREDIT_CARD]"),
        ("card 4111 1111 1111 1112", "card 4111 1111 1111 1112"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [IBAN_CODE]"),
        ("NHS number 943 476 5919", "NHS number [UK_NHS]"),
        ("from 203.0.113.7 and 2001:db8::8a2e:370:7334", "from [IP_ADDRESS] and [IP_ADDRESS]"),
        ("My SSN is 219-09-9998", "My SSN is [US_SSN]"),
        ("mac 16:27:ac:a5:76:28", "mac [MAC_ADDRESS]"),
    ],
)
def test_the_real_thing_is_flagged(redact: Redact, text: str, redacted: str) -> None:
    assert redact([text])["text"] == redacted


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("P-106\tForge Yard 8\t205\nP-110\tJetty Road 12\t353", ["Forge Yard 8", "Jetty Road 12"]),
        ("The shop stands at 4 Alice Lane, next to Marlowe Street.", ["4 Alice Lane", "Marlowe Street"]),
        ("S-224\tMarlowe Street 26\t51\nS-225\tJetty Road 27\t88", ["Marlowe Street 26", "Jetty Road 27"]),
    ],
)
def test_a_street_is_no_person(redact: Redact, text: str, kept: list[str]) -> None:
    assert all(street in redact([text])["text"] for street in kept)


def test_a_surname_that_is_a_street_word_too_stays_a_name(redact: Redact) -> None:
    assert redact(["Ask Susan Hill or John Lane about the keys."])["text"] == "Ask [PERSON] or [PERSON] about the keys."


def test_names_are_cut_to_their_words(redact: Redact) -> None:
    assert redact(["John Smith's office\tMary Jones"])["text"] == "[PERSON]'s office\t[PERSON]"


def test_code_is_searched_by_patterns_only(redact: Redact) -> None:
    text = "user = John Smith  # j@example.org"
    assert redact([text], kinds={0: "code"})["text"] == "user = John Smith  # [EMAIL_ADDRESS]"
