"""Labels as rows of the stages: elements, what is kept, the language, redacted text."""

from typing import Any

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import LANGUAGE, NORMALIZE, PARSE
from tasks.boilerplate import gold as boilerplate
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.gold.kinds import (
    BlockLabel,
    ContentLabel,
    Label,
    LanguageLabel,
    PiiLabel,
    PiiSpanLabel,
    Quote,
    StructureLabel,
    TableLabel,
    TablesLabel,
    TextLabel,
)
from tasks.gold.labels import BoundLabel, Labels
from tasks.language import gold as language
from tasks.language.settings import LanguageSettings
from tasks.parse import gold as parse
from tasks.parse.settings import ParseSettings
from tasks.pii import gold as pii
from tasks.pii.settings import PiiSettings
from tasks.stage import Batch

DOCUMENT = {
    "document_id": "d", "source": "s", "uri": "letters/ann-lee.html", "locator": "x", "doc_class": "c", "tenant": "t",
    "groups": [], "cohort": "new",
}  # fmt: skip
PARSED = {
    "document_id": "d", "parser": "html", "parser_version": "1", "pages": 1, "pages_without_output": [],
    "meta_title": "Declared by Ann Lee", "meta_authors": ["Ann Lee"], "elements": [],
}  # fmt: skip


def labelled(stale: bool = False, **labels: Label) -> Labels:
    return Labels("v", {("d", kind): BoundLabel.of(label, "sha", stale) for kind, label in labels.items()})


def batch(**rows: tuple[dict[str, Any], pa.Schema]) -> Batch:
    tables = {StageName(name): pa.Table.from_pylist([row], schema=schema) for name, (row, schema) in rows.items()}
    return Batch(pa.Table.from_pylist([DOCUMENT], schema=DOCUMENTS), tables)


def elements(labels: Labels) -> dict[str, Any]:
    (row,) = parse.gold_rows(batch(parse=(PARSED, PARSE)), labels, ParseSettings()).to_pylist()
    return dict(row)


def test_blocks_become_elements_under_their_headings_with_the_html_of_tables() -> None:
    structure = StructureLabel(
        blocks=(
            BlockLabel(kind="heading", text="Boats", level=1, page=1),
            BlockLabel(kind="heading", text="Sails", level=2, page=2),
            BlockLabel(kind="table", text="a\tb", page=3),
            BlockLabel(kind="sidebar", text="By the way", page=3),
        )
    )
    tables = TablesLabel(tables=(TableLabel(html="<table><tr><td>a</td><td>b</td></tr></table>"),))
    row = elements(labelled(structure=structure, tables=tables, text=TextLabel(text="not this")))
    assert [(e["kind"], e["text"], e["section_path"], e["page"]) for e in row["elements"]] == [
        ("heading", "Boats", [], 1),
        ("heading", "Sails", ["Boats"], 2),
        ("table", "a\tb", ["Boats", "Sails"], 3),
        ("paragraph", "By the way", ["Boats", "Sails"], 3),
    ]
    assert row["elements"][2]["html"] == tables.tables[0].html
    assert (row["parser"], row["parser_version"], row["pages"]) == ("labels", "structure", 3)
    # What the file declares is no label's matter.
    assert row["meta_title"] == "Declared by Ann Lee"


@pytest.mark.parametrize(
    ("labels", "kind", "texts"),
    [
        ({"text": TextLabel(text="One\ntwo.\n\n \nThree.")}, "text", ["One\ntwo.", "Three."]),
        ({"content": ContentLabel(text="Main."), "text": TextLabel(text="Menu\n\nMain.")}, "content", ["Main."]),
    ],
)
def test_without_structure_paragraphs_serve(labels: dict[str, Label], kind: str, texts: list[str]) -> None:
    row = elements(labelled(**labels))
    assert (row["parser_version"], [e["text"] for e in row["elements"]]) == (kind, texts)


