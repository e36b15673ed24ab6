"""A page on which the extraction takes minutes costs itself; the other pages of its batch are judged."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.stages import FETCH, PARSE
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.boilerplate.stage import STAGE
from tasks.documents.cage import CageLimits
from tasks.stage import Batch, Resources, StageOutput
from tests.raw_bytes import RawFiles

PROSE = [
    "The keeper oiled the pump by the weir and hung the float above the grating before the water rose.",
    "Nobody on the island had seen the mill pond so high since the winter in which the old bridge was lost.",
    "By noon the children stood along the bank and counted the barrels that drifted down from the brewery.",
]


def judged(folder: Path, pages: dict[str, list[str]], limits: CageLimits) -> StageOutput:
    """The stage's output for pages of these paragraphs (HTML); an element's text is its paragraph without tags."""
    documents, fetched, parsed = [], [], []
    for name, paragraphs in pages.items():
        body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
        (folder / name).write_text(f"<html><body><article>{body}</article></body></html>")
        documents.append(
            {
                "document_id": name, "source": "s", "uri": "u", "locator": "l", "doc_class": "x", "tenant": "t",
                "groups": [], "content_sha": name, "cohort": "new",
            }
        )  # fmt: skip
        fetched.append({"document_id": name, "content_sha": name, "media_type": "text/html", "size_bytes": 1})
        texts = [paragraph.partition("<a")[0].strip() for paragraph in paragraphs]
        elements: list[dict[str, Any]] = [
            {"element_id": i, "kind": "paragraph", "level": None, "text": text, "section_path": []}
            for i, text in enumerate(texts)
        ]
        row = {"parser": "p", "parser_version": "1", "pages": 1, "pages_without_output": [], "meta_authors": []}
        parsed.append(row | {"document_id": name, "elements": elements})
    tables = {
        STAGE.reads[0]: pa.Table.from_pylist([row | {"unchanged": False} for row in fetched], schema=FETCH),
        STAGE.reads[1]: pa.Table.from_pylist(parsed, schema=PARSE),
    }
    batch = Batch(pa.Table.from_pylist(documents, schema=DOCUMENTS), tables)
    return STAGE.run(batch, BoilerplateSettings(limits=limits), Resources(RawFiles(folder.iterdir()), folder))


def test_a_page_over_the_limit_is_quarantined_and_the_others_are_judged(tmp_path: Path) -> None:
    # Every paragraph is held against every link: 400 million comparisons.
    links = [
        f'Paragraph number {i} of the long list leads <a href="/{i}">to place {i} of it</a>' for i in range(20_000)
    ]
    pages = {"first": PROSE, "hostile": links, "last": PROSE}
    output = judged(tmp_path, pages, CageLimits(seconds_per_document=4, workers=2))
    assert output.table.column("document_id").to_pylist() == ["first", "last"]
    assert output.table.column("keep").to_pylist() == [[True] * 3] * 2
    (failure,) = output.failures
    assert (failure.document_id, failure.error_class, failure.transient) == ("hostile", "timeout", True)
    assert output.costs["hostile"].seconds >= 4
    assert set(output.costs) == set(pages)
