"""A listing shows every document of a source, or fails; it never looks finished when it is not."""

import hashlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import ConfigurationError
from tasks.fetch.listed import Listed, Skips
from tasks.fetch.listing import list_source as list_any
from tasks.fetch.local import portable_name, read_file, system_name
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sources import FileSource, HttpSource, Source
from tasks.fetch.urls import canonical_url


def list_source(source: Source) -> Iterator[Listed]:
    return list_any(source, FetchSettings(), Skips())


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def listed(root: Path, **options: object) -> dict[str, Listed]:
    return {item.uri: item for item in list_source(FileSource(name="docs", root=root, **options))}


def test_a_file_is_listed_with_hash_size_time_and_declared_type(tmp_path: Path) -> None:
    write(tmp_path, "a/guide.md")
    os.utime(tmp_path / "a/guide.md", ns=(0, 1_700_000_000_123_456_789))
    assert list(list_source(FileSource(name="docs", root=tmp_path))) == [
        Listed(
            source="docs",
            uri="a/guide.md",
            locator=str(tmp_path / "a" / "guide.md"),
            media_type_declared="text/markdown",
            size_bytes=10,
            commit_time=datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC),
            content_sha=hashlib.sha256(b"a/guide.md").hexdigest(),
        )
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["a.md", "b/c.md", "b/d/e.txt"]),
        ({"include": ("*",)}, ["a.md"]),
        ({"include": ("**/*.md",)}, ["a.md", "b/c.md"]),
        ({"include": ("b/**",)}, ["b/c.md", "b/d/e.txt"]),
        ({"include": ("b/*", "a.md")}, ["a.md", "b/c.md"]),
        ({"exclude": ("b/d/**",)}, ["a.md", "b/c.md"]),
        ({"exclude": ("b",)}, ["a.md"]),
        ({"exclude": ("**/*.md",)}, ["b/d/e.txt"]),
        ({"include": ("**/*", ".hidden/**")}, [".hidden/f.md", "a.md", "b/c.md", "b/d/e.txt"]),
        ({"include": ("**/.g.md",)}, ["b/.g.md"]),
    ],
)
def test_patterns_choose_files_and_hidden_ones_only_by_name(
    tmp_path: Path, options: dict[str, object], expected: list[str]
) -> None:
    write(tmp_path, "a.md", "b/c.md", "b/d/e.txt", ".hidden/f.md", "b/.g.md")
    assert sorted(listed(tmp_path, **options)) == expected


@pytest.mark.parametrize("name", ["two\nlines.md", "tab\t.md", "Ünï ☃.md", "e\u0301.md", "a?b#c%20.md", "\ufffdff.md"])
def test_strange_names_survive_and_can_be_read(tmp_path: Path, name: str) -> None:
    write(tmp_path, name)
    [item] = listed(tmp_path).values()
    assert item.error is None
    assert read_file(item.locator, 1000) == name.encode()
    item.uri.encode()


def test_names_that_are_not_text_stay_apart_and_can_be_read(tmp_path: Path) -> None:
    names = [b"caf\xe9.md", b"caf\xe8.md", "caf\ufffde9.md".encode(), b"caf%E9.md"]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    found = listed(tmp_path)
    assert len(found) == len(names)
    assert sorted(read_file(item.locator, 1000) for item in found.values()) == sorted(names)
    assert all(item.uri.encode() and item.media_type_declared == "text/markdown" for item in found.values())


@given(st.binary(max_size=30).map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_a_portable_name_is_text_and_leads_back(name: str) -> None:
    assert portable_name(name).encode().decode() == portable_name(name)
    assert system_name(portable_name(name)) == name


def test_a_file_that_cannot_be_read_is_listed_with_its_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "broken.md").symlink_to(tmp_path / "nowhere")
    found = listed(tmp_path, follow_symlinks=True)
    assert {uri: item.error for uri, item in found.items()} == {
        "broken.md": "cannot be read: No such file or directory",
        "pipe.md": "not a regular file",
    }
    assert all(item.content_sha is None for item in found.values())


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_permissions_make_an_error_for_a_file_and_stop_the_listing_for_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b/c.md")
    (tmp_path / "a.md").chmod(0)
    assert listed(tmp_path)["a.md"].error == "cannot be read: Permission denied"
    (tmp_path / "b").chmod(0)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        listed(tmp_path)
    (tmp_path / "b").chmod(0o700)


