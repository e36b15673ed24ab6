"""What tests of several rooms look at."""

from typing import Any

import pytest

from tasks.pii import detection


@pytest.fixture
def given_to_the_model(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the model was given."""
    texts: list[str] = []
    names = detection._names

    def listening(nlp: Any, given: list[str], wanted: set[str]) -> Any:
        texts.extend(given)
        return names(nlp, given, wanted)

    monkeypatch.setattr(detection, "_names", listening)
    return texts
