import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from schemas.documents import DOCUMENTS
from tasks.errors import ConfigurationError
from tasks.gold.binding import bind, unbound
from tasks.gold.gold_set import GoldSet, read_gold_set
from tasks.gold.kinds import LanguageLabel, TextLabel
from tasks.gold.table import LABELS, from_batches, label_digest, to_batches
from tasks.gold.writing import seal_gold_set, write_gold_set
from tasks.lake.files import read_batches, read_table, write_batches

OLD, NEW = "a" * 64, "b" * 64


def documents(*rows: dict[str, Any]) -> pa.Table:
    base = {"source": "web", "locator": "", "doc_class": "page", "tenant": "t", "groups": [], "cohort": "new"}
    return pa.Table.from_pylist([base | row for row in rows], schema=DOCUMENTS)


def text_row(document: str, text: str = "secret words", sha: str = OLD) -> dict[str, Any]:
    return {"document": document, "content_sha": sha, "label": {"text": text}}


def written(folder: Path, rows: dict[str, list[dict[str, Any]]], name: str = "small") -> GoldSet:
    write_gold_set(folder, name, "1", rows)
    return read_gold_set(folder)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    language = {"document_id": "d2", "content_sha": NEW, "label": {"language": "de"}}
    gold = written(tmp_path, {"text": [text_row("web:a.html", "Grüße")], "language": [language]})
    assert gold.version == "small@1"
    assert {(g.kind, g.document, g.document_id, g.label) for g in gold.labels} == {
        ("text", "web:a.html", None, TextLabel(text="Grüße")),
        ("language", None, "d2", LanguageLabel(language="de")),
    }
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    written(tmp_path, {"text": [text_row("web:a.html", "Grüße")], "language": [language]})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_every_bad_row_is_named_by_file_and_line_without_its_words(tmp_path: Path) -> None:
    good = json.dumps(text_row("web:a"))
    bad = [
        '{"document": "web:b", "content_sha": "short", "label": {"text": "secret words"}}',
        json.dumps(text_row("web:c") | {"document_id": "d"}),
        json.dumps({"document": "web:d", "content_sha": OLD, "label": {"words": "secret words"}}),
        "no json",
    ]
    data = "\n".join([good, *bad]).encode()
    write_gold_set(tmp_path, "small", "1", {"text": []})
    (tmp_path / "text.jsonl").write_bytes(data)
    manifest = yaml.safe_load((tmp_path / "manifest.yaml").read_text())
    manifest["files"]["text.jsonl"] = {"sha256": hashlib.sha256(data).hexdigest(), "items": 5}
    (tmp_path / "manifest.yaml").write_text(yaml.safe_dump(manifest))
    with pytest.raises(ConfigurationError) as error:
        read_gold_set(tmp_path)
    assert all(f"text.jsonl:{line}:" in str(error.value) for line in (2, 3, 4, 5))
    assert "text.jsonl:1:" not in str(error.value)
    assert "secret" not in str(error.value)
    with pytest.raises(ConfigurationError, match="has 4 bad rows"):
        seal_gold_set(tmp_path, version="2")
    assert seal_gold_set(tmp_path, version="2", allow_bad_rows=True).bad_rows == 4
    assert (tmp_path / "text.jsonl").read_bytes() == data
    assert [gold.document for gold in read_gold_set(tmp_path).labels] == ["web:a"]


def test_another_number_of_bad_rows_than_was_sealed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.jsonl").write_text(f"{json.dumps(text_row('web:a'))}\nno row\n")
    seal_gold_set(tmp_path, "small", "1", allow_bad_rows=True)
    manifest = yaml.safe_load((tmp_path / "manifest.yaml").read_text())
    assert manifest["files"]["text.jsonl"]["bad_rows"] == 1
    for known in (0, 2):
        manifest["files"]["text.jsonl"]["bad_rows"] = known
        (tmp_path / "manifest.yaml").write_text(yaml.safe_dump(manifest))
        with pytest.raises(ConfigurationError, match=r"text\.jsonl:2: row"):
            read_gold_set(tmp_path)


