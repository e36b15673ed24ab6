"""A file on which the second parser hangs, crashes or fills memory costs its own figure and nothing else."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

HERE = Path(__file__).parent
CONTENTS = {
    "good": b"The pump by the weir was oiled.",
    "spins": b"SPIN",
    "dies": b"DIE",
    "hoards": b"HOARD",
    "other": b"The mill was never found at all.",
    "last": b"Notes. The pump by the weir was oiled. End.",
}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name, data in CONTENTS.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in CONTENTS]


def test_a_reader_that_hangs_crashes_or_fills_memory_makes_its_document_invalid(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    from foreign_files import measures_of

    monkeypatch.setattr("tasks.chunk.evaluator._CHECK", "foreign_files:misbehaving_reader")
    rows = measures_of(files, seconds_per_document=3, memory_mb=600, workers=2)
    found = {
        (row["document_id"], row["slice_value"]): (row["value"], row["status"])
        for row in rows
        if row["metric"] == "attribution_completeness" and (row["value"] != 0 or row["slice_value"] is None)
    }
    assert found == {
        ("good", None): (1.0, "ok"),
        ("good", "exact"): (1.0, "ok"),
        ("spins", None): (None, "invalid"),
        ("spins", "timeout"): (None, "invalid"),
        ("dies", None): (None, "invalid"),
        ("dies", "crashed"): (None, "invalid"),
        ("hoards", None): (None, "invalid"),
        ("hoards", "memory"): (None, "invalid"),
        ("other", None): (0.0, "ok"),
        ("other", "failed"): (1.0, "ok"),
        ("last", None): (1.0, "ok"),
        ("last", "exact"): (1.0, "ok"),
    }
    # One chunk each.
    unchecked = {row["document_id"]: row["value"] for row in rows if row["metric"] == "attribution_unchecked"}
    assert unchecked == dict.fromkeys(CONTENTS, 0) | {"spins": 1, "dies": 1, "hoards": 1}
    # What does not need the file is measured all the same.
    assert {row["document_id"] for row in rows if row["metric"] == "conservation" and row["value"] == 1} == set(
        CONTENTS
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
def test_no_reader_outlives_a_killed_evaluator(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    for file in files:
        file.write_bytes(b"SPIN")
    script = tmp_path / "parent.py"
    script.write_text(
        "import tasks.chunk.evaluator, foreign_files\n"
        "from pathlib import Path\n"
        "tasks.chunk.evaluator._CHECK = 'foreign_files:misbehaving_reader'\n"
        f"foreign_files.measures_of([Path(p) for p in {[str(file) for file in files]!r}], workers=2, memory_mb=600)\n"
    )
    root = Path(__file__).resolve().parents[3]
    path = os.pathsep.join([str(root), str(HERE)])
    parent = subprocess.Popen([sys.executable, str(script)], env=os.environ | {"PYTHONPATH": path})
    try:
        for _ in range(1200):
            if len(found := list(tmp_path.glob("pid-*"))) == 2:
                break
            assert parent.poll() is None
            time.sleep(0.05)
        readers = [psutil.Process(int(file.name.removeprefix("pid-"))) for file in found]
        assert {reader.ppid() for reader in readers} == {parent.pid}
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        gone, alive = psutil.wait_procs(readers, timeout=20)
        assert (len(gone), alive) == (2, [])
    finally:
        parent.kill()
