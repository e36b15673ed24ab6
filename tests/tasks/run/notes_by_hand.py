"""Six labelled notes, each with one person, one address and one title, and what a broken parser makes of them."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tasks.figures.alone import beside_samples
from tasks.figures.catalogue import load_catalogue
from tasks.gate.inheritance import Beside, beside
from tasks.gold.writing import write_gold_set
from tasks.run.configuration import Configuration, parse_configuration
from tests.engine import EngineRun

PEOPLE = {
    "Emma Thompson": "first",
    "Daniel Murphy": "second",
    "Laura Bennett": "third",
    "Peter Collins": "fourth",
    "Sarah Mitchell": "fifth",
    "James Parker": "sixth",
}
EVIDENCE = "leaves at seven in the morning"
_GREEK = str.maketrans("abcdefghijklmnoprstuvwxyz", "αβψδεφγηιξκλμνοπρστθωςχυζ")


def blocks(person: str) -> list[dict[str, Any]]:
    """The heading and the paragraphs of a person's note."""
    route = PEOPLE[person]
    address = f"{person.split()[0].lower()}@example.org"
    return [
        {"kind": "heading", "text": f"The winter timetable of the {route} route", "level": 1},
        {"kind": "paragraph", "text": f"From November on the ferry {EVIDENCE}, and comes back before the shops close."},
        {"kind": "paragraph", "text": f"Questions about the timetable are answered by {person}, write to {address}."},
    ]


def labels(person: str) -> dict[str, dict[str, Any]]:
    """All labels of a note, by kind."""
    heading, _, last = (block["text"] for block in blocks(person))
    address = last.split()[-1].rstrip(".")
    spans = [{"type": "PERSON", "quote": {"exact": person}}, {"type": "EMAIL", "quote": {"exact": address}}]
    question = {"question_id": person, "question": "When does it leave?", "evidence": [{"exact": EVIDENCE}]}
    return {
        "structure": {"blocks": blocks(person)},
        "language": {"language": "en"},
        "pii": {"spans": spans},
        "metadata": {"title": heading},
        "questions": {"questions": [question]},
    }


def write_notes(folder: Path) -> None:
    """The notes as Markdown under `in`, and what a parser without the font's table reads in them under `broken`."""
    (folder / "in").mkdir()
    (folder / "broken").mkdir()
    for person in PEOPLE:
        made = blocks(person)
        (folder / "in" / name(person)).write_text("# " + "\n\n".join(block["text"] for block in made) + "\n")
        broken = [block | {"text": block["text"].lower().translate(_GREEK).replace("@", " ")} for block in made]
        (folder / "broken" / f"{name(person)}.json").write_text(json.dumps(broken))


def name(person: str) -> str:
    """The file of a person's note."""
    return f"{person.split()[0].lower()}.md"


def write_labels(folder: Path, version: str, by_file: Mapping[str, Mapping[str, Any]]) -> None:
    """A gold set of these labels: file, kind, label; bound to the bytes that lie there."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for file, made in by_file.items():
        sha = hashlib.sha256((folder / "in" / file).read_bytes()).hexdigest()
        for kind, label in made.items():
            kinds.setdefault(kind, []).append({"document": f"notes:{file}", "content_sha": sha, "label": label})
    write_gold_set(folder / "gold", "notes", version, kinds)


def configured(folder: Path, **stages: Mapping[str, Any]) -> Configuration:
    """The notes with these settings of stages."""
    data = {
        "lake": "lake",
        "sources": [{"name": "notes", "type": "files", "root": "in"}],
        "gold": ["gold"],
        "stages": {stage: dict(settings) for stage, settings in stages.items()},
    }
    return parse_configuration(data, folder / "corpusgate.yaml")


def alone(run: EngineRun) -> dict[str, Beside]:
    """A run's measures in the cascade beside the same alone, over all documents."""
    run.session.score_alone()
    found: dict[str, Beside] = {}
    context = run.session.context
    for parts in beside_samples(context.lake, context.run_id, load_catalogue()):
        for compared in beside(load_catalogue(), *map(pl.DataFrame, parts)):
            if compared.doc_class is None:
                found[compared.metric] = compared
    return found
