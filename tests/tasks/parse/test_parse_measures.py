from typing import Any

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.measures import MEASURES
from schemas.stages import PARSE
from tasks.gold.kinds import (
    BlockLabel,
    Label,
    PageAssertionLabel,
    PageAssertionsLabel,
    StructureLabel,
    TableLabel,
    TablesLabel,
    TextLabel,
)
from tasks.gold.labels import BoundLabel, Labels
from tasks.parse.evaluator import evaluate
from tasks.stage import Batch, Cost, Evidence, StageSettings
from tests.raw_bytes import NoRaw

TABLE = "<table><tr><td>a</td><td>b</td></tr></table>"


def element(number: int, kind: str, text: str, **more: Any) -> dict[str, Any]:
    return {"element_id": number, "kind": kind, "text": text, "section_path": [], **more}


def measured(
    elements: list[dict[str, Any]],
    labels: dict[str, Label],
    *,
    stale: bool = False,
    pages: int = 1,
    pages_without_output: tuple[int, ...] = (),
    pages_hidden: tuple[int, ...] | None = None,
    cost: Cost | None = None,
) -> list[dict[str, Any]]:
    output = pa.Table.from_pylist(
        [
            {
                "document_id": "d",
                "parser": "p",
                "parser_version": "1",
                "pages": pages,
                "pages_without_output": list(pages_without_output),
                "pages_hidden": pages_hidden,
                "meta_authors": [],
                "elements": elements,
            }
        ],
        schema=PARSE,
    )
    bound = Labels("g@1", {("d", kind): BoundLabel.of(label, "a" * 64, stale) for kind, label in labels.items()})
    batch = Batch(DOCUMENTS.empty_table(), {})
    table = evaluate(Evidence(batch, output, bound, {"d": cost} if cost else {}, NoRaw()), StageSettings())
    assert table.schema == MEASURES
    return table.to_pylist()


def figure(rows: list[dict[str, Any]], metric: str, *, unit: str | None = None, slice_value: str | None = None) -> Any:
    found = [r for r in rows if (r["metric"], r["unit_id"], r["slice_value"]) == (metric, unit, slice_value)]
    assert len(found) == 1, (metric, found)
    return found[0]["value"], found[0]["status"]


def test_without_labels_only_free_measures_are_written() -> None:
    rows = measured(
        [element(0, "paragraph", "good \ufffd(cid:1)x")],
        {},
        pages=4,
        pages_without_output=(2,),
        cost=Cost(2.0, 1000),
    )
    assert {row["metric"] for row in rows} == {"page_completeness", "garbage_ratio", "seconds_per_page", "peak_rss"}
    assert figure(rows, "page_completeness") == (0.75, "ok")
    assert figure(rows, "garbage_ratio") == (8 / 14, "ok")
    assert figure(rows, "seconds_per_page") == (0.5, "ok")
    assert figure(rows, "peak_rss") == (1000.0, "ok")


def test_hidden_pages_are_neither_read_nor_lost() -> None:
    rows = measured([element(0, "paragraph", "x")], {}, pages=5, pages_without_output=(2,), pages_hidden=(3, 4))
    (row,) = (row for row in rows if row["metric"] == "page_completeness")
    assert (row["numerator"], row["denominator"]) == (2, 3)


def test_an_empty_parse_of_a_labelled_text_loses_every_character() -> None:
    rows = measured([], {"text": TextLabel(text="one two")})
    assert figure(rows, "cer") == figure(rows, "wer") == (1.0, "ok")
    assert figure(rows, "cer", slice_value="deletion") == (1.0, "ok")
    assert figure(rows, "length_ratio") == (0.0, "ok")
    assert figure(rows, "garbage_ratio") == (None, "ok")
    assert figure(rows, "seconds_per_page") == (None, "missing")


def test_text_is_compared_over_all_elements_in_reading_order() -> None:
    elements = [element(0, "heading", "Title"), element(1, "paragraph", "body  text")]
    rows = measured(elements, {"text": TextLabel(text="Title\n\nbody test")})
    assert figure(rows, "cer") == (1 / 15, "ok")
    assert figure(rows, "wer") == (1 / 3, "ok")
    assert figure(rows, "wer", slice_value="substitution") == (1 / 3, "ok")
    assert figure(rows, "wer", slice_value="insertion") == (0.0, "ok")


