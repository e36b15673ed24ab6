"""A labelled document that failed weighs as an output that holds nothing, and is never scored well for it."""

from collections import Counter
from typing import Any

import pytest

from schemas.measures import MEASURES
from schemas.names import StageName
from tasks.gold.kinds import ContentLabel, PairLabel, PairsLabel
from tasks.gold.labels import BoundLabel, Labels
from tasks.lake.files import read_table
from tasks.run.deduplicate import decide_corpus, sign_batch
from tasks.run.execute import run_stage
from tasks.run.facts import write_facts
from tasks.run.fetching import run_fetch
from tests.tasks.run.runs_by_hand import started

LINKS = "".join(f'<li><a href="/{i}">Page {i} of the shop</a></li>' for i in range(20))
PAGE = f"<!doctype html><html><body><nav><ul>{LINKS}</ul></nav></body></html>"
CONTENT = ContentLabel(text="The weir opens at noon.", must_keep=("Page 3 of the shop",), must_drop=("Page 7 of the",))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[StageName, list[dict[str, Any]]]:
    """Facts of boilerplate, where a labelled page of links failed, and of dedup, which it never reached."""
    root = tmp_path_factory.mktemp("facts")
    (root / "in").mkdir()
    (root / "in" / "links.html").write_text(PAGE, encoding="utf-8")
    (root / "in" / "notes.md").write_text("# Weir\n\nThe gate opens at three metres, and closes at two.\n")
    session = started(root / "lake", 1, [{"name": "s", "type": "files", "root": str(root / "in")}])
    context = session.context
    batches = [run_fetch(context, batch) for batch in session.plan()]
    for stage in (StageName.PARSE, StageName.BOILERPLATE, StageName.NORMALIZE, StageName.LANGUAGE):
        batches = [run_stage(context, stage, batch) for batch in batches]
    session.close_scan(batches)
    batches = decide_corpus(context, [sign_batch(context, batch) for batch in batches])
    plan = session.runs.plan(context.run_id)
    page = next(row for row in plan.to_pylist() if row["uri"] == "links.html")
    made = {
        "content": CONTENT,
        "pairs": PairsLabel(pairs=(PairLabel(other="s:notes.md", duplicate=False),)),
    }
    bound = {
        (page["document_id"], kind): BoundLabel.of(label, page["content_sha"], stale=False)
        for kind, label in made.items()
    }
    at = context.ledger.select("SELECT max(recorded_at) AS at FROM ledger").column("at")[0].as_py()
    found: dict[StageName, list[dict[str, Any]]] = {}
    for stage in (StageName.BOILERPLATE, StageName.DEDUP):
        labels = Labels("v1", bound)
        path = write_facts(context, stage, batches, plan, labels, session.catalogue, started=at)
        found[stage] = read_table(path, MEASURES).to_pylist()
    return found


def test_what_was_not_kept_counts_against_a_page_that_failed(facts: dict[StageName, list[dict[str, Any]]]) -> None:
    rows = {row["metric"]: row for row in facts[StageName.BOILERPLATE] if row["metric"].startswith(("must", "content"))}
    assert {row["status"] for row in rows.values()} == {"missing"}
    assert (rows["must_keep_recall"]["numerator"], rows["must_keep_recall"]["denominator"]) == (0, 1)
    assert rows["content_recall"]["value"] == 0


def test_dropping_everything_is_no_merit_of_a_page_that_failed(facts: dict[StageName, list[dict[str, Any]]]) -> None:
    (row,) = [row for row in facts[StageName.BOILERPLATE] if row["metric"] == "must_drop_rate"]
    assert (row["status"], row["value"], row["denominator"]) == ("missing", None, None)


def test_a_label_that_was_lost_before_is_counted_once(facts: dict[StageName, list[dict[str, Any]]]) -> None:
    lost = Counter(row["metric"] for row in facts[StageName.DEDUP] if row["status"] == "lost_upstream")
    assert lost["pair_f1"] == lost["pair_precision"] == 1


def test_every_document_that_enters_is_accounted_for(facts: dict[StageName, list[dict[str, Any]]]) -> None:
    # Of two pages one failed at boilerplate, with no rule that expected it; the other went on to dedup and stayed.
    for stage, came, went, failed in ((StageName.BOILERPLATE, 2, 1, 1), (StageName.DEDUP, 1, 1, 0)):
        rows = facts[stage]
        values = {metric: [r["value"] for r in rows if r["metric"] == metric] for metric in ("rows_in", "rows_out")}
        assert values == {"rows_in": [came], "rows_out": [went]}
        for metric, expected in (("quarantined", failed), ("unexpected_quarantine", failed), ("dropped", 0)):
            counted = [(r["numerator"], r["denominator"]) for r in rows if r["metric"] == metric]
            assert (sum(n for n, _ in counted), sum(d for _, d in counted)) == (expected, came)
        seconds = [r["value"] for r in rows if r["metric"] == "seconds"]
        assert len(seconds) == came
        assert all(value >= 0 for value in seconds)
