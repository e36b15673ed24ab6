"""Three short notes: the smallest corpus that passes, and can be damaged so that the gate blocks."""

from pathlib import Path
from typing import Any

import yaml

ONE_WORKER: dict[str, dict[str, Any]] = {
    stage: {"limits": {"workers": 1}} for stage in ("parse", "boilerplate", "chunk", "metadata")
}
"""Settings with which a command starts a single process that reads files: each takes seconds to start."""


def write_corpus(folder: Path, **more: Any) -> Path:
    """Writes the notes into `documents` below the folder, and gives the configuration, with further keys if any."""
    notes = folder / "documents"
    notes.mkdir(parents=True)
    for subject in ("boiler", "pump", "valve"):
        lines = [f"The {subject} is checked every {weeks} weeks, and its reading is logged." for weeks in range(2, 7)]
        (notes / f"{subject}.txt").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    readable = {"id": "readable", "stage": "parse", "metric": "garbage_ratio", "kind": "ceiling", "threshold": 0.01}
    settings = {
        "lake": "lake",
        "sources": [{"name": "notes", "type": "files", "root": "documents"}],
        "stages": ONE_WORKER,
        "gate": {"rules": [readable]},
    }
    config = folder / "corpusgate.yaml"
    config.write_text(yaml.safe_dump(settings | more), encoding="utf-8")
    return config


def damage(notes: Path) -> None:
    """One note loses a letter to a wrong decoding: the rule `readable` is broken."""
    note = notes / "pump.txt"
    note.write_text(note.read_text(encoding="utf-8").replace("e", "\ufffd"), encoding="utf-8")
