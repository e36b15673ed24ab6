"""What keeps a lake small over the years: generations of the index that are kept no more, old runs and what they alone
refer to go, small files are put together.

Every step leaves a lake that reads as before, wherever it is killed, and the next time goes on from there: the runs go
first, then what the ledger says of them, then the files that nothing names any more.
"""

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa

from schemas.measures import MEASURES
from schemas.names import StageName
from schemas.stages import SIGNATURE
from tasks.errors import RunError
from tasks.gate.judge import resolve_anchor
from tasks.index.generations import Generations
from tasks.lake.layout import SIGNATURES, Lake
from tasks.lake.packed import Stored, alive_share, pack
from tasks.lake.runs import Runs
from tasks.lake.views import open_connection, scan
from tasks.run.context import RunContext
from tasks.run.indexing import open_index
from tasks.run.registry import STAGES
from tasks.run.withholding import withhold

_MOST_FILES = 64
"""Files of a stage's outputs, or measures, that lie side by side before the small ones are put together."""

_LARGE = 32 * 2**20
"""Bytes from which on a file is not put together with others."""

_LEAST_ALIVE = 0.5
"""Share of a packed file's rows that somebody names, below which it is written anew: what is copied is less than what
goes, however large the file is."""


def look_after(context: RunContext) -> None:
    """Collects and packs what is due; to be called at the end of a run, by whoever holds the lake.

    Raises:
        RunError: the disk refuses it, or a file of a kept run is torn; the run itself is whole, and the next one tries
            again.
    """
    withhold(context.configuration, context.lake)
    kept = kept_runs(context)  # before the index is collected: what stays there has its run's records
    surplus = [run_id for run_id in Runs(context.lake).ids() if run_id not in kept]
    settings = context.configuration.run
    try:
        open_index(context).collect(settings.keep_generations, grace_seconds=settings.keep_retired_seconds)
        if len(surplus) > settings.keep_runs // 4:
            collect(context, kept)
        pack_small_files(context)
    except OSError as error:
        raise RunError(
            f"{error.filename or 'a file that is kept no more'} cannot be removed: {error.strerror or error}",
            remedy="mend its permissions; the next run tries again",
        ) from error
    except duckdb.Error as error:
        raise RunError(
            f"a file that a kept run names its rows in cannot be read: {type(error).__name__}",
            remedy="`corpusgate doctor --repair` mends it; the next run tries again",
        ) from error


def kept_runs(context: RunContext) -> set[str]:
    """The newest runs, those that made the generations that are there, the last whole scan, the anchor, and their
    baselines."""
    runs = Runs(context.lake)
    settings = context.configuration
    ids = runs.ids()
    index = settings.stages.index
    generations = Generations(context.lake.index, index.lock_seconds)
    standing, grace = generations.standing(), timedelta(seconds=settings.run.keep_retired_seconds)
    recent = generations.live_since(datetime.now(UTC) - grace)
    kept = set(ids[-settings.run.keep_runs :])
    kept |= {at.generation.run_id for at in (*standing[-settings.run.keep_generations :], *recent)}
    kept |= {name for name in (runs.last_scan(), resolve_anchor(runs, settings.gate.anchor)) if name is not None}
    kept |= {name for run_id in kept & set(ids) if (name := runs.manifest(run_id).get("baseline_run"))}
    return kept


def collect(context: RunContext, kept: Collection[str]) -> None:
    """Removes the runs that are not kept, and everything that only they refer to."""
    lake, runs = context.lake, Runs(context.lake)
    for run_id in runs.ids():
        if run_id not in kept:
            (lake.run(run_id) / "manifest.json").unlink()
    for folder in lake.runs.iterdir():
        if folder.is_dir() and not (folder / "manifest.json").exists():
            shutil.rmtree(folder)
    context.ledger.keep_only({*kept, *_points(lake)}, _locations(lake, kept))
    _collect_stored(context, kept)
    _collect_quarantine(lake, kept)
    _collect_raw(context, kept)
    named = [*runs.ids(), *(name for run_id in runs.ids() for name in runs.measured_within(run_id))]
    # A point of a sweep that broke off before it was planned has no manifest, and no labels.
    named += [point for point in sorted(_points(lake)) if (lake.run(point) / "manifest.json").exists()]
    manifests = [runs.manifest(name) for name in named]
    digests = {manifest.get("gold_digest") for manifest in manifests}
    for path in lake.gold.glob("*.parquet"):
        if path.stem not in digests:
            path.unlink()


