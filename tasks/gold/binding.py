"""Which document of a run each label of its gold sets belongs to."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from tasks.errors import ConfigurationError
from tasks.gold.gold_set import GoldLabel, GoldSet
from tasks.gold.labels import BoundLabel, Labels
from tasks.gold.naming import NamedDocuments


def bind(gold_sets: Sequence[GoldSet], documents: pa.Table, kinds: Collection[str] | None = None) -> Labels:
    """Labels of these documents (`DOCUMENTS` rows; deleted ones have none), of all kinds where none are named.

    A label means the document of its path while that has the bytes the label was made for. Where it has not, it means
    the one document of the same source with these bytes (it was moved, and its old path is gone or somebody else's);
    where there is none, it stays with its path and is stale. What names no document is left out here and counted by
    `unbound`.

    Raises:
        ConfigurationError: two labels of one kind for one document; the error names the sets and the document.
    """
    named = NamedDocuments(documents)
    bound: dict[tuple[str, str], BoundLabel] = {}
    origin: dict[tuple[str, str], str] = {}
    for gold_set, gold, document_id in _placed(gold_sets, named):
        if document_id is None or (kinds is not None and gold.kind not in kinds):
            continue
        key = (document_id, gold.kind)
        if key in bound:
            raise ConfigurationError(
                f"document {document_id} has two {gold.kind} labels, from {origin[key]} and {gold_set.version}",
                remedy="take one of the two out of its gold set",
            )
        origin[key] = gold_set.version
        # One string for all labels of a document, and not one for each.
        known = named.shas[document_id]
        stale = known != gold.content_sha
        bound[key] = BoundLabel(gold.packed, gold.content_sha if known is None or stale else known, stale)
    version = "+".join(sorted(gold_set.version for gold_set in gold_sets)) or None
    return Labels(version, bound)


def unbound(gold_sets: Sequence[GoldSet], documents: pa.Table) -> Mapping[tuple[str, str], int]:
    """How many labels name no document of the run, by (gold set, kind); what has none is not listed."""
    placed = _placed(gold_sets, NamedDocuments(documents))
    return Counter((gold_set.version, gold.kind) for gold_set, gold, document_id in placed if document_id is None)


def _placed(gold_sets: Sequence[GoldSet], named: NamedDocuments) -> list[tuple[GoldSet, GoldLabel, str | None]]:
    """Each label with the document that it means. A document that has a label of its own takes in none that moved."""
    labels = [
        (gold_set, gold, gold.document_id or gold.document or "") for gold_set in gold_sets for gold in gold_set.labels
    ]
    by_name = [named.by_name(name) for _, _, name in labels]
    taken = {
        (document_id, gold.kind)
        for (_, gold, _), document_id in zip(labels, by_name, strict=True)
        if document_id is not None and named.shas[document_id] == gold.content_sha
    }
    placed: list[tuple[GoldSet, GoldLabel, str | None]] = []
    for (gold_set, gold, name), document_id in zip(labels, by_name, strict=True):
        found = named.find(name, gold.content_sha)
        if found is not None and found != document_id and (found, gold.kind) not in taken:
            taken.add((found, gold.kind))
            document_id = found
        placed.append((gold_set, gold, document_id))
    return placed
