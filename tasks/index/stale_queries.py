"""Would whoever asks the corpus's questions have met content that its source has changed or taken away since?"""

from random import Random

from schemas.names import Cohort, MetricStatus
from tasks.gold.kinds import QuestionsLabel
from tasks.gold.labels import Labels
from tasks.index.probes import RECALL_AT
from tasks.index.settings import IndexSettings
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence

METRIC = "stale_query_share"


def stale_queries(rows: MetricRows, evidence: CorpusEvidence, settings: IndexSettings) -> None:
    """Writes `stale_query_share`: a row per question, under the first document that answers it.

    A question meets a stale version where one of the ten best hits of the keyword search in live is of a document that
    was changed or deleted since, or where a document that answers it is not live yet. Labels made for other bytes count
    too: what was asked then is asked still. A seeded sample, where there are more questions than the setting.
    """
    asked = _questions(evidence.labels)
    if evidence.live is None or not asked:
        rows.without_value(METRIC, None, MetricStatus.NOT_APPLICABLE)
        return
    columns = (evidence.documents.column(name).to_pylist() for name in ("document_id", "cohort"))
    cohorts = dict(zip(*columns, strict=True))
    sample = sorted(asked)
    if len(sample) > settings.stale_queries:
        sample = sorted(Random(settings.probe_seed).sample(sample, settings.stale_queries))  # noqa: S311
    for question_id in sample:
        words, answered_by = asked[question_id]
        hits = evidence.live.search_text(words, RECALL_AT)
        met = {cohorts.get(chunk_id.partition("/")[0]) for chunk_id, _ in hits}
        stale = bool(met & {Cohort.CHANGED, Cohort.DELETED}) or any(cohorts.get(i) == Cohort.NEW for i in answered_by)
        rows.ratio(METRIC, answered_by[0], float(stale), 1.0, unit_id=question_id)


def _questions(labels: Labels) -> dict[str, tuple[str, list[str]]]:
    """Words of each question and the documents that answer it, sorted, by its id."""
    asked: dict[str, tuple[str, list[str]]] = {}
    for document_id, kind in sorted(labels.bound):
        if kind != "questions":
            continue
        label = labels.bound[document_id, kind].label
        if isinstance(label, QuestionsLabel):
            for question in label.questions:
                asked.setdefault(question.question_id, (question.question, []))[1].append(document_id)
    return asked
