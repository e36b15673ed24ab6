"""A model that is not installed is named together with what to install."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tasks.embedding.models import embedding_model
from tasks.embedding.sentence_transformers_model import version_of
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


def test_whatever_shapes_a_vector_of_a_folder_is_in_the_version(tmp_path: Path) -> None:
    packages = {"sentence-transformers": "3.0", "torch": "2.4", "transformers": "4.44"}
    for name, weights in (("a", b"one"), ("b", b"two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(weights)

    def made(folder: str = "a", installed: dict[str, str] | None = None, **settings: Any) -> str:
        return version_of(
            SentenceTransformersSettings(folder=tmp_path / folder, **settings), packages | (installed or {})
        )

    versions = [
        made(),
        made("b"),
        made(query_prefix="query: "),
        made(passage_prefix="query: "),
        *(made(installed={name: "9"}) for name in packages),
    ]
    assert len(set(versions)) == len(versions)
    assert versions[0].startswith("3.0+")
    (tmp_path / "a" / "README.md").write_text("a description")
    assert made(batch_size=1) == versions[0]
