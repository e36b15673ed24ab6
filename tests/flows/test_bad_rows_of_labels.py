"""Bad rows on the way from a published file to the figures: refused by file and line, or counted from then on."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from schemas.documents import DOCUMENTS
from tasks.lake.layout import Lake
from tasks.run.labels import bind_labels

CommandLine = Callable[[Path], Callable[..., tuple[int, str, str]]]


def test_imported_bad_rows_are_refused_or_counted_in_the_manifest_of_the_run(
    tmp_path: Path, command_line: CommandLine
) -> None:
    call = command_line(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    rows = ['{"html": "<p>a", "groundtruth_content": "a"}', '{"html": "secret"}']
    (data / "pages.jsonl").write_text("\n".join(rows))
    importing = ("gold", "import", "webmainbench", str(data), str(tmp_path / "out"))
    code, _, err = call(*importing)
    assert code == 2
    assert "pages.jsonl:2: is no page with its main content" in err
    assert "--allow-bad-rows" in err
    assert "secret" not in err
    assert not (tmp_path / "out").exists()
    code, out, _ = call(*importing, "--allow-bad-rows")
    assert (code, "left out: 1 bad rows of pages.jsonl" in out) == (0, True)
    gold = tmp_path / "out" / "gold"
    assert "left out in the import: 1 bad rows of pages.jsonl" in call("gold", "check", str(gold))[1]
    # A label of one's own goes wrong beside the imported ones.
    (gold / "language.jsonl").write_text(
        '{"document": "webmainbench:pages-000.html", "label": {"language": "secret"}}\n'
    )
    sealing = ("gold", "seal", str(gold), "--version", "2")
    code, _, err = call(*sealing)
    assert (code, "language.jsonl:1: content_sha" in err) == (2, True)
    assert "language.jsonl: 0, left out: 1 bad rows" in call(*sealing, "--allow-bad-rows")[1]
    _, facts = bind_labels([gold], _documents(gold), Lake(tmp_path / "lake"))
    assert facts["gold_bad_rows"] == {"webmainbench@2": 2}
    assert facts["gold_labels"] == {"webmainbench@2": 1}


def _documents(gold: Path) -> pa.Table:
    (row,) = (json.loads(line) for line in (gold / "content.jsonl").read_text().splitlines())
    document = {"document_id": "d", "source": "webmainbench", "uri": "pages-000.html", "locator": "", "doc_class": "c"}
    document |= {"tenant": "t", "groups": [], "cohort": "new", "content_sha": row["content_sha"]}
    return pa.Table.from_pylist([document], schema=DOCUMENTS)


def test_the_formats_are_told_with_what_they_expect_and_give(tmp_path: Path, command_line: CommandLine) -> None:
    told = command_line(tmp_path)("gold", "formats")[1]
    assert (
        "presidio-research\n  expects: *.json: arrays of samples with full_text and spans\n  gives: texts with pii"
        in told
    )
