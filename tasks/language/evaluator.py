"""Measures of the language stage."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from schemas.names import MetricStatus, Outcome, StageName
from tasks.gold.kinds import LanguageLabel
from tasks.gold.labels import Labels
from tasks.language.sections import UNKNOWN
from tasks.language.settings import LanguageSettings
from tasks.metrics.classification import class_counts, expected_calibration_error, macro_f1
from tasks.metrics.rates import DetectionCounts
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence, Evidence

_SAME = {"nb": "no"}
"""Codes of one written language: the model's `no` is Bokmål."""


def evaluate(evidence: Evidence, settings: LanguageSettings) -> pa.Table:
    """Right or wrong, known or unknown, for each document."""
    rows = MetricRows(StageName.LANGUAGE)
    for output in evidence.output.to_pylist():
        document_id, language = output["document_id"], output["language"]
        rows.ratio("unknown_rate", document_id, int(language == UNKNOWN), 1)
        if output["mixed"] is None:
            rows.without_value("mixed_rate", document_id, MetricStatus.NOT_APPLICABLE)
        else:
            rows.ratio("mixed_rate", document_id, int(output["mixed"]), 1)
        label = _labelled(evidence.labels, document_id)
        if label is not None:
            rows.ratio("language_accuracy", document_id, int(base_code(language) == label), 1)
        elif evidence.labels.is_stale(document_id, "language"):
            rows.without_value("language_accuracy", document_id, MetricStatus.STALE_LABEL)
    return rows.table()


def facts(evidence: CorpusEvidence, settings: LanguageSettings) -> pa.Table:
    """How much text is in which language; and over all labelled documents: per language, their macro mean, the
    confusions, the calibration.

    The calibration is over documents that got a language; `und` states no belief in any. A labelled document that
    failed here got none: it counts among those of its label, in the recall and F1 of that, and matches nothing. For
    calibration it is an answer given with certainty that was wrong.
    """
    rows = MetricRows(StageName.LANGUAGE)
    labelled: list[str] = []
    predicted: list[str] = []
    confidences: list[float] = []
    correct: list[bool] = []
    characters: Counter[str] = Counter()
    for table in evidence.outputs(StageName.LANGUAGE):
        for output in table.select(["document_id", "language", "confidence", "shares"]).to_pylist():
            for share in output["shares"] or ():
                characters[share["language"]] += share["characters"]
            label = _labelled(evidence.labels, output["document_id"])
            if label is None:
                continue
            language = base_code(output["language"])
            labelled.append(label)
            predicted.append(language)
            if language != UNKNOWN:
                confidences.append(output["confidence"])
                correct.append(language == label)
    for language, number in sorted(characters.items()):
        rows.ratio("language_share", None, number, characters.total(), slice_of=("language", language))
    failed = [label for i in _failed(evidence.locations) if (label := _labelled(evidence.labels, i)) is not None]
    confidences += [1.0] * len(failed)
    correct += [False] * len(failed)
    counts = class_counts(labelled, predicted)
    for label in failed:
        count = counts.get(label, DetectionCounts(0, 0, 0))
        counts[label] = replace(count, labelled=count.labelled + 1)
    if not counts:
        return rows.table()
    for language, count in sorted(counts.items()):
        of = ("language", language)
        rows.ratio("language_precision", None, count.matched, count.predicted, slice_of=of)
        rows.ratio("language_recall", None, count.matched, count.labelled, slice_of=of)
        rows.ratio("language_f1", None, 2 * count.matched, count.predicted + count.labelled, slice_of=of)
    rows.value("language_f1", None, macro_f1(counts), denominator=len(counts))
    confusions = Counter((true, found) for true, found in zip(labelled, predicted, strict=True) if true != found)
    for (true, found), number in sorted(confusions.items()):
        of = ("confusion", f"{true}>{found}")
        rows.ratio("language_confusion", None, number, counts[true].labelled, slice_of=of)
    error = expected_calibration_error(confidences, correct)
    if error is None:
        rows.without_value("language_calibration", None, MetricStatus.NOT_APPLICABLE)
    else:
        rows.value("language_calibration", None, error, denominator=len(confidences))
    return rows.table()


def _failed(locations: pa.Table) -> list[str]:
    """Documents that this stage could not process."""
    here = (pc.field("stage") == StageName.LANGUAGE.value) & (pc.field("outcome") == Outcome.QUARANTINED.value)
    return list(locations.filter(here).column("document_id").to_pylist())


def _labelled(labels: Labels, document_id: str) -> str | None:
    label = labels.of(document_id, LanguageLabel, "language")
    return None if label is None else base_code(label.language)


def base_code(code: str) -> str:
    """The language of a code, without region or script.

    >>> base_code("pt-BR"), base_code("nb"), base_code("und")
    ('pt', 'no', 'und')
    """
    language = code.replace("_", "-").split("-", 1)[0].lower()
    return _SAME.get(language, language)
