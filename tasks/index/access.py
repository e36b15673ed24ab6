"""Probing the index for what an asker must not see: another tenant's documents, documents of other groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import MetricStatus
from tasks.index.probes import answers, stored_rows
from tasks.index.reconciliation import Inventory
from tasks.index.settings import IndexSettings
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, IndexView, SearchFilter

_VERSION = 2
_NO_GROUP = "(none)"
Probe: TypeAlias = tuple[str, str]
"""Chunk id and document id."""


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """Who may see a document: its tenant, and groups of it (none: all of the tenant)."""

    tenant: str
    groups: tuple[str, ...] = ()


def access_violations(
    rows: MetricRows, evidence: CorpusEvidence, view: IndexView, inventory: Inventory, settings: IndexSettings
) -> None:
    """Writes `access_violations`: searches for what an asker must not see that return such a document / searches.

    Every tenant asks for rows of every other. Within a tenant, a member of no group and a member of every one group ask
    for rows of documents that are for other groups. Whose a document is, the plan says, not the stored row: a row
    stored under a wrong tenant or wrong groups is a violation too.
    """
    owners = _owners(evidence)
    owned: dict[Scope, list[Probe]] = {}
    for (tenant, groups), probes in inventory.scope_probes.items():
        for chunk_id, document_id in probes:
            owned.setdefault(owners.get(document_id, Scope(tenant, groups)), []).append((chunk_id, document_id))
    known = {*owned, *(Scope(tenant, groups) for tenant, groups in inventory.scope_probes)}
    asked = _between_tenants(known, owned, settings) | _between_groups(known, owned, settings)
    if not asked:
        rows.without_value("access_violations", None, MetricStatus.NOT_APPLICABLE, version=_VERSION)
        return
    texts = {
        (row["chunk_id"], row["document_id"]): row
        for row in stored_rows(view, {p for probes in asked.values() for p in probes}, ["title", "text", "vector"])
    }
    found = {
        where: [hits for probe in probes for hits in answers(view, texts[probe], where)]
        for where, probes in asked.items()
    }
    scopes = _scopes_of(view, {i for sets in found.values() for hits in sets for i in hits}, owners)
    sums: dict[tuple[str, str] | None, tuple[int, int]] = {}
    for where, sets in found.items():
        bad = sum(any(not _all_may_see(where, scopes.get(i, ())) for i in hits) for hits in sets)
        for slice_of in (None, _asker(where)):
            before = sums.get(slice_of, (0, 0))
            sums[slice_of] = before[0] + bad, before[1] + len(sets)
    for slice_of, (bad, made) in sorted(sums.items(), key=lambda item: item[0] or ("", "")):
        rows.ratio("access_violations", None, float(bad), float(made), slice_of=slice_of, version=_VERSION)


def may_see(where: SearchFilter, scope: Scope) -> bool:
    """Whether the asker of a search may see a document.

    >>> may_see(SearchFilter("acme", ("staff",)), Scope("acme", ("board", "staff"))), may_see(
    ...     SearchFilter("acme", ()), Scope("acme", ("staff",))
    ... ), may_see(SearchFilter("acme", ()), Scope("acme"))
    (True, False, True)
    """
    if where.tenant is not None and where.tenant != scope.tenant:
        return False
    return where.groups is None or not scope.groups or not set(where.groups).isdisjoint(scope.groups)


def _all_may_see(where: SearchFilter, scopes: Sequence[Scope]) -> bool:
    return all(may_see(where, scope) for scope in scopes)


def _between_tenants(
    known: set[Scope], owned: Mapping[Scope, list[Probe]], settings: IndexSettings
) -> dict[SearchFilter, list[Probe]]:
    by_tenant: dict[str, list[Probe]] = {}
    for scope in sorted(owned):
        by_tenant.setdefault(scope.tenant, []).extend(owned[scope])
    tenants = sorted({scope.tenant for scope in known})
    pairs = [(asking, other) for asking, other in permutations(tenants, 2) if other in by_tenant]
    asked: dict[SearchFilter, list[Probe]] = {}
    for asking, other in Random(settings.probe_seed).sample(pairs, min(len(pairs), settings.access_pairs)):  # noqa: S311
        chosen = Random(settings.probe_seed)  # noqa: S311
        probes = chosen.sample(by_tenant[other], min(len(by_tenant[other]), settings.access_probes))
        asked.setdefault(SearchFilter(tenant=asking), []).extend(probes)
    return asked


def _between_groups(
    known: set[Scope], owned: Mapping[Scope, list[Probe]], settings: IndexSettings
) -> dict[SearchFilter, list[Probe]]:
    groups: dict[str, set[str]] = {}
    for scope in known:
        groups.setdefault(scope.tenant, set()).update(scope.groups)
    pairs = [
        (asking, scope)
        for scope in sorted(owned)
        if scope.groups
        for asking in ((), *((group,) for group in sorted(groups[scope.tenant] - set(scope.groups))))
    ]
    asked: dict[SearchFilter, list[Probe]] = {}
    for asking, scope in Random(settings.probe_seed).sample(pairs, min(len(pairs), settings.access_pairs)):  # noqa: S311
        asker = SearchFilter(tenant=scope.tenant, groups=asking)
        asked.setdefault(asker, []).extend(owned[scope][: settings.access_probes])
    return asked


def _asker(where: SearchFilter) -> tuple[str, str]:
    if where.groups is None:
        return "asking_tenant", where.tenant or ""
    return "asking_group", f"{where.tenant}/{where.groups[0] if where.groups else _NO_GROUP}"


def _owners(evidence: CorpusEvidence) -> dict[str, Scope]:
    columns = [evidence.documents.column(name).to_pylist() for name in ("document_id", "tenant", "groups")]
    return {
        document_id: Scope(tenant, tuple(sorted(groups))) for document_id, tenant, groups in zip(*columns, strict=True)
    }


def _scopes_of(view: IndexView, chunk_ids: set[str], owners: Mapping[str, Scope]) -> dict[str, list[Scope]]:
    """The scopes of these chunks: by the plan, and as stored where the plan does not know the document."""
    found: dict[str, list[Scope]] = {}
    wanted = pa.array(sorted(chunk_ids), pa.string())
    for table in view.rows(["chunk_id", "document_id", "tenant", "groups"]):
        for row in table.filter(pc.is_in(table.column("chunk_id"), wanted)).to_pylist():
            stored = Scope(row["tenant"], tuple(sorted(row["groups"])))
            found.setdefault(row["chunk_id"], []).append(owners.get(row["document_id"], stored))
    return found
