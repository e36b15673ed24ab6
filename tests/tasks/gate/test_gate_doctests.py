"""The examples in the gate's docstrings, all worked out by hand."""

import doctest

import pytest

from tasks.gate import decide, evidence, wording


@pytest.mark.parametrize("module", [decide, evidence, wording], ids=lambda module: module.__name__)
def test_examples_hold(module: object) -> None:
    outcome = doctest.testmod(module)  # type: ignore[arg-type]
    assert outcome.attempted > 0
    assert outcome.failed == 0
