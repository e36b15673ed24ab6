"""The examples in the docstrings hold."""

import doctest

from tasks.report import values


def test_examples_of_values_hold() -> None:
    result = doctest.testmod(values)
    assert result.attempted > 5
    assert result.failed == 0
