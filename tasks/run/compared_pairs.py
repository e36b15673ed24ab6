"""What pairs of texts share, kept in the lake's cache between runs: rebuildable, of one length of shingle."""

from pathlib import Path

import pyarrow as pa

from schemas.names import StageName
from tasks.dedup.compared import COMPARED, Compared
from tasks.errors import RunError
from tasks.lake.files import read_table, write_table
from tasks.lake.layout import Lake
from tasks.run.keys import digest
from tasks.run.registry import STAGES


def known_pairs(lake: Lake, shingle_size: int) -> pa.Table:
    """The pairs that the last decision asked for (`COMPARED`); none where the file is torn: they are compared again."""
    path = _path(lake, shingle_size)
    try:
        return read_table(path, COMPARED) if path.exists() else COMPARED.empty_table()
    except RunError:
        path.unlink(missing_ok=True)
        return COMPARED.empty_table()


def keep_pairs(lake: Lake, shingle_size: int, compared: Compared, *, forgets: bool = True) -> None:
    """Keeps the pairs that a decision asked for, where there are new ones among them; all others are forgotten.

    So are those of other lengths of shingle and other versions of the stage. A decision on trial, that of a point of a
    sweep, `forgets` none: the next run asks for what it asked for before.
    """
    kept = _path(lake, shingle_size)
    if compared.is_grown:
        write_table(compared.table(with_unasked=not forgets), kept, COMPARED, durable=False)
    for path in kept.parent.glob("*.parquet") if forgets else ():
        if path != kept:
            path.unlink(missing_ok=True)


def _path(lake: Lake, shingle_size: int) -> Path:
    shape = digest([STAGES[StageName.DEDUP].version, shingle_size])
    return lake.cache / "compared" / f"{shape}.parquet"
