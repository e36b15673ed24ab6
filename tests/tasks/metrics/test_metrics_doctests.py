import doctest
import importlib
import pkgutil

import pytest

import tasks.metrics


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(tasks.metrics.__path__)])
def test_examples_worked_out_by_hand_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tasks.metrics.{name}"))
    assert result.failed == 0
