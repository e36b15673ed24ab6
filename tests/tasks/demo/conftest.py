"""The engine run once over the healthy demo, without Prefect."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.documents import LOCATIONS
from schemas.names import StageName
from tasks.demo.build import build
from tasks.figures.catalogue import load_catalogue
from tasks.figures.figures import run_figures
from tasks.lake.files import write_table
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs, new_run_id
from tasks.lake.views import connect_run
from tasks.run.configuration import load_configuration
from tasks.run.context import BatchRef, RunContext
from tasks.run.deduplicate import decide_corpus, sign_batch
from tasks.run.execute import run_fetch, run_stage
from tasks.run.facts import all_locations
from tasks.run.indexing import build_candidate
from tasks.run.session import Session


@pytest.fixture(scope="session")
def healthy_figures(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """`FIGURES` rows of the healthy demo."""
    configuration = load_configuration(build(tmp_path_factory.mktemp("engine") / "demo").configuration)
    lake = Lake(configuration.lake)
    lake.create()
    now = datetime.now(UTC)
    context = RunContext(new_run_id(now), configuration, lake, Ledger(lake.ledger), Quarantine(lake.quarantine))
    Runs(lake).update(context.run_id, status="running", started_at=now.isoformat())
    session = Session(context)
    batches: Sequence[BatchRef] = session.plan()
    for stage in StageName:
        if stage is StageName.FETCH:
            batches = [run_fetch(context, batch) for batch in batches]
            session.close_scan(batches)
        elif stage is StageName.DEDUP:
            batches = decide_corpus(context, [sign_batch(context, batch) for batch in batches])
        else:
            batches = [run_stage(context, stage, batch) for batch in batches]
    session.built = build_candidate(context, batches)
    for stage in StageName:
        session.evaluate(stage, batches)
    write_table(all_locations(batches), context.folder / "locations.parquet", LOCATIONS)
    figures: list[dict[str, Any]] = run_figures(connect_run(lake, context.run_id), load_catalogue()).to_pylist()
    return figures
