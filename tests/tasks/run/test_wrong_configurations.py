"""A configuration that cannot be meant is refused before anything runs, with the key and what to write instead."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tasks.errors import ConfigurationError
from tasks.gold.writing import write_gold_set
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.run.configuration import Configuration, load_configuration, parse_configuration
from tasks.run.preflight import check_before_running

CEILING = {"id": "x", "stage": "parse", "metric": "cer", "kind": "ceiling"}
FILES = {"name": "s", "type": "files", "root": "documents"}


def load(folder: Path, **keys: Any) -> Configuration:
    """A configuration file with these keys, read back."""
    path = folder / "corpusgate.yaml"
    path.write_text(yaml.safe_dump({"lake": "lake", "sources": [FILES]} | keys), encoding="utf-8")
    return load_configuration(path)


def check(folder: Path, **keys: Any) -> None:
    """Everything that is looked at before a run."""
    (folder / "documents").mkdir(exist_ok=True)
    configuration = load(folder, **keys)
    lake = Lake(configuration.lake)
    lake.create()
    check_before_running(configuration, lake)


@pytest.mark.parametrize(
    ("lake", "source"),
    [
        ("documents", {}),
        ("documents/lake", {}),
        ("documents/a/lake", {"include": ["**/*.md"]}),
        ("documents/lake", {"exclude": ["lake/*.parquet"]}),
        ("documents/.lake", {"include": [".lake/**"]}),
    ],
)
def test_a_lake_that_a_source_would_take_in_is_refused(tmp_path: Path, lake: str, source: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="lies in the folder of source 's'"):
        load(tmp_path, lake=lake, sources=[FILES | source])


@pytest.mark.parametrize(
    ("lake", "source"),
    [
        ("lake", {}),
        ("documents-lake", {}),
        ("documents/.lake", {}),
        ("documents/lake", {"exclude": ["lake/**"]}),
        ("documents/a/lake", {"exclude": ["**/lake"]}),
        ("documents/a/lake", {"exclude": ["a"]}),
    ],
)
def test_a_lake_that_no_source_sees_may_lie_anywhere(tmp_path: Path, lake: str, source: dict[str, Any]) -> None:
    assert load(tmp_path, lake=lake, sources=[FILES | source]).lake == tmp_path / lake


def test_a_lake_in_a_local_store_is_refused_as_well(tmp_path: Path) -> None:
    store = {"name": "s", "type": "fsspec", "url": f"file://{tmp_path}/documents"}
    with pytest.raises(ConfigurationError, match="lies in the folder of source 's'"):
        load(tmp_path, lake="documents/lake", sources=[store])
    assert load(tmp_path, lake="documents/lake", sources=[store | {"exclude": ["lake/**"]}])


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        (
            {"type": "http", "urls": ["https://example.org/"]},
            "exclude, include, max_urls, name, on_source_removed, sitemaps, trust_lastmod",
        ),
        ({"type": "fsspec", "url": "memory://x"}, "exclude, include, name, on_source_removed, type, url"),
        (
            {"type": "files", "root": "documents"},
            "exclude, follow_symlinks, include, name, on_source_removed, root, type",
        ),
    ],
)
def test_a_wrong_key_of_a_source_is_answered_with_those_of_its_type(
    tmp_path: Path, source: dict[str, Any], allowed: str
) -> None:
    with pytest.raises(ConfigurationError, match=rf"allowed keys: {allowed}"):
        load(tmp_path, sources=[source | {"name": "s", "wrong": 1}])


def test_a_lake_behind_a_link_into_the_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "documents")
    with pytest.raises(ConfigurationError, match="lies in the folder of source"):
        load(tmp_path, lake="link/lake")


@pytest.mark.parametrize("name", ["a:b", "a\nb", "", "\x1b[31m"])
def test_a_source_name_can_be_told_from_the_path_behind_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"sources\.0\.files\.name"):
        load(tmp_path, sources=[FILES | {"name": name}])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"sources": [{"name": "s", "root": "documents"}]},
            "write `type: files`, `http`, `fsspec`, `records` or `warc`",
        ),
        ({"sources": [{"name": "s", "type": "http"}]}, "needs `urls`, `urls_file` or `sitemaps`"),
        ({"lake": "la\nke"}, "control character"),
        ({"stages": {"pii": {"thresholds": {"PERSON": 85}}}}, "less than or equal to 1"),
        ({"gate": {"rules": [CEILING | {"threshold": float("nan")}]}}, "finite"),
    ],
)
def test_a_value_that_cannot_be_meant_is_named(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load(tmp_path, **keys)


def test_wrong_entries_of_a_list_are_not_called_too_few_as_well(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, sources=[{"name": "s", "root": "documents"}])
    assert "at least 1 item" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="at least 1 item"):
        load(tmp_path, sources=[])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"gate": {"rules": [{"id": "x", "stage": "parse", "metric": "no", "kind": "floor", "threshold": 1}]}}, "'no'"),
        ({"gate": {"disabled": ["no-such-rule"]}}, "no-such-rule"),
        ({"gate": {"anchor": "20200101"}}, r"gate\.anchor"),
        ({"gold": ["labels"]}, "does not exist"),
        ({"stages": {"pii": {"policy": {"PERSN": "mask"}}}}, "PERSN"),
        ({"stages": {"pii": {"thresholds": {"PERSN": 0.5}}}}, "PERSN"),
        ({"stages": {"pii": {"phone_regions": ["UK"]}}}, "UK"),
        ({"stages": {"pii": {"default_action": "hash", "hash_key_variable": "NO_SUCH_VARIABLE"}}}, "holds no key"),
    ],
)
def test_what_a_late_stage_would_refuse_is_refused_before_the_first(
    tmp_path: Path, keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check(tmp_path, **keys)


def test_a_tampered_gold_set_is_refused_before_the_first_stage(tmp_path: Path) -> None:
    row = {"document": "s:a.md", "content_sha": "0" * 64, "label": {"language": "en"}}
    write_gold_set(tmp_path / "labels", "labels", "1", {"language": [row]})
    check(tmp_path, gold=["labels"])
    file = tmp_path / "labels" / "language.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"en"', '"de"'), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="SHA-256 differs"):
        check(tmp_path, gold=["labels"])


def test_the_anchor_is_one_run_and_not_whichever_is_newest(tmp_path: Path) -> None:
    runs = Runs(Lake(tmp_path / "lake"))
    runs.update("20261130t021500-aaaa", status="finished")
    check(tmp_path, gate={"anchor": "20261130t021500-aaaa"})
    with pytest.raises(ConfigurationError, match="moves on with every run"):
        check(tmp_path, gate={"anchor": "last"})


def test_a_missing_key_of_the_embedding_endpoint_is_found_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CORPUSGATE_TEST_KEY", raising=False)
    endpoint = {"url": "http://localhost:9/v1", "model": "m", "dimension": 3, "api_key_env": "CORPUSGATE_TEST_KEY"}
    data = {
        "lake": "lake",
        "sources": [{"name": "s", "type": "files", "root": "documents"}],
        "stages": {"embed": {"model": "endpoint", "endpoint": endpoint}},
    }
    (tmp_path / "documents").mkdir()
    configuration = parse_configuration(data, tmp_path / "c.yaml")
    with pytest.raises(ConfigurationError, match="CORPUSGATE_TEST_KEY holds no key"):
        check_before_running(configuration, Lake(configuration.lake))
    monkeypatch.setenv("CORPUSGATE_TEST_KEY", "k")
    check_before_running(configuration, Lake(configuration.lake))


def test_a_folder_that_is_not_mounted_is_told_before_the_run(tmp_path: Path) -> None:
    configuration = load(tmp_path, sources=[FILES | {"root": "unmounted"}])
    with pytest.raises(ConfigurationError, match="unmounted does not exist or is not a folder"):
        check_before_running(configuration, Lake(configuration.lake))
