"""A model that is not installed is named together with what to install."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tasks.embedding.models import embedding_model
from tasks.embedding.settings import EmbeddingSettings, SentenceTransformersSettings
from tasks.errors import ConfigurationError


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is installed here")
def test_sentence_transformers_is_an_extra_and_says_so(tmp_path: Path) -> None:
    settings = EmbeddingSettings(
        model="sentence-transformers", sentence_transformers=SentenceTransformersSettings(folder=tmp_path)
    )
    with pytest.raises(ConfigurationError, match="sentence-transformers is not installed") as caught:
        embedding_model(settings)
    assert ".[sentence-transformers]" in caught.value.remedy


def test_a_model_is_made_once() -> None:
    assert embedding_model(EmbeddingSettings()) is embedding_model(EmbeddingSettings())
