"""A file that is written to while it is read is never taken half old and half new."""

import os
from pathlib import Path

import pytest

from tasks.errors import DocumentError
from tasks.fetch import local


def written_meanwhile(monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> None:
    """Another program appends to the file right before its state is looked at after a reading, so many times."""
    look, looks = os.fstat, iter(range(1000))

    def looked(descriptor: int) -> os.stat_result:
        number = next(looks)
        if number % 2 and number // 2 < times:
            with path.open("a") as file:
                file.write("more\n")
        return look(descriptor)

    monkeypatch.setattr(local.os, "fstat", looked)


def test_the_version_that_stands_still_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_text("one\n")
    written_meanwhile(monkeypatch, path, 2)
    assert local.read_file(str(path), 1000) == b"one\nmore\nmore\n" == path.read_bytes()


def test_one_that_never_stands_still_is_left_to_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_text("one\n")
    written_meanwhile(monkeypatch, path, 100)
    with pytest.raises(DocumentError, match="each of the 3 times") as caught:
        local.read_file(str(path), 1000)
    assert (caught.value.error_class, caught.value.transient) == ("changed", True)
    with pytest.raises(DocumentError, match="larger than"):
        local.read_file(str(path), 10)
