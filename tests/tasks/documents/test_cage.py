import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from tasks.documents.cage import Cage, CageLimits, Job
from tasks.errors import RunError

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def jobs_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


def job(function, *arguments, key="document"):
    return Job(key, f"caged_jobs:{function}", arguments)


def only(limits, *jobs):
    with Cage(limits) as cage:
        return list(cage.run(jobs))


SMALL = CageLimits(memory_mb=512, workers=2)
QUICK = SMALL.model_copy(update={"seconds_per_document": 1})
"""For jobs that never end: whatever ends by itself needs more than a second on a loaded machine."""
PATIENT = CageLimits(memory_mb=1024, workers=2)


def test_results_come_in_the_order_of_the_jobs():
    results = only(PATIENT, *(job("double", i, key=str(i)) for i in range(40)))
    assert [(r.key, r.value) for r in results] == [(str(i), 2 * i) for i in range(40)]
    assert all(r.error is None and r.seconds > 0 for r in results)


@pytest.mark.parametrize(
    ("misbehaviour", "error_class", "words", "transient"),
    [
        (job("loop"), "timeout", "longer than 1 s", True),
        (job("spin_in_c"), "timeout", "longer than 1 s", True),
        (job("memory_bomb"), "memory", "512 MiB", False),
        (job("kill_self", signal.SIGSEGV), "crashed", "SIGSEGV", False),
        (job("kill_self", signal.SIGABRT), "crashed", "SIGABRT", False),
        (job("kill_self", signal.SIGKILL), "crashed", "out of memory", True),
        (job("leave", 3), "exited", "status 3", False),
        (job("leave_at_once", 0), "exited", "status 0", False),
        (job("raise_value_error"), "parser_error", "ValueError", False),
        (job("raise_document_error"), "encrypted", "needs a password", False),
    ],
    ids=lambda value: value.target + str(*value.arguments) if isinstance(value, Job) else "",
)
def test_a_misbehaving_document_costs_only_itself(misbehaviour, error_class, words, transient):
    limits = QUICK if error_class == "timeout" else SMALL
    before, bad, after = only(limits, job("double", 1), misbehaviour, job("double", 2))
    assert (before.value, after.value) == (2, 4)
    assert bad.value is None
    assert (bad.error.error_class, bad.error.transient) == (error_class, transient)
    assert words in str(bad.error)
    assert bad.error.remedy


def test_an_error_never_quotes_the_document():
    (result,) = only(PATIENT, job("raise_value_error"))
    assert "secret" not in str(result.error) + result.error.remedy


def test_what_a_parser_prints_reaches_no_log(capfd):
    (result,) = only(PATIENT, job("write_to_all_channels"))
    assert result.value is True
    assert capfd.readouterr() == ("", "")


def test_a_page_over_its_limit_is_left_out_and_the_rest_is_kept():
    limits = CageLimits(seconds_per_page=1, memory_mb=512, workers=1)
    hanging, healthy = only(limits, job("read_pages", 4, [3]), job("read_pages", 2, []))
    assert (hanging.value, hanging.skipped_pages, hanging.error) == ([1, 2, 4], (3,), None)
    assert hanging.seconds >= 1
    assert (healthy.value, healthy.skipped_pages) == ([1, 2], ())


def test_two_pages_over_the_limit_quarantine_the_document():
    limits = CageLimits(seconds_per_page=0.5, memory_mb=512, workers=1)
    (result,) = only(limits, job("read_pages", 4, [2, 3]))
    assert result.error.error_class == "page_timeout"
    assert "page 3" in str(result.error)


def test_the_document_limit_holds_also_while_pages_go_on():
    limits = CageLimits(seconds_per_document=1, seconds_per_page=30, memory_mb=512, workers=1)
    (result,) = only(limits, job("read_pages", 4, [3]))
    assert result.error.error_class == "timeout"


