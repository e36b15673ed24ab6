"""A corpus of which one document has a word of its own in its text, its title and its path; and a search for words."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tasks.gold.writing import seal_gold_set

IN_TEXT, IN_TITLE, IN_PATH, IN_LABELS, IN_FORMER = "qzvexium", "qzfabrel", "qzmorvane", "qzlabelly", "qzformerly"
WORDS = (IN_TEXT, IN_TITLE, IN_PATH, IN_LABELS, IN_FORMER)
"""`IN_FORMER` stands in the first version of the document alone."""

PATH = f"notes/{IN_PATH}.md"

PARTS = {
    PATH: f"# The {IN_TITLE} ledger\n\nThe {IN_TEXT} pump stands at the north weir, and by night stands {IN_FORMER}.\n",
    "notes/weir.md": "# The weir\n\nThe gate opens at three metres, and the keeper writes the hour into his book.\n",
    "notes/mill.md": "# The mill\n\nTwo stones grind rye on Mondays; barley waits until the wheel was greased.\n",
    "notes/ferry.md": "# The ferry\n\nOne bell calls the ferry over; two bells tell that a horse is on board too.\n",
}
CHANGED = {
    PATH: f"# The {IN_TITLE} ledger\n\nThe {IN_TEXT} pump stands at the north weir, and turns by itself since March.\n",
    "notes/weir.md": "# The weir\n\nThe gate opens at four metres now, since the flood of the last spring.\n",
}


def write_corpus(folder: Path, **stages: dict[str, Any]) -> Path:
    """Writes the corpus with its labels; returns the configuration."""
    for path, text in PARTS.items():
        write(folder, path, text)
    shas = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in PARTS.items()}
    asked = [(PATH, f"Where is the {IN_LABELS} pump?", "at the north weir")]
    asked += [("notes/ferry.md", "How is the ferry called?", "One bell calls the ferry")]
    questions = [
        (path, {"questions": [{"question_id": f"q-{n}", "question": question, "evidence": [{"exact": quote}]}]})
        for n, (path, question, quote) in enumerate(asked)
    ]
    pairs = {"pairs": [{"other": f"notes:{path}", "duplicate": False} for path in (PATH, "notes/mill.md")]}
    gold = folder / "gold"
    gold.mkdir()
    for kind, labels in (("questions", questions), ("pairs", [("notes/ferry.md", pairs)])):
        rows = [{"document": f"notes:{p}", "content_sha": shas[p], "label": label} for p, label in labels]
        (gold / f"{kind}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    seal_gold_set(gold, "notes", "1")
    configuration = folder / "corpusgate.yaml"
    settings = {
        "lake": "lake",
        "sources": [{"name": "notes", "type": "files", "root": "in"}],
        "gold": ["gold"],
        "stages": stages,
    }
    configuration.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return configuration


def write(folder: Path, path: str, text: str) -> None:
    """Writes a document of the corpus."""
    file = folder / "in" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def places_of(root: Path, words: tuple[str, ...]) -> set[tuple[str, str]]:
    """(word, file) wherever a file of a lake holds one of the words: as bytes, in a name, or in a decoded table."""
    found = set()
    for path in sorted(root.rglob("*")):
        if not path.is_file():
            continue
        name = str(path.relative_to(root))
        for text in (name, *_texts(path)):
            found |= {(word, name) for word in words if word in text.lower()}
    for table in sorted((root / "index").glob("*.lance")):
        for version in lance.dataset(table).versions():
            rows = repr(lance.dataset(table, version=version["version"]).to_table().to_pylist()).lower()
            found |= {(word, f"{table.name}@{version['version']}") for word in words if word in rows}
    return found


def _texts(path: Path) -> Iterator[str]:
    yield path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            table = file.read()
            yield repr(table.to_pylist())
            for column in table.columns:
                # Words that no row has any more may still lie in a dictionary.
                for chunk in column.chunks:
                    if pa.types.is_dictionary(chunk.type):
                        yield repr(chunk.dictionary.to_pylist())
    if path.suffix in (".sqlite", ".db"):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
            yield "\n".join(store.iterdump())
