"""`plan` tells what the next run does, and the run then does just that; telling changes nothing."""

import shutil
from pathlib import Path

import pytest

from schemas.names import StageName
from tasks.lake.layout import Lake
from tasks.run import asking
from tasks.run.configuration import Configuration
from tasks.run.options import WHOLE, RunOptions
from tasks.run.preview import Preview, preview
from tests.engine import run_engine
from tests.tasks.fetch.web_server import Reply, serving
from tests.tasks.run.notes import cohorts, computed, configuration, note, write_notes
from tests.texts import configured, text


def planned(settings: Configuration, options: RunOptions = WHOLE) -> Preview:
    return preview(settings, options, names=3)


def amounts(plan: Preview) -> dict[str, int]:
    """What stages would compute if everything comes through."""
    return {work.stage: n for work in plan.stages if (n := work.certain + work.following)}


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder with its size and time."""
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*")}


def test_servers_that_are_asked_say_what_has_changed_and_are_asked_for_no_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_MOST", 3)  # as many as there are pages that can be asked about
    with serving() as site:
        pages = {name: text(number).encode() for number, name in enumerate(("same", "other", "mute", "down"))}
        urls = [
            site.on(f"/{name}.txt", Reply(body=page, headers={"Content-Type": "text/plain"} | _tag(name, "1")))
            for name, page in pages.items()
        ]
        source = {"name": "site", "type": "http", "urls": urls}
        local = {"fetch": {"allow_private_addresses": True, "retries": 0}}
        settings = configured(tmp_path, sources=[source], stages=local)
        run_engine(settings)
        site.on("/same.txt", Reply(status=304, headers=_tag("same", "1")))
        site.on("/other.txt", Reply(body=text(9).encode(), headers={"Content-Type": "text/plain"} | _tag("other", "2")))
        site.on("/down.txt", Reply(status=500))
        asked = {path: len(requests) for path, requests in site.requests.items()}
        assert planned(settings).documents == {"to_be_asked": 4}
        assert {path: len(requests) for path, requests in site.requests.items()} == asked
        plan = preview(settings, WHOLE, names=3, ask=True)
        assert plan.documents == {"changed": 1, "unchanged": 1, "to_be_asked": 2}
        assert all(len(site.requests[f"/{name}.txt"]) > asked[f"/{name}.txt"] for name in ("same", "other", "down"))
        assert plan.names["changed"] == [f"site:{urls[1]}"]
        assert site.requests["/other.txt"][-1]["if-none-match"] == '"other 1"'
        assert len(site.requests["/mute.txt"]) == asked["/mute.txt"]
        site.on("/down.txt", Reply(status=304, headers=_tag("down", "1")))
        run = run_engine(settings)
        assert cohorts(run) == {"unchanged": 3, "changed": 1}
        parsed = next(work for work in plan.stages if work.stage is StageName.PARSE)
        assert parsed.certain + parsed.following == computed(run)[StageName.PARSE] == 1


def _tag(name: str, version: str) -> dict[str, str]:
    return {} if name == "mute" else {"ETag": f'"{name} {version}"'}


def test_before_the_first_run_everything_is_new_and_no_lake_is_made(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 5)
    plan = planned(configuration(tmp_path))
    assert plan.documents == {"new": 5}
    assert plan.by_source == {"notes": {"new": 5}}
    assert amounts(plan) == dict.fromkeys(StageName, 5)
    assert [work.exact for work in plan.stages] == [True] + [False] * 10
    assert not (tmp_path / "lake").exists()


def test_the_counts_of_a_plan_are_those_of_the_run_that_follows(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write_notes(notes, 12)
    (notes / "old.doc").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600)
    rules = [{"class": "letter", "path": "[f]*"}, {"class": "harbour", "path": "*-crane.md"}]
    settings = configuration(tmp_path, classes=rules)
    first = run_engine(settings, measured=False)
    assert first.outcome("old.doc") == ("quarantined", StageName.PARSE)

    (notes / "ferry.md").write_text(note("ferry", "It is painted green now."), encoding="utf-8")
    (notes / "harbour-crane.md").unlink()
    (notes / "tide-table.md").rename(notes / "tides.md")
    write_notes(notes, 2, start=12)
    with Lake(settings.lake).exclusive():  # a run is on
        before = everything(tmp_path)
        plan = planned(settings)
        assert everything(tmp_path) == before
    assert plan.documents == {"new": 2, "changed": 1, "unchanged": 10, "moved": 1, "deleted": 1}
    assert plan.by_class["harbour"] == {"deleted": 1}
    assert plan.names["moved"] == ["notes:tide-table.md -> tides.md"]
    assert plan.names["new"] == ["notes:chart-room.md", "notes:rope-walk.md"]
    assert [(failed.uri, failed.error_class, failed.again) for failed in plan.failed] == [
        ("old.doc", "unsupported_type", False)
    ]
    second = run_engine(settings, measured=False)
    assert plan.documents == cohorts(second)
    assert amounts(plan) == computed(second)

    plan = planned(settings)
    assert plan.documents == {"unchanged": 14} == cohorts(run_engine(settings, measured=False))
    assert amounts(plan) == {}
    assert all(work.exact for work in plan.stages)


def test_an_edited_copy_may_bring_the_other_one_back(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write_notes(notes, 3)
    for name in ("a-copy.md", "z-copy.md"):
        (notes / name).write_text(note("ferry", "It is painted green now."), encoding="utf-8")
    settings = configuration(tmp_path)
    assert run_engine(settings, measured=False).outcome("z-copy.md") == ("dropped", StageName.DEDUP)
    (notes / "a-copy.md").write_text(note("ferry", "It was sold to the islanders, who use it daily."), encoding="utf-8")
    plan = planned(settings)
    work = {work.stage: work for work in plan.stages}
    assert (work[StageName.PARSE].settled, work[StageName.PII].settled) == (True, False)
    done = computed(run_engine(settings, measured=False))
    assert done[StageName.PII] == 2 > work[StageName.PII].certain + work[StageName.PII].following


def test_new_settings_are_told_exactly_as_far_as_keys_are_known(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 8)
    run_engine(configuration(tmp_path), measured=False)
    settings = configuration(tmp_path, stages={"chunk": {"max_tokens": 60, "min_tokens": 10}})
    plan = planned(settings)
    assert {work.stage: (work.certain, work.following) for work in plan.stages if work.certain or work.following} == {
        "chunk": (8, 0),
        "metadata": (0, 8),
        "embed": (0, 8),
        "index": (0, 8),
    }
    assert [work.stage for work in plan.stages if not work.exact] == ["metadata", "embed", "index"]
    assert amounts(plan) == computed(run_engine(settings, measured=False))


def test_a_failure_that_may_pass_is_tried_again(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write_notes(notes, 4)
    settings = configuration(tmp_path)
    (notes / "gone.md").symlink_to(tmp_path / "outside.md")
    followed = configuration(tmp_path, source={"follow_symlinks": True})
    (tmp_path / "outside.md").write_text(note("outside"), encoding="utf-8")
    run = run_engine(followed, measured=False)
    assert run.outcome("gone.md")[0] == "quarantined"
    assert [(failed.uri, failed.again) for failed in planned(followed).failed] == [("gone.md", True)]
    assert planned(settings).failed == []


def test_a_plan_names_what_would_stop_the_run(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 16)
    settings = configuration(tmp_path)
    run_engine(settings, measured=False)
    shutil.rmtree(tmp_path / "notes")
    write_notes(tmp_path / "notes", 4)
    (stopping,) = planned(settings).stopped_by
    assert (stopping.source, stopping.deleted, stopping.live) == ("notes", 12, 16)
    assert planned(settings, RunOptions(allow_mass_delete=True)).stopped_by == []
