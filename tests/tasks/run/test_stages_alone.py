"""A fault of one stage shows alone at that stage and nowhere else; what follows from it is inherited."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from schemas.measures import ALONE_INPUTS, MEASURES
from schemas.names import StageName
from tasks.gate.inheritance import Beside
from tasks.lake.files import read_table, write_table
from tests.engine import EngineRun, run_engine
from tests.tasks.run.notes_by_hand import PEOPLE, alone, blocks, configured, labels, name, write_labels, write_notes


def notes(folder: Path) -> Path:
    """Six notes with all their labels."""
    write_notes(folder)
    write_labels(folder, "1", {name(person): labels(person) for person in PEOPLE})
    return folder


def figures(found: Beside) -> tuple[float | None, float | None, int, str]:
    return found.cascade, found.alone, found.lost, found.fault.value


def rows(run: EngineRun, stage: StageName) -> list[dict[str, Any]]:
    """The rows of a stage alone, in the order of documents' files."""
    folder = run.session.context.lake.alone(run.session.context.run_id, stage)
    names = {row["document_id"]: row["uri"] for row in run.session.runs.plan(run.session.context.run_id).to_pylist()}
    found = [row for path in sorted(folder.glob("*")) for row in read_table(path, MEASURES).to_pylist()]
    return [row | {"file": names[row["document_id"]]} for row in found]


def inputs(run: EngineRun) -> dict[tuple[str, str], dict[str, Any]]:
    """What was scored alone, by file and stage."""
    folder = run.session.context.lake.alone(run.session.context.run_id, "inputs")
    names = {row["document_id"]: row["uri"] for row in run.session.runs.plan(run.session.context.run_id).to_pylist()}
    found = [row for path in sorted(folder.glob("*")) for row in read_table(path, ALONE_INPUTS).to_pylist()]
    return {(names[row["document_id"]], row["stage"]): row for row in found}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    return run_engine(configured(notes(tmp_path_factory.mktemp("healthy"))))


def test_a_sound_pipeline_is_the_same_both_ways(healthy: EngineRun) -> None:
    found = alone(healthy)
    for metric in ("language_accuracy", "pii_recall", "pii_precision", "title_exact", "evidence_recall"):
        assert figures(found[metric]) == (1, 1, 0, ""), metric
        assert found[metric].difference == 0
        assert found[metric].documents == 6


def test_what_a_broken_parser_costs_the_stages_after_it_is_inherited(tmp_path: Path) -> None:
    outside = {"backends": {"markdown": "outside"}, "outside": {"folder": str(tmp_path / "broken")}}
    found = alone(run_engine(configured(notes(tmp_path), parse=outside)))
    # Greek letters are no English, and no title; six notes lose everything: 1 of 2^6 assignments of signs.
    assert figures(found["language_accuracy"]) == (0, 1, 0, "inherited")
    assert figures(found["title_exact"]) == (0, 1, 0, "inherited")
    # Of the labelled values and passages none is left to be found or missed: lost before, in all six.
    assert figures(found["pii_recall"]) == (None, 1, 6, "inherited")
    assert figures(found["evidence_recall"]) == (None, 1, 6, "inherited")
    assert (found["pii_recall"].documents, found["pii_recall"].alone_documents) == (0, 6)


def test_a_language_threshold_is_the_languages_own_fault_and_inherited_by_pii(tmp_path: Path) -> None:
    found = alone(run_engine(configured(notes(tmp_path), language={"min_confidence": 1.0})))
    assert figures(found["language_accuracy"]) == (0, 0, 0, "own")
    # A note in no known language is searched by patterns: the address is found, the person is not.
    assert figures(found["pii_recall"]) == (0.5, 1, 0, "inherited")
    assert found["pii_recall"].difference == -0.5
    assert figures(found["title_exact"]) == (1, 1, 0, "")


def test_a_pii_threshold_is_its_own_fault(tmp_path: Path) -> None:
    found = alone(run_engine(configured(notes(tmp_path), pii={"thresholds": {"PERSON": 1.0}})))
    assert figures(found["pii_recall"]) == (0.5, 0.5, 0, "own")
    assert figures(found["pii_precision"]) == (1, 1, 0, "")
    assert figures(found["language_accuracy"]) == (1, 1, 0, "")
    assert figures(found["evidence_recall"]) == (1, 1, 0, "")