def test_a_lost_table_scores_zero_and_an_invented_one_is_counted() -> None:
    labels = TablesLabel(
        tables=(
            TableLabel(page=1, bbox=(0, 0, 10, 10), html=TABLE),
            TableLabel(page=1, bbox=(0, 50, 10, 60), html=TABLE),
        )
    )
    elements = [
        element(0, "table", "a\tb", html=TABLE, page=1, bbox=[0, 0, 10, 10]),
        element(1, "table", "a\tb", html=TABLE, page=2, bbox=[0, 50, 10, 60]),
        element(2, "table", "x", html="<table><tr><td>x</td></tr></table>", page=2, bbox=[0, 0, 10, 10]),
    ]
    rows = measured(elements, {"tables": labels})
    for metric in ("teds", "teds_structure", "cell_adjacency_f1"):
        assert figure(rows, metric, unit="d#table-0") == (1.0, "ok")
        assert figure(rows, metric, unit="d#table-1") == (0.0, "missing")
    assert figure(rows, "table_detection_precision")[0] == pytest.approx(1 / 3)
    assert figure(rows, "table_detection_recall")[0] == 0.5
    assert figure(rows, "table_detection_f1")[0] == pytest.approx(2 / 5)


def test_a_document_labelled_as_without_tables_shows_invented_ones_only() -> None:
    rows = measured([element(0, "table", "a\tb", html=TABLE)], {"tables": TablesLabel(tables=())})
    assert figure(rows, "table_detection_precision") == (0.0, "ok")
    assert figure(rows, "table_detection_recall") == (None, "ok")
    assert figure(rows, "teds") == (None, "not_applicable")


def test_cells_at_fault_are_named_by_place_and_never_by_text() -> None:
    truth = "<table><tr><td>Secret<td>b<tr><td>c<td></table>"
    found = "<table><tr><td>Secret<td><tr><td><td>c</table>"
    labels = TablesLabel(tables=(TableLabel(page=1, bbox=(0, 0, 9, 9), html=truth),))
    rows = measured([element(0, "table", "", html=found, page=1, bbox=[0, 0, 9, 9])], {"tables": labels})
    assert figure(rows, "wrong_cells", unit="d#table-0") == (2, "ok")
    cells = {(r["unit_id"], r["slice_value"]) for r in rows if r["metric"] == "wrong_cells" and r["slice_key"]}
    assert cells == {("d#table-0-row-1-column-2", "missing"), ("d#table-0-row-2-column-1", "shifted")}
    assert "Secret" not in str(rows)


def test_edits_are_named_by_place_and_never_by_text() -> None:
    rows = measured([element(0, "paragraph", "9999 alpha 19 gam")], {"text": TextLabel(text="alpha 12 gamma")})
    places = {
        (r["metric"], r["unit_id"], r["slice_value"], r["numerator"], r["denominator"])
        for r in rows
        if r["slice_key"] == "fault"
    }
    assert places == {
        ("cer", "d#expected-0-0-found-0-5", "invented", 5, 14),
        ("cer", "d#expected-7-8-found-12-13", "changed", 1, 14),
        ("cer", "d#expected-12-14-found-17-17", "missing", 2, 14),
        ("wer", "d#expected-0-0-found-0-1", "invented", 1, 3),
        ("wer", "d#expected-1-3-found-2-4", "changed", 2, 3),
    }
    assert "9999" not in str(rows)


def test_few_edits_of_a_bad_text_are_named() -> None:
    words = " ".join(f"w{n}" for n in range(900))
    rows = measured([element(0, "paragraph", words.replace("w1", "v1"))], {"text": TextLabel(text=words)})
    assert sum(r["metric"] == "cer" and r["slice_key"] == "fault" for r in rows) == 20
    # w1, w10 to w19 and w100 to w199 are three runs of words.
    assert sum(r["metric"] == "wer" and r["slice_key"] == "fault" for r in rows) == 3


def test_structure_is_scored_by_kind_order_and_level() -> None:
    blocks = [
        ("heading", "Scope", 1),
        ("paragraph", "First column text.", None),
        ("paragraph", "Second column text!", None),
        ("footnote", "See annex B.", None),
        ("list_item", "alpha", None),
        ("list_item", "beta", None),
        ("heading", "Terms", 2),
    ]
    labels = StructureLabel(blocks=tuple(BlockLabel(kind=k, text=t, level=n) for k, t, n in blocks))
    elements = [
        element(0, "heading", "Scope", level=1),
        element(1, "paragraph", "Second column text!"),
        element(2, "paragraph", "First column text."),
        element(3, "paragraph", "See annex B."),
        element(4, "list_item", "alpha beta"),
        element(5, "heading", "Terms", level=1),
    ]
    rows = measured(elements, {"structure": labels})
    # The footnote came out as a paragraph, the list items as one; five of seven blocks match, four with their kind.
    assert figure(rows, "element_recall")[0] == pytest.approx(4 / 7)
    assert figure(rows, "element_recall", slice_value="footnote") == (0.0, "ok")
    assert figure(rows, "element_recall", slice_value="paragraph") == (1.0, "ok")
    # Five matched blocks, ten pairs, one the wrong way round.
    assert figure(rows, "reading_order")[0] == pytest.approx(0.8)
    # "Terms" has the wrong level: one of two headings on each side.
    assert figure(rows, "heading_order")[0] == pytest.approx(0.5)
    assert figure(rows, "list_integrity") == (0.0, "ok")


