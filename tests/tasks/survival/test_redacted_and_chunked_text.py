"""What redaction and chunking leave of a passage, on rows written by hand."""

from typing import Any

import pytest

from schemas.names import StageName
from tasks.survival.handed_on import Redacted, text_before_redaction

CLEAN = "Ask Ada Byron at desk nine, or ring the bell twice."
NAME = (4, 13)
DESK = (17, 26)


def pii(*spans: tuple[int, int, str]) -> dict[str, Any]:
    """A row of the pii stage in which each span of the clean text is replaced."""
    text, made, position = "", [], 0
    for start, end, instead in spans:
        text += CLEAN[position:start]
        place = {"redacted_start": len(text), "redacted_end": len(text) + len(instead)}
        made.append({"start": start, "end": end, "type": "X", "score": 1.0, "action": "mask"} | place)
        text, position = text + instead, end
    return {"spans": made, "text": text + CLEAN[position:]}


def chunk(name: str, start: int, end: int, text: str, prefix: int = 0) -> dict[str, Any]:
    return {"chunk_id": name, "start": start, "end": end, "text": text, "prefix_length": prefix}


def test_a_masked_word_is_lost_unless_a_label_calls_it_personal() -> None:
    row = pii((*NAME, "<NAME>"))
    assert Redacted(CLEAN, row, []).passage(0, 16) is None
    assert Redacted(CLEAN, row, [NAME]).passage(0, 16) == "Ask <NAME> at"
    assert Redacted(CLEAN, row, [(4, 7)]).passage(0, 16) is None  # "Byron" was not labelled
    assert Redacted(CLEAN, row, []).passage(17, 26) == "desk nine"  # what lies elsewhere is no matter


def test_a_mask_over_more_than_the_label_loses_the_rest() -> None:
    assert Redacted(CLEAN, pii((4, 16, "<NAME>")), [NAME]).passage(0, 26) is None  # " at" is gone too
    assert (
        Redacted(CLEAN, pii((3, 14, " <NAME> ")), [NAME]).passage(0, 26) == "Ask <NAME> at desk nine"
    )  # but not spaces


def test_a_kept_value_loses_nothing() -> None:
    assert Redacted(CLEAN, pii((*NAME, "Ada Byron")), []).passage(0, 16) == CLEAN[:16]


def test_two_masks_of_which_one_was_asked_for() -> None:
    row = pii((*NAME, "<A>"), (*DESK, "<B>"))
    assert Redacted(CLEAN, row, [NAME]).passage(0, 26) is None
    assert Redacted(CLEAN, row, [NAME, DESK]).passage(0, 27) == "Ask <A> at <B>,"


def test_text_that_redaction_garbled_elsewhere_is_lost() -> None:
    row = pii((*NAME, "<NAME>"))
    row["text"] = row["text"].replace("desk", "disk")
    assert Redacted(CLEAN, row, [NAME]).passage(0, 26) is None


def test_chunks_hold_a_passage_together_without_what_they_repeat() -> None:
    row = pii((*NAME, "<N>"))
    assert row["text"] == "Ask <N> at desk nine, or ring the bell twice."
    chunks = [
        chunk("a", 0, 26, "Ask <N> at desk nine"),
        chunk("b", 14, 35, "Head\nat desk nine, or ring", prefix=5),  # overlaps by "at desk nine"
        chunk("c", 36, 51, "the bell twice."),
    ]
    redacted = Redacted(CLEAN, row, [NAME])
    texts = {c["chunk_id"]: c["text"] for c in chunks}
    assert redacted.chunked(chunks, texts) == "Ask <N> at desk nine, or ring\nthe bell twice."
    assert redacted.chunked(chunks, {"a": texts["a"], "c": texts["c"]}) == "Ask <N> at desk nine\nthe bell twice."
    assert redacted.chunked(chunks, {}) == ""


@pytest.mark.parametrize(
    ("keep", "cuts", "expected"),
    [
        ([True, True], None, "one two three\n\nfour"),
        ([True, False], None, "one two three"),
        ([True, True], [(0, 0, 4), (0, 7, 13)], "two\n\nfour"),
    ],
)
def test_boilerplate_hands_on_what_it_keeps(keep: list[bool], cuts: Any, expected: str) -> None:
    elements = [{"element_id": 0, "text": "one two three"}, {"element_id": 1, "text": "four"}]
    made = [{"element_id": i, "start": start, "end": end} for i, start, end in cuts] if cuts else None
    rows = {StageName.PARSE: {"elements": elements}, StageName.BOILERPLATE: {"keep": keep, "cuts": made}}
    assert text_before_redaction(StageName.BOILERPLATE, rows) == expected
    assert text_before_redaction(StageName.PARSE, rows) == "one two three\n\nfour"
