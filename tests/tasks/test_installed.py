"""Versions of packages are looked up once in a process, in one place."""

from collections import Counter
from importlib import metadata

import pytest

from tasks.installed import version
from tasks.run.keys import stage_base
from tasks.run.registry import STAGES


def test_the_keys_of_two_runs_look_up_each_package_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Counter[str] = Counter()
    read = metadata.version

    def counted(package: str) -> str:
        number = read(package)
        found[package] += 1
        return number

    version.cache_clear()
    monkeypatch.setattr(metadata, "version", counted)
    bases = [{name: stage_base(stage, stage.settings()) for name, stage in STAGES.items()} for _ in range(2)]
    assert bases[0] == bases[1]
    assert len(found) > 10
    assert set(found.values()) == {1}


def test_the_version_is_the_installed_one_and_what_is_not_installed_has_none() -> None:
    assert version("pyarrow") == metadata.version("pyarrow")
    with pytest.raises(metadata.PackageNotFoundError, match="no-package-of-this-name"):
        version("no-package-of-this-name")
