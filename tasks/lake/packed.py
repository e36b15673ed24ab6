"""Rows of many small files, put together in few large ones; they keep the names that they were stored under.

Ledger, locations and keys of measures go on naming the file that a run wrote. A packed file holds the rows of many such
files, each with the name of its own in the column `stored_as`, and lists the names in its footer. So nothing that names
a file need be rewritten: a name is looked up among the packed files first, then as a file.

A packed file is complete once it is there. The files that it was made from go when the folder is looked after the next
time, so that a reader who has just looked them up still finds them; a crash between any two steps leaves rows twice at
most, of which one is read.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.errors import RunError
from tasks.lake.files import as_of_now, columns_in, read_table, replace_file, unreadable, version_stamp
from tasks.lake.layout import Lake

STORED_AS = "stored_as"
"""Column of packed files: the name, relative to the lake, of the file that a row was stored in."""

_PREFIX = "packed-"
_NAMED = f"{_PREFIX}%Y%m%dT%H%M%S%f.parquet"
_NAMES_KEY = b"corpusgate.stored_as"
_GROUP_ROWS = 256
_GROUP_BYTES = 4 * 2**20


class Stored:
    """Where the rows lie that were stored under the names of one folder of the lake (a stage's, or its measures')."""

    def __init__(self, lake: Lake, folder: Path) -> None:
        self._lake = lake
        self.folder = folder
        self.packed = packed_in(folder)
        self._of_name = {name: path for path in self.packed for name in names_in(path)}

    def path(self, file: str) -> Path:
        """The file that holds the rows stored under a name; the newest, if several do."""
        return self._of_name.get(file, self._lake.root / file)

    def is_packed(self, file: str) -> bool:
        """Whether the rows of a name lie in a packed file."""
        return file in self._of_name

    def plain(self) -> list[Path]:
        """The files that are not packed ones, sorted."""
        return sorted(path for path in self.folder.glob("*.parquet") if not path.name.startswith(_PREFIX))

    def superseded(self) -> list[Path]:
        """Files all of whose rows lie in a newer packed file too."""
        plain = [path for path in self.plain() if self.is_packed(self._name(path))]
        packed = [path for path in self.packed if all(self._of_name[name] != path for name in names_in(path))]
        return plain + packed

    def names(self, path: Path) -> list[str]:
        """The names whose rows are to be read from this file, sorted."""
        if path in self.packed:
            return sorted(name for name in names_in(path) if self._of_name[name] == path)
        return [] if self.is_packed(self._name(path)) else [self._name(path)]

    def _name(self, path: Path) -> str:
        return path.relative_to(self._lake.root).as_posix()


def packed_in(folder: Path) -> list[Path]:
    """The packed files of a folder, oldest first."""
    return sorted(folder.glob(f"{_PREFIX}*.parquet"))


def can_be_read(path: Path) -> bool:
    """Whether every row of a packed file can be read, whatever its schema, and whose rows they are."""
    try:
        pq.read_table(path, use_threads=False)
        names_in(path)
    except (OSError, pa.ArrowInvalid, RunError):
        return False
    return True


def stored_in(lake: Lake, folder: Path) -> Stored:
    """`Stored` of a folder, remembered for as long as no file comes or goes."""
    try:
        written = folder.stat().st_mtime_ns
    except FileNotFoundError:
        written = 0
    return _stored_in(lake, folder, written)


@lru_cache(maxsize=64)
def _stored_in(lake: Lake, folder: Path, written: int) -> Stored:
    while True:
        there = packed_in(folder)
        try:
            return Stored(lake, folder)
        except RunError:
            # A run that looks after the lake meanwhile may have removed what was superseded.
            if packed_in(folder) == there:
                raise


def names_in(path: Path) -> Mapping[str, tuple[int, ...]]:
    """The names whose rows a packed file holds, with the row groups that they are in.

    Raises:
        RunError: the file is missing or torn.
    """
    try:
        found = path.stat()
        return _names_in(path, (found.st_mtime_ns, found.st_ino, found.st_size))
    except OSError as error:
        raise unreadable(path, error) from error


@lru_cache(maxsize=256)
def _names_in(path: Path, written: tuple[int, int, int]) -> Mapping[str, tuple[int, ...]]:
    try:
        with pq.ParquetFile(path) as file:
            footer = file.metadata
            rows = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
            said = json.loads((footer.metadata or {}).get(_NAMES_KEY, b"{}"))
            if said.get("rows") == rows:
                return {name: tuple(groups) for name, groups in said["names"].items()}
            # Rows were taken out since: it is asked for the names themselves.
            stored = file.read(columns=[STORED_AS], use_threads=False).column(STORED_AS)
            return dict.fromkeys([*said.get("names", ()), *pc.unique(stored).to_pylist()], tuple(range(len(rows))))
    except (OSError, pa.ArrowInvalid, KeyError, ValueError) as error:
        raise unreadable(path, error) from error


def read_stored(lake: Lake, file: str, schema: pa.Schema, *, document_ids: Collection[str] | None = None) -> pa.Table:
    """The rows that were stored under a name (those of some documents only), wherever they lie now.

    Raises:
        RunError: as `read_table`.
    """
    stored = stored_in(lake, (lake.root / file).parent)
    ids = None if document_ids is None else list(document_ids)
    if not stored.is_packed(file):
        return read_table(lake.root / file, schema, document_ids=ids)
    return _of_names(stored.path(file), [file], schema, ids)


def read_places(lake: Lake, places: Mapping[str, str], schema: pa.Schema) -> pa.Table:
    """The rows of documents that are stored under these names (document id to name), in no stated order.

    Raises:
        RunError: as `read_table`.
    """
    of_file: dict[str, list[str]] = defaultdict(list)
    for document_id, file in places.items():
        of_file[file].append(document_id)
    wanted: dict[Path, dict[str, list[str]]] = defaultdict(dict)
    for file, ids in of_file.items():
        wanted[stored_in(lake, (lake.root / file).parent).path(file)][file] = ids
    parts = []
    for path, names in wanted.items():
        ids = [document_id for of_name in names.values() for document_id in of_name]
        if path == lake.root / next(iter(names)):
            parts.append(read_table(path, schema, document_ids=ids))
        else:
            parts.append(_of_names(path, list(names), schema, ids, {(i, n) for n, of in names.items() for i in of}))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _of_names(
    path: Path,
    names: Sequence[str],
    schema: pa.Schema,
    document_ids: Sequence[str] | None,
    pairs: Collection[tuple[str, str]] | None = None,
) -> pa.Table:
    groups = sorted({group for name in names for group in names_in(path)[name]})
    try:
        with pq.ParquetFile(path) as file:
            table = file.read_row_groups(groups, columns=[*columns_in(file, schema), STORED_AS], use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from error
    table = table.filter(pc.is_in(table.column(STORED_AS), pa.array(names, pa.string())))
    if document_ids is not None:
        table = table.filter(pc.is_in(table.column("document_id"), pa.array(document_ids, pa.string())))
    if pairs is not None and len(names) > 1:
        found = zip(table.column("document_id").to_pylist(), table.column(STORED_AS).to_pylist(), strict=True)
        table = table.filter(pa.array([pair in pairs for pair in found], pa.bool_()))
    return as_of_now(table, path, schema)


def pack(stored: Stored, paths: Sequence[Path], schema: pa.Schema, alive: Mapping[str, Collection[str]]) -> Path | None:
    """Puts the rows of these files into one; the files themselves stay until they are told `superseded`.

    `alive` says by name whose rows are still needed; the others stay behind. Returns the new file, if a row is needed.
    """
    names: dict[str, set[int]] = defaultdict(set)
    rows: list[int] = []
    stamped = schema.append(pa.field(STORED_AS, pa.string(), nullable=False)).with_metadata(version_stamp())
    target = stored.folder / _next_name(stored)

    def write(temporary: Path) -> None:
        with pq.ParquetWriter(temporary, stamped, compression="zstd", compression_level=1) as writer:
            for number, group in enumerate(_groups(_needed(stored, paths, schema, alive))):
                writer.write_table(group.replace_schema_metadata(stamped.metadata), row_group_size=group.num_rows)
                rows.append(group.num_rows)
                for name in pc.unique(group.column(STORED_AS)).to_pylist():
                    names[name].add(number)
            writer.add_key_value_metadata(_listing(rows, {name: sorted(names[name]) for name in sorted(wanted)}))

    wanted = [name for path in paths for name in stored.names(path) if alive.get(name)]
    if not wanted:
        return None
    replace_file(target, write)
    return target


def alive_share(stored: Stored, path: Path, alive: Mapping[str, Collection[str]]) -> float:
    """The share of a packed file's rows that are read from it and needed, in [0, 1]; 1 where it has no rows.

    `alive` says by name of which documents rows are still needed.

    Raises:
        RunError: the file is missing or torn.
    """
    here = {name: alive[name] for name in stored.names(path) if name in alive}
    rows = needed = 0
    try:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                group = file.read_row_group(number, columns=["document_id", STORED_AS], use_threads=False)
                rows += group.num_rows
                counts = group.group_by(["document_id", STORED_AS]).aggregate([([], "count_all")]).to_pydict()
                for document_id, name, count in zip(*counts.values(), strict=True):
                    needed += count if document_id in here.get(name, ()) else 0
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from error
    return needed / rows if rows else 1.0


def _next_name(stored: Stored) -> str:
    """A name behind those of all packed files there, whatever the clock says: the newest rows are the last ones."""
    now = datetime.now(UTC)
    if stored.packed:
        last = datetime.strptime(stored.packed[-1].name, _NAMED).replace(tzinfo=UTC)
        now = max(now, last + timedelta(microseconds=1))
    return now.strftime(_NAMED)


def empty_packed(path: Path) -> None:
    """Takes all rows out of a packed file; the names that it holds stay, so that each is read without rows."""
    listed: dict[str, list[int]] = {name: [] for name in names_in(path)}
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow.with_metadata(version_stamp())

    def write(temporary: Path) -> None:
        with pq.ParquetWriter(temporary, schema) as writer:
            writer.add_key_value_metadata(_listing([], listed))

    replace_file(path, write)


def _listing(rows: Sequence[int], names: Mapping[str, Sequence[int]]) -> dict[bytes, bytes]:
    """What the footer of a packed file says: how many rows each row group has, and the groups of each name."""
    return {_NAMES_KEY: json.dumps({"rows": rows, "names": names}).encode()}


def _needed(
    stored: Stored, paths: Sequence[Path], schema: pa.Schema, alive: Mapping[str, Collection[str]]
) -> Iterator[pa.Table]:
    for path in paths:
        for name in stored.names(path):
            if not alive.get(name):
                continue
            ids = list(alive[name])
            if path in stored.packed:
                table = _of_names(path, [name], schema, ids)
            else:
                table = read_table(path, schema, document_ids=ids)
            yield table.append_column(pa.field(STORED_AS, pa.string(), nullable=False), pa.repeat(name, table.num_rows))


def _groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The rows in tables large enough to be a row group each, so that a few rows do not cost a group's bookkeeping."""
    held: list[pa.Table] = []
    for table in tables:
        if not table.num_rows:
            continue
        held.append(table)
        if sum(t.num_rows for t in held) >= _GROUP_ROWS or sum(t.nbytes for t in held) >= _GROUP_BYTES:
            yield pa.concat_tables([t.unify_dictionaries() for t in held]).unify_dictionaries().combine_chunks()
            held = []
    if held:
        yield pa.concat_tables([t.unify_dictionaries() for t in held]).unify_dictionaries().combine_chunks()