def test_stale_labels_are_counted_and_not_scored() -> None:
    rows = measured([element(0, "paragraph", "x")], {"text": TextLabel(text="x")}, stale=True)
    assert figure(rows, "cer") == (None, "stale_label")
    assert all(row["metric"] != "teds" for row in rows)


def test_tables_too_large_to_compare_are_invalid_and_named() -> None:
    def table(text: str) -> str:
        return "<table>" + f"<tr><td>{text}</td></tr>" * 6000 + "</table>"

    rows = measured(
        [element(0, "table", "", html=table("b"), page=1, bbox=[0, 0, 9, 9])],
        {"tables": TablesLabel(tables=(TableLabel(page=1, bbox=(0, 0, 9, 9), html=table("a")),))},
    )
    assert figure(rows, "teds", unit="d#table-0") == (None, "invalid")
    assert figure(rows, "teds_structure", unit="d#table-0") == (1.0, "ok")


def test_case_that_a_transcription_did_not_keep_costs_nothing() -> None:
    found = [element(0, "paragraph", "Total: 9.OO"), element(1, "paragraph", "Thank You")]
    # Two wrong characters of 21; without white space of 19.
    strict, loose = (
        measured(found, {"text": TextLabel(text="TOTAL: 9.00\nTHANK YOU", ignores=ignores)})
        for ignores in ((), ("case",))
    )
    assert figure(loose, "cer") == (2 / 21, "ok")
    assert figure(loose, "cer", slice_value="ignored") == (2 / 18, "ok")
    assert figure(loose, "wer") == (1 / 4, "ok")
    # otal, hank and ou in small letters besides.
    assert figure(strict, "cer") == (12 / 21, "ok")


ASSERTIONS: list[tuple[dict[str, Any], float | None, str]] = [
    ({"kind": "present", "text": "pump was oiled"}, 1.0, "ok"),
    ({"kind": "present", "text": "valve"}, 0.0, "ok"),
    ({"kind": "present", "text": "inspected by"}, 1.0, "ok"),  # its word goes on over a line end
    ({"kind": "absent", "text": "Page 7 of 9"}, 1.0, "ok"),
    ({"kind": "absent", "text": "the pump"}, 0.0, "ok"),
    ({"kind": "order", "before": "First", "after": "oiled"}, 1.0, "ok"),
    ({"kind": "order", "before": "oiled", "after": "First"}, 0.0, "ok"),
    ({"kind": "table", "cell": "b", "left": "a"}, 1.0, "ok"),
    ({"kind": "table", "cell": "b", "right": "a"}, 0.0, "ok"),
    ({"kind": "math", "math": "e^{i \\pi}+1=0"}, None, "not_applicable"),
    ({"kind": "baseline"}, 1.0, "ok"),
    ({"kind": "present", "text": "the pump", "page": 2}, 0.0, "missing"),
    ({"kind": "absent", "text": "the pump", "page": 2}, 0.0, "missing"),
    ({"kind": "baseline", "page": 2}, 0.0, "missing"),
    ({"kind": "baseline", "page": 2, "max_length": 10}, 1.0, "ok"),
    ({"kind": "baseline", "max_length": 10}, 0.0, "ok"),
]


@pytest.mark.parametrize(("given", "value", "status"), ASSERTIONS, ids=str)
def test_an_assertion_is_held_against_its_page(given: dict[str, Any], value: float | None, status: str) -> None:
    assertion = PageAssertionLabel(**{"id": "a", "page": 1, **given})
    elements = [
        element(0, "paragraph", "First the pump was oiled. It was in-\nspected by two.", page=1),
        element(1, "table", "a\tb", html=TABLE, page=1),
    ]
    rows = measured(elements, {"page_assertions": PageAssertionsLabel(assertions=(assertion,))})
    for slice_value in (None, assertion.kind):
        assert figure(rows, "page_assertions", unit="d#assertion-a", slice_value=slice_value) == (value, status)


def test_a_document_without_assertions_has_nothing_to_hold() -> None:
    rows = measured([element(0, "paragraph", "x", page=1)], {"page_assertions": PageAssertionsLabel(assertions=())})
    assert figure(rows, "page_assertions") == (None, "not_applicable")