def test_a_page_read_by_ocr_has_twice_the_time_and_the_document_that_much_more():
    limits = CageLimits(seconds_per_document=2, seconds_per_page=2, memory_mb=512, workers=1)
    # Five pages of 0.7 s are over the document's 2 s, and within 2 s and 2 s more for each page.
    text, scan = only(limits, job("recognize_pages", 5, 0.7, 0), job("recognize_pages", 5, 0.7, 1))
    assert text.error.error_class == "timeout"
    assert (scan.value, scan.error) == (5, None)
    # One page of 3 s is over 2 s, and within twice 2 s.
    limits = CageLimits(seconds_per_document=30, seconds_per_page=2, memory_mb=512, workers=1)
    text, scan = only(limits, job("recognize_pages", 1, 3, 0), job("recognize_pages", 1, 3, 1))
    assert (text.skipped_pages, scan.skipped_pages) == ((1,), ())
    assert (scan.value, scan.error) == (1, None)


def test_a_worker_that_a_file_has_taken_over_cannot_ask_for_time_without_end():
    limits = CageLimits(seconds_per_document=0.5, seconds_per_page=0.5, memory_mb=512, workers=1)
    (result,) = only(limits, job("recognize_pages", 1, 60, 1000))
    assert result.error.error_class in ("timeout", "page_timeout")
    assert result.seconds < 20


@pytest.mark.parametrize(
    "message",
    [
        "malloc (1234 bytes) failed",
        "std::bad_alloc",
        "Failed to allocate memory for requested buffer of size 1",
        "(-4:Insufficient memory) Failed to allocate 12 bytes in function 'OutOfMemoryError'",
    ],
)
def test_memory_refused_to_a_library_is_told_from_a_defect(message):
    (result,) = only(PATIENT, job("refuse_memory", message))
    assert result.error.error_class == "memory"


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
def test_a_program_that_a_worker_runs_ends_with_it(tmp_path, monkeypatch):
    """A page on which Tesseract hangs costs the worker, and Tesseract with it."""
    from PIL import Image

    from tasks.parse.settings import ParseSettings

    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "tesseract"
    program.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    Image.effect_noise((200, 200), 60).save(tmp_path / "noise.png")
    settings = ParseSettings(ocr={"engine": "tesseract"}).model_dump(mode="json", exclude={"limits"})
    limits = CageLimits(seconds_per_document=5, seconds_per_page=2, memory_mb=2048, workers=1)
    hanging = Job("document", "tasks.parse.image:parse_image", [str(tmp_path / "noise.png"), settings, None])
    (result,) = only(limits, hanging)
    assert result.error is not None
    programs = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert programs
    wait_for(lambda: not any(psutil.pid_exists(program) for program in programs))


def test_an_answer_that_would_fill_the_parent_is_refused():
    (result,) = only(CageLimits(memory_mb=2048, workers=1), job("huge_answer"))
    assert result.error.error_class == "too_large"


def test_workers_are_used_again_and_replaced_after_their_share():
    limits = CageLimits(memory_mb=512, workers=1, tasks_per_worker=3)
    with Cage(limits) as cage:
        first = [r.value for r in cage.run([job("process_id")] * 2)]
        second = [r.value for r in cage.run([job("process_id")] * 4)]
    ids = first + second
    assert ids[:3] == [ids[0]] * 3
    assert ids[3:] == [ids[3]] * 3
    assert ids[0] != ids[3]


def test_a_worker_that_has_grown_large_is_replaced():
    with Cage(CageLimits(memory_mb=1024, workers=1)) as cage:
        ids = []
        for mebibytes in (100, 600, 1):
            list(cage.run([job("allocate", mebibytes)]))
            ids += [result.value for result in cage.run([job("process_id")])]
    assert ids[0] != ids[1]
    assert ids[1] == ids[2]


def test_peak_memory_belongs_to_one_document():
    large, small = only(CageLimits(memory_mb=1024, workers=1), job("allocate", 200), job("double", 1))
    assert large.peak_rss_bytes > 200 * 2**20
    if sys.platform == "linux":
        assert small.peak_rss_bytes < 150 * 2**20


