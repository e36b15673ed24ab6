"""One document inside another: told apart from equality, found whatever the sizes, and what then becomes of it."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tasks.dedup.comparison import comparison_text
from tasks.dedup.decisions import decide
from tasks.dedup.settings import DedupSettings
from tests.tasks.dedup.test_duplicate_decisions import sign


def prose(seed: int, words: int) -> str:
    """Text that shares next to nothing with that of another seed."""
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(words))


def decided(texts: Mapping[str, str], precedence: Mapping[str, int] | None = None, **about: Any) -> dict[str, Any]:
    """The row of each document."""
    setting = DedupSettings(**about)

    def text_of(document_ids: Sequence[str]) -> Mapping[str, str]:
        return {d: texts[d] for d in document_ids}

    rows = decide([sign(texts, setting, {})], text_of, setting, precedence or {}).to_pylist()
    for row in rows:
        assert (row["decision"] == "dropped") == (row["duplicate_of"] is not None) == (row["kind"] is not None)
        assert row["cluster_id"] == (row["duplicate_of"] or row["document_id"])
    return {row["document_id"]: row for row in rows}


def exact_share(one: str, other: str) -> float:
    """|A and B| / |A| by Python sets."""
    a, b = ({text[i : i + 5] for i in range(len(text) - 4)} for text in map(comparison_text, (one, other)))
    return len(a & b) / len(a)


EXCERPT = prose(1, 90)
BOOK = f"{prose(2, 15_000)} {EXCERPT} {prose(3, 15_000)}"


def test_an_excerpt_is_found_in_a_text_three_hundred_times_as_long() -> None:
    excerpt = f"From the archive. {EXCERPT}"
    rows = decided({"excerpt": excerpt, "book": BOOK, "other": prose(4, 30_000)})
    assert len(BOOK) > 300 * len(excerpt)
    assert rows["excerpt"]["contained_in"] == "book"
    assert rows["excerpt"]["containment"] == pytest.approx(exact_share(excerpt, BOOK))
    assert 0.9 <= rows["excerpt"]["containment"] < 1
    # By default both stay, and neither changes its cluster.
    assert {row["decision"] for row in rows.values()} == {"kept"}
    assert [d for d, row in rows.items() if row["contained_in"]] == ["excerpt"]


def test_every_part_of_a_collection_is_found() -> None:
    parts = {f"part-{n:03d}": prose(100 + n, 110) for n in range(200)}
    assert min(map(len, parts.values())) > 500
    rows = decided(parts | {"all": " ".join(parts.values())})
    assert {d for d, row in rows.items() if row["contained_in"] == "all"} == set(parts)
    assert {row["containment"] for d, row in rows.items() if d != "all"} == {1.0}


def test_the_policy_decides_what_becomes_of_it() -> None:
    texts = {"excerpt": EXCERPT, "copy": EXCERPT.upper(), "book": BOOK}
    flagged = decided(texts)
    assert [(d, row["kind"], row["contained_in"]) for d, row in flagged.items()] == [
        ("book", None, None),
        ("copy", None, "book"),
        ("excerpt", "exact", None),
    ]
    dropped = decided(texts, on_containment="drop")
    assert {d: (row["duplicate_of"], row["kind"]) for d, row in dropped.items()} == {
        "book": (None, None),
        "copy": ("book", "contained"),
        "excerpt": ("book", "contained"),
    }
    assert dropped["copy"]["similarity"] < 0.01 < 1.0 == dropped["copy"]["containment"]
    unasked = decided(texts, on_containment="keep")
    assert not any(row["contained_in"] for row in unasked.values())


def test_a_document_with_an_appendix_holds_the_one_without() -> None:
    body = prose(5, 400)
    rows = decided({"body": body, "with-appendix": f"{body} {prose(6, 150)}"})
    assert rows["body"]["contained_in"] == "with-appendix"


def test_documents_that_are_alike_as_wholes_are_no_matter_of_containment() -> None:
    # Template documents: each is nearly contained in the other, which is equality, not containment.
    body = prose(7, 400)
    rows = decided({"a": f"{body} reading 10.02 bar {body}", "b": f"{body} reading 9.8775 bar at noon {body}"})
    assert all(row["contained_in"] is None and row["decision"] == "kept" for row in rows.values())


def test_what_would_be_lost_is_not_dropped() -> None:
    certificate, book = f"{EXCERPT} reading 10.02 bar", f"{BOOK} reading 9.87 bar"
    kept = decided({"a": certificate, "b": book}, on_containment="drop")["a"]
    assert (kept["decision"], kept["contained_in"]) == ("kept", "b")
    loose = decided({"a": certificate, "b": book}, on_containment="drop", protect_facts=False)["a"]
    assert (loose["decision"], loose["kind"]) == ("dropped", "contained")


def test_a_chain_of_parts_ends_at_the_document_that_stays() -> None:
    chapter = f"{EXCERPT} {prose(8, 500)}"
    book = f"{prose(9, 3000)} {chapter} {prose(10, 3000)}"
    near = EXCERPT.replace(EXCERPT.split()[40], EXCERPT.split()[40].upper() + ",", 1)
    rows = decided({"excerpt": EXCERPT, "near": near, "chapter": chapter, "book": book}, on_containment="drop")
    assert {d: row["duplicate_of"] for d, row in rows.items()} == {
        "book": None,
        "chapter": "book",
        "excerpt": "book",
        "near": "book",
    }


def test_short_texts_are_not_looked_for() -> None:
    notice = EXCERPT[:300]
    assert decided({"a": notice, "b": BOOK})["a"]["contained_in"] is None
    assert decided({"a": notice, "b": BOOK}, containment_min_length=200)["a"]["contained_in"] == "b"


def test_nothing_is_said_across_access_scopes() -> None:
    texts = {"a": EXCERPT, "b": BOOK}
    setting = DedupSettings()
    signed = sign(texts, setting, {"a": ("t", ["x"]), "b": ("t", ["y"])})
    rows = decide([signed], lambda ids: {d: texts[d] for d in ids}, setting).to_pylist()
    assert [row["contained_in"] for row in rows] == [None, None]


def test_parts_of_one_template_do_not_cost_their_square() -> None:
    frame = prose(11, 300)
    texts = {f"{n:04d}": f"{frame} {prose(1000 + n, 40 + n % 7)}" for n in range(1200)}
    setting = DedupSettings()
    fetched: list[int] = []

    def text_of(document_ids: Sequence[str]) -> Mapping[str, str]:
        fetched.append(len(document_ids))
        return {d: texts[d] for d in document_ids}

    decide([sign(texts, setting, {})], text_of, setting)
    assert sum(fetched) < 10 * len(texts)


def test_excerpts_of_real_articles_are_found_and_no_article_is_taken_for_one(shared_data: Path) -> None:
    lines = (shared_data / "dedup" / "mccormick-articles" / "articles_1000.train").read_text(encoding="utf-8")
    articles = dict(line.split(" ", 1) for line in lines.splitlines())
    excerpts = {
        f"of-{d}": text[len(text) // 5 : -len(text) // 5]
        for d, text in sorted(articles.items())[:400]
        if len(text) > 1500 and len(text[len(text) // 5 : -len(text) // 5]) > 600
    }
    assert len(excerpts) > 150
    rows = decided(articles | excerpts)
    found = {d for d, row in rows.items() if row["contained_in"] is not None}
    held = {d for d in excerpts if rows[d]["contained_in"] is not None}
    # 600 characters hold nine anchors on average; one text in ten thousand has none.
    assert len(held) >= len(excerpts) - 1
    for d in held:
        holder = rows[d]["contained_in"]
        assert rows[d]["containment"] == pytest.approx(exact_share(excerpts[d], articles[holder]))
    assert found == held
