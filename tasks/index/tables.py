"""One Lance table on disk: its columns, its tags, what may be deleted, merged and flushed."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.stages import INDEX_ROWS
from tasks.errors import RunError
from tasks.index.search import VECTOR_INDEX
from tasks.index.settings import IndexSettings
from tasks.index.wholeness import LANCE_ERRORS, TEXT_INDEX
from tasks.lake.files import sync_folder
from tasks.machine import machine_fault
from tasks.memory import give_back_freed_memory

_ROWS_PER_PARTITION = 32_768
"""Of the index when it is built, on average: a partition's graph is made in memory, one for each core at a time."""
_OUTGROWN = 4
"""How many times as many partitions the rows of an index must call for before it is built anew."""
_SAMPLE_RATE = 64
"""Vectors from which the middle of each partition is found; and, times 256, those whose least and greatest components
bound the eight-bit ones of the index (16,384, of which the library takes more, all in memory). Hits are ranked by their
exact distance."""


def row_schema(dimension: int) -> pa.Schema:
    """`INDEX_ROWS` with its vector column."""
    return INDEX_ROWS.append(pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False))


def parts_to_merge(rows: list[int], merge_after: int) -> int:
    """How many of an index's youngest parts to merge, given the rows of each part, oldest first.

    None while there are fewer than `merge_after`. Then all young ones, and older ones as long as each is at most four
    times what is merged already: so a row is merged again a number of times that grows with the logarithm of the table.

    >>> parts_to_merge([20_000, 160, 160], merge_after=4), parts_to_merge([20_000, 160, 160, 160], merge_after=4)
    (0, 3)
    >>> parts_to_merge([20_000, 4_000, 1_500, 160], merge_after=4)
    1
    >>> parts_to_merge([1_000, 160, 160, 160], merge_after=4)
    4
    """
    if len(rows) < merge_after:
        return 0
    taken, merged = 0, 0
    for part in reversed(rows):
        if taken and part > 4 * merged:
            break
        taken, merged = taken + 1, merged + part
    return taken


def lance_module() -> Any:
    """The library, imported when it is first needed."""
    # Index descriptions would otherwise carry every centroid, and a warning about it.
    os.environ.setdefault("LANCE_INCLUDE_VECTOR_CENTROIDS", "false")
    # It would read two gigabytes ahead: all vectors of a million rows.
    os.environ.setdefault("LANCE_DEFAULT_IO_BUFFER_SIZE", str(8 * 2**20))
    # It warns of every partition without new rows, for people to see who did nothing wrong.
    os.environ.setdefault("LANCE_LOG", "warn,lance::index::vector::builder=error")
    import lance

    return lance


def open_table(path: Path, version: int | None = None, session: Any = None) -> Any:
    """The table of a folder, as its newest version or as the one named.

    Raises:
        RunError: there is no such table or version.
    """
    try:
        return lance_module().dataset(path, version=version, session=session)
    except LANCE_ERRORS as error:
        if machine_fault(error):
            raise
        raise RunError(
            f"the index table {path.stem} has no version {version}" if version else f"{path.stem} holds no index table",
            remedy="it was collected, or its files are torn or missing; `corpusgate doctor --repair` makes live anew",
        ) from error


def create_vector_index(dataset: Any, settings: IndexSettings) -> None:
    """The approximate index over all vectors, in the place of one that is there."""
    give_back_freed_memory()
    dataset.create_index(
        "vector",
        "IVF_HNSW_SQ",
        name=VECTOR_INDEX,
        metric="cosine",
        replace=True,
        num_partitions=_partitions(dataset),
        m=settings.ann_links,
        ef_construction=settings.ann_build_candidates,
        sample_rate=_SAMPLE_RATE,
    )


def outgrown(dataset: Any, there: int) -> bool:
    """Whether an index of `there` partitions has come to hold so many rows that it should be built anew."""
    return _partitions(dataset) >= _OUTGROWN * there


def _partitions(dataset: Any) -> int:
    return max(1, int(dataset.count_rows()) // _ROWS_PER_PARTITION)


def create_scalar_indexes(dataset: Any) -> None:
    """Indexes over ids, tenants and text, in the place of those that are there."""
    dataset.create_scalar_index("document_id", "BTREE", name="document_id_idx")
    dataset.create_scalar_index("tenant", "BITMAP", name="tenant_idx")
    dataset.create_scalar_index(
        "text",
        "INVERTED",
        name=TEXT_INDEX,
        base_tokenizer="icu/split",
        with_position=True,
        stem=False,
        remove_stop_words=False,
        lower_case=True,
        ascii_folding=True,
        max_token_length=None,
    )


def put_first(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, `first` before the rest."""
    yield first
    yield from rest


def tags_of(dataset: Any) -> dict[str, int]:
    """The version of each tag."""
    return {name: tag["version"] for name, tag in dataset.tags.list().items()}


def set_tag(dataset: Any, name: str, version: int) -> None:
    """Makes or moves a tag."""
    (dataset.tags.update if name in tags_of(dataset) else dataset.tags.create)(name, version)


def delete_untagged(dataset: Any) -> None:
    """Deletes versions without a tag, and files of no version. Safe only while no other process writes the table."""
    dataset.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True, error_if_tagged_old_versions=False)


def bytes_on_disk(path: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def flush_written(path: Path, since: float) -> None:
    """Flushes what was written since: a promotion must not outlive the rows it points to."""
    for folder, _, names in os.walk(path):
        new = [file for name in names if (file := Path(folder, name)).stat().st_mtime >= since - 2]
        for file in new:
            with file.open("rb") as handle:
                os.fsync(handle.fileno())
        if new:
            sync_folder(Path(folder))
