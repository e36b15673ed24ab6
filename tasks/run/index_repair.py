"""Mending the index: torn indexes over rows are built anew from the rows; a generation with torn rows is made anew from
stage outputs where it is live, else given up.
"""

from collections.abc import Collection, Iterator
from dataclasses import asdict, replace

from schemas.names import StageName
from tasks.errors import RunError
from tasks.index.records import Generation, Live
from tasks.index.store import LanceIndex
from tasks.lake.layout import Lake
from tasks.lake.ledger import Ledger
from tasks.lake.quarantine import Quarantine
from tasks.lake.runs import Runs
from tasks.run.configuration import Configuration
from tasks.run.context import RunContext
from tasks.run.indexing import build_candidate
from tasks.run.options import RunOptions
from tasks.run.session import Session


def repair_index(configuration: Configuration, lake: Lake) -> Iterator[str]:
    """Reads every row and every index of the kept generations, mends what is torn, and says so, a sentence each.

    Raises:
        RunError: live is torn, cannot be made anew, and no whole generation was live before it.
    """
    index = LanceIndex(lake.index, configuration.stages.index)
    live, keep = index.live(), configuration.run.keep_generations
    if live is None:
        return
    for generation in index.kept(keep):
        if index.is_whole(generation):
            if names := index.torn_indexes(generation):
                yield _reindex(lake, index, generation, names)
        elif generation != live.generation:
            index.give_up(generation)
            yield f"the index of run {generation.run_id} was torn and is given up: no rollback leads to it any more"
        else:
            yield _make_anew(configuration, lake, index, live)


def _reindex(lake: Lake, index: LanceIndex, generation: Generation, names: list[str]) -> str:
    run_id = generation.run_id
    anew = index.reindex(generation)
    runs = Runs(lake)
    if runs.is_readable(run_id):
        runs.update(run_id, candidate=asdict(anew))
    return (
        f"{', '.join(names)} over the index of run {run_id} had torn or missing files: every index over it was built "
        "anew from its rows; programs that have it open must open it again"
    )


def _make_anew(configuration: Configuration, lake: Lake, index: LanceIndex, live: Live) -> str:
    run_id = live.generation.run_id
    context = RunContext(run_id, configuration, lake, Ledger(lake.ledger), Quarantine(lake.quarantine))
    # A run's own records tell what it indexed, whatever has changed in the sources since.
    context = replace(context, options=RunOptions(force=frozenset({StageName.INDEX})))
    try:
        built = build_candidate(context, Session(context).batches())
        if built is None or built.generation.embedding != live.generation.embedding:
            raise RunError("its run recorded no documents", remedy="run again")
    except (RunError, KeyError, OSError) as error:
        why = str(error) if isinstance(error, RunError) else "rows of its documents are not in the lake any more"
        return _rolled_back(index, live, why, Runs(lake).ids())
    index.put_in_place(live.generation, built.generation)
    Runs(lake).update(run_id, candidate=asdict(built.generation))
    return (
        f"the live index, of run {run_id}, was torn: made anew from the stage outputs of that run, with {built.rows} "
        "chunks; programs that have it open must open it again"
    )


def _rolled_back(index: LanceIndex, live: Live, why: str, recorded: Collection[str]) -> str:
    try:
        before = index.rollback(expected=live, recorded=recorded)
    except RunError as error:
        raise RunError(
            f"the live index, of run {live.generation.run_id}, is torn and cannot be made anew ({why}); {error}",
            remedy="restore the lake's folder `index` from a copy; or delete it and run again",
        ) from error
    return (
        f"the live index, of run {live.generation.run_id}, was torn and could not be made anew ({why}): rolled back to "
        f"that of run {before.generation.run_id}; run again"
    )