def test_no_label_no_stale_label_and_no_text_give_no_row() -> None:
    made = batch(parse=(PARSED, PARSE))
    for labels in (
        labelled(language=LanguageLabel(language="en")),
        labelled(stale=True, text=TextLabel(text="a")),
        labelled(text=TextLabel(text=" ")),
    ):
        assert parse.gold_rows(made, labels, ParseSettings()).num_rows == 0


def test_elements_of_the_main_text_are_kept() -> None:
    structure = StructureLabel(
        blocks=(
            BlockLabel(kind="paragraph", text="Home Shop Contact"),
            BlockLabel(kind="heading", text="The boat", level=1),
            BlockLabel(kind="paragraph", text="It is green, and it floats."),
            BlockLabel(kind="paragraph", text="Terms of sale"),
        )
    )
    content = ContentLabel(text="The boat\n\nIt is green, and\nit floats.")
    labels = labelled(structure=structure, content=content)
    made = batch(parse=(elements(labels), PARSE))
    (row,) = boilerplate.gold_rows(made, labels, BoilerplateSettings()).to_pylist()
    assert row["keep"] == [False, True, True, False]
    assert row["reasons"] == ["not_in_content_label", "", "", "not_in_content_label"]


def test_running_lines_are_not_judged_where_nobody_knows_their_places() -> None:
    structure = StructureLabel(blocks=(BlockLabel(kind="paragraph", text="Page 2", page=2),))
    paged = {StageName.PARSE: elements(labelled(structure=structure))}
    assert boilerplate.unfit_alone(DOCUMENT, paged, BoilerplateSettings()) == "no_positions"
    neither = BoilerplateSettings(running=False, line_numbers=False)
    assert boilerplate.unfit_alone(DOCUMENT, paged, neither) is None
    text = {StageName.PARSE: elements(labelled(text=TextLabel(text="One.")))}
    assert boilerplate.unfit_alone(DOCUMENT, text, BoilerplateSettings()) == "no_structure_label"


def test_the_labelled_language_is_certain() -> None:
    (row,) = language.gold_rows(
        batch(), labelled(language=LanguageLabel(language="pt-BR")), LanguageSettings()
    ).to_pylist()
    assert (row["language"], row["confidence"], row["sections"]) == ("pt", 1.0, None)


def test_labelled_values_are_redacted_by_the_policy_in_text_title_authors_and_path() -> None:
    text = "Ann Lee (a@b.org) wrote.\n\nAnn Lee lives here."
    clean = {
        "document_id": "d",
        "text": text,
        "elements": [{"element_id": 0, "start": 0, "end": 24}, {"element_id": 1, "start": 26, "end": 45}],
        "offsets": [],
    }
    spoken = {"document_id": "d", "language": "xx", "confidence": 1.0, "model": "labels"}
    # The second "Ann Lee" is not labelled: it stays, since the labels say what is personal.
    spans = (
        PiiSpanLabel(type="NAME", quote=Quote(exact="Ann Lee")),
        PiiSpanLabel(type="EMAIL", quote=Quote(exact="a@b.org")),
    )
    settings = PiiSettings(policy={"PERSON": "mask", "EMAIL_ADDRESS": "drop"}, authors="mask")
    made = batch(parse=(PARSED, PARSE), normalize=(clean, NORMALIZE), language=(spoken, LANGUAGE))
    (row,) = pii.gold_rows(made, labelled(pii=PiiLabel(spans=spans)), settings).to_pylist()
    assert row["text"] == "[PERSON] () wrote.\n\nAnn Lee lives here."
    assert [(s["start"], s["end"], s["type"], s["action"]) for s in row["spans"]] == [
        (0, 7, "PERSON", "mask"),
        (9, 16, "EMAIL_ADDRESS", "drop"),
    ]
    fields = {field["name"]: field["value"] for field in row["fields"]}
    assert fields["title"] == "Declared by [PERSON]"
    assert fields["author"] == "[PERSON]"
    assert "ann-lee" not in fields["uri"]
    assert pii.gold_rows(made, labelled(), settings).num_rows == 0
