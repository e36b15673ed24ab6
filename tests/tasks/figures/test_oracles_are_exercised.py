"""What the catalogue says proves a measure is a test that exists, names the measure, and uses the oracle."""

import ast
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import pytest

from tasks.figures.catalogue import Metric, load_catalogue

ROOT = Path(__file__).resolve().parents[3]
CATALOGUE = load_catalogue()

USED_AS: Mapping[str, str] = MappingProxyType(
    {
        "jiwer": "import jiwer",
        "apted": '"apted"',
        "pubtabnet": "pubtabnet-metric-oracle",
        "scikit-learn": "from sklearn",
        "nervaluate": "from nervaluate",
        "seqeval": "from seqeval",
        "scipy": "from scipy",
        "hypothesis": "@given(",
        "expected.json": "expected.json",
        "normalizationtest": "NormalizationTest.txt",
        "ftfy": "ftfy-cases",
        "chroma": "chroma-chunking-eval",
        "wikigold": "wikigold",
        "htmldate": "htmldate-eval",
        "trec_eval": "trec_eval-oracle",
        "pymupdf": "import pymupdf",
        "icdar 2013": "icdar2013",
        "wordllama": "wordllama_files",
    }
)
"""How a test shows that it uses an oracle, by the word that the catalogue has for it."""


@lru_cache
def sources_of(file: str) -> Mapping[str, str]:
    """The tests of a file with their source, decorators included."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {
        node.name: "\n".join(
            lines[min((d.lineno for d in node.decorator_list), default=node.lineno) - 1 : node.end_lineno]
        )
        for node in ast.parse("\n".join(lines)).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("metric", CATALOGUE.metrics, ids=lambda metric: f"{metric.stage}-{metric.id}")
def test_the_tests_that_prove_a_measure_exist_and_name_it(metric: Metric) -> None:
    assert metric.proven_in
    sources = []
    for place in metric.proven_in:
        file, _, name = place.partition("::")
        assert name in sources_of(file), place
        sources.append(sources_of(file)[name])
    assert any(re.search(rf"\b{metric.id}\b", source) for source in sources)


@pytest.mark.parametrize("metric", CATALOGUE.metrics, ids=lambda metric: f"{metric.stage}-{metric.id}")
def test_the_oracle_that_is_named_is_used_there(metric: Metric) -> None:
    files = {place.partition("::")[0] for place in metric.proven_in}
    texts = [(ROOT / file).read_text(encoding="utf-8") for file in files]
    for word, sign in USED_AS.items():
        if word in metric.oracle.lower():
            assert any(sign in text for text in texts), word
