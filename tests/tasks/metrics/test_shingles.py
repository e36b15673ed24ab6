import json
from pathlib import Path

import pytest

from tasks.metrics.shingles import macro_scores, shingle_counts

EXTRACTORS = (
    "AutoExtract",
    "Diffbot",
    "beautifulsoup",
    "boilerpipe",
    "goose3",
    "html-text",
    "justext",
    "newspaper",
    "readability",
    "trafilatura",
)


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_the_benchmarks_own_scores_are_reproduced(shared_data: Path, extractor: str) -> None:
    folder = shared_data / "boilerplate" / "article-extraction-benchmark"
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    output = json.loads((folder / "output" / f"{extractor}.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["scores"][extractor]
    scores = macro_scores(
        shingle_counts(page["articleBody"], output.get(name, {}).get("articleBody") or "")
        for name, page in truth.items()
    )
    assert scores == pytest.approx((expected["precision"], expected["recall"], expected["f1"]), abs=1e-11)


def test_a_passage_printed_twice_is_wrong_once() -> None:
    counts = shingle_counts("a b c d", "a b c d a b c d")
    assert (counts.shared, counts.missed) == (1, 0)
    assert counts.invented == 4


def test_empty_texts_have_no_figures() -> None:
    assert shingle_counts("", "").f1 is None
    assert shingle_counts("a", "").precision is None
    assert shingle_counts("a", "").recall == 0.0
    assert macro_scores([]) == (None, None, None)
