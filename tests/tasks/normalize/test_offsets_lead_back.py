"""Every character of the clean text leads back to where it came from."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tasks.normalize.hyphens import WordForms
from tasks.normalize.settings import NormalizeSettings
from tasks.normalize.stage import join
from tasks.normalize.text import clean

SETTINGS = NormalizeSettings()
NO_FORMS = WordForms.of([])

TROUBLE = st.sampled_from(
    [
        *["-\n", "\ufffe", "\u00ad", "\u200b", "\u200d", "\ufb01", "e\u0301", "\u00a0 ", "\r\n", "\x00", "Ã©", "â€œ"],
        *["\t", "\u0645\u06cc\u200c", "  ", "A\u030a", "\U0001f469\u200d\U0001f680", "\u2011\n", "\u1112\u1161\u11ab"],
        "\uff76\uff9e",
    ]
)
TEXT = st.lists(
    st.one_of(TROUBLE, st.text(max_size=6), st.sampled_from(["long", "term", "und", "n"])), max_size=12
).map("".join)
KIND = st.sampled_from(["paragraph", "heading", "list_item", "table", "code", "formula", "footnote"])


@given(TEXT, KIND)
def test_runs_cover_the_clean_text_in_order_and_stay_inside_the_source(text: str, kind: str) -> None:
    mapped = clean(text, kind, NO_FORMS, SETTINGS)
    position = 0
    for run in mapped.runs:
        assert run.start == position
        assert run.start < run.end
        assert 0 <= run.source_start < run.source_end <= len(text)
        position = run.end
    assert position == len(mapped.text)
    sources = [run.source_start for run in mapped.runs]
    assert sources == sorted(sources)


SPACE_FOR = set("\n\t\r\x0b\x0c\x85\u2028\u2029")


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cs"])), KIND)
def test_one_to_one_runs_hold_equal_text_or_a_stated_replacement(text: str, kind: str) -> None:
    mapped = clean(text, kind, NO_FORMS, SETTINGS.model_copy(update={"repair_mojibake": False}))
    for run in mapped.runs:
        if run.end - run.start != run.source_end - run.source_start:
            continue
        for made, source in zip(mapped.text[run.start : run.end], text[run.source_start : run.source_end], strict=True):
            replaced = (
                (made == " " and (source in SPACE_FOR or unicodedata.category(source) == "Zs"))
                or (made == "\n" and source in SPACE_FOR)
                or (made == "-" and source in "\u2010\u2011\u00ad\ufffe")
                or unicodedata.normalize("NFC", source) == made
                or unicodedata.combining(source)
                or unicodedata.normalize("NFKC", source) == made
            )
            assert made == source or replaced


@given(TEXT, KIND)
def test_normalizing_twice_is_normalizing_once(text: str, kind: str) -> None:
    once = clean(text, kind, NO_FORMS, SETTINGS).text
    assert clean(once, kind, NO_FORMS, SETTINGS).text == once


@given(st.lists(TEXT, max_size=5))
def test_spans_of_elements_hold_exactly_their_clean_text(texts: list[str]) -> None:
    pieces = [(i, clean(text, "paragraph", NO_FORMS, SETTINGS)) for i, text in enumerate(texts)]
    row = join(pieces)
    filled = {i: mapped.text for i, mapped in pieces if mapped.text}
    assert {s["element_id"]: row["text"][s["start"] : s["end"]] for s in row["elements"]} == filled
    assert row["text"] == "\n\n".join(filled.values())
    covered = {i for run in row["offsets"] for i in range(run["start"], run["end"])}
    assert covered == {i for s in row["elements"] for i in range(s["start"], s["end"])}


def test_a_ligature_and_a_removed_character_lead_back_by_hand() -> None:
    mapped = clean("a \ufb01n\u200ble  e\u0301", "paragraph", NO_FORMS, SETTINGS)
    assert mapped.text == "a finle é"
    assert [tuple(run) for run in mapped.runs] == [
        (0, 2, 0, 2),
        (2, 4, 2, 3),
        (4, 5, 3, 4),
        (5, 8, 5, 8),
        (8, 9, 9, 11),
    ]
