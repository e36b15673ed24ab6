"""Which labelled questions would have been answered with outdated content."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from schemas.documents import DOCUMENTS, LOCATIONS
from schemas.names import StageName
from tasks.gold.kinds import QuestionLabel, QuestionsLabel
from tasks.gold.labels import BoundLabel, Labels
from tasks.index.settings import IndexSettings
from tasks.index.stale_queries import stale_queries
from tasks.metrics.rows import MetricRows
from tasks.stage import CorpusEvidence

from .conftest import Corpus

COHORTS = {"same": "unchanged", "edited": "changed", "gone": "deleted", "fresh": "new", "moved": "moved"}
ASKED = {
    "same": ("q-same", "anchor windlass"),
    "edited": ("q-edited", "bollard paint"),
    "gone": ("q-gone", "capstan grease"),
    "fresh": ("q-fresh", "davit rope"),
    "moved": ("q-moved", "eyebolt rust"),
}


def evidence(corpus: Corpus, questions: dict[str, list[tuple[str, str]]], *, live: bool = True) -> CorpusEvidence:
    shared = {"source": "s", "doc_class": "x", "tenant": "t", "groups": []}
    rows = [{"document_id": i, "uri": i, "locator": i, "cohort": c, "commit_time": None} for i, c in COHORTS.items()]
    bound = {
        (i, "questions"): BoundLabel.of(
            QuestionsLabel(questions=tuple(QuestionLabel(question_id=q, question=words) for q, words in asked)),
            "sha",
            stale=COHORTS[i] == "changed",
        )
        for i, asked in questions.items()
    }
    return CorpusEvidence(
        documents=pa.Table.from_pylist([row | shared for row in rows], schema=DOCUMENTS),
        locations=LOCATIONS.empty_table(),
        outputs=lambda stage: iter(()),
        labels=Labels("1", bound),
        index=None,
        live=corpus.index.open_live() if live else None,
        started=datetime(2026, 3, 1, tzinfo=UTC),
    )


def said(of: CorpusEvidence, **settings: int) -> dict[str | None, Any]:
    rows = MetricRows(StageName.INDEX)
    stale_queries(rows, of, IndexSettings(**settings))
    return {
        row["unit_id"]: row["value"] if row["status"] == "ok" else row["status"] for row in rows.table().to_pylist()
    }


@pytest.fixture
def live(corpus: Corpus) -> Corpus:
    corpus.publish("r1", {i: [ASKED[i][1]] for i in COHORTS if i != "fresh"})
    return corpus


def test_a_question_is_stale_by_what_it_meets_or_misses(live: Corpus) -> None:
    # Live answers each question with its own document only: the stale_query_share is three of five.
    found = said(evidence(live, {i: [asked] for i, asked in ASKED.items()}))
    assert found == {"q-same": 0, "q-edited": 1, "q-gone": 1, "q-fresh": 1, "q-moved": 0}


def test_a_question_that_two_documents_answer_counts_once(live: Corpus) -> None:
    both = {"fresh": [("q", "anchor windlass")], "same": [("q", "anchor windlass")]}
    assert said(evidence(live, both)) == {"q": 1}
    assert said(evidence(live, {"moved": [("q", "anchor windlass")], "same": [("q", "anchor windlass")]})) == {"q": 0}


def test_no_more_questions_are_asked_than_the_setting_says(live: Corpus) -> None:
    everything = evidence(live, {i: [asked] for i, asked in ASKED.items()})
    some = said(everything, stale_queries=2)
    assert len(some) == 2
    assert some.items() <= said(everything).items()


def test_without_questions_or_without_anything_live_there_is_no_share(live: Corpus) -> None:
    assert said(evidence(live, {})) == {None: "not_applicable"}
    assert said(evidence(live, {"same": [ASKED["same"]]}, live=False)) == {None: "not_applicable"}
