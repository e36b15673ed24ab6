"""The stages alone: the same functions in one loop, no Parquet, no ledger, no evaluators, no Prefect.

python -m tests.benchmarks.bare CONFIG
"""

import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from schemas.documents import DOCUMENTS
from schemas.names import StageName
from tasks.dedup.stage import decide
from tasks.document_rows import select
from tasks.lake.raw import RawStore
from tasks.run.configuration import load_configuration
from tasks.run.planning import make_plan, split_batches
from tasks.run.registry import STAGES
from tasks.stage import Batch, Resources, StageOutput

Tables = dict[StageName, pa.Table]


def main(config: Path) -> None:
    """Runs every stage over every batch and prints the seconds of each."""
    configuration = load_configuration(config)
    seconds = dict.fromkeys(StageName, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        resources = Resources(RawStore(Path(folder) / "raw"), Path(folder) / "cache")
        plan = make_plan(configuration, DOCUMENTS.empty_table(), DOCUMENTS.empty_table())
        batches: list[tuple[pa.Table, Tables]] = []
        signatures: list[pa.Table] = []

        def step(name: StageName, documents: pa.Table, tables: Tables) -> StageOutput:
            started = time.perf_counter()
            batch = Batch(documents, {read: tables[read] for read in STAGES[name].reads})
            output = STAGES[name].run(batch, configuration.stages.of(name), resources)
            seconds[name] += time.perf_counter() - started
            return output

        for part in split_batches(plan, configuration.run.batch_size):
            documents, tables = part.documents, {}
            for name in list(StageName)[:5]:
                documents, tables = _through(documents, tables, name, step(name, documents, tables))
            signatures.append(step(StageName.DEDUP, documents, tables).table)
            batches.append((documents, tables))
        texts = {
            document_id: text
            for _, tables in batches
            for document_id, text in zip(
                tables[StageName.NORMALIZE].column("document_id").to_pylist(),
                tables[StageName.NORMALIZE].column("text").to_pylist(),
                strict=True,
            )
        }
        started = time.perf_counter()
        precedence = {document_id: i for i, document_id in enumerate(sorted(texts))}
        decisions = decide(signatures, lambda ids: {i: texts[i] for i in ids}, configuration.stages.dedup, precedence)
        seconds[StageName.DEDUP] += time.perf_counter() - started
        kept = {row["document_id"] for row in decisions.to_pylist() if row["decision"] == "kept"}
        for documents, tables in batches:
            ids = [i for i in documents.column("document_id").to_pylist() if i in kept]
            documents = select(documents, ids)
            tables = {name: select(table, ids) for name, table in tables.items()}
            for name in list(StageName)[6:]:
                documents, tables = _through(documents, tables, name, step(name, documents, tables))
    for name, spent in seconds.items():
        print(f"{name:12} {spent:8.2f} s")
    print(f"{'all':12} {sum(seconds.values()):8.2f} s")


def _through(documents: pa.Table, tables: Tables, name: StageName, output: StageOutput) -> tuple[pa.Table, Tables]:
    dropped = {drop.document_id for drop in output.drops}
    ids = [i for i in output.table.column("document_id").to_pylist() if i not in dropped]
    tables = {key: select(table, ids) for key, table in tables.items()} | {name: select(output.table, ids)}
    documents = select(documents, ids)
    if name is StageName.FETCH:
        column = documents.schema.get_field_index("content_sha")
        documents = documents.set_column(column, DOCUMENTS.field(column), tables[name].column("content_sha"))
    return documents, tables


if __name__ == "__main__":
    main(Path(sys.argv[1]))
