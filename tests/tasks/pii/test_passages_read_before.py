"""What the model found in an earlier version of a document stands: only what is new is read, with the same outcome."""

from collections.abc import Callable, Mapping

import pyarrow as pa
import pytest

from schemas.names import StageName
from tasks.pii.settings import ENGLISH_MODEL, PiiSettings
from tasks.pii.stage import STAGE, run
from tests.tasks.pii.conftest import Made, batch

BEFORE = [
    "Notes on the harbour",
    "Maria Jensen repaired the pump with Robert Brown in Leeds.",
    "Call Anna Petrov on +44 20 7946 0958 before noon.",
    "Maria Jensen repaired the pump with Robert Brown in Leeds.",
    "def Peter(Schmidt): return Peter",
    "John\u200b Smith\u00a0lives in a house of\u00ad stone.\u200b",
    "The pump is old.\n" * 1400 + "David Miller keeps it.",
]
KINDS = {0: "heading", 4: "code"}


def rows_of(made: Made, settings: PiiSettings, former: Mapping[StageName, pa.Table] | None = None) -> pa.Table:
    given = batch(made)
    return run(type(given)(given.documents, given.tables, former or {}), settings, None).table  # type: ignore[arg-type]


def remembered(made: Made, settings: PiiSettings) -> dict[StageName, pa.Table]:
    """What a run would bring of an earlier version."""
    rows = {StageName.NORMALIZE: batch(made).tables[StageName.NORMALIZE], StageName.PII: rows_of(made, settings)}
    return {name: rows[name].select(["document_id", *columns]) for name, columns in STAGE.remembers.items()}


NEW = "William Taylor paid Emma Wilson."
AFTER = {
    "one more": ([*BEFORE, NEW], KINDS, [NEW]),
    "one less, others moved": ([NEW, *BEFORE[2:]], {3: "code"}, [NEW]),
    "nothing new": (BEFORE[::-1], {2: "code", 6: "heading"}, []),
    "code that is text now": (BEFORE, {0: "heading"}, [BEFORE[4]]),
    "text that is code now": (BEFORE, {0: "heading", 1: "code", 4: "code"}, []),
    "all new": ([NEW], {}, [NEW]),
}


@pytest.mark.parametrize("case", AFTER)
def test_only_what_is_new_is_read_and_the_row_is_as_if_all_were(
    case: str, make_document: Callable[..., Made], given_to_the_model: list[str]
) -> None:
    settings = PiiSettings()
    paragraphs, kinds, new = AFTER[case]
    before = make_document("d", BEFORE, kinds=KINDS, title="Maria Jensen")
    after = make_document("d", paragraphs, kinds=kinds, title="Maria Jensen")
    fresh = rows_of(after, settings)
    former = remembered(before, settings)
    given_to_the_model.clear()
    assert rows_of(after, settings, former).equals(fresh)
    assert [text for text in given_to_the_model if text != "Maria Jensen"] == new
    assert fresh.column("passages")[0].as_py()


def test_thresholds_and_what_is_done_with_names_may_change(
    make_document: Callable[..., Made], given_to_the_model: list[str]
) -> None:
    made = make_document("d", BEFORE, kinds=KINDS)
    former = remembered(made, PiiSettings())
    for settings in (PiiSettings(thresholds={"PERSON": 0.9}), PiiSettings(policy={"PERSON": "keep"})):
        fresh = rows_of(made, settings)
        given_to_the_model.clear()
        assert rows_of(made, settings, former).equals(fresh)
        assert given_to_the_model == []
    assert "Maria Jensen" in fresh.column("text")[0].as_py()


def test_another_set_of_types_is_read_anew(make_document: Callable[..., Made], given_to_the_model: list[str]) -> None:
    made = make_document("d", BEFORE[:3])
    former = remembered(made, PiiSettings())
    settings = PiiSettings(policy={"LOCATION": "mask"})
    given_to_the_model.clear()
    found = rows_of(made, settings, former).to_pylist()[0]
    assert set(given_to_the_model) == set(BEFORE[:3])
    assert "Leeds" not in found["text"]


def test_rows_of_before_this_was_stored_and_of_other_languages_say_nothing(
    make_document: Callable[..., Made], given_to_the_model: list[str]
) -> None:
    made = make_document("d", BEFORE[:3])
    settings = PiiSettings()
    fresh, former = rows_of(made, settings), remembered(make_document("d", BEFORE[:3], language="xx"), settings)
    assert former[StageName.PII].column("read_by").to_pylist() == [None]
    assert former[StageName.PII].column("passages").to_pylist() == [None]
    given_to_the_model.clear()
    assert rows_of(made, settings, former).equals(fresh)
    assert set(given_to_the_model) == set(BEFORE[:3])


def test_languages_that_share_a_model_share_what_it_read(
    make_document: Callable[..., Made], given_to_the_model: list[str]
) -> None:
    settings = PiiSettings(models={"de": ENGLISH_MODEL, "fr": ENGLISH_MODEL})
    for language in ("de", "en", "fr"):
        made = make_document("d", BEFORE[:3], language=language)
        fresh, former = rows_of(made, settings), remembered(made, settings)
        given_to_the_model.clear()
        assert rows_of(made, settings, former).equals(fresh)
        assert given_to_the_model == []


def test_names_are_stored_by_place_and_never_by_text(make_document: Callable[..., Made]) -> None:
    row = rows_of(make_document("d", BEFORE[1:2]), PiiSettings()).to_pylist()[0]
    (passage,) = row["passages"]
    assert (passage["start"], passage["end"]) == (0, len(BEFORE[1]))
    assert [BEFORE[1][name["start"] : name["end"]] for name in passage["names"]] == ["Maria Jensen", "Robert Brown"]
    assert "Jensen" not in str(row)