def test_documents_without_gold_inputs_are_counted_with_the_reason(tmp_path: Path) -> None:
    notes(tmp_path)
    made = {name(person): labels(person) for person in PEOPLE}
    language_only, text_only, stale, stale_text = list(made)[:4]
    made[language_only] = {"language": {"language": "en"}}
    made[text_only]["text"] = {
        "text": "\n\n".join(block["text"] for block in made[text_only].pop("structure")["blocks"])
    }
    write_labels(tmp_path, "2", made)
    for file in (stale, stale_text):
        path = tmp_path / "in" / file
        path.write_text(path.read_text() + "\nA line more.\n")
    made = {stale_text: {"language": {"language": "en"}}}
    write_more(tmp_path, made)
    run = run_engine(configured(tmp_path))
    found = alone(run)
    told = inputs(run)
    assert found["language_accuracy"].documents == 3
    assert told[language_only, "language"]["reason"] == "no_parse_label"
    assert told[text_only, "language"]["made_from"] == "text"
    assert told[text_only, "metadata"]["reason"] == told[text_only, "chunk"]["reason"] == "no_structure_label"
    assert told[stale, "pii"]["reason"] == "stale_label"
    # Its language was labelled anew, its structure was not.
    assert told[stale_text, "language"]["reason"] == "stale_label"
    status = {row["file"]: row["status"] for row in rows(run, StageName.LANGUAGE)}
    assert status == dict.fromkeys(made_files(), "ok") | {
        language_only: "not_applicable",
        stale: "stale_label",
        stale_text: "not_applicable",
    }
    assert {row["status"] for row in rows(run, StageName.PII) if row["file"] == stale} == {"stale_label"}


def made_files() -> list[str]:
    return [name(person) for person in PEOPLE]


def write_more(folder: Path, by_file: dict[str, dict[str, Any]]) -> None:
    """Labels these documents anew, beside what the gold set has of the others and of other kinds."""
    from tasks.gold.gold_set import read_gold_set
    from tasks.gold.writing import write_gold_set

    kinds: dict[str, list[dict[str, Any]]] = {}
    for label in read_gold_set(folder / "gold").labels:
        file = str(label.document).removeprefix("notes:")
        if label.kind not in by_file.get(file, {}):
            row = {"document": label.document, "content_sha": label.content_sha}
            kinds.setdefault(label.kind, []).append(row | {"label": label.label.model_dump(mode="json")})
    shutil.rmtree(folder / "gold")
    write_labels(folder, "x", by_file)
    for label in read_gold_set(folder / "gold").labels:
        row = {"document": label.document, "content_sha": label.content_sha}
        kinds[label.kind].append(row | {"label": label.label.model_dump(mode="json")})
    write_gold_set(folder / "gold", "notes", "3", kinds)


def test_what_follows_from_the_same_is_not_scored_again(healthy: EngineRun, tmp_path: Path) -> None:
    shutil.copytree(healthy.session.context.lake.root.parent, tmp_path, dirs_exist_ok=True)
    first = healthy.moved(configured(tmp_path))
    alone(first)
    # A mark that only rows which were taken over can bear.
    for path in first.session.context.lake.alone(first.session.context.run_id, StageName.PII).glob("*"):
        table = read_table(path, MEASURES)
        write_table(table.set_column(8, MEASURES.field("value"), [[0.125] * table.num_rows]), path, MEASURES)
    again = run_engine(configured(tmp_path))
    alone(again)
    assert {row["value"] for row in rows(again, StageName.PII)} == {0.125}
    other = {name(person): labels(person) for person in PEOPLE}
    other["emma.md"]["pii"] = {"spans": other["emma.md"]["pii"]["spans"][:1]}
    write_labels(tmp_path, "2", other)
    relabelled = run_engine(configured(tmp_path))
    alone(relabelled)
    values = {row["file"]: row["value"] for row in rows(relabelled, StageName.PII) if row["metric"] == "pii_precision"}
    # One label fewer, of two finds: one is now a false one.
    assert values["emma.md"] == 0.5
    assert set(values.values()) == {0.5, 0.125}


def test_a_pair_missed_since_one_of_the_two_was_broken_is_found_alone(tmp_path: Path) -> None:
    write_notes(tmp_path)
    first, second, third = (name(person) for person in list(PEOPLE)[:3])
    # A copy with a line end more; the parser breaks the copy alone. The third is labelled as different.
    (tmp_path / "in" / second).write_text((tmp_path / "in" / first).read_text() + "\n")
    for file in (first, third):
        person = next(person for person in PEOPLE if name(person) == file)
        (tmp_path / "broken" / f"{file}.json").write_text(json.dumps(blocks(person)))
    one = next(iter(PEOPLE))
    pairs = [{"other": f"notes:{second}", "duplicate": True}, {"other": f"notes:{third}", "duplicate": False}]
    made = {
        first: {"structure": {"blocks": blocks(one)}, "pairs": {"pairs": pairs}},
        second: {"structure": {"blocks": blocks(one)}},
    }
    write_labels(tmp_path, "1", made)
    outside = {"backends": {"markdown": "outside"}, "outside": {"folder": str(tmp_path / "broken")}}
    run = run_engine(configured(tmp_path, parse=outside))
    found = alone(run)
    assert (found["pair_recall"].cascade, found["pair_recall"].alone) == (0, 1)
    assert (found["missed_merge_rate"].cascade, found["missed_merge_rate"].alone) == (1, 0)
    # The third has no gold text: what is not known is not judged.
    statuses = [row["status"] for row in rows(run, StageName.DEDUP) if row["metric"] == "pair_recall"]
    assert sorted(statuses) == ["not_applicable", "ok"]
