"""Objects of stores and members of ZIP archives are taken like files, and known again without being read."""

import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
import pytest

from schemas.names import Cohort
from tasks.errors import ConfigurationError
from tasks.fetch.listed import Skips
from tasks.fetch.listing import list_source
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sources import FsspecSource
from tests.tasks.fetch.sources_by_hand import Scan

OLD = datetime(2024, 5, 1, tzinfo=UTC)


def store(url: str, **options: Any) -> dict[str, Any]:
    return {"type": "fsspec", "url": url} | options


@pytest.fixture
def bucket() -> Iterator[str]:
    name = f"bucket-{uuid4().hex}"
    yield name
    files = fsspec.filesystem("memory")
    if files.exists(f"/{name}"):
        files.rm(f"/{name}", recursive=True)


def put(bucket: str, name: str, data: bytes, when: datetime = OLD) -> None:
    files = fsspec.filesystem("memory")
    files.pipe(f"/{bucket}/{name}", data)
    files.store[f"/{bucket}/{name}"].created = when


def test_objects_are_named_below_the_url_and_taken_by_globs(tmp_path: Path, bucket: str) -> None:
    for name in ("a/guide.md", "a/draft/x.md", "top.txt", "a/.hidden.md"):
        put(bucket, name, name.encode())
    source = store(f"memory://{bucket}", include=["**/*.md"], exclude=["**/draft"])
    scan = Scan(tmp_path / "lake", 1, source)
    assert scan.outcomes == {"a/guide.md": "ok"}
    assert scan.bytes_of("a/guide.md") == b"a/guide.md"
    assert scan.plan["a/guide.md"]["commit_time"] == OLD
    assert scan.row("a/guide.md")["media_type"] == "text/markdown"


def test_an_object_with_the_same_time_and_size_is_not_read_again(tmp_path: Path, bucket: str) -> None:
    put(bucket, "a.md", b"first")
    put(bucket, "b.md", b"other")
    source = store(f"memory://{bucket}")
    assert Scan(tmp_path / "lake", 1, source).computed == {"a.md", "b.md"}
    put(bucket, "a.md", b"later", OLD.replace(month=6))
    again = Scan(tmp_path / "lake", 2, source)
    assert again.computed == {"a.md"}
    assert (again.bytes_of("a.md"), again.bytes_of("b.md")) == (b"later", b"other")


def test_a_time_that_has_only_just_passed_proves_nothing(tmp_path: Path, bucket: str) -> None:
    now = datetime.now(UTC)
    put(bucket, "a.md", b"first", now)
    source = store(f"memory://{bucket}")
    Scan(tmp_path / "lake", 1, source)
    put(bucket, "a.md", b"later", now)
    assert Scan(tmp_path / "lake", 2, source).bytes_of("a.md") == b"later"


def test_a_local_store_follows_no_links_and_keeps_times(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a b#c.txt").write_text("text")
    os.utime(folder / "sub" / "a b#c.txt", (OLD.timestamp(), OLD.timestamp()))
    (folder / "loop").symlink_to(folder)
    (folder / "out.txt").symlink_to("/etc/hostname")
    scan = Scan(tmp_path / "lake", 1, store(f"file://{folder}"))
    assert scan.outcomes == {"sub/a b#c.txt": "ok"}
    assert scan.skipped == {"symbolic link": 2}
    assert scan.plan["sub/a b#c.txt"]["commit_time"] == OLD
    assert Scan(tmp_path / "lake", 2, store(f"file://{folder}")).computed == set()


def test_an_object_above_the_limit_fails_alone(tmp_path: Path, bucket: str) -> None:
    put(bucket, "large.txt", b"x" * 101)
    put(bucket, "small.txt", b"x" * 100)
    scan = Scan(tmp_path / "lake", 1, store(f"memory://{bucket}"), max_bytes=100)
    assert scan.outcomes == {"large.txt": "too_large", "small.txt": "ok"}


class BreaksMidway(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """A store of two folders, the second of which stops answering."""

    protocol = "breaks-midway"
    broken = False

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[dict[str, Any]]:
        if path.endswith("two") and self.broken:
            raise ConnectionError("AKIA-SECRET")
        if path.endswith(("one", "two")):
            return [{"name": f"{path}/a.txt", "type": "file", "size": 1, "ETag": "1"}]
        return [{"name": f"{path}/{name}", "type": "directory", "size": 0} for name in ("one", "two")]

    def _open(self, path: str, *_: Any, **__: Any) -> Any:

        return io.BytesIO(path[-7:-6].encode())


def test_a_listing_that_breaks_off_deletes_nothing_and_repeats_no_key(tmp_path: Path) -> None:
    fsspec.register_implementation("breaks-midway", BreaksMidway, clobber=True)
    source = store("breaks-midway://root")
    assert Scan(tmp_path / "lake", 1, source).outcomes == {"one/a.txt": "ok", "two/a.txt": "ok"}
    BreaksMidway.broken = True
    with pytest.raises(ConfigurationError, match="root/two cannot be listed") as caught:
        Scan(tmp_path / "lake", 2, source)
    assert "SECRET" not in str(caught.value)
    assert "nothing was taken as deleted" in caught.value.remedy
    BreaksMidway.broken = False
    third = Scan(tmp_path / "lake", 3, source)
    assert {row["cohort"] for row in third.plan.values()} == {Cohort.NEW}  # none was ever deleted, none went live
    assert third.computed == set()


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("s3://bucket/reports", r"\.\[cloud\]"),
        ("gs://bucket", r"\.\[cloud\]"),
        ("az://container", r"\.\[cloud\]"),
        ("nowhere://x", "correct the URL"),
        ("https://example.org/", "type: http"),
        ("zip::zip::file:///x.zip", "archives inside archives"),
        ("tar::file:///x.tar", "ZIP|zip"),
        ("memory://missing", "check the URL"),
        ("zip::file:///missing.zip", "check that it is there"),
    ],
)
def test_what_cannot_be_listed_says_what_to_do(url: str, named: str) -> None:
    if "cloud" in named and any(_installed(name) for name in ("s3fs", "gcsfs", "adlfs")):
        pytest.skip("the libraries of the clouds are installed: without keys they fail in their own ways")
    with pytest.raises(ConfigurationError) as caught:
        list(list_source(FsspecSource(name="s", url=url), FetchSettings(), Skips()))

    assert re.search(named, caught.value.remedy)


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


