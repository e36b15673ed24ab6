"""What the index finds by words and by vectors, for whom, and what it no longer finds."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tasks.index.settings import IndexSettings
from tasks.stage import SearchFilter

from .conftest import Corpus

TEXTS = {
    "codes": ["The seal is ordered under code QX-5518.", "Pump P-101 runs at 10.02 bar, see (fig. 3)."],
    "apart": ["pump Q 10 and 02 and 101, 5518 of them", "QX-5519 and P-102 at 10.03 bar"],
    "words": ["Zürich café Straße", "don't stop the running dogs", "snake_case_name in path/to/file.txt"],
    "hash": ["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],
    "cjk": ["北京市的地铁很方便", "ラーメンを食べたい"],
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("QX-5518", "codes/text/0"),
        ("qx-5518?", "codes/text/0"),
        ("P-101", "codes/text/1"),
        ("10.02 bar", "codes/text/1"),
        ("fig. 3", "codes/text/1"),
        ("zurich CAFE", "words/text/0"),
        ("the", "codes/text/0"),
        ("running", "words/text/1"),
        ("file.txt", "words/text/2"),
        ("case", "words/text/2"),
        ("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "hash/text/0"),
        ("地铁", "cjk/text/0"),
        ("ラーメン", "cjk/text/1"),
    ],
)
def test_words_numbers_and_codes_are_found(corpus: Corpus, query: str, first: str) -> None:
    corpus.publish("r1", TEXTS)
    view = corpus.index.open_live()
    assert view is not None
    assert first in [chunk_id for chunk_id, _ in view.search_text(query, 2)]


@pytest.mark.parametrize("query", ["QX-5520", "10.04", "P-103", "run", "dog", "", " ?! -- ", "' OR 1=1"])
def test_what_is_not_there_is_not_found(corpus: Corpus, query: str) -> None:
    corpus.publish("r1", TEXTS)
    view = corpus.index.open_live()
    assert view is not None
    assert view.search_text(query, 10) == []


def test_a_code_is_found_only_where_its_parts_follow_one_another(corpus: Corpus) -> None:
    corpus.publish("r1", TEXTS)
    view = corpus.index.open_live()
    assert view is not None
    assert [chunk_id for chunk_id, _ in view.search_text("QX-5518", 10)] == ["codes/text/0"]
    assert [chunk_id for chunk_id, _ in view.search_text("10.02", 10)] == ["codes/text/1"]


def test_keyword_search_survives_deletions_merges_and_compaction(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "index", IndexSettings(merge_after=3, compact_after=4))
    texts = {f"d{n}": [f"common part PN-{n}", "common tail"] for n in range(30)}
    corpus.publish("r0", texts)
    for step in range(12):
        del texts[f"d{2 * step}"]
        texts[f"d{2 * step + 1}"] = [f"common part PN-{2 * step + 1} revised{step}"]
        corpus.publish(f"r{step + 1}", texts)
        corpus.index.collect(2)
        view = corpus.index.open_live()
        assert view is not None
        stored = sorted(f"{i}/text/{n}" for i, parts in texts.items() for n in range(len(parts)))
        assert sorted(chunk_id for chunk_id, _ in view.search_text("common", 1000)) == stored
        assert [chunk_id for chunk_id, _ in view.search_text(f"revised{step}", 9)] == [f"d{2 * step + 1}/text/0"]
        for n in range(30):
            found = [chunk_id for chunk_id, _ in view.search_text(f"PN-{n}", 9)]
            assert found == ([f"d{n}/text/0"] if f"d{n}" in texts else [])


TENANTS = ["acme", "it's", "x' OR '1'='1", 'say "x"', "back\\slash", "acme ", "Acme", "%", "new\nline", "", "-- x"]


def test_a_tenant_sees_its_own_rows_only_even_under_equal_chunk_ids(corpus: Corpus) -> None:
    texts = {f"d{n}": ["the same words", f"own{n}"] for n in range(len(TENANTS))}
    owners = {f"d{n}": tenant for n, tenant in enumerate(TENANTS)}
    candidate = corpus.build("r1", texts, owners, same_chunk_ids=True)
    view = corpus.index.open(candidate.generation)
    for n, tenant in enumerate(TENANTS):
        assert [hit for hit, _ in view.search_text("the same words", 50, where=SearchFilter(tenant=tenant))] == [
            "same/text/0"
        ]
        assert view.search_text(f"own{(n + 1) % len(TENANTS)}", 50, where=SearchFilter(tenant=tenant)) == []
        for exact in (True, False):
            hits = view.search_vector(
                corpus.vector(f"own{(n + 1) % len(TENANTS)}"), 50, exact=exact, where=SearchFilter(tenant=tenant)
            )
            assert sorted(hit for hit, _ in hits) == ["same/text/0", "same/text/1"]
            assert max(score for _, score in hits) < 0.99
    assert view.search_text("the same words", 50, where=SearchFilter(tenant="nobody")) == []
    assert (
        view.search_vector(corpus.vector("own1"), 50, exact=True, where=SearchFilter(tenant="' OR tenant != '")) == []
    )


def test_the_filter_comes_before_the_search(corpus: Corpus) -> None:
    texts = {f"big{n}": ["needle needle needle"] for n in range(200)} | {"small": ["a needle in much other text"]}
    corpus.publish("r1", texts, dict.fromkeys(texts, "big") | {"small": "small"})
    view = corpus.index.open_live()
    assert view is not None
    assert [hit for hit, _ in view.search_text("needle", 1, where=SearchFilter(tenant="small"))] == ["small/text/0"]
    near_big = corpus.vector("needle needle needle")
    assert [hit for hit, _ in view.search_vector(near_big, 1, exact=False, where=SearchFilter(tenant="small"))] == [
        "small/text/0"
    ]


def test_exact_scores_are_cosines(corpus: Corpus) -> None:
    corpus.publish("r1", TEXTS)
    view = corpus.index.open_live()
    assert view is not None
    probe = np.array(corpus.vector("probe"))
    expected = {
        f"{i}/text/{n}": float(probe @ np.array(corpus.vector(text)))
        for i, parts in TEXTS.items()
        for n, text in enumerate(parts)
    }
    found = view.search_vector(list(3 * probe), 100, exact=True)
    assert [hit for hit, _ in found] == sorted(expected, key=lambda i: -expected[i])
    assert dict(found) == pytest.approx(expected, abs=1e-5)


def test_sections_that_a_new_version_lost_are_found_no_more(corpus: Corpus, cases: Path) -> None:
    case = cases / "01-shorter-new-version"
    expected = json.loads((case / "case.json").read_text())["expect"]["states"]
    for state in ("state-1", "state-2"):
        text = (case / state / "pump-handbook.md").read_text()
        sections = [" ".join(part.split()) for part in re.split(r"(?m)^## ", text)]
        corpus.publish(state, {"pump-handbook": sections})
        view = corpus.index.open_live()
        assert view is not None
        stored = {row["chunk_id"]: row["text"] for t in view.rows(["chunk_id", "text"]) for row in t.to_pylist()}
        assert sorted(stored.values()) == sorted(sections)
        for passage in expected[state]["found_after"]:
            assert passage in stored[view.search_text(passage, 1)[0][0]]
            section = next(section for section in sections if passage in section)
            assert stored[view.search_vector(corpus.vector(section), 1, exact=False)[0][0]] == section
        for passage in expected[state]["not_found_after"]:
            hits = view.search_text(passage, 100) + view.search_vector(corpus.vector(passage), 100, exact=False)
            assert not any(passage in stored[hit] for hit, _ in hits)


def test_lancedb_opens_the_live_table(corpus: Corpus) -> None:
    lancedb = pytest.importorskip("lancedb")
    live = corpus.publish("r1", TEXTS)
    corpus.build("r2", {})
    table = lancedb.connect(str(corpus.root)).open_table(live.generation.table)
    table.checkout(live.generation.version)
    assert table.count_rows() == sum(map(len, TEXTS.values()))
    hits = table.search("5518", query_type="fts").where("tenant = 'default'", prefilter=True).limit(5).to_list()
    assert {hit["chunk_id"] for hit in hits} == {"codes/text/0", "apart/text/0"}
