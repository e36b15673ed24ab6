"""No stage gives anything else for the demo corpus than is pinned under its version."""

import copy
import json
from typing import Any

import pytest

from tasks.run.session import Session
from tests.pin_outputs import COMMAND, PINNED, changes, outputs

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def pinned() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PINNED.read_text(encoding="utf-8"))
    return found


def test_a_stage_whose_output_changed_has_another_version(healthy_run: Session, pinned: dict[str, Any]) -> None:
    found = changes(pinned, outputs(healthy_run))
    assert not found, "\n".join(map(str, found)) + f"\nOnce the version is raised, pin anew: {COMMAND}"


def test_every_stage_is_pinned_with_documents(pinned: dict[str, Any]) -> None:
    assert len(pinned) == 11
    assert all(len(stage["documents"]) > 40 for stage in pinned.values())
    assert not [name for name in pinned["parse"]["documents"] if name.startswith(("scans/", "receipts/"))]


def test_what_is_at_fault_is_told_from_what_follows_from_it(pinned: dict[str, Any]) -> None:
    now = copy.deepcopy(pinned)
    for stage in ("normalize", "chunk"):
        name = min(now[stage]["documents"])
        now[stage]["documents"][name] = "another"
    first, second = changes(pinned, now)
    assert (first.stage, first.excused) == ("normalize", None)
    assert "raise `version` in tasks/normalize/stage.py" in str(first)
    assert (second.stage, second.excused) == ("chunk", "stage normalize before it has changed")
    now["normalize"]["version"] += 1
    assert all(change.excused for change in changes(pinned, now))


def test_sums_of_numbers_may_differ_a_little_and_no_more(pinned: dict[str, Any]) -> None:
    now = copy.deepcopy(pinned)
    column = "embeddings.vector"
    count, total, size = now["embed"]["numbers"][column]
    now["embed"]["numbers"][column] = [count, total, size * (1 + 1e-5)]
    assert changes(pinned, now) == []
    now["embed"]["numbers"][column] = [count, total, size * 1.01]
    (change,) = changes(pinned, now)
    assert (change.stage, change.numbers, change.excused) == ("embed", (column,), None)
