"""Bad rows on the way from a published file to the figures: refused by file and line, or counted from then on."""

import json
from pathlib import Path

import pyarrow as pa

from schemas.documents import DOCUMENTS
from tasks.lake.layout import Lake
from tasks.run.labels import bind_labels
from tests.flows.corpus import corpusgate


def test_imported_bad_rows_are_refused_or_counted_in_the_manifest_of_the_run(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    rows = ['{"html": "<p>a", "groundtruth_content": "a"}', '{"html": "secret"}']
    (data / "pages.jsonl").write_text("\n".join(rows))
    refused = corpusgate("gold", "import", "webmainbench", data, tmp_path / "out")
    assert refused.returncode == 2
    assert "pages.jsonl:2: is no page with its main content" in refused.stderr
    assert "--allow-bad-rows" in refused.stderr
    assert "secret" not in refused.stderr
    assert not (tmp_path / "out").exists()
    done = corpusgate("gold", "import", "webmainbench", data, tmp_path / "out", "--allow-bad-rows")
    assert (done.returncode, "left out: 1 bad rows of pages.jsonl" in done.stdout) == (0, True)
    gold = tmp_path / "out" / "gold"
    assert "left out in the import: 1 bad rows of pages.jsonl" in corpusgate("gold", "check", gold).stdout
    # A label of one's own goes wrong beside the imported ones.
    (gold / "language.jsonl").write_text(
        '{"document": "webmainbench:pages-000.html", "label": {"language": "secret"}}\n'
    )
    sealing = ("gold", "seal", gold, "--version", "2")
    refused = corpusgate(*sealing)
    assert (refused.returncode, "language.jsonl:1: content_sha" in refused.stderr) == (2, True)
    sealed = corpusgate(*sealing, "--allow-bad-rows")
    assert "language.jsonl: 0, left out: 1 bad rows" in sealed.stdout
    _, facts = bind_labels([gold], _documents(gold), Lake(tmp_path / "lake"))
    assert facts["gold_bad_rows"] == {"webmainbench@2": 2}
    assert facts["gold_labels"] == {"webmainbench@2": 1}


def _documents(gold: Path) -> pa.Table:
    (row,) = (json.loads(line) for line in (gold / "content.jsonl").read_text().splitlines())
    document = {"document_id": "d", "source": "webmainbench", "uri": "pages-000.html", "locator": "", "doc_class": "c"}
    document |= {"tenant": "t", "groups": [], "cohort": "new", "content_sha": row["content_sha"]}
    return pa.Table.from_pylist([document], schema=DOCUMENTS)


def test_the_formats_are_told_with_what_they_expect_and_give() -> None:
    told = corpusgate("gold", "formats").stdout
    assert (
        "presidio-research\n  expects: *.json: arrays of samples with full_text and spans\n  gives: texts with pii"
        in told
    )
