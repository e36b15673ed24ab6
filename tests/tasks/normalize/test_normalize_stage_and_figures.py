"""The stage on whole documents, and its figures worked out by hand."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import BOILERPLATE, FETCH, PARSE
from tasks.gold.labels import NO_LABELS
from tasks.normalize.settings import NormalizeSettings
from tasks.normalize.stage import STAGE
from tasks.stage import Batch, Evidence, Resources, StageOutput
from tests.raw_bytes import NoRaw

SETTINGS = NormalizeSettings()


def batch_of(documents: dict[str, list[tuple[str, str, bool]]], media_type: str = "text/plain") -> Batch:
    """Documents made of (kind, text, kept) elements."""
    identities: list[dict[str, Any]] = []
    fetched: list[dict[str, Any]] = []
    parsed: list[dict[str, Any]] = []
    judged: list[dict[str, Any]] = []
    for name, elements in documents.items():
        identities.append(
            {"document_id": name, "source": "s", "uri": name, "locator": name, "doc_class": "c", "tenant": "t"}
            | {"groups": [], "cohort": "new"}
        )
        fetched.append(
            {"document_id": name, "content_sha": name, "media_type": media_type, "size_bytes": 1, "unchanged": False}
        )
        parsed.append(
            {"document_id": name, "parser": "p", "parser_version": "1", "pages": 1, "pages_without_output": []}
            | {
                "meta_authors": [],
                "elements": [
                    {"element_id": i, "kind": kind, "text": text, "section_path": []}
                    for i, (kind, text, _) in enumerate(elements)
                ],
            }
        )
        keep = [kept for _, _, kept in elements]
        judged.append(
            {"document_id": name, "extractor": "none", "extractor_version": "1", "keep": keep}
            | {"reasons": ["" if kept else "boilerplate_web" for kept in keep]}
        )
    return Batch(
        pa.Table.from_pylist(identities, schema=DOCUMENTS),
        {
            StageName.FETCH: pa.Table.from_pylist(fetched, schema=FETCH),
            StageName.PARSE: pa.Table.from_pylist(parsed, schema=PARSE),
            StageName.BOILERPLATE: pa.Table.from_pylist(judged, schema=BOILERPLATE),
        },
    )


def run(batch: Batch) -> StageOutput:
    return STAGE.run(batch, SETTINGS, Resources(NoRaw(), Path()))


def figures(batch: Batch) -> dict[tuple[str, str | None], tuple[float, float, float]]:
    output = run(batch)
    rows = STAGE.evaluate(Evidence(batch, output.table, NO_LABELS, {}, NoRaw()), SETTINGS).to_pylist()
    return {(r["metric"], r["slice_value"]): (r["value"], r["numerator"], r["denominator"]) for r in rows}


def test_kept_elements_are_joined_and_lead_back() -> None:
    batch = batch_of(
        {"d": [("paragraph", "Menu", False), ("heading", "The \ufb01rst", True), ("code", "x  =\n1", True)]}
    )
    row = run(batch).table.to_pylist()[0]
    assert row["text"] == "The first\n\nx  =\n1"
    assert row["elements"] == [
        {"element_id": 1, "start": 0, "end": 9},
        {"element_id": 2, "start": 11, "end": 17},
    ]
    assert [tuple(run.values()) for run in row["offsets"]] == [
        (0, 4, 1, 0, 4),
        (4, 6, 1, 4, 5),
        (6, 9, 1, 5, 8),
        (11, 17, 2, 0, 6),
    ]


def test_a_document_without_text_fails_alone() -> None:
    output = run(batch_of({"blank": [("paragraph", "\u200b \n", True)], "full": [("paragraph", "text", True)]}))
    assert [failure.error_class for failure in output.failures] == ["no_text"]
    assert output.table.column("document_id").to_pylist() == ["full"]


def test_an_authors_hyphens_stay_in_markdown() -> None:
    elements = [("paragraph", "a foot-\nball under a foot", True)]
    assert run(batch_of({"d": elements}, "text/markdown")).table["text"].to_pylist() == ["a foot-ball under a foot"]
    assert run(batch_of({"d": elements}, "application/pdf")).table["text"].to_pylist() == ["a football under a foot"]


def test_figures_of_one_document_by_hand() -> None:
    found = figures(
        batch_of(
            {"d": [("paragraph", "ef\ufb01cient\u200b caf\u00c3\u00a9", True), ("paragraph", "p\u0430y me", True)]}
        )
    )
    assert found["nfc_equals_nfkc", None][:2] == (0, 0)
    assert found["invisible_characters", None] == (1, 1, 1)
    assert found["invisible_characters_left", None] == (0, 0, 1)
    assert found["mixed_script_confusables", None] == (0.25, 1, 4)
    assert found["mojibake_rate", "parsed"] == (0.5, 1, 2)
    assert found["mojibake_rate", None] == (0, 0, 2)
    assert found["idempotence", None][0] == 1
    # Changed: the ligature, the zero-width space, the two letters of the mojibake; 4 of 15 + 6 parsed characters.
    assert found["changed_ratio", None] == (pytest.approx(4 / 21), 4, 21)