def test_links_are_passed_over_or_followed_inside_the_root_only(tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.md", "root/a.md", "root/b/c.md")
    root = tmp_path / "root"
    (root / "file.md").symlink_to(root / "a.md")
    (root / "folder").symlink_to(root / "b")
    (root / "loop").symlink_to(root)
    (root / "b" / "loop").symlink_to(root / "b")
    (root / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "outside").symlink_to(tmp_path / "outside")
    assert sorted(listed(root)) == ["a.md", "b/c.md"]
    found = listed(root, follow_symlinks=True)
    readable = {uri: read_file(item.locator, 99) for uri, item in found.items() if not item.error}
    assert readable == {"a.md": b"root/a.md", "b/c.md": b"root/b/c.md", "file.md": b"root/a.md"} | {
        "folder/c.md": b"root/b/c.md"
    }
    refused = {uri for uri, item in found.items() if item.error}
    assert refused == {"out.md", "outside"}


def test_links_that_are_passed_over_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.md", "root/a.md", "root/b/c.md")
    root = tmp_path / "root"
    (root / "file.md").symlink_to(root / "a.md")
    (root / "folder").symlink_to(root / "b")
    (root / "loop.md").symlink_to("loop.md")
    (root / "broken.md").symlink_to(root / "nowhere.md")
    (root / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "outside").symlink_to(tmp_path / "outside")
    (root / "other.txt").symlink_to(root / "a.md")  # which no pattern takes in
    (root / "left.md").symlink_to(root / "a.md")
    (root / "b" / "back").symlink_to(root)

    def skipped(**options: bool) -> dict[str, int]:
        skips = Skips()
        source = FileSource(name="docs", root=root, include=("**/*.md",), exclude=("left.md",), **options)
        list(list_any(source, FetchSettings(), skips))
        return skips.by_source().get("docs", {})

    assert skipped() == {"symbolic link": 5, "symbolic link that leads out of the source's folder": 2}
    # Followed, those that lead out are documents that cannot be taken; `b/back` is met in `folder` too.
    assert skipped(follow_symlinks=True) == {"symbolic link to a folder that it lies in": 2}


def test_a_link_to_itself_is_a_document_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "loop.md").symlink_to("loop.md")
    assert (listed(tmp_path, follow_symlinks=True)["loop.md"].error or "").startswith("cannot be read")


def test_a_missing_root_is_an_error_and_not_an_empty_source(tmp_path: Path) -> None:
    write(tmp_path, "file")
    for root in ("missing", "file"):
        with pytest.raises(ConfigurationError, match="does not exist or is not a folder"):
            listed(tmp_path / root)


def test_the_order_does_not_depend_on_creation(tmp_path: Path) -> None:
    write(tmp_path / "one", "b", "a/x", "c")
    write(tmp_path / "two", "c", "b", "a/x")
    assert list(listed(tmp_path / "one")) == list(listed(tmp_path / "two")) == ["a/x", "b", "c"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTPS://Example.ORG:443/Path?Q=1#top", "https://example.org/Path?Q=1"),
        ("http://example.org", "http://example.org/"),
        ("http://example.org:8080/a", "http://example.org:8080/a"),
        (" https://example.org/a b ", "https://example.org/a%20b"),
        ("https://example.org/a%2Fb", "https://example.org/a%2Fb"),
        ("https://user:secret@example.org/", None),
        ("ftp://example.org/", None),
        ("file:///etc/passwd", None),
        ("example.org/a", None),
        ("http://", None),
        ("http://example.org:port/", None),
    ],
)
def test_urls_are_canonical(url: str, expected: str | None) -> None:
    assert canonical_url(url) == expected


def test_urls_come_from_the_list_and_the_file_once_each(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("# ours\n\nhttps://example.org/b\r\nHTTPS://EXAMPLE.org/a#x\n")
    source = HttpSource(name="web", urls=("https://example.org/a",), urls_file=tmp_path / "urls.txt")
    assert [(item.uri, item.locator, item.content_sha) for item in list_source(source)] == [
        ("https://example.org/a", "https://example.org/a", None),
        ("https://example.org/b", "https://example.org/b", None),
    ]


def test_a_wrong_url_or_a_missing_list_stops_the_listing_without_repeating_a_password(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("https://example.org/b\nhttps://me:hunter2@example.org\n")
    with pytest.raises(ConfigurationError, match="line 2") as caught:
        list(list_source(HttpSource(name="web", urls_file=tmp_path / "urls.txt")))
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        list(list_source(HttpSource(name="web", urls_file=tmp_path / "none.txt")))
