"""SROIE (ICDAR 2019 competition on scanned receipts): photographs of receipts, the lines of text on them, key fields.

The transcription is in capitals, so case is left out of the comparison. Its lines have boxes and no order: here they
are put in rows from the top, and a row from the left; two lines share a row where their middles are less than 0.4 of
the smaller height apart. A key field (company, date, address, total) becomes an assertion that it stands on the page.
"""

import json
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import text_lines
from tasks.metrics.page_assertions import holds_text

_SAME_ROW = 0.4
_IMAGES = (".jpg", ".jpeg", ".png")
_FIELDS = ("company", "date", "address", "total")


def read(folder: Path) -> DataSet:
    """The images with text labels, and page assertions where `key/<id>.json` lies beside.

    A receipt with a bad line is left out: its text would lack that line. A field whose words do not stand in the
    transcription either is left out: nobody could read it off the page as it is written there.
    """
    documents: list[MadeDocument] = []
    bad: list[BadRow] = []
    skipped: list[str] = []
    for box in sorted((folder / "box").glob("*.csv")):
        image = next((path for s in _IMAGES if (path := folder / "img" / f"{box.stem}{s}").is_file()), None)
        if image is None:
            skipped.append(f"{box.name}: its image is missing")
            continue
        bad_before = len(bad)
        text = _text(box, bad)
        assertions = _assertions(folder / "key" / f"{box.stem}.json", text, bad, skipped)
        if len(bad) == bad_before:
            labels: dict[str, dict[str, Any]] = {"text": {"text": text, "ignores": ["case"]}}
            if assertions:
                labels["page_assertions"] = {"assertions": assertions}
            documents.append(MadeDocument(image.name, image, labels))
    return DataSet(tuple(documents), tuple(bad), tuple(skipped))


def _text(path: Path, bad: list[BadRow]) -> str:
    lines = []
    for number, line in text_lines(path, bad):
        if not line.strip():
            continue
        *numbers, text = line.split(",", 8)
        try:
            coordinates = [float(number) for number in numbers]
        except ValueError:
            coordinates = []
        if len(coordinates) != 8:
            bad.append(BadRow(path.name, number, "is no box with a text"))
            continue
        ys = coordinates[1::2]
        lines.append(((min(ys) + max(ys)) / 2, max(ys) - min(ys), min(coordinates[::2]), text.strip()))
    rows: list[list[tuple[float, float, float, str]]] = []
    for entry in sorted(lines):
        if rows and abs(entry[0] - rows[-1][0][0]) < _SAME_ROW * min(entry[1], rows[-1][0][1]):
            rows[-1].append(entry)
        else:
            rows.append([entry])
    return "\n".join(" ".join(entry[3] for entry in sorted(row, key=lambda entry: entry[2])) for row in rows)


def _assertions(path: Path, text: str, bad: list[BadRow], skipped: list[str]) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    try:
        fields = json.loads(path.read_bytes())
        given = {name: fields[name] for name in _FIELDS if fields.get(name)}
        if not all(isinstance(value, str) for value in given.values()):
            raise TypeError
    except (ValueError, TypeError, AttributeError):
        bad.append(BadRow(path.name, None, "is no JSON object of key fields"))
        return []
    made = []
    for name, value in given.items():
        if holds_text(text, value, case_sensitive=False):
            made.append({"id": name, "page": 1, "kind": "present", "text": value, "case_sensitive": False})
        else:
            skipped.append(f"{path.name}: its {name} does not stand in the transcription in these words")
    return made
