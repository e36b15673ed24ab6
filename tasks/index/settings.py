"""Settings of the index stage. None of them shapes a document's rows: they shape how rows are stored and probed."""

from pydantic import Field
from pydantic.config import JsonDict

from tasks.stage import StageSettings

_BESIDE: JsonDict = {"shapes_output": False}


class IndexSettings(StageSettings):
    """How the index is built, searched and measured."""

    ann_min_rows: int = Field(
        default=20_000,
        ge=256,
        json_schema_extra=_BESIDE,
        description="Rows from which an approximate vector index is built; below, every vector search is exact.",
    )
    ann_links: int = Field(
        default=20, ge=4, le=128, json_schema_extra=_BESIDE, description="HNSW: links of a node (M)."
    )
    ann_build_candidates: int = Field(
        default=150,
        ge=16,
        le=2000,
        json_schema_extra=_BESIDE,
        description="HNSW: candidates kept while the graph is built (efConstruction).",
    )
    ann_search_candidates: int = Field(
        default=100,
        ge=10,
        le=10_000,
        json_schema_extra=_BESIDE,
        description="HNSW: candidates kept while it is searched (efSearch).",
    )
    ann_search_partitions: int = Field(
        default=20,
        ge=1,
        le=100_000,
        json_schema_extra=_BESIDE,
        description="Partitions of the vectors searched at least, nearest first; more where hits are still likely.",
    )
    ann_refine: int = Field(
        default=2,
        ge=1,
        le=20,
        json_schema_extra=_BESIDE,
        description="Approximate hits fetched per hit asked for, then ranked by their exact distance.",
    )
    merge_after: int = Field(
        default=8,
        ge=1,
        le=100,
        json_schema_extra=_BESIDE,
        description="Parts an index may have, one per build, before they are merged into one.",
    )
    compact_after: int = Field(
        default=32,
        ge=1,
        le=10_000,
        json_schema_extra=_BESIDE,
        description="Data fragments a table may have, one per build, before small ones are rewritten as one.",
    )
    lock_seconds: float = Field(
        default=60.0,
        ge=0,
        json_schema_extra=_BESIDE,
        description="Longest wait for another process that builds or promotes.",
    )
    probe_seed: int = Field(
        default=17, json_schema_extra=_BESIDE, description="Which stored rows serve as probes follows from this."
    )
    ann_probes: int = Field(
        default=100,
        ge=1,
        le=10_000,
        json_schema_extra=_BESIDE,
        description="Stored vectors with which approximate search is held against exact search.",
    )
    deleted_probes: int = Field(
        default=200,
        ge=1,
        le=100_000,
        json_schema_extra=_BESIDE,
        description="Deleted documents that are searched for; all of them are looked up by id.",
    )
    new_probes: int = Field(
        default=50,
        ge=1,
        le=100_000,
        json_schema_extra=_BESIDE,
        description="New and changed documents that are searched for.",
    )
    stale_queries: int = Field(
        default=200,
        ge=1,
        le=100_000,
        json_schema_extra=_BESIDE,
        description="Labelled questions with which live is asked whether it answers with outdated content.",
    )
    access_pairs: int = Field(
        default=12,
        ge=1,
        le=100_000,
        json_schema_extra=_BESIDE,
        description="Most ordered pairs of tenants, and of groups in a tenant, that are probed for access violations.",
    )
    access_probes: int = Field(
        default=4,
        ge=1,
        le=1000,
        json_schema_extra=_BESIDE,
        description="Stored rows of the other tenant or group that are searched for, per pair.",
    )
