"""Bombs, traps and odd files: each ends as a row with text or as a named failure, none takes others with it."""

import json

import pytest

from tasks.documents.cage import Cage, CageLimits, Job
from tasks.documents.sniff import declared_type, sniff
from tasks.parse.settings import ParseSettings
from tests.tasks.parse.stage_by_hand import SETTINGS, parse, text_of

PATIENT = ParseSettings(limits=CageLimits(seconds_per_document=400, seconds_per_page=100, workers=2))
"""5,000 pages, and scans that are read by OCR, take their time on a loaded machine."""

COMMON = {".pdf", ".html", ".md", ".txt"}
"""Kinds of files of which all but the one with 5,000 pages are read within the minute that `SETTINGS` give them."""

NAMED = {
    "r4-aes-user-password.pdf": "encrypted",
    "encryption_openpassword.pdf": "encrypted",
    "testWORD_protected_passtika.docx": "encrypted",
    "quine.gz": "unsupported_type",
    "testXXE.xml": "unsupported_type",
    "testZIP_corrupted_oom.zip": "unsupported_type",
    "zip_slip.zip": "unsupported_type",
    "billion_laughs.xml": "unsupported_type",
    "zip_bomb_64MiB.docx": "archive_limit",
    "flate_bomb_100MiB.pdf": "empty_parse",
    "zero_byte.pdf": "empty",
    "null": "empty",
    "zero_pages.pdf": "empty_parse",
    "poppler-85140-0.pdf": "corrupt",
}
"""What must come out, whatever parsers are added."""


@pytest.fixture(scope="module")
def outcomes(shared_data):
    paths = {}
    for folder in ("robustness", "synthetic"):
        for entry in json.loads((shared_data / "messy" / folder / "manifest.json").read_text(encoding="utf-8")):
            path = shared_data / "messy" / folder / entry["file"]
            paths[path.name] = path
    assert len(paths) == 77 + 13
    common = {name: path for name, path in paths.items() if path.suffix in COMMON and name != "pages_5000.pdf"}
    rows, failures = parse(*common.values(), settings=SETTINGS)
    others = parse(*(path for name, path in paths.items() if name not in common), settings=PATIENT)
    return paths, rows | others[0], failures | others[1]


def test_every_file_has_one_outcome_and_none_is_silently_empty(outcomes):
    paths, rows, failures = outcomes
    assert sorted([*rows, *failures]) == sorted(paths)
    assert [name for name, row in rows.items() if not any(e["text"].strip() for e in row["elements"])] == []
    assert {failure.error_class for failure in failures.values()} <= {
        "unsupported_type", "empty_parse", "encrypted", "no_text", "corrupt", "empty", "archive_limit"
    }  # fmt: skip
    assert all(failure.message and failure.remedy for failure in failures.values())


def test_hostile_and_damaged_files_never_come_out_as_empty_rows(outcomes):
    paths, rows, failures = outcomes
    common = {name for name, path in paths.items() if path.suffix in COMMON and name != "pages_5000.pdf"}
    assert all(rows[name]["elements"] for name in common & rows.keys())
    assert {failures[name].error_class for name in common & failures.keys()} <= {
        "encrypted", "corrupt", "empty", "empty_parse", "no_text"
    }  # fmt: skip
    assert "needle" in text_of(rows["html_deep_nest_20000.html"])


def test_traps_are_named(outcomes):
    _, _, failures = outcomes
    assert {name: failures[name].error_class if name in failures else "read" for name in NAMED} == NAMED


def test_the_second_reader_outlives_them_too(outcomes):
    paths, _, _ = outcomes
    check = "tasks.documents.attribution:check_file"
    jobs = []
    for name, path in paths.items():
        media_type = sniff(path.read_bytes(), declared_type(name))
        jobs.append(
            Job(
                name,
                check,
                [
                    str(path),
                    media_type,
                    None,
                    [["some passage of text", 1, 1, None, [], None, False]],
                    PATIENT.containers.model_dump(),
                ],
            )
        )
    found = {
        result.key: result.error.error_class if result.error else "read"
        for result in Cage.shared(PATIENT.limits).run(jobs)
    }
    assert found.keys() == paths.keys()
    assert set(found.values()) <= {"read", "unreadable"}
    assert found["zip_bomb_64MiB.docx"] == "unreadable"
