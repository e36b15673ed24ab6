"""Small corpora whose figures at each point of a sweep can be counted by hand."""

import hashlib
import random
from pathlib import Path
from typing import Any

import yaml

from tasks.gold.writing import write_gold_set

_SHARED = 300


def letters(number: int, seed: int) -> str:
    """Words of random letters: hardly a run of five characters stands in them twice."""
    drawn = random.Random(seed)
    return "".join(" " if i % 7 == 6 else chr(97 + drawn.randrange(26)) for i in range(number))


def near_pair(folder: Path, name: str, tail: int, seed: int) -> None:
    """Two texts that share 300 characters and differ in `tail` at their end.

    Of their 296 + tail runs of five characters each, they share 296.
    """
    shared = letters(_SHARED, seed)
    for i, part in enumerate("ab"):
        (folder / f"{name}-{part}.txt").write_text(shared + letters(tail, 1000 * seed + i), encoding="utf-8")


def near_duplicates(folder: Path) -> Path:
    """Three pairs of texts by their Jaccard similarity: 0.94 and 0.79 are labelled duplicates, 0.74 is labelled none.

    | tail | shared / all | similarity |
    | ---: | ------------ | ---------: |
    | 10   | 296 / 316    | 0.937      |
    | 40   | 296 / 376    | 0.787      |
    | 53   | 296 / 402    | 0.736      |
    """
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    near_pair(corpus, "close", 10, 1)
    near_pair(corpus, "loose", 40, 2)
    near_pair(corpus, "template", 53, 3)
    rows = [
        row(corpus, f"{name}-a.txt", {"pairs": [{"other": f"texts:{name}-b.txt", "duplicate": duplicate}]})
        for name, duplicate in (("close", True), ("loose", True), ("template", False))
    ]
    write_gold_set(folder / "gold", "pairs", "1", {"pairs": rows})
    return configure(folder, {"dedup": {"bands": 64, "protect_facts": False}})


def web_pages(folder: Path, number: int = 6) -> Path:
    """Pages of an article between a navigation and a footer, of two classes, one of them with a hostile name."""
    corpus = folder / "corpus"
    rows = []
    for i in range(number):
        place = corpus / ("news" if i % 2 else "blog")
        place.mkdir(parents=True, exist_ok=True)
        said = [f"The keeper of lighthouse {i} wrote down the wind and the weather of day {n}." for n in range(12)]
        kept, gone = f"{said[0]} {said[1]}", f"Subscribe to our weekly offers number {i} and win a cruise"
        page = f"""<!DOCTYPE html><html><head><title>Log {i}</title></head><body>
            <nav><ul><li><a href="/a">{gone}</a></li><li><a href="/b">Imprint</a></li></ul></nav>
            <article><h1>Log {i}</h1>{"".join(f"<p>{a} {b}</p>" for a, b in zip(said[::2], said[1::2], strict=True))}
            </article><footer><p><a href="/c">All rights reserved</a></p></footer></body></html>"""
        (place / f"{i}.html").write_text(page, encoding="utf-8")
        label = {"text": " ".join(said), "must_keep": [kept], "must_drop": [gone]}
        rows.append(row(corpus, f"{place.name}/{i}.html", label))
    write_gold_set(folder / "gold", "pages", "1", {"content": rows})
    return configure(folder, {}, classes=[{"class": "news", "path": "news/**"}, {"class": "blog", "path": "blog/**"}])


def row(corpus: Path, path: str, label: dict[str, Any]) -> dict[str, Any]:
    """A row of a gold set."""
    sha = hashlib.sha256((corpus / path).read_bytes()).hexdigest()
    return {"document": f"texts:{path}", "content_sha": sha, "label": label}


def configure(folder: Path, stages: dict[str, Any], **more: Any) -> Path:
    """A configuration of the corpus and its labels."""
    path = folder / "corpusgate.yaml"
    settings = {
        "lake": "lake",
        "sources": [{"name": "texts", "type": "files", "root": "corpus"}],
        "gold": ["gold"],
        "stages": stages,
    } | more
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path