@pytest.mark.parametrize("url", ["ftp://me:hunter2@host/x", "s3://bucket/**/*.pdf", "folder/below", "az://c/x?sig=1"])
def test_a_url_with_a_secret_or_a_glob_is_no_url_of_a_store(url: str) -> None:
    with pytest.raises(ValueError, match=r"password|glob|relative"):
        FsspecSource(name="s", url=url)


def archive(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in {
            "docs/a.md": b"# Alpha",
            "docs/b::c://d.txt": b"a name like a URL",
            "../../etc/cron.d/x": b"escape",
            "/absolute.txt": b"escape",
            "bomb.txt": b"0" * 3_000_000,
            "folder/": b"",
        }.items():
            made.writestr(zipfile.ZipInfo(name, (2024, 5, 1, 12, 0, 0)), data, zipfile.ZIP_DEFLATED)
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        made.writestr(link, "/etc/passwd")
    return store(f"zip::file://{path}")


def test_members_of_an_archive_are_documents_and_what_would_do_harm_is_refused(tmp_path: Path) -> None:
    source = archive(tmp_path / "a.zip")
    scan = Scan(tmp_path / "lake", 1, source)
    assert scan.outcomes == {
        "docs/a.md": "ok",
        "docs/b::c://d.txt": "ok",
        "../../etc/cron.d/x": "path_escape",
        "/absolute.txt": "path_escape",
        "bomb.txt": "archive_ratio",
        "link.txt": "not_a_file",
    }
    assert scan.bytes_of("docs/b::c://d.txt") == b"a name like a URL"
    assert scan.plan["docs/a.md"]["commit_time"] == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert not Scan(tmp_path / "lake", 2, source).computed & {"docs/a.md", "docs/b::c://d.txt"}


def test_an_encrypted_a_damaged_and_a_lying_member_fail_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in ("good.txt", "locked.txt", "torn.txt", "larger.txt"):
            made.writestr(name, f"{name} " * 50)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as read:
        places = {member.filename: member for member in read.infolist()}
    directory = data.index(b"PK\x01\x02")
    for name, member in places.items():
        entry = data.index(name.encode(), directory) - 46
        if name == "locked.txt":
            data[member.header_offset + 6] |= 1
            data[entry + 8] |= 1
        if name == "torn.txt":
            start = member.header_offset + 30 + len(name)
            data[start : start + 8] = b"\xff" * 8
        if name == "larger.txt":  # unpacks to other bytes than its directory says
            data[entry + 16 : entry + 20] = struct.pack("<I", zlib.crc32(b"something else"))
    path.write_bytes(bytes(data))
    scan = Scan(tmp_path / "lake", 1, store(f"zip::file://{path}"))
    assert scan.outcomes == {
        "good.txt": "ok",
        "locked.txt": "encrypted",
        "torn.txt": "corrupt",
        "larger.txt": "corrupt",
    }


def test_members_that_overlap_are_a_bomb_and_a_torn_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("a.txt", b"x" * 10_000)
    data = path.read_bytes()
    at = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    twice = data[:at] + data[at:end] * 3 + data[end : end + 8] + struct.pack("<HHIIH", 3, 3, 3 * (end - at), at, 0)
    path.write_bytes(twice)
    with pytest.raises(ConfigurationError, match=r"a\.zip: the archive claims more members"):
        Scan(tmp_path / "lake", 1, store(f"zip::file://{path}"))
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ConfigurationError, match=r"a\.zip: the archive cannot be read as ZIP"):
        Scan(tmp_path / "lake", 2, store(f"zip::file://{path}"))


def test_two_members_of_one_name_are_told_apart(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("a.txt", "first")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("a.txt", "second")
    scan = Scan(tmp_path / "lake", 1, store(f"zip::file://{tmp_path / 'a.zip'}"))
    assert scan.outcomes == {"a.txt": "ok", "a.txt (2)": "duplicate_name"}
    assert scan.bytes_of("a.txt") == b"first"


def test_a_real_archive_that_tries_to_escape_gives_only_what_stays_inside(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "messy" / "synthetic" / "zip_slip.zip"
    with zipfile.ZipFile(path) as read:
        escaping = {name for name in read.namelist() if ".." in name or name.startswith("/")}
    outcomes = Scan(tmp_path / "lake", 1, store(f"zip::file://{path}")).outcomes
    assert escaping
    assert {uri for uri, outcome in outcomes.items() if outcome == "path_escape"} == escaping
