"""The language is decided over the whole prose of a document, offline."""

import shutil
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from schemas.stages import NORMALIZE, PARSE
from tasks.language.model import MODEL, load_detector
from tasks.language.settings import LanguageSettings
from tasks.language.stage import STAGE, decide
from tasks.language.windows import windows
from tasks.metrics.classification import class_counts, macro_f1
from tasks.stage import Batch, Resources
from tests.raw_bytes import NoRaw

SETTINGS = LanguageSettings()


def detected(tmp_path: Path, blocks: list[tuple[str, str]]) -> tuple[str, float]:
    """Language and confidence of a document made of (kind, text) blocks."""
    document = dict.fromkeys(DOCUMENTS.names) | {
        "document_id": "d",
        "source": "s",
        "uri": "u",
        "locator": "l",
        "doc_class": "c",
        "tenant": "t",
        "groups": [],
        "cohort": "new",
    }
    spans = []
    start = 0
    for i, (_, text) in enumerate(blocks):
        spans.append({"element_id": i, "start": start, "end": start + len(text)})
        start += len(text) + 2
    normalized = {
        "document_id": "d",
        "text": "\n\n".join(text for _, text in blocks),
        "elements": spans,
        "offsets": [],
    }
    parsed = {
        "document_id": "d",
        "parser": "p",
        "parser_version": "1",
        "pages": 1,
        "pages_without_output": [],
        "meta_authors": [],
        "elements": [
            {"element_id": i, "kind": kind, "text": text, "section_path": []} for i, (kind, text) in enumerate(blocks)
        ],
    }
    batch = Batch(
        pa.Table.from_pylist([document], schema=DOCUMENTS),
        {
            StageName.PARSE: pa.Table.from_pylist([parsed], schema=PARSE),
            StageName.NORMALIZE: pa.Table.from_pylist([normalized], schema=NORMALIZE),
        },
    )
    output = STAGE.run(batch, SETTINGS, Resources(NoRaw(), tmp_path))
    assert not output.failures
    row = output.table.to_pylist()[0]
    return row["language"], row["confidence"]


@pytest.mark.parametrize(("name", "language"), [("boreholes.txt", "en"), ("taller.txt", "ca")])
def test_the_opening_does_not_decide_and_sister_languages_are_told_apart(
    tmp_path: Path, cases: Path, name: str, language: str
) -> None:
    text = (cases / "24-misleading-openings" / name).read_text(encoding="utf-8")
    assert detected(tmp_path, [("paragraph", part) for part in text.split("\n\n")])[0] == language


def test_code_does_not_decide(tmp_path: Path, cases: Path) -> None:
    title, before, code, after = (cases / "24-misleading-openings/meter.md").read_text(encoding="utf-8").split("\n\n")
    kinds = ["heading", "paragraph", "code", "paragraph"]
    blocks = list(zip(kinds, [title, before, code * 20, after], strict=True))
    assert detected(tmp_path, blocks)[0] == "en"
    assert detected(tmp_path, [("code", code)]) == ("und", 0.0)


def test_too_few_letters_are_unknown(tmp_path: Path) -> None:
    assert detected(tmp_path, [("paragraph", "12 + 30 = 42 kg")]) == ("und", 0.0)


def test_a_table_tells_the_language_only_where_there_is_no_prose(tmp_path: Path) -> None:
    table = "Wassertiefe an der Brücke\tacht Meter\nBreite der Schleuse im Unterwasser\tzwölf Meter"
    prose = "The lock was measured twice, once from the bridge and once from a boat below the gates. " * 3
    assert detected(tmp_path, [("table", table)])[0] == "de"
    assert detected(tmp_path, [("table", table * 9), ("paragraph", prose)])[0] == "en"


def test_a_text_half_in_another_language_is_unknown(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "langid/lingua-testdata/sentences"
    english, german = ((folder / f"{code}.txt").read_text(encoding="utf-8").splitlines()[:20] for code in ("en", "de"))
    detector = load_detector(tmp_path)
    half = "\n".join([" ".join(english)[:1500], " ".join(german)[:1500]])
    assert decide(windows(half, 8, 125), detector, SETTINGS)[0] == "und"


def test_windows_are_as_good_as_the_whole_text(shared_data: Path, tmp_path: Path) -> None:
    detector = load_detector(tmp_path)
    labelled, by_windows, by_all = [], [], []
    for path in sorted((shared_data / "langid/lingua-testdata/sentences").glob("*.txt")):
        sentences = path.read_text(encoding="utf-8").splitlines()
        for i in range(0, 250, 50):
            text = " ".join(sentences[i : i + 50])
            labelled.append(path.stem)
            by_windows.append(
                decide(windows(text, SETTINGS.windows, SETTINGS.window_characters), detector, SETTINGS)[0]
            )
            by_all.append(decide([text], detector, SETTINGS)[0])

    def f1(found: list[str]) -> float:
        counts = {k: v for k, v in class_counts(labelled, found).items() if v.labelled}
        return macro_f1(counts) or 0.0

    assert f1(by_all) > 0.85
    assert f1(by_windows) > f1(by_all) - 0.01


def test_languages_outside_the_model_come_out_as_unknown(shared_data: Path, tmp_path: Path) -> None:
    """lid.176 knows no Ganda: nearest neighbours score low."""
    detector = load_detector(tmp_path)
    sentences = (shared_data / "langid/lingua-testdata/sentences/lg.txt").read_text(encoding="utf-8").splitlines()
    found = [decide(windows(" ".join(sentences[i : i + 25]), 8, 125), detector, SETTINGS)[0] for i in range(0, 250, 25)]
    assert found == ["und"] * 10


def test_a_damaged_model_file_is_replaced_and_threads_share_one_load(tmp_path: Path) -> None:
    (tmp_path / "language").mkdir()
    (tmp_path / "language" / MODEL).write_bytes(b"not a model")
    found = []
    threads = [threading.Thread(target=lambda: found.append(load_detector(tmp_path)("a quiet day"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result[0][0] for result in found] == ["en"] * 4
    shutil.rmtree(tmp_path / "language")


def test_windows_reach_the_end_and_never_overlap() -> None:
    text = " ".join(f"word{i:04}" for i in range(1000))
    parts = windows(text, 8, 125)
    assert len(parts) == 8
    assert parts[0].startswith("word0000")
    assert parts[-1].endswith("word0999")
    assert sum(map(len, parts)) <= 1000