def test_a_changed_file_and_a_missing_manifest_are_refused(tmp_path: Path) -> None:
    written(tmp_path, {"text": [text_row("web:a")]})
    (tmp_path / "text.jsonl").write_text(json.dumps(text_row("web:a", "other")))
    with pytest.raises(ConfigurationError, match="SHA-256"):
        read_gold_set(tmp_path)
    with pytest.raises(ConfigurationError, match="does not exist"):
        read_gold_set(tmp_path / "nowhere")


def test_nothing_wrong_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no kind of label"):
        write_gold_set(tmp_path / "g", "small", "1", {"txt": []})
    with pytest.raises(ConfigurationError, match="text row 1"):
        write_gold_set(tmp_path / "g", "small", "1", {"text": [{"document": "web:a", "content_sha": OLD, "label": {}}]})
    assert not (tmp_path / "g").exists()


def test_labels_bind_to_documents_bytes_and_previous_paths(tmp_path: Path) -> None:
    rows = [
        text_row("web:same"),
        text_row("web:changed"),
        text_row("web:old-path"),
        text_row("web:gone"),
        text_row("x:y"),
    ]
    gold = written(tmp_path, {"text": rows})
    table = documents(
        {"document_id": "1", "uri": "same", "content_sha": OLD},
        {"document_id": "2", "uri": "changed", "content_sha": NEW},
        {"document_id": "3", "uri": "new-path", "previous_uri": "old-path", "content_sha": OLD, "cohort": "moved"},
        {"document_id": "4", "uri": "gone", "cohort": "deleted"},
    )
    labels = bind([gold], table)
    assert labels.version == "small@1"
    assert {key: bound.stale for key, bound in labels.bound.items()} == {
        ("1", "text"): False,
        ("2", "text"): True,
        ("3", "text"): False,
    }
    assert unbound([gold], table) == {("small@1", "text"): 2}
    assert bind([gold], table, kinds=["language"]).bound == {}


def test_a_label_follows_the_bytes_it_was_made_for(tmp_path: Path) -> None:
    third = "c" * 64
    gold = written(
        tmp_path,
        {
            "text": [
                text_row("web:before", sha=OLD),  # moved, and the move is live by now
                text_row("web:reused", sha=NEW),  # moved, and another document took its path
                text_row("web:copied", sha=third),  # two documents have these bytes: nobody can say which
                text_row("other:before", sha=OLD),  # the same bytes in another source
            ]
        },
    )
    table = documents(
        {"document_id": "1", "uri": "after", "previous_uri": "after", "content_sha": OLD, "cohort": "unchanged"},
        {"document_id": "2", "uri": "elsewhere", "previous_uri": "reused", "content_sha": NEW, "cohort": "moved"},
        {"document_id": "3", "uri": "reused", "content_sha": "d" * 64},
        {"document_id": "4", "uri": "one", "content_sha": third},
        {"document_id": "5", "uri": "two", "content_sha": third},
    )
    found = bind([gold], table).bound
    assert {key: bound.stale for key, bound in found.items()} == {("1", "text"): False, ("2", "text"): False}
    assert unbound([gold], table) == {("small@1", "text"): 2}


def test_a_document_with_a_label_of_its_own_takes_in_none_that_moved(tmp_path: Path) -> None:
    gold = written(tmp_path, {"text": [text_row("web:twin", "one"), text_row("web:kept", "other")]})
    table = documents(
        {"document_id": "1", "uri": "twin", "content_sha": NEW, "cohort": "changed"},
        {"document_id": "2", "uri": "kept", "content_sha": OLD},
    )
    found = bind([gold], table).bound
    assert {key: (bound.label, bound.stale) for key, bound in found.items()} == {
        ("1", "text"): (TextLabel(text="one"), True),
        ("2", "text"): (TextLabel(text="other"), False),
    }


