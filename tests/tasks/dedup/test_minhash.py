"""Signatures against datasketch and against exact sets."""

import random
from pathlib import Path

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from tasks.dedup.minhash import anchors, coefficients, shared, shingle_set, signatures
from tests.without_cache import run_without_cache


def _texts(share: float) -> tuple[str, str]:
    """Two texts of which about this share of words is the same."""
    draw = random.Random(7)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(800)]
    return " ".join(words), " ".join(w if draw.random() < share else w[::-1] for w in words)


def _exact(one: str, other: str) -> float:
    a, b = ({text[i : i + 5] for i in range(len(text) - 4)} for text in (one, other))
    return len(a & b) / len(a | b)


@pytest.mark.parametrize("share", [0.99, 0.95, 0.8, 0.5])
def test_the_estimate_is_as_near_to_the_truth_as_datasketch(share: float) -> None:
    one, other = _texts(share)
    truth = _exact(one, other)
    own = signatures([one, other], shingle_size=5, hashes=1024, bands=16)[0]
    theirs = [MinHash(num_perm=1024) for _ in range(2)]
    for sketch, text in zip(theirs, (one, other), strict=True):
        sketch.update_batch([text[i : i + 5].encode() for i in range(len(text) - 4)])
    # Four standard errors of a mean of 1,024 coin flips.
    allowed = 4 * (truth * (1 - truth) / 1024) ** 0.5
    assert float((own[0] == own[1]).mean()) == pytest.approx(truth, abs=allowed)
    assert theirs[0].jaccard(theirs[1]) == pytest.approx(float((own[0] == own[1]).mean()), abs=2 * allowed)


@given(st.text(max_size=80), st.text(max_size=80))
def test_similarity_of_shingle_sets_is_that_of_python_sets(one: str, other: str) -> None:
    a, b = ({text[i : i + 5] for i in range(len(text) - 4)} for text in (one, other))
    expected = len(a & b) / len(a | b) if a | b else 0.0
    assert shared(shingle_set(one, 5), shingle_set(other, 5)).jaccard == pytest.approx(expected)


@given(st.text(max_size=80), st.text(max_size=80))
def test_containment_is_that_of_python_sets(one: str, other: str) -> None:
    a, b = ({text[i : i + 5] for i in range(len(text) - 4)} for text in (one, other))
    expected = len(a & b) / len(a) if a else 0.0
    assert shared(shingle_set(one, 5), shingle_set(other, 5)).containment == pytest.approx(expected)


@given(st.integers(0, 4000), st.integers(0, 2000))
def test_a_passage_has_no_anchor_that_its_text_has_not(start: int, length: int) -> None:
    text = _texts(1.0)[0]
    assert set(anchors(text[start : start + length])) <= set(anchors(text))


def test_one_shingle_in_64_is_an_anchor() -> None:
    draw = random.Random(3)
    text = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=200_000))
    share = anchors(text).size / shingle_set(text, 20).size
    assert share == pytest.approx(1 / 64, abs=4 * (1 / 64 / 200_000) ** 0.5)


NO_FOLDER = """
from tasks.dedup.minhash import signatures
print(signatures(["the same text for ever"], shingle_size=5, hashes=16, bands=2)[0][0, :2].tolist())
"""


def test_signing_needs_no_folder_for_compiled_code(tmp_path: Path) -> None:
    done = run_without_cache(
        NO_FOLDER, ("tasks/dedup/minhash.py", "tasks/dedup/compared.py", "tasks/metrics/compilation.py"), tmp_path
    )
    assert (done.stdout.strip(), done.returncode) == (str(HASHES), 0), done.stderr


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6))
def test_a_signature_does_not_depend_on_its_batch(texts: list[str]) -> None:
    together, bands = signatures(texts, shingle_size=5, hashes=32, bands=4)
    for i, text in enumerate(texts):
        alone, own_bands = signatures([text], shingle_size=5, hashes=32, bands=4)
        assert np.array_equal(alone[0], together[i])
        assert np.array_equal(own_bands[0], bands[i])


def test_a_signature_is_the_least_hash_of_the_shingles() -> None:
    text = "abcdefgh"
    a, b = (column.astype(object) for column in coefficients(16))
    fingerprints = [int(x) & 0xFFFFFFFF for x in shingle_set(text, 5)]
    expected = [min((int(p) * x + int(q)) % 2**32 for x in fingerprints) for p, q in zip(a, b, strict=True)]
    assert signatures([text], shingle_size=5, hashes=16, bands=4)[0][0].tolist() == expected


def test_band_keys_are_stable_across_versions() -> None:
    # Signatures are stored: a change of these numbers must come with a new stage version.
    hashes, bands = signatures(["the same text for ever"], shingle_size=5, hashes=16, bands=2)
    assert hashes[0, :2].tolist() == HASHES
    assert bands[0].tolist() == BANDS


HASHES = [43046685, 363964312]
BANDS = [2051531873473907662, 6033236643693454472]
