"""What a limit of time cut short serves its own run and is no answer for the next."""

from pathlib import Path

import pyarrow as pa
import pytest

from schemas.names import StageName
from schemas.stages import PARSE
from tasks.document_rows import ids_of
from tasks.run.context import RunContext
from tasks.run.fetching import run_fetch
from tasks.run.stored import store
from tasks.stage import Cost, StageOutput
from tests.tasks.run.runs_by_hand import started


@pytest.fixture
def fetched(tmp_path: Path) -> tuple[RunContext, pa.Table]:
    """A run with one fetched document."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("The gate opens at 3 m.\n", encoding="utf-8")
    session = started(tmp_path / "lake", 1, [{"name": "s", "type": "files", "root": str(tmp_path / "in")}])
    (batch,) = [run_fetch(session.context, batch) for batch in session.plan()]
    return session.context, batch.read_documents()


def parsed(document_id: str, **more: dict[str, str]) -> StageOutput:
    row = {"document_id": document_id, "parser": "p", "parser_version": "1", "pages": 2, "meta_authors": []}
    row |= {"pages_without_output": [], "elements": []}
    return StageOutput(pa.Table.from_pylist([row], PARSE), costs={document_id: Cost(1.5)}, **more)


def test_a_partial_row_is_not_done_under_the_key_of_a_whole_one(fetched: tuple[RunContext, pa.Table]) -> None:
    context, documents = fetched
    (document_id,) = ids_of(documents)
    keys = {document_id: "whole"}
    (place,) = store(
        context, StageName.PARSE, "1", documents, keys, parsed(document_id, partial={document_id: "page 2"})
    ).to_pylist()
    assert place["stage_key"] != "whole"
    assert context.ledger.find("output", "parse", [document_id], ["whole"]) == {}
    # Its cost is recorded, and what follows from it is computed once.
    assert context.ledger.find("output", "parse", [document_id], [place["stage_key"]])[document_id]["seconds"] == 1.5
    (again,) = store(
        context, StageName.PARSE, "2", documents, keys, parsed(document_id, partial={document_id: "page 2"})
    ).to_pylist()
    (other,) = store(
        context, StageName.PARSE, "3", documents, keys, parsed(document_id, partial={document_id: "page 1"})
    ).to_pylist()
    assert again["stage_key"] == place["stage_key"] != other["stage_key"]


def test_a_whole_row_is_done(fetched: tuple[RunContext, pa.Table]) -> None:
    context, documents = fetched
    (document_id,) = ids_of(documents)
    (place,) = store(context, StageName.PARSE, "1", documents, {document_id: "whole"}, parsed(document_id)).to_pylist()
    assert place["stage_key"] == "whole"
    assert document_id in context.ledger.find("output", "parse", [document_id], ["whole"])
