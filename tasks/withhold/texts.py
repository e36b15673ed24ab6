"""Taking out of a lake every text from before redaction: bytes as fetched, what was parsed and cleaned, labels.

Rows go, files stay: whatever names one reads it without its rows. Done twice, or killed anywhere and done again, it
leaves the same.
"""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.names import StageName
from schemas.stages import STAGE_OUTPUTS
from tasks.errors import RunError
from tasks.lake.files import replace_file, unreadable
from tasks.lake.layout import TORN, Lake
from tasks.lake.packed import empty_packed, packed_in
from tasks.lake.raw import RawStore
from tasks.lake.views import remove_spilled

WITHHELD = (StageName.PARSE, StageName.NORMALIZE)
"""Stages whose rows hold text from before redaction. Fetch, boilerplate, language and dedup hold numbers, digests and
fixed words; pii and what follows hold what it left."""

BROUGHT_BACK = "brought_back"
"""Folder of a run with rows that it made anew of documents whose text the lake does not hold."""


def withhold_texts(lake: Lake, *, resting: bool) -> int:
    """Removes the texts and returns how many files held some. `resting` says that nothing else of this process is at
    work on the lake, so that what killed processes have left in its cache can go too.

    Raises:
        RunError: a file is torn, or the disk refuses it.
    """
    try:
        return _withhold(lake, resting)
    except OSError as error:
        raise RunError(
            f"{error.filename} cannot be removed: {error.strerror}; it holds text from before redaction",
            remedy="mend its permissions, then `corpusgate doctor --repair`, or run again",
        ) from error


def _withhold(lake: Lake, resting: bool) -> int:
    count = sum(_emptied(path, stage) for stage in WITHHELD for path in sorted(lake.stage(stage).glob("*.parquet")))
    raw = RawStore(lake.raw)
    for sha in list(raw.stored()):
        raw.remove(sha)
        count += 1
    gone = [*lake.gold.glob("*.parquet"), *lake.half_written()]
    for path in gone:
        path.unlink()
    folders = [lake.root / TORN, lake.cache / "unpacked", *lake.cache.glob("fetch-*")]
    count += resting and remove_spilled(lake)
    folders += [folder / BROUGHT_BACK for folder in _runs(lake)]
    for folder in folders:
        if folder.exists():
            count += any(path.is_file() for path in folder.rglob("*"))
            shutil.rmtree(folder)
    return count + len(gone)


def _runs(lake: Lake) -> list[Path]:
    """Folders of runs, of baselines that they measured again, and of points of sweeps."""
    return [path.parent for part in (lake.runs, lake.root / "sweeps") for path in part.rglob("manifest.json")]


def run_folders(lake: Lake) -> list[Path]:
    """The folders with a plan whose paths are still as the sources have them."""
    return [
        folder
        for folder in _runs(lake)
        if "redacted_at" not in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    ]


def _emptied(path: Path, stage: StageName) -> bool:
    try:
        with pq.ParquetFile(path) as file:
            if not file.metadata.num_rows:
                return False
            schema = file.schema_arrow
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from error
    if path in packed_in(path.parent):
        empty_packed(path)
    else:
        metadata = schema.metadata
        empty = STAGE_OUTPUTS[stage].empty_table().replace_schema_metadata(metadata)
        replace_file(path, lambda temporary: pq.write_table(empty, temporary))
    return True
