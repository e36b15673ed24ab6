"""Figures of the boilerplate stage, worked out by hand."""

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import BOILERPLATE, FETCH, PARSE
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.boilerplate.stage import STAGE
from tasks.gold.kinds import BlockLabel, ContentLabel, StructureLabel
from tasks.gold.labels import BoundLabel, Labels
from tasks.stage import Batch, Evidence
from tests.raw_bytes import NoRaw

TEXTS = ["Home Shop", "The weir", "one two three four five", "Terms of sale"]
DOCUMENT = {"document_id": "d", "source": "s", "uri": "u", "locator": "l", "doc_class": "c", "tenant": "t"} | {
    "groups": [],
    "cohort": "new",
}
PARSED = {"document_id": "d", "parser": "p", "parser_version": "1", "pages": 1, "pages_without_output": []} | {
    "meta_authors": [],
    "elements": [
        {"element_id": i, "kind": "heading" if i == 1 else "paragraph", "text": text, "section_path": []}
        for i, text in enumerate(TEXTS)
    ],
}
OUTPUT = {"document_id": "d", "extractor": "x", "extractor_version": "1"} | {
    "keep": [False, True, True, True],
    "reasons": ["boilerplate_web", "", "", ""],
}
CONTENT = ContentLabel(
    text="The weir one two three four five A lost list item",
    must_keep=("two three", "never parsed"),
    must_drop=("Home Shop", "Terms of sale"),
)
STRUCTURE = StructureLabel(
    blocks=(
        BlockLabel(kind="heading", text="The weir"),
        BlockLabel(kind="heading", text="Menu"),
        BlockLabel(kind="list_item", text="A lost list item"),
    )
)


def rows(*, stale: bool, stale_structure: bool | None = None) -> list[dict]:
    labels = Labels(
        "v1",
        {
            ("d", "content"): BoundLabel.of(CONTENT, "sha", stale),
            ("d", "structure"): BoundLabel.of(STRUCTURE, "sha", stale if stale_structure is None else stale_structure),
        },
    )
    tables = {
        StageName.FETCH: FETCH.empty_table(),
        StageName.PARSE: pa.Table.from_pylist([PARSED], schema=PARSE),
    }
    batch = Batch(pa.Table.from_pylist([DOCUMENT], schema=DOCUMENTS), {StageName.PARSE: tables[StageName.PARSE]})
    output = pa.Table.from_pylist([OUTPUT], schema=BOILERPLATE)
    return STAGE.evaluate(Evidence(batch, output, labels, {}, NoRaw()), BoilerplateSettings()).to_pylist()


def test_content_and_segments_of_one_page() -> None:
    found = {
        (r["metric"], r["unit_id"], r["slice_value"]): (r["numerator"], r["denominator"]) for r in rows(stale=False)
    }
    # Label: 11 tokens, 8 shingles. Kept: 10 tokens, 7 shingles, 4 of them in the label.
    assert found["content_precision", None, None] == (4, 7)
    assert found["content_recall", None, None] == (4, 8)
    assert found["content_f1", None, None] == (8, 15)
    assert found["must_keep_recall", None, None] == (1, 1)
    assert found["must_drop_rate", None, None] == (1, 2)
    assert found["structure_recall", None, None] == (1, 1)
    assert found["structure_recall", None, "heading"] == (1, 1)
    assert found["kept_ratio", None, None] == (8 + 23 + 13, 9 + 8 + 23 + 13)


def test_a_segment_that_never_reached_the_stage_is_not_its_fault() -> None:
    lost = [(r["metric"], r["unit_id"]) for r in rows(stale=False) if r["status"] == "lost_upstream"]
    assert lost == [("must_keep_recall", "segment-1"), ("structure_recall", "block-2")]


def test_stale_labels_are_counted_and_not_scored() -> None:
    stale = {r["metric"] for r in rows(stale=True) if r["status"] == "stale_label" and r["value"] is None}
    assert stale == {
        *{"content_precision", "content_recall", "content_f1"},
        *{"must_keep_recall", "must_drop_rate", "structure_recall"},
    }
    one = [r["status"] for r in rows(stale=True, stale_structure=False) if r["metric"] == "structure_recall"]
    assert one == ["stale_label"]