def pack_small_files(context: RunContext) -> None:
    """Puts the small files of every stage together where there are many."""
    for path in context.lake.half_written():
        path.unlink()
    context.ledger.compact()
    for kind, stage, folder, schema in _folders(context.lake):
        for path in Stored(context.lake, folder).superseded():
            path.unlink()
        stored = Stored(context.lake, folder)
        files = [*stored.packed, *stored.plain()]
        small = [path for path in files if path.stat().st_size < _LARGE]
        if len(files) > _MOST_FILES and len(small) > 1:
            pack(stored, small, schema, _alive(context, kind, stage, folder))


def _folders(lake: Lake) -> Iterator[tuple[str, str, Path, pa.Schema]]:
    for name in StageName:
        yield "output", name.value, lake.stage(name), STAGES[name].writes
        yield "measures", name.value, lake.measures(name), MEASURES
    yield "output", SIGNATURES, lake.stage(SIGNATURES), SIGNATURE


def _points(lake: Lake) -> set[str]:
    """The points of all sweeps, which record and name rows as runs do."""
    return {f"{path.parents[1].name}.{path.name}" for path in lake.root.glob("sweeps/*/points/*")}


def _locations(lake: Lake, run_ids: Collection[str]) -> list[Path]:
    """The files in which these runs, the baselines that they measured again, and all sweeps say where their rows are.

    Signatures are named by the batches of a run alone; and so is everything, where it did not come to its end.
    """
    found: list[Path] = []
    for run_id in sorted({*run_ids, *_points(lake)}):
        for folder in (lake.run(run_id), *lake.run(run_id).glob("*/")):
            whole = folder / "locations.parquet"
            found += [whole] if whole.exists() else []
            found += sorted(folder.glob(f"progress/{SIGNATURES if whole.exists() else '*'}/*.parquet"))
    return found


def _alive(context: RunContext, kind: str, stage: str, folder: Path) -> Mapping[str, Collection[str]]:
    """By name, the documents whose rows the ledger or a run names."""
    rows = context.ledger.select(
        "SELECT DISTINCT file, document_id FROM ledger WHERE kind = ? AND stage = ? AND file IS NOT NULL", [kind, stage]
    )
    alive: dict[str, set[str]] = defaultdict(set)
    for file, document_id in zip(rows.column("file").to_pylist(), rows.column("document_id").to_pylist(), strict=True):
        alive[file].add(document_id)
    if paths := _locations(context.lake, Runs(context.lake).ids()):
        column = "file" if kind == "output" else "measures_file"
        with open_connection(context.lake) as connection:
            query = f"SELECT DISTINCT {column}, document_id FROM {scan(paths)} WHERE stage = ? AND {column} IS NOT NULL"  # noqa: S608
            for file, document_id in connection.execute(query, [stage]).fetchall():
                alive[file].add(document_id)
    return alive


def _collect_stored(context: RunContext, kept: Collection[str]) -> None:
    """Files none of whose rows is named; a packed file of whose rows few are is packed again without the others."""
    for kind, stage, folder, schema in _folders(context.lake):
        stored = Stored(context.lake, folder)
        if not folder.exists():
            continue
        alive = _alive(context, kind, stage, folder)
        for path in [*stored.packed, *stored.plain()]:
            names = stored.names(path)
            if not any(name in alive for name in names):
                path.unlink()
            elif path in stored.packed and alive_share(stored, path, alive) < _LEAST_ALIVE:
                pack(stored, [path], schema, alive)


def _collect_quarantine(lake: Lake, kept: Collection[str]) -> None:
    """Rows of runs that are gone; those that tell why a document is still not there stay with their file."""
    with open_connection(lake) as connection:
        paths = _locations(lake, kept)
        for path in sorted(lake.quarantine.glob("*.parquet")):
            if any(path.name.startswith(f"{run_id}-") for run_id in kept):
                continue
            same = "USING (document_id, stage, stage_key)"
            rows = f"SELECT count(*) FROM {scan([path])} SEMI JOIN {scan(paths)} {same}"  # noqa: S608
            if not paths or connection.execute(rows).fetchone() == (0,):
                path.unlink()


def _collect_raw(context: RunContext, kept: Collection[str]) -> None:
    """Bytes that neither the ledger nor the plan of a kept run names."""
    lake = context.lake
    plans = [path for run_id in sorted(kept) if (path := lake.run(run_id) / "plan.parquet").exists()]
    named = "SELECT content_sha FROM ledger"
    if plans:
        named += f" UNION SELECT content_sha FROM {scan(plans)} WHERE content_sha IS NOT NULL"  # noqa: S608
    for folder in sorted(lake.raw.glob("??")):
        query = f"SELECT DISTINCT content_sha FROM ({named}) WHERE starts_with(content_sha, ?)"  # noqa: S608
        shas = set(context.ledger.select(query, [folder.name]).column("content_sha").to_pylist())
        for path in folder.iterdir():
            if path.name not in shas:
                path.unlink()
