"""Every case through the whole engine: what its `case.json` expects must hold at the end, whatever stage is at fault.

The folders with a number are re-created from public reports (`source` says which), those named `own-` are siblings of
the same kinds. A case is the folder's files, or `state-1`, `state-2` ... as successive states of one source.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from schemas.names import StageName
from tasks.embedding.models import embedding_model
from tasks.metrics.table_cells import table_cells
from tasks.run.configuration import Configuration, parse_configuration
from tests.engine import EngineRun, run_engine

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/case.json"))
BEST = 5
"""How far down a ranking a passage may stand and still count as found."""

PII_TYPES = {"EMAIL": "EMAIL_ADDRESS", "PHONE": "PHONE_NUMBER"}
"""Names of the cases for what the stage calls otherwise."""

INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_public_report_asks_for_holds_at_the_end(case: Path, tmp_path: Path) -> None:
    expected = json.loads((case / "case.json").read_text(encoding="utf-8"))["expect"]
    problems: list[str] = []
    for name, state, run in states(case, expected, tmp_path):
        problems += [f"{name} ({run.promotion}): {problem}" for problem in violations(state, run)]
    assert not problems, "\n".join(problems)


def states(case: Path, expected: dict[str, Any], folder: Path) -> Iterator[tuple[str, dict[str, Any], EngineRun]]:
    """Each state of the source with what it expects, run one after the other over one lake."""
    successive = expected.get("states", {"": expected})
    for name in sorted(successive):
        corpus = folder / "corpus"
        shutil.rmtree(corpus, ignore_errors=True)
        shutil.copytree(case / name, corpus, ignore=shutil.ignore_patterns("case.json", "state-*"))
        yield (
            name or "case",
            successive[name],
            run_engine(configuration(successive[name], folder, shrinks="states" in expected)),
        )


def configuration(state: dict[str, Any], folder: Path, *, shrinks: bool) -> Configuration:
    """Defaults; files that the case lets fail are announced to the gate, so that the others go live."""
    doomed = [path for path, wanted in state.get("files", {}).items() if "quarantined" in json.dumps(wanted)]
    accepted = [{"path": path, "stage": stage} for path in doomed for stage in StageName]
    # A share of three documents: where a case deletes or dooms one, that is meant, and these two rules are told so.
    meant = ["fetch-success"] * bool(doomed) + ["live-kept"] * shrinks
    gate = {"expected_quarantine": accepted, "disabled": meant}
    data = {"lake": "lake", "sources": [{"name": "case", "type": "files", "root": "corpus"}], "gate": gate}
    return parse_configuration(data, folder / "corpusgate.yaml")


def violations(expected: dict[str, Any], run: EngineRun) -> list[str]:
    """What does not hold, as sentences."""
    problems: list[str] = []
    files = expected.get("files", {})
    whole = {key: value for key, value in expected.items() if key not in ("files", "states")}
    for path, wanted in files.items():
        problems += [f"{path}: {problem}" for problem in _of_document(wanted, path, run)]
    for key, value in whole.items():
        if key in OF_INDEX:
            problems += OF_INDEX[key](value, run)
        elif key in OF_DOCUMENT:
            problems += [
                f"{path}: {problem}"
                for path in run.locations
                if path not in files
                for problem in OF_DOCUMENT[key](value, path, run)
            ]
        elif key != "notes":
            problems.append(f"nobody checks {key!r}")
    return problems


def _of_document(expected: dict[str, Any], path: str, run: EngineRun) -> list[str]:
    problems: list[str] = []
    for key, value in expected.items():
        if key == "any_of":
            ways = [_of_document(way, path, run) for way in value]
            problems += [] if [] in ways else [f"none of {len(ways)} allowed ways holds: {ways}"]
        elif key in OF_DOCUMENT:
            problems += OF_DOCUMENT[key](value, path, run)
        elif key != "notes":
            problems.append(f"nobody checks {key!r}")
    return problems


# --- what one document became


def folded(text: str) -> str:
    """White space folded: line breaks and cell borders are no part of a phrase."""
    return re.sub(r"\s+", " ", text)


def text_of(path: str, run: EngineRun) -> str:
    """The text that is searched in the end: clean, without boilerplate, redacted."""
    row = run.row(path, StageName.PII)
    return folded(row["text"]) if row is not None else ""


def indexed(run: EngineRun, path: str | None = None) -> list[str]:
    """The texts of stored chunks."""
    return [folded(row["text"]) for row in run.live_rows.values() if path is None or row["uri"] == path]


def _outcome(wanted: str, path: str, run: EngineRun) -> list[str]:
    found, stage = run.outcome(path)
    parsed = run.row(path, StageName.PARSE)
    if found == "ok" and parsed is not None and parsed["pages_without_output"]:
        found = "partial"
    return [] if found == wanted else [f"is {found} at {stage}, not {wanted}"]


def _contains(wanted: list[str], path: str, run: EngineRun) -> list[str]:
    text, stored = text_of(path, run), " ".join(indexed(run, path))
    return [f"lacks {phrase!r}" for phrase in wanted if folded(phrase) not in text] + [
        f"no chunk holds the end of {phrase!r}" for phrase in wanted if folded(phrase).split()[-1] not in stored
    ]


def _absent(wanted: list[str], path: str, run: EngineRun) -> list[str]:
    texts = [text_of(path, run), *indexed(run, path)]
    return [f"still holds {phrase!r}" for phrase in wanted if any(folded(phrase) in text for text in texts)]


def _order(wanted: list[str], path: str, run: EngineRun) -> list[str]:
    text, at = text_of(path, run), 0
    for phrase in wanted:
        found = text.find(folded(phrase), at)
        if found < 0:
            return [f"{phrase!r} does not follow in order"]
        at = found + len(folded(phrase))
    return []


def _field(stage: StageName, name: str) -> Callable[[Any, str, EngineRun], list[str]]:
    def check(wanted: Any, path: str, run: EngineRun) -> list[str]:
        row = run.row(path, stage)
        found = None if row is None else row[name]
        return [] if row is not None and str(found) == str(wanted) else [f"{name} is {found!r}, not {wanted!r}"]

    return check


def _author(wanted: str | list[str], path: str, run: EngineRun) -> list[str]:
    row = run.row(path, StageName.METADATA)
    names = [wanted] if isinstance(wanted, str) else wanted
    return [] if row is not None and row["authors"] == names else [f"authors are {row and row['authors']}, not {names}"]


def _pii(wanted: list[dict[str, str]], path: str, run: EngineRun) -> list[str]:
    clean, row = run.row(path, StageName.NORMALIZE), run.row(path, StageName.PII)
    if clean is None or row is None:
        return ["came to no text"]
    found = {
        (span["type"], folded(clean["text"][span["start"] : span["end"]].translate(INVISIBLE))) for span in row["spans"]
    }
    named = [(PII_TYPES.get(entry["type"], entry["type"]), entry["value"]) for entry in wanted]
    return [f"did not find {pair}, only {sorted(found)}" for pair in named if pair not in found]


def _tables(wanted: list[str], path: str, run: EngineRun) -> list[str]:
    row = run.row(path, StageName.PARSE)
    found = [_grid(element["html"]) for element in row["elements"] if element["html"]] if row is not None else []
    return [f"no table is {html}" for html in wanted if _grid(html) not in found]


def _grid(html: str) -> dict[tuple[int, int], str]:
    return {(cell.row, cell.column): folded(cell.text).strip() for cell in table_cells(html)}


def _not_split(wanted: list[str], path: str, run: EngineRun) -> list[str]:
    clean, row = run.row(path, StageName.NORMALIZE), run.row(path, StageName.CHUNK)
    if clean is None or row is None:
        return ["came to no chunk"]
    spans = [(chunk["start"], chunk["end"]) for chunk in row["chunks"]]
    problems = []
    for value in wanted:
        places = list(re.finditer(re.escape(value).replace(r"\ ", r"\s+"), clean["text"]))
        whole = [any(a <= m.start() and m.end() <= b for a, b in spans) for m in places]
        if not places or not all(whole):
            problems.append(f"{value!r} stands in {len(places)} places, whole in a chunk in {sum(whole)}")
    return problems


OF_DOCUMENT: Mapping[str, Callable[[Any, str, EngineRun], list[str]]] = {
    "outcome": _outcome,
    "text_contains": _contains,
    "text_absent": _absent,
    "text_order": _order,
    "page_count": _field(StageName.PARSE, "pages"),
    "language": _field(StageName.LANGUAGE, "language"),
    "title": _field(StageName.METADATA, "title"),
    "date": _field(StageName.METADATA, "published"),
    "date_modified": _field(StageName.METADATA, "modified"),
    "author": _author,
    "pii": _pii,
    "pii_absent": _absent,
    "if_masked_absent": _absent,
    "tables_html": _tables,
    "chunks_must_not_split": _not_split,
}


# --- what the promoted index answers


def _found(wanted: list[str], run: EngineRun) -> list[str]:
    problems = []
    for phrase in wanted:
        for by in ("keyword", "vector"):
            texts = [folded(row["text"]) for row in run.found(phrase, BEST, by=by)]
            if not any(folded(phrase) in text for text in texts):
                problems.append(f"{by} search does not find {phrase!r}")
    return problems


def _not_found(wanted: list[str], run: EngineRun) -> list[str]:
    every = len(run.live_rows)
    problems = [f"a stored chunk still holds {phrase!r}" for phrase in wanted for t in indexed(run) if phrase in t]
    for phrase in wanted:
        for by in ("keyword", "vector"):
            if any(folded(phrase) in folded(row["text"]) for row in run.found(phrase, every, by=by)):
                problems.append(f"{by} search still finds {phrase!r}")
    return problems


def _cites_only(wanted: dict[str, list[str]], run: EngineRun) -> list[str]:
    problems = []
    for phrase, allowed in wanted.items():
        cited = {row["uri"] for row in run.live_rows.values() if folded(phrase) in folded(row["text"])}
        if not cited or not cited <= set(allowed):
            problems.append(f"{phrase!r} is cited from {sorted(cited)}, not only from {allowed}")
    return problems


def _requires(wanted: list[dict[str, Any]], run: EngineRun) -> list[str]:
    problems = []
    for rule in wanted:
        holding = [text for text in indexed(run) if rule["if_contains"] in text]
        lacking = [part for text in holding for part in rule["must_contain"] if part not in text]
        if not holding or lacking:
            problems.append(f"{len(holding)} chunks hold {rule['if_contains']!r}; they lack {sorted(set(lacking))}")
    return problems


def _vector_queries(wanted: list[dict[str, Any]], run: EngineRun) -> list[str]:
    problems = []
    for rule in wanted:
        for key, part in (("top_k_file", "file"), ("top_k_text", "text")):
            if key in rule:
                rows = run.found(rule["query"], rule[key]["k"], by="vector")
                values = [row["uri"] if part == "file" else folded(row["text"]) for row in rows]
                if not any(rule[key][part] in value for value in values):
                    problems.append(f"{rule['query']!r}: {rule[key][part]!r} is not among the first {rule[key]['k']}")
    return problems


def _within_limit(wanted: bool, run: EngineRun) -> list[str]:
    settings = run.session.context.configuration.stages.embed
    tokens = embedding_model(settings).embed([row["text"] for row in run.live_rows.values()]).tokens
    cut = [
        vector["chunk_id"]
        for path in run.locations
        for vector in (run.row(path, StageName.EMBED) or {"embeddings": []})["embeddings"]
        if vector["truncated"]
    ]
    over = int((tokens > settings.max_tokens).sum())
    return [f"{over} chunks are longer than the model reads, {len(cut)} reported as cut"] if wanted and over else []


def _clusters(run: EngineRun) -> dict[str, str]:
    rows = {path: run.row(path, StageName.DEDUP) for path in run.locations}
    return {path: row["cluster_id"] for path, row in rows.items() if row is not None}


def _duplicates(wanted: list[list[str]], run: EngineRun) -> list[str]:
    of = _clusters(run)
    pairs = [pair for group in wanted for pair in pairwise(group)]
    return [f"{one} and {other} are not seen as duplicates" for one, other in pairs if of[one] != of[other]]


def _no_duplicates(wanted: list[list[str]], run: EngineRun) -> list[str]:
    of = _clusters(run)
    pairs = [(one, other) for group in wanted for i, one in enumerate(group) for other in group[i + 1 :]]
    return [f"{one} and {other} are taken for duplicates" for one, other in pairs if of[one] == of[other]]


OF_INDEX: Mapping[str, Callable[[Any, EngineRun], list[str]]] = {
    "found_after": _found,
    "not_found_after": _not_found,
    "cites_only": _cites_only,
    "chunk_requires": _requires,
    "vector_queries": _vector_queries,
    "chunks_within_model_limit": _within_limit,
    "near_duplicates": _duplicates,
    "not_duplicates": _no_duplicates,
}