def test_two_labels_of_one_kind_for_one_document_are_an_error(tmp_path: Path) -> None:
    one = written(tmp_path / "one", {"text": [text_row("web:a")]}, "one")
    by_id = {"document_id": "1", "content_sha": OLD, "label": {"text": "other"}}
    two = written(tmp_path / "two", {"text": [by_id]}, "two")
    table = documents({"document_id": "1", "uri": "a", "content_sha": OLD})
    with pytest.raises(ConfigurationError, match="one@1 and two@1"):
        bind([one, two], table)


def test_labels_survive_the_lake_and_go_stale_there(tmp_path: Path) -> None:
    gold = written(tmp_path, {"text": [text_row("web:a")]})
    table = documents({"document_id": "1", "uri": "a", "content_sha": OLD})
    labels = bind([gold], table)
    frozen = list(to_batches(labels))
    assert [part.schema for part in frozen] == [LABELS]
    assert from_batches(frozen, table) == labels
    changed = documents({"document_id": "1", "uri": "a", "content_sha": NEW})
    assert from_batches(frozen, changed).is_stale("1", "text")
    assert from_batches(frozen, documents()).bound == {}


def test_labels_of_many_documents_survive_the_lake_part_by_part(tmp_path: Path) -> None:
    names = [f"{number:04d}" for number in range(700)]
    gold = written(tmp_path / "gold", {"text": [text_row(f"web:{name}", text=f"text {name}") for name in names]})
    table = documents(*({"document_id": name, "uri": name, "content_sha": OLD} for name in names))
    labels = bind([gold], table)
    assert max(part.num_rows for part in to_batches(labels)) < len(names)
    path = tmp_path / "labels.parquet"
    write_batches(to_batches(labels), path, LABELS)
    assert read_table(path, LABELS) == pa.Table.from_batches(to_batches(labels))
    assert from_batches(read_batches(path, LABELS), table) == labels


def test_the_digest_follows_label_bytes_and_staleness_only(tmp_path: Path) -> None:
    table = documents({"document_id": "1", "uri": "a", "content_sha": OLD})

    def digest(kinds: list[str], *, sha: str = OLD, text: str = "x") -> str | None:
        return label_digest(bind([written(tmp_path, {"text": [text_row("web:a", text, sha)]})], table), "1", kinds)

    first = digest(["text"])
    assert first == digest(["tables", "text"]) == digest(["text", "tables"])
    assert len({first, digest(["text"], sha=NEW), digest(["text"], text="y")}) == 3
    assert digest(["tables"]) is None


def test_a_sealed_folder_is_the_set_that_writing_makes(tmp_path: Path) -> None:
    made = written(tmp_path / "made", {"text": [text_row("web:a"), text_row("web:b")]})
    by_hand = tmp_path / "by hand"
    by_hand.mkdir()
    (by_hand / "text.jsonl").write_bytes((tmp_path / "made" / "text.jsonl").read_bytes())
    assert seal_gold_set(by_hand, "small", "1") == made.manifest
    assert read_gold_set(by_hand).labels == made.labels


def test_changed_labels_are_sealed_under_a_new_version_only(tmp_path: Path) -> None:
    written(tmp_path, {"text": [text_row("web:a")]})
    assert seal_gold_set(tmp_path).version == "1"  # nothing changed
    (tmp_path / "text.jsonl").write_text(json.dumps(text_row("web:b")) + "\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="the version is still 1"):
        seal_gold_set(tmp_path)
    assert seal_gold_set(tmp_path, version="2").name == "small"
    assert [gold.document for gold in read_gold_set(tmp_path).labels] == ["web:b"]


@pytest.mark.parametrize(
    ("line", "name", "message"),
    [
        (None, "small", "holds no label files"),
        (json.dumps(text_row("web:a")), None, "has no manifest yet"),
        (json.dumps(text_row("web:a")), "no name", "name"),
        ('{"document": "web:a", "label": {"text": "secret words"}}', "small", r"text\.jsonl:1: content_sha"),
    ],
)
def test_a_folder_that_cannot_be_sealed_is_left_alone(
    tmp_path: Path, line: str | None, name: str | None, message: str
) -> None:
    if line is not None:
        (tmp_path / "text.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message):
        seal_gold_set(tmp_path, name, "1")
    assert not (tmp_path / "manifest.yaml").exists()