def test_a_worker_imports_neither_prefect_nor_the_command_line():
    (result,) = only(PATIENT, job("modules"))
    loaded = {name.partition(".")[0] for name in result.value}
    assert not loaded & {"prefect", "flows", "typer", "pyarrow", "pydantic", "pytest", "pymupdf", "numpy"}


def test_several_threads_may_use_one_cage():
    values = {}
    with Cage(PATIENT) as cage:

        def use(offset):
            values[offset] = [r.value for r in cage.run(job("double", offset + i) for i in range(10))]

        threads = [threading.Thread(target=use, args=(offset,)) for offset in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert values == {offset: [2 * (offset + i) for i in range(10)] for offset in (0, 100, 200)}


def test_workers_outlive_the_thread_that_handed_in_the_first_job():
    ids = []
    with Cage(CageLimits(memory_mb=512, workers=1)) as cage:
        for _ in range(2):
            thread = threading.Thread(target=lambda: ids.extend(r.value for r in cage.run([job("process_id")])))
            thread.start()
            thread.join()
    assert len(ids) == 2
    assert ids[0] == ids[1]


def test_the_shared_cage_is_one_per_limits():
    limits = CageLimits(memory_mb=600, workers=1)
    assert Cage.shared(limits) is Cage.shared(CageLimits(memory_mb=600, workers=1))
    assert Cage.shared(limits) is not Cage.shared(CageLimits(memory_mb=601, workers=1))


def test_a_parser_that_cannot_be_imported_fails_the_run_and_not_the_document():
    with Cage(PATIENT) as cage, pytest.raises(RunError, match="could not start"):
        list(cage.run([Job("document", "no_such_module:parse", [])]))


def test_closing_ends_busy_workers(tmp_path):
    cage = Cage(CageLimits(memory_mb=512, workers=1))
    errors = []

    def use():
        try:
            list(cage.run([job("say_and_spin", str(tmp_path)), job("double", 1)]))
        except RunError as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    pid = wait_for(lambda: [int(path.name) for path in tmp_path.iterdir()])[0]
    cage.close()
    thread.join()
    assert errors
    assert not psutil.pid_exists(pid)
    with pytest.raises(RunError):
        list(cage.run([job("double", 1)]))


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(tmp_path, how):
    """The parent is a script without a main guard: a worker that ran it again would start workers of its own."""
    folder = tmp_path / "pids"
    folder.mkdir()
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(f"""
        from tasks.documents.cage import Cage, CageLimits, Job
        cage = Cage.shared(CageLimits(memory_mb=512, workers=2))
        jobs = [Job(str(i), "caged_jobs:say_and_spin", [{str(folder)!r}]) for i in range(2)]
        list(cage.run(jobs))
        """)
    )
    root = Path(__file__).resolve().parents[3]
    parent = subprocess.Popen(
        [sys.executable, str(script)], env=os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(HERE)])}
    )
    try:
        wait_for(lambda: len(list(folder.iterdir())) == 2)
        workers = [psutil.Process(int(path.name)) for path in folder.iterdir()]
        assert {worker.ppid() for worker in workers} == {parent.pid}
        parent.send_signal(how)
        parent.wait()
        gone, alive = psutil.wait_procs(workers, timeout=20)
        assert (len(gone), alive) == (2, [])
    finally:
        parent.kill()


def test_a_parent_that_ends_normally_leaves_no_worker(tmp_path):
    code = (
        "from tasks.documents.cage import Cage, CageLimits, Job\n"
        "cage = Cage.shared(CageLimits(memory_mb=512, workers=1))\n"
        "print([r.value for r in cage.run([Job('a', 'caged_jobs:process_id', [])])][0])\n"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(HERE)])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not psutil.pid_exists(int(done.stdout))
    assert done.stderr == ""


def wait_for(condition):
    for _ in range(600):
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("waited 30 s in vain")
