"""What every stage gives for the demo corpus, pinned: `python -m tests.pin_outputs` writes `pinned_outputs.json`.

A stage's key stands for one output. So who changes what a stage gives must raise its version, or lakes keep the old
rows under the same key. The pins are the same on every machine: left out are what scans gave (recognized by a model
whose answers differ between processors), hashes and sizes of the files themselves, versions of libraries. Numbers with
a fraction are pinned by their sums, nearly.
"""

import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schemas.names import StageName
from schemas.stages import SIGNATURE, STAGE_OUTPUTS
from tasks.demo.build import build
from tasks.lake.files import read_table
from tasks.lake.layout import SIGNATURES
from tasks.run.keys import digest
from tasks.run.registry import STAGES
from tasks.run.session import Session
from tests.engine import run_engine

PINNED = Path(__file__).parent / "pinned_outputs.json"
COMMAND = "python -m tests.pin_outputs"

_LEFT_OUT = {
    "fetch": {"content_sha", "size_bytes", "commit_time", "etag", "last_modified", "http_status", "unchanged"},
    "parse": {"parser_version"},
    "boilerplate": {"extractor_version"},
    "pii": {"read_by"},
    "embed": {"model_version"},
}
_NEARLY = 1e-3


@dataclass(frozen=True)
class Change:
    """A stage that gives something else than is pinned."""

    stage: str
    documents: tuple[str, ...]
    numbers: tuple[str, ...]
    excused: str | None
    """Why it may: its version was raised, its libraries are others, an earlier stage changed. Null: it may not."""

    def __str__(self) -> str:
        what = ", ".join([*self.documents[:5], *self.numbers[:5]])
        told = (
            f"stage {self.stage}: {len(self.documents)} documents and {len(self.numbers)} columns of numbers differ "
            f"({what})"
        )
        if self.excused:
            return f"{told}; {self.excused}"
        return (
            f"{told}, but its version is still {STAGES[StageName(self.stage)].version}: raise `version` in "
            f"tasks/{self.stage}/stage.py if that is meant, else mend it"
        )


def outputs(session: Session) -> dict[str, dict[str, Any]]:
    """What the stages gave in a finished run of the demo, as `pinned_outputs.json` has it."""
    lake, run_id = session.context.lake, session.context.run_id
    names = {row["document_id"]: row["uri"] for row in session.runs.plan(run_id).to_pylist()}
    locations = session.runs.locations(run_id).to_pylist()
    for path in sorted((session.context.folder / "progress" / SIGNATURES).glob("*.parquet")):
        locations += read_table(path, session.runs.locations(run_id).schema).to_pylist()
    rows: dict[str, dict[str, Any]] = {}
    for stage in (*map(str, StageName), SIGNATURES):
        schema = SIGNATURE if stage == SIGNATURES else STAGE_OUTPUTS[StageName(stage)]
        files = {row["file"] for row in locations if row["stage"] == stage and row["file"]}
        made = [row for file in sorted(files) for row in read_table(lake.root / file, schema).to_pylist()]
        rows[stage] = {names[row.pop("document_id")]: row for row in made}
    recognized = {
        name for name, row in rows["parse"].items() if any(element["source"] == "ocr" for element in row["elements"])
    }
    # Dedup makes both: what it compares, and what it decides.
    rows["dedup"] = {n: row | {"signature": rows[SIGNATURES].get(n)} for n, row in rows["dedup"].items()}
    return {
        stage: _pinned(session, stage, {n: row for n, row in rows[stage].items() if n not in recognized})
        for stage in map(str, StageName)
    }


def changes(pinned: Mapping[str, Mapping[str, Any]], now: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    """Stages that differ from what is pinned, in their order."""
    found: list[Change] = []
    for stage, made in ((str(name), now[name]) for name in StageName):
        before = pinned.get(stage, {"version": None, "libraries": None, "documents": {}, "numbers": {}})
        one, other = before["documents"], made["documents"]
        documents = tuple(sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name)))
        columns = before["numbers"].keys() | made["numbers"].keys()
        numbers = tuple(
            sorted(name for name in columns if not _near(before["numbers"].get(name), made["numbers"].get(name)))
        )
        if not documents and not numbers and made["version"] == before["version"]:
            continue
        excused = None
        if made["version"] != before["version"]:
            excused = f"its version is {made['version']}, pinned is {before['version']}"
        elif made["libraries"] != before["libraries"]:
            excused = "its libraries or models are other versions than those pinned"
        elif found:
            excused = f"stage {found[0].stage} before it has changed"
        found.append(Change(stage, documents, numbers, excused))
    return found


def _pinned(session: Session, stage: str, rows: Mapping[str, Any]) -> dict[str, Any]:
    left_out = _LEFT_OUT.get(stage, set())
    numbers: dict[str, list[float]] = {}
    documents = {}
    for name in sorted(rows):
        row = {column: value for column, value in rows[name].items() if column not in left_out}
        for column, value in _fractions("", row):
            count, total, size = numbers.get(column, (0, 0.0, 0.0))
            numbers[column] = [count + 1, total + value, size + abs(value)]
        plain = json.dumps(_without_fractions(row), sort_keys=True, ensure_ascii=False, default=str)
        documents[name] = hashlib.sha256(plain.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    settings = session.context.settings(StageName(stage))
    return {
        "version": STAGES[StageName(stage)].version,
        "libraries": digest(dict(STAGES[StageName(stage)].fingerprint(settings))),
        "documents": documents,
        "numbers": {name: [count, round(a, 3), round(b, 3)] for name, (count, a, b) in sorted(numbers.items())},
    }


def _fractions(path: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _fractions(f"{path}.{name}".lstrip("."), part)
    elif isinstance(value, list):
        for part in value:
            yield from _fractions(path, part)


def _without_fractions(value: Any) -> Any:
    if isinstance(value, float):
        return "a number"
    if isinstance(value, Mapping):
        return {name: _without_fractions(part) for name, part in value.items()}
    return [_without_fractions(part) for part in value] if isinstance(value, list) else value


def _near(one: list[float] | None, other: list[float] | None) -> bool:
    if one is None or other is None or one[0] != other[0]:
        return False
    return all(math.isclose(a, b, abs_tol=max(_NEARLY * one[2], 0.01)) for a, b in zip(one[1:], other[1:], strict=True))


def main() -> int:
    """Pins what the stages give now; refuses what only a raised version allows, unless the corpus itself is another."""
    pinned = json.loads(PINNED.read_text(encoding="utf-8")) if PINNED.exists() else {}
    with TemporaryDirectory() as folder:
        now = outputs(run_engine(build(Path(folder) / "demo").configuration).session)
    found = changes(pinned, now)
    sys.stdout.write(("\n".join(map(str, found)) or "nothing differs from what is pinned") + "\n")
    if any(change.excused is None for change in found) and "--corpus-changed" not in sys.argv[1:]:
        sys.stdout.write("not pinned. Where the demo corpus itself was changed: --corpus-changed\n")
        return 1
    PINNED.write_text(json.dumps(now, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
