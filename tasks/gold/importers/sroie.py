"""SROIE (ICDAR 2019 competition on scanned receipts): photographs of receipts and the lines of text on them.

The images are copied to `corpus/`, beside `gold/`. The transcription is in capitals, so case is left out of the
comparison. Its lines have boxes and no order: here they are put in rows from the top, and a row from the left; two
lines share a row where their middles are less than 0.4 of the smaller height apart.
"""

import hashlib
import shutil
from pathlib import Path

from tasks.errors import ConfigurationError
from tasks.gold.importers.summary import ImportSummary
from tasks.gold.writing import write_gold_set

SOURCE = "sroie"
_SAME_ROW = 0.4
_IMAGES = (".jpg", ".jpeg", ".png")


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Reads `img/<id>.jpg` and `box/<id>.csv` (eight coordinates and the text); writes text labels.

    Raises:
        ConfigurationError: there is no `box/*.csv` in the folder.
    """
    boxes = sorted((source_folder / "box").glob("*.csv"))
    if not boxes:
        raise ConfigurationError(
            f"{source_folder} holds no box/*.csv", remedy="name the folder with img/ and box/ of the data set"
        )
    corpus = out_folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    rows = []
    skipped: list[str] = []
    for box in boxes:
        image = next((path for s in _IMAGES if (path := source_folder / "img" / f"{box.stem}{s}").is_file()), None)
        if image is None:
            skipped.append(f"{box.name}: its image is missing")
            continue
        try:
            text = _text(box)
        except ValueError:
            skipped.append(f"{box.name}: a line of it is no box with a text")
            continue
        shutil.copy2(image, corpus / image.name)
        sha = hashlib.sha256(image.read_bytes()).hexdigest()
        label = {"text": text, "ignores": ["case"]}
        rows.append({"document": f"{SOURCE}:{image.name}", "content_sha": sha, "label": label})
    gold = out_folder / "gold"
    write_gold_set(
        gold,
        SOURCE,
        "1",
        {"text": rows},
        description="Text of scanned receipts, transcribed in capitals; lines in rows from the top.",
        licence="MIT (as redistributed); the licence of the scans is not stated",
    )
    return ImportSummary(gold, corpus, SOURCE, {"text": len(rows)}, tuple(skipped))


def _text(path: Path) -> str:
    lines = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.strip():
            *numbers, text = line.split(",", 8)
            coordinates = [float(number) for number in numbers]
            if len(coordinates) != 8:
                raise ValueError(line)
            ys = coordinates[1::2]
            lines.append(((min(ys) + max(ys)) / 2, max(ys) - min(ys), min(coordinates[::2]), text.strip()))
    rows: list[list[tuple[float, float, float, str]]] = []
    for entry in sorted(lines):
        if rows and abs(entry[0] - rows[-1][0][0]) < _SAME_ROW * min(entry[1], rows[-1][0][1]):
            rows[-1].append(entry)
        else:
            rows.append([entry])
    return "\n".join(" ".join(entry[3] for entry in sorted(row, key=lambda entry: entry[2])) for row in rows)
