"""Eight small documents with nine questions, and the curve of evidence survival over them.

Each question weighs one ninth; `harbour-1` has two passages, so that one of them weighs one eighteenth.
"""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pymupdf

from schemas.names import StageName
from tasks.figures.stored import read_stage_figures
from tasks.gold.writing import write_gold_set
from tasks.run.configuration import Configuration, parse_configuration
from tasks.run.session import Session
from tests.tasks.parse.drawn_pages import page

MEASURED = tuple(StageName)[1:]
"""The stages whose output is text: all but fetch."""

QUESTIONS = 9

HARBOUR = """# Harbour rules

## Speed

Boats pass the inner basin at walking pace, and no wash may reach the moored hulls.

## Waste

Oily rags go into the red bin beside the workshop. The bin is emptied on the first weekday of each month.
"""

TIDE = """# Tide board

The board by the ice house is rewritten each evening after the last reading of the gauge.
"""

ROTA = "# Night rota\n\n" + "\n\n".join(
    f"In week {week} the {keeper} keeper walks the long mole before midnight and writes the state of lamp {week} into "
    f"the book of the {shelf} shelf, with the weather and the hour."
    for week, (keeper, shelf) in enumerate(
        zip(("first", "second", "third") * 4, ("upper", "lower") * 6, strict=True), 1
    )
)

LOCK = """# Lock orders

The keeper rings the bell twice before the gates are moved, so that crews can take in their lines.

Small boats enter behind the barges and leave before them. Poles are kept ready on both walls of the chamber.

The eastern gate opens at {} on working days, and an hour later on all others.
"""

FARES = """<html><head><title>Fares</title></head><body>
<nav><a href="/">Start</a> <a href="/map">Map</a> <a href="/news">News</a></nav>
<article><h1>Fares across the sound</h1>
<p>Tickets are sold at the kiosk on the quay until the gangway is drawn in, and on board for a small supplement that the
purser collects before the boat has passed the breakwater.</p>
<p>A return ticket is valid for the day of issue and the day that follows it, on every crossing of the timetable.</p>
<table><tr><th>Passage</th><th>Single</th><th>Return</th></tr>
<tr><td>Grown passenger</td><td>4.20</td><td>7.60</td></tr>
<tr><td>Bicycle with rider</td><td>6.10</td><td>11.40</td></tr></table>
<p>Dogs travel free of charge if they are kept on a short lead and away from the saloon.</p>
</article><footer>Imprint and privacy</footer></body></html>
"""

EVIDENCE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "notes/harbour.md": {
        "harbour-1": (
            "no wash may reach the moored hulls",
            "The bin is emptied on the first weekday of each month.",
        ),
        "harbour-2": (),
    },
    "notes/tide.md": {"tide-1": ("rewritten each evening after the last reading",)},
    "notes/rota.md": {"rota-1": ("writes the state of lamp 7 into the book of the upper shelf",)},
    "notes/lock-a.md": {
        "lock-1": ("The keeper rings the bell twice before the gates are moved",),
        "lock-2": ("The eastern gate opens at 06:40 on working days",),
    },
    "pages/fares.html": {
        "fares-1": ("Bicycle with rider 6.10 11.40",),
        "fares-2": ("A return ticket is valid for the day of issue and the day that follows it",),
    },
    "pages/survey.pdf": {
        "survey-1": ("The fender of berth four was replaced in spring.",),
        "survey-2": ("The crane on pier seven was inspected on Monday.",),
    },
}


def write_quay(folder: Path, **stages: Mapping[str, Any]) -> Configuration:
    """Writes documents, labels and configuration. `harbour-2` has no passage, and `tide.md` is dropped for its copy,
    which has no question of its own."""
    files = {
        "notes/harbour.md": HARBOUR.encode(),
        "notes/tide.md": TIDE.encode(),
        "notes/tide-copy.md": TIDE.encode(),
        "notes/rota.md": ROTA.encode(),
        "notes/lock-a.md": LOCK.format("06:40").encode(),
        "notes/lock-b.md": LOCK.format("07:15, or earlier if the harbour office asks for it,").encode(),
        "pages/fares.html": FARES.encode(),
        "pages/survey.pdf": _survey(),
    }
    rows = []
    for path, data in files.items():
        place = folder / "in" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        if questions := EVIDENCE.get(path):
            label = {
                "questions": [
                    {"question_id": name, "question": f"{name}?", "evidence": [{"exact": quote} for quote in quotes]}
                    for name, quotes in questions.items()
                ]
            }
            rows.append({"document": f"quay:{path}", "content_sha": hashlib.sha256(data).hexdigest(), "label": label})
    write_gold_set(folder / "gold", "quay", "1", {"questions": rows})
    # No names here: the model of the pii stage would find some in headings, and this is not about it.
    settings = {"pii": {"policy": {"PERSON": "keep"}}, **stages}
    data = {
        "lake": "lake",
        "sources": [{"name": "quay", "type": "files", "root": "in"}],
        "classes": [{"class": "note", "path": "notes/**"}, {"class": "page", "path": "pages/**"}],
        "gold": ["gold"],
        "stages": settings,
    }
    return parse_configuration(data, folder / "corpusgate.yaml")


def _survey() -> bytes:
    """Two pages: one with a text layer, and a scan."""
    document = pymupdf.open()
    written = document.new_page(width=595, height=360)
    written.insert_text((60, 80), "The fender of berth four was replaced in spring.", fontsize=12)
    written.insert_text((60, 110), "Its bolts are to be tightened again before the autumn gales.", fontsize=12)
    scan = document.new_page(width=595, height=360)
    image = io.BytesIO()
    page().save(image, "PNG", dpi=(200, 200))
    scan.insert_image(scan.rect, stream=image.getvalue())
    data: bytes = document.tobytes(no_new_id=True)
    document.close()
    return data


def curve(session: Session, doc_class: str | None = None) -> dict[StageName, float]:
    """The headline of evidence survival at each stage that has one."""
    context, catalogue = session.context, session.catalogue
    found = {}
    for stage in StageName:
        for figure in read_stage_figures(context.lake, context.run_id, stage, catalogue).to_pylist():
            named = figure["metric"] == "evidence_survival" and figure["doc_class"] == doc_class
            if named and figure["cohort"] is None and figure["value"] is not None:
                found[stage] = figure["value"]
    return found


def falling(at: StageName, ninths: float) -> dict[StageName, float]:
    """The curve that is whole up to a stage, and lacks so many questions from there on."""
    order = list(StageName)
    return {stage: 1.0 if order.index(stage) < order.index(at) else 1.0 - ninths / QUESTIONS for stage in MEASURED}
