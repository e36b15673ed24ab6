"""Which document of a run a label means: by the bytes it was made for, where its path has moved on."""

from collections import defaultdict

import pyarrow as pa

from schemas.names import Cohort


class NamedDocuments:
    """The documents of a run (`DOCUMENTS` rows; deleted ones have no part) by every name that a label may use."""

    def __init__(self, documents: pa.Table) -> None:
        columns = ["document_id", "source", "uri", "previous_uri", "content_sha", "cohort"]
        rows = [row for row in documents.select(columns).to_pylist() if row["cohort"] != Cohort.DELETED]
        previous = {f"{row['source']}:{row['previous_uri']}": row["document_id"] for row in rows if row["previous_uri"]}
        current = {f"{row['source']}:{row['uri']}": row["document_id"] for row in rows}
        self._by_name: dict[str, str] = previous | current | {row["document_id"]: row["document_id"] for row in rows}
        self._by_bytes: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.shas: dict[str, str | None] = {}
        for row in rows:
            self.shas[row["document_id"]] = row["content_sha"]
            if row["content_sha"]:
                self._by_bytes[row["source"], row["content_sha"]].append(row["document_id"])

    def by_name(self, name: str) -> str | None:
        """The document of this id or `<source>:<path or URL>`; a path that live knows it by serves where no other
        document has it now.
        """
        return self._by_name.get(name)

    def find(self, name: str, content_sha: str) -> str | None:
        """The document of this name if it has these bytes; else the one document of the same source that has them,
        wherever it lies now; else the document of this name, whose bytes are others.
        """
        named = self.by_name(name)
        if named is not None and self.shas[named] == content_sha:
            return named
        # An id holds no colon, and neither does the name of a source: an id alone names no source and no bytes.
        alike = self._by_bytes.get((name.partition(":")[0], content_sha), [])
        return alike[0] if len(alike) == 1 else named
