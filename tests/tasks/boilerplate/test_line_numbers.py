"""Line numbers of pleadings and drafts go, on files that another library wrote; numbered content stays."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fpdf import FPDF

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import FETCH, PARSE
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.boilerplate.stage import STAGE
from tasks.documents.cage_worker import Pages
from tasks.normalize.settings import NormalizeSettings
from tasks.normalize.stage import STAGE as NORMALIZE
from tasks.parse.pdf import parse_pdf
from tasks.parse.settings import ParseSettings
from tasks.stage import Batch, Resources
from tests.raw_bytes import NoRaw

TEXT = (
    "the witness states that gate seven below the mill was closed at noon and that 12 boats had by then been counted "
    "on the river side"
)

WORDS = TEXT.split()


def sentence(line: int) -> str:
    """Words of a line; every line of a page differs from its neighbours."""
    start = line * 7 % len(WORDS)
    return " ".join((WORDS * 2)[start : start + 11])


def numbered_pdf(path: Path, *, leading: float, every: int = 1, restart: bool = True, pages: int = 3) -> list[str]:
    """A PDF of numbered lines; the lines as they read without their numbers."""
    pdf = FPDF(format="letter", unit="pt")
    pdf.set_auto_page_break(False)
    lines = []
    number = 0
    for page in range(pages):
        pdf.add_page()
        pdf.set_font("Times", size=12)
        number = 0 if restart else number
        for i in range(25):
            number += 1
            y = 90 + i * leading
            if number % every == 0:
                pdf.text(50, y, str(number))
            lines.append(sentence(page * 25 + i))
            pdf.text(92, y, lines[-1])
    pdf.output(str(path))
    return lines


def clean(path: Path, **settings: Any) -> str:
    """The clean text of a PDF after parse, boilerplate and normalize."""
    read = ParseSettings().model_dump(mode="json")
    parsed = parse_pdf(str(path), read, None, Pages(lambda page: None, []))
    return clean_of(parsed, **settings)


def clean_of(parsed: dict[str, Any], **settings: Any) -> str:
    document = dict.fromkeys(DOCUMENTS.names) | {"document_id": "d", "source": "s", "uri": "u", "locator": "l"}
    document |= {"doc_class": "pleading", "tenant": "t", "groups": [], "cohort": "new"}
    fetched = {"document_id": "d", "content_sha": "x", "media_type": "application/pdf", "size_bytes": 1}
    tables = {
        StageName.FETCH: pa.Table.from_pylist([fetched | {"unchanged": False}], schema=FETCH),
        StageName.PARSE: pa.Table.from_pylist([parsed | {"document_id": "d"}], schema=PARSE),
    }
    documents = pa.Table.from_pylist([document], schema=DOCUMENTS)
    resources = Resources(NoRaw(), Path())
    judged = STAGE.run(Batch(documents, tables), BoilerplateSettings.model_validate(settings), resources)
    assert not judged.failures
    tables[StageName.BOILERPLATE] = judged.table
    output = NORMALIZE.run(Batch(documents, tables), NormalizeSettings(), resources)
    assert not output.failures
    (row,) = output.table.to_pylist()
    for run in row["offsets"]:
        if run["end"] - run["start"] == run["source_end"] - run["source_start"]:
            source = parsed["elements"][run["element_id"]]["text"][run["source_start"] : run["source_end"]]
            assert row["text"][run["start"] : run["end"]] == source.replace("\n", " ")
    return " ".join(row["text"].split())


@pytest.mark.parametrize("leading", [14.0, 25.0])
@pytest.mark.parametrize(("every", "restart"), [(1, True), (1, False), (5, True), (5, False)])
def test_the_numbers_go_and_every_word_stays(tmp_path: Path, leading: float, every: int, restart: bool) -> None:
    path = tmp_path / "numbered.pdf"
    lines = numbered_pdf(path, leading=leading, every=every, restart=restart)
    assert clean(path) == " ".join(lines)
    assert clean(path, line_numbers=False) != " ".join(lines)
    assert clean(path, by_class={"pleading": {"line_numbers": False}}) == clean(path, line_numbers=False)
    assert clean(path, by_class={"letter": {"line_numbers": False}}) == " ".join(lines)


def paged(*pages: str) -> dict[str, Any]:
    row = {"parser": "p", "parser_version": "1", "pages": len(pages), "pages_without_output": [], "meta_authors": []}
    return row | {
        "elements": [
            {"element_id": i, "kind": "paragraph", "text": text, "section_path": [], "page": i + 1}
            for i, text in enumerate(pages)
        ]
    }


def test_numbers_of_content_stay() -> None:
    steps = "\n".join(f"{i}. Turn the valve {'a' * i}" for i in range(1, 13))
    one_page = "\n".join(f"{i} barrels of ale {'b' * i}" for i in range(1, 13))
    years = "\n".join(f"{year} the mill burned down\nand was built again\nby its owner" for year in range(1901, 1913))
    for pages in ((steps, steps + " c"), (one_page, "Nothing is counted here."), (years, years)):
        assert clean_of(paged(*pages)) == " ".join(" ".join(page.split()) for page in pages)


def test_a_word_that_breaks_across_numbered_lines_is_joined() -> None:
    page = "\n".join([*(f"{i} line {'x' * i}" for i in range(1, 9)), "9 its tempera-", "10 ture fell"])
    assert "its temperature fell" in clean_of(paged(page, page + " again"))


def test_a_column_of_numbers_by_itself_goes_as_a_whole() -> None:
    numbers = "\n".join(map(str, range(1, 26)))
    assert (
        clean_of(
            {
                **paged(),
                "pages": 2,
                "elements": [
                    {"element_id": i, "kind": "paragraph", "text": text, "section_path": [], "page": i // 2 + 1}
                    for i, text in enumerate([numbers, "The mill is shut.", numbers, "The weir is open."])
                ],
            }
        )
        == "The mill is shut. The weir is open."
    )
