"""A run from opening to promotion, step by step and without Prefect; flows and the command line drive it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import Cohort, StageName
from schemas.verdict import Verdict
from tasks.counted import counted
from tasks.errors import RunError
from tasks.fetch.listed import Skips
from tasks.figures.catalogue import load_catalogue
from tasks.figures.measures import stage_measures, table_digest
from tasks.figures.stage_table import stage_table
from tasks.figures.stored import drop_figures, make_figures
from tasks.gate.judge import judge, resolve_anchor
from tasks.gold.labels import Labels
from tasks.index.records import Candidate, Generation
from tasks.index.search import LanceView
from tasks.index.store import LanceIndex
from tasks.lake.files import write_json, write_table
from tasks.lake.runs import Runs
from tasks.machine import machine_is_named
from tasks.report.write import write_report
from tasks.run.alone import score_alone
from tasks.run.alone_pairs import score_pairs_alone
from tasks.run.context import BatchRef, RunContext
from tasks.run.facts import add_actual_lags, all_locations, stage_locations, write_facts
from tasks.run.held import write_held
from tasks.run.indexing import open_index
from tasks.run.labels import bind_labels, stored_labels
from tasks.run.options import RunOptions
from tasks.run.planning import split_batches
from tasks.run.registry import STAGES, scorer
from tasks.run.removals import AGAINST_LOSS, refuse_mass_removals, removals
from tasks.run.scoring import score_documents
from tasks.run.selection import Planned, plan_run
from tasks.withhold.names import withhold_names


@dataclass(frozen=True, slots=True)
class Rescored:
    """Metric rows of a stage after scoring it anew, and a digest over them, the same whenever the rows are."""

    rows: int
    digest: str


class Session:
    """The state that the nodes of one run share."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.runs = Runs(context.lake)
        self.catalogue = load_catalogue()
        self.built: Candidate | None = None
        self.promotion = ""
        self._labels: Labels | None = None

    def plan(self) -> list[BatchRef]:
        """Lists the sources against the last scan and what is live, and writes the batches.

        Raises:
            ConfigurationError: a source cannot be listed (nothing is then taken for deleted), or a run that asks no
                source has no scan before it.
            RunError: more of a source would be deleted than the settings allow at once.
        """
        context, options = self.context, self.context.options
        live = open_index(context).live()
        baseline = live.generation.run_id if live else None
        skips = Skips()
        planned = plan_run(
            context.configuration, self.runs, options, baseline=baseline, before=context.run_id, skips=skips
        )
        lost = removals(planned.documents, self.runs.plan(baseline))
        self.runs.update(
            context.run_id,
            baseline_run=baseline,
            last_scan_run=self.runs.last_scan(before=context.run_id),
            skipped=skips.by_source(),
            mass_delete_allowed=options.allow_mass_delete,
            partial=_told(options, planned) if options.partial else None,
        )
        if not options.allow_mass_delete:
            refuse_mass_removals(lost, context.configuration.run)
        self.runs.write_plan(context.run_id, planned.documents)
        done_before = self._same_stages(self.runs.last_scan(before=context.run_id))
        parts = split_batches(planned.documents, context.configuration.run.batch_size, done_before=done_before)
        if planned.held and baseline is not None:
            write_held(context, parts, planned.held, baseline)
        context.progress.expect(sum(part.documents.num_rows for part in parts), len(parts))
        batches = []
        for part in parts:
            path = self.context.folder / "batches" / f"{part.number:05d}.parquet"
            write_table(part.documents, path, DOCUMENTS, durable=False)
            batches.append(BatchRef(part.number, path))
        return batches

    def close_scan(self, batches: Sequence[BatchRef]) -> None:
        """Completes the plan with what was fetched; from here on the run knows the bytes of every document."""
        planned = self.runs.plan(self.context.run_id)
        deleted = planned.filter(
            pa.array([c == Cohort.DELETED for c in planned.column("cohort").to_pylist()], pa.bool_())
        )
        plan = pa.concat_tables([batch.read_documents() for batch in batches] + [deleted])
        self.runs.write_plan(self.context.run_id, plan)
        labels, gold = bind_labels(self.context.configuration.gold, plan, self.context.lake)
        self.use(labels)
        # Only a scan of everything tells what is gone, and which documents the next run has seen before.
        finished = "partial_scan_finished_at" if self.context.options.partial else "scan_finished_at"
        scanned = {finished: _now()} if self.context.options.asks_sources else {}
        self.runs.update(self.context.run_id, **scanned, **gold)

    def _same_stages(self, last: str | None) -> bool:
        bases = {name.value: base for name, base in self.context.bases.items()}
        return last is not None and self.runs.manifest(last).get("stage_bases") == bases

    @property
    def labels(self) -> Labels:
        """The run's labels, from memory or from the lake."""
        if self._labels is None:
            manifest = self.runs.manifest(self.context.run_id)
            plan = self.runs.plan(self.context.run_id)
            self._labels = stored_labels(self.context.lake, manifest.get("gold_digest"), plan)
        return self._labels

    def use(self, labels: Labels) -> None:
        """Scores by these labels from here on."""
        self._labels = labels

    def evaluate(self, stage: StageName, batches: Sequence[BatchRef]) -> list[dict[str, Any]]:
        """Scores a stage, writes its facts, and returns its table for people: a row per measure and class."""
        self.score(stage, batches)
        return stage_table(self.context.lake, self.context.run_id, stage, self.catalogue)

    def score(self, stage: StageName, batches: Sequence[BatchRef], *, anew: bool = False) -> None:
        """Scores what a stage made and is not scored yet (`anew`: all of it), makes its facts and its figures."""
        drop_figures(self.context.lake, self.context.run_id, stage)
        score_documents(self.context, stage, batches, self.labels, anew=anew)
        plan = self.runs.plan(self.context.run_id)
        manifest = self.runs.manifest(self.context.run_id)
        started = datetime.fromisoformat(manifest["started_at"])
        write_facts(
            self.context,
            stage,
            batches,
            plan,
            self.labels,
            self.catalogue,
            index=self._index_under_test(manifest) if STAGES[stage].reads_index else None,
            live=self._baseline(manifest) if STAGES[stage].reads_index else None,
            references=self._references(manifest) if stage is StageName.EMBED else None,
            started=started,
            anew=anew,
        )
        here = stage_locations(batches, stage)
        if stage is StageName.INDEX and (promoted := manifest.get("promoted_at")):
            self._add_actual_lags(here, plan, self._index_under_test(manifest), datetime.fromisoformat(promoted))
        make_figures(self.context.lake, self.context.run_id, stage, here, plan, self.catalogue)

    def _add_actual_lags(self, here: pa.Table, plan: pa.Table, live: LanceView | None, promoted: datetime) -> None:
        parts = live.rows(["document_id"]) if live else ()
        found = {document_id for part in parts for document_id in part.column("document_id").to_pylist()}
        add_actual_lags(self.context, here, plan, self.labels, found, promoted)

    def judge(self, batches: Sequence[BatchRef]) -> Verdict:
        """Writes where everything is, then judges the candidate by rules and baseline."""
        locations = all_locations(batches).sort_by([("document_id", "ascending"), ("stage", "ascending")])
        write_table(locations, self.context.folder / "locations.parquet", LOCATIONS)
        self.runs.update(self.context.run_id, candidate=asdict(self.built.generation) if self.built else None)
        if self.context.options.force:
            self.runs.update(self.context.run_id, forced=self.context.reworked.told())
        verdict = self._verdict()
        write_json(self.context.folder / "verdict.json", verdict.to_json())
        self.runs.update(self.context.run_id, verdict=verdict.status.value, verdict_digest=verdict.digest)
        return verdict

    def rejudge(self) -> Verdict:
        """Judges a finished run by the rules of now, from the lake alone.

        The verdict that the run got stays as it is, since live may name it; this one is stored beside it.
        """
        verdict = self._verdict()
        write_json(self.context.folder / "rejudged" / f"{verdict.digest[:16]}.json", verdict.to_json())
        return verdict

    def _verdict(self) -> Verdict:
        gate = self.context.configuration.gate
        if self.runs.manifest(self.context.run_id).get("mass_delete_allowed"):
            gate = gate.model_copy(update={"disabled": (*gate.disabled, *AGAINST_LOSS)})
        return judge(self.context.lake, self.context.run_id, gate, self.catalogue)

    def promote(self, verdict: Verdict) -> str:
        """Flips live to the candidate if the verdict allows it, then retires what is too old. Says what it did.

        Raises:
            RunError: live is no longer the baseline that was judged, or the verdict was used before.
        """
        index = open_index(self.context)
        with machine_is_named("promotion"):
            self.promotion = self._promote(verdict, index)
        return self.promotion

    def _promote(self, verdict: Verdict, index: LanceIndex) -> str:
        candidate = self.built
        if candidate is None:
            if index.live() is None:
                return "nothing to promote: no document got as far as the index"
            return "nothing to promote: live already holds exactly these documents"
        if not verdict.allows_promotion or verdict.exit_code(self.context.fail_on) != 0:
            index.drop(candidate.generation)
            return f"not promoted: the verdict is {verdict.status.value}; live is untouched"
        live = index.flip(candidate.generation, expected=candidate.baseline, verdict_digest=verdict.digest)
        self.runs.update(self.context.run_id, promoted_at=live.flipped_at.isoformat())
        here, plan = stage_locations(self.batches(), StageName.INDEX), self.runs.plan(self.context.run_id)
        drop_figures(self.context.lake, self.context.run_id, StageName.INDEX)
        self._add_actual_lags(here, plan, index.open_live(), live.flipped_at)
        make_figures(self.context.lake, self.context.run_id, StageName.INDEX, here, plan, self.catalogue)
        return f"promoted: run {self.context.run_id} is live with {counted(candidate.rows, 'chunk')}{self._part()}"

    def _part(self) -> str:
        part = self.runs.manifest(self.context.run_id).get("partial")
        if not part:
            return ""
        taken = counted(part["taken"], "document")
        return f" ({taken} taken in, {part['held']} as they were, {part['left_out']} left out)"

    def rescore(self, stage: StageName) -> Rescored | None:
        """Scores a stage of a finished run anew and says what came out.

        Null where the stage's facts are read from a generation of the index that is kept no more: its rows stay.
        """
        if STAGES[stage].reads_index and not self._index_can_be_read():
            return None
        self.score(stage, batches := self.batches(), anew=True)
        locations = all_locations(batches).sort_by([("document_id", "ascending"), ("stage", "ascending")])
        write_table(locations, self.context.folder / "locations.parquet", LOCATIONS)
        told = self.runs.manifest(self.context.run_id).get("scorers") or {}
        self.runs.update(self.context.run_id, scorers=told | {str(stage): scorer(stage)})
        measured = stage_measures(self.context.lake, self.context.run_id, stage, locations)
        return Rescored(measured.num_rows, table_digest(measured))

    def score_alone(self) -> None:
        """Runs and scores each labelled stage on gold inputs, beside the cascade (`tasks.run.alone`)."""
        manifest = self.runs.manifest(self.context.run_id)
        former = [run for run in (manifest.get("baseline_run"), manifest.get("last_scan_run")) if run]
        score_alone(self.context, batches := self.batches(), self.labels, self.catalogue, former)
        score_pairs_alone(self.context, batches, self.runs.plan(self.context.run_id), self.labels)

    def report(self) -> None:
        """Writes the run's report as Markdown and HTML; it is the last that is told of the documents' own paths where
        the lake does not keep them."""
        if self.context.configuration.run.redact_only:
            withhold_names(self.context.lake, self.context.folder)
        write_report(self.context.lake, self.context.run_id, self.catalogue)

    def task_runs(self) -> int:
        """How many Prefect task runs this run was made of: per batch and stage, and one per other node."""
        batches = len(self.batches())
        return batches * len(StageName) + len(StageName) + 5

    def batches(self) -> list[BatchRef]:
        """The batches of this run as it left them, for work on a finished run."""
        progress = self.context.folder / "progress"
        made = []
        for path in sorted((self.context.folder / "batches").glob("*-fetched.parquet")):
            number = int(path.name.split("-")[0])
            stages = {
                stage: progress / stage / f"{number:05d}.parquet"
                for stage in StageName
                if (progress / stage / f"{number:05d}.parquet").exists()
            }
            made.append(BatchRef(number, path, stages))
        return made

    def index_is_kept(self) -> bool:
        """Whether there is a generation that this run's index facts were read from, and it can still be opened."""
        return self._index_can_be_read() and self._index_under_test(self.runs.manifest(self.context.run_id)) is not None

    def _index_can_be_read(self) -> bool:
        try:
            self._index_under_test(self.runs.manifest(self.context.run_id))
        except RunError:
            return False
        return True

    def _references(self, manifest: dict[str, Any]) -> dict[str, str]:
        """The runs that this one is compared with: the one that made what was live, and the pinned one."""
        anchor = resolve_anchor(self.runs, self.context.configuration.gate.anchor)
        found = {"live": manifest.get("baseline_run"), "anchor": anchor}
        # A baseline that is measured again lies in the folder of the run that does so.
        own = self.context.run_id.rsplit("/", 1)[-1]
        return {name: run_id for name, run_id in found.items() if run_id not in (None, own)}

    def _index_under_test(self, manifest: dict[str, Any]) -> LanceView | None:
        recorded = asdict(self.built.generation) if self.built else manifest.get("candidate")
        return open_index(self.context).open(Generation(**recorded)) if recorded else self._baseline(manifest)

    def _baseline(self, manifest: dict[str, Any]) -> LanceView | None:
        """What was live when the run was planned; null where nothing was, or where it was collected since."""
        index = open_index(self.context)
        was_live = [at.generation for at in index.history() if at.generation.run_id == manifest.get("baseline_run")]
        if not was_live:
            return None
        try:
            return index.open(was_live[-1])
        except RunError:
            return None


def _told(options: RunOptions, planned: Planned) -> dict[str, Any]:
    """What a manifest says of a partial run."""
    return {
        "only": list(options.only),
        "limit": options.limit,
        "taken": planned.taken,
        "held": len(planned.held),
        "left_out": planned.left_out,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat()
