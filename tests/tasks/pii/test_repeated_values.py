"""Spans and repeated values against the plain way of finding them, which goes through everything for each."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tasks.pii.detection import Find
from tasks.pii.redaction import resolve
from tasks.pii.repeated import LEAST_REPEATED, Repeated
from tasks.pii.settings import PiiSettings

SETTINGS = PiiSettings()
FINDS = st.builds(
    lambda start, length, kind, score: Find(start, start + length, kind, score),
    st.integers(0, 30),
    st.integers(1, 12),
    st.sampled_from(["PERSON", "EMAIL_ADDRESS", "LOCATION", "DATE_TIME"]),
    st.sampled_from([0.5, 0.85, 1.0]),
)
TEXTS = st.text("aB1 -ıİſ", max_size=40)


@given(st.text("ab .", min_size=42, max_size=42), st.lists(FINDS, max_size=12))
def test_spans_do_not_overlap_and_leave_no_redacted_letter_readable(text: str, finds: list[Find]) -> None:
    spans = resolve(text, finds, SETTINGS)
    assert spans == sorted(spans)
    assert all(before.end <= after.start for before, after in pairwise(spans))

    def letters(found: list[Find]) -> set[int]:
        hidden = (find for find in found if SETTINGS.redacts(find.type))
        return {i for find in hidden for i in range(find.start, find.end) if text[i].isalnum()}

    assert letters(spans) == letters(finds)
    best = {
        find for find in finds if all(find.score > o.score for o in finds if o != find and SETTINGS.redacts(o.type))
    }
    for find in best:
        if SETTINGS.redacts(find.type):
            assert any(s.start <= find.start and find.end <= s.end and s.type == find.type for s in spans)


@given(TEXTS, st.lists(st.text("aB1 -ıİſ", min_size=LEAST_REPEATED, max_size=9), max_size=6))
def test_values_are_found_wherever_they_stand(text: str, values: list[str]) -> None:
    found = Repeated({value: Find(0, len(value), "PERSON", 0.85) for value in values})
    exactly = {
        (start, start + len(value))
        for value in values
        for start in range(len(text))
        if text.startswith(value, start)
        and not text[max(0, start - 1) : start].isalnum()
        and not text[start + len(value) : start + len(value) + 1].isalnum()
    }
    assert sorted((find.start, find.end) for find in found.exactly(text)) == sorted(exactly)
    loosely = set()
    for value in values:
        if runs := re.findall(r"[^\W_]+", value):
            pattern = r"(?<![^\W_])" + r"[\W_]+".join(runs) + r"(?![^\W_])"
            loosely |= {match.span() for match in re.finditer(pattern, text, re.IGNORECASE)}
    assert {(find.start, find.end) for find in found.loosely(text)} == loosely


def test_a_list_of_many_addresses_is_redacted_to_the_last(redact) -> None:
    """One passage of thousands of values, each of which stands in it twice."""
    addresses = [f"user{number}x@example.org" for number in range(2000)]
    row = redact([" and ".join(addresses), " or ".join(addresses)], language="xx", uri="user7x@example.org.md")
    assert len(row["spans"]) == 4000
    assert "example.org" not in row["text"]
    (uri,) = (field["value"] for field in row["fields"] if field["name"] == "uri")
    assert "user7x" not in uri
