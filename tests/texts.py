"""A few short texts as a source, and a configuration whose gate lets them through: a run takes about a second."""

from pathlib import Path
from typing import Any

from tasks.run.configuration import Configuration, parse_configuration

_SUBJECTS = (
    "lighthouse", "ferry", "customs shed", "dry dock", "signal mast", "slipway", "fog horn", "chart room", "rope walk",
    "grain silo", "ice house", "pilot boat",
)  # fmt: skip
_VERBS = ("opened", "measured", "painted", "locked", "drained", "swept", "counted", "moved", "lit", "mended")


def text(number: int) -> str:
    """A text that is like no other number's."""
    subject, other = _SUBJECTS[number % 12], _SUBJECTS[(number // 12 + number + 1) % 12]
    verbs = [_VERBS[(number * step + step) % 10] for step in (1, 3, 7)]
    return (
        f"Record {number * 7919 % 100_003} of the {subject}.\n\n"
        f"On day {number} the {subject} was {verbs[0]} and then {verbs[1]} by hand, {number * 31 % 977} times over.\n\n"
        f"After {number * 13 % 89} hours the {other} beside it was {verbs[2]}, at a cost of {number * 17 + 3} euros.\n"
    )


def write_texts(folder: Path, count: int, *, start: int = 0) -> None:
    """So many texts, one file each: `note-000.txt` and on."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(start, start + count):
        (folder / f"note-{number:03}.txt").write_text(text(number), encoding="utf-8")


def configured(folder: Path, **keys: Any) -> Configuration:
    """The source `notes` in the folder `notes`, the lake beside it."""
    data: dict[str, Any] = {"lake": "lake", "sources": [{"name": "notes", "type": "files", "root": "notes"}]}
    return parse_configuration(data | keys, folder / "corpusgate.yaml")
