"""Clean texts of documents anywhere in a run, for work that asks for a few at a time, over and over."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import StageName
from tasks.lake.layout import Lake
from tasks.lake.packed import read_stored
from tasks.run.registry import STAGES

_HELD_BYTES = 32 * 2**20


class RecentTexts:
    """Reads texts by the file that they lie in, and holds the files read last: a file is read whole in any case.

    `places` says under which name a document's row of `normalize` is stored; `elsewhere` is asked for texts that are
    not stored there any more. At most 32 MiB are held, and one file.
    """

    def __init__(
        self, lake: Lake, places: Mapping[str, str], elsewhere: Callable[[Sequence[str]], Mapping[str, str]]
    ) -> None:
        self._lake = lake
        self._places = places
        self._elsewhere = elsewhere
        # Without the rest of the row, such as the map of offsets.
        self._schema = pa.schema([STAGES[StageName.NORMALIZE].writes.field(name) for name in ("document_id", "text")])
        self._held: OrderedDict[str, pa.Table] = OrderedDict()
        self._bytes = 0

    def of(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The texts of these documents, in their order; one that cannot be had is left out.

        Raises:
            KeyError: a document came out of `normalize` without a row.
        """
        of_file: dict[str, list[str]] = defaultdict(list)
        for document_id in document_ids:
            of_file[self._places[document_id]].append(document_id)
        found: dict[str, str] = {}
        for file, ids in of_file.items():
            table = self._file(file)
            wanted = table.filter(pc.is_in(table.column("document_id"), pa.array(ids, pa.string())))
            found |= zip(wanted.column("document_id").to_pylist(), wanted.column("text").to_pylist(), strict=True)
        if lacking := [document_id for document_id in document_ids if document_id not in found]:
            found |= self._elsewhere(lacking)
        return {document_id: found[document_id] for document_id in document_ids if document_id in found}

    def _file(self, file: str) -> pa.Table:
        table = self._held.get(file)
        if table is None:
            table = self._held[file] = read_stored(self._lake, file, self._schema)
            self._bytes += table.nbytes
            while self._bytes > _HELD_BYTES and len(self._held) > 1:
                _, oldest = self._held.popitem(last=False)
                self._bytes -= oldest.nbytes
        self._held.move_to_end(file)
        return table
