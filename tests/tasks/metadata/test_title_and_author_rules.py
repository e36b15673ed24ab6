"""Where titles and authors are taken from, by the settings of a document class."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.errors import ConfigurationError
from tasks.gold.gold_set import read_gold_set
from tasks.gold.importers.registry import import_gold
from tasks.gold.kinds import MetadataLabel
from tasks.metadata.evaluator import author_counts
from tasks.metadata.settings import MetadataSettings
from tasks.run.configuration import Configuration, load_configuration
from tests.tasks.metadata.test_entities_and_relations import batch_of, made

LETTER = "Ref: 12/7\n\nSubject: Ice on the canal\n\nBy Ada Moor and Jon Reed\n\nThe canal froze on Monday; boats stay."


def settings(**own: Any) -> MetadataSettings:
    return MetadataSettings.model_validate({"by_class": {"letter": own}})


@pytest.mark.parametrize(
    ("own", "title"),
    [
        ({}, None),
        ({"title_from": ["meta", "opening"]}, "Subject: Ice on the canal"),
        ({"title_from": ["meta", "filename"]}, "a"),
        ({"title_from": ["pattern"], "title_pattern": r"^Subject: (?P<title>.+)$"}, "Ice on the canal"),
        ({"title_from": ["pattern", "opening"], "title_pattern": r"^Betreff: (.+)$"}, "Subject: Ice on the canal"),
    ],
)
def test_titles_by_class(own: dict[str, Any], title: str | None) -> None:
    assert made(batch_of(LETTER, doc_class="letter"), settings(**own))["title"] == title
    assert made(batch_of(LETTER, doc_class="report"), settings(**own))["title"] is None


@pytest.mark.parametrize(
    ("own", "masked", "authors"),
    [
        ({}, "", []),
        ({"author_from": ["meta", "byline"]}, "", ["Ada Moor", "Jon Reed"]),
        ({"author_from": ["byline"]}, "Ada Moor", []),
        ({"author_from": ["pattern"], "author_pattern": r"^By (.+)$"}, "Ada Moor", ["Jon Reed"]),
        ({"author_from": ["pattern", "byline"], "author_pattern": r"^Written: (.+)$"}, "", ["Ada Moor", "Jon Reed"]),
    ],
)
def test_authors_by_class_and_none_that_is_masked(own: dict[str, Any], masked: str, authors: list[str]) -> None:
    assert made(batch_of(LETTER, doc_class="letter", masked=masked), settings(**own))["authors"] == authors


PAPER = "BANK STUDIES\n\nIce on the old canal\n\nAda Moor 1, Jon van der Reed 2* and Li Wu\n\nIt froze on Monday."


def test_the_head_of_a_paper() -> None:
    own = settings(title_from=["opening"], author_from=["below_title"])
    row = made(batch_of(PAPER, doc_class="letter"), own)
    assert (row["title"], row["authors"]) == ("Ice on the old canal", ["Ada Moor", "Jon van der Reed", "Li Wu"])
    masked = made(batch_of(PAPER, doc_class="letter", masked="Ada Moor"), own)
    assert masked["authors"] == ["Jon van der Reed", "Li Wu"]


def test_titles_and_authors_of_papers_heads(shared_data: Path, tmp_path: Path) -> None:
    """The rules were written with these heads at hand: 52 of 62 titles exactly; 129 names found, all right, of 289."""
    summary = import_gold("grobid-header", shared_data / "metadata/grobid-header", tmp_path)
    own = settings(title_from=["opening"], author_from=["below_title"])
    titles = right = found = 0
    for gold in read_gold_set(summary.gold).labels:
        assert isinstance(gold.label, MetadataLabel)
        text = (summary.corpus / (gold.document or "").split(":", 1)[1]).read_text()
        paragraphs = "\n\n".join(" ".join(block.split()) for block in text.split("\n\n"))
        row = made(batch_of(paragraphs, doc_class="letter"), own)
        titles += row["title"] == " ".join((gold.label.title or "").split())
        hits, names, _ = author_counts(row["authors"], gold.label.authors or ())
        right, found = right + hits, found + names
    assert titles >= 50
    assert right / found > 0.95
    assert found > 120


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="no regular expression"):
        settings(title_pattern="(")


@pytest.mark.parametrize(
    ("stages", "refused"),
    [
        ({"metadata": {"entities": True}}, ""),
        ({"metadata": {"entities": True, "entity_types": ["PER"]}}, "PER"),
        ({"metadata": {"entities": False, "entity_types": ["PER"]}}, ""),
        ({"metadata": {"entities": True, "entity_types": ["PER"]}, "pii": {"policy": {"PERSON": "keep"}}}, ""),
        ({"metadata": {"entities": True}, "pii": {"policy": {"LOCATION": "mask"}}}, "LOC"),
        ({"metadata": {"by_class": {"a": {"entities": True, "entity_types": ["PER"]}}}}, "PER"),
    ],
)
def test_types_that_the_pii_policy_masks_are_refused_as_entities(stages: dict[str, Any], refused: str) -> None:
    given = {"lake": "lake", "sources": [{"name": "s", "type": "files", "root": "."}], "stages": stages}
    if refused:
        with pytest.raises(ValidationError, match=f"entity_types holds {refused}"):
            Configuration.model_validate(given)
    else:
        Configuration.model_validate(given)


def test_yaml_says_on_and_off(tmp_path: Path) -> None:
    text = "lake: ./lake\nsources: [{name: s, type: files, root: ./in}]\nstages: {metadata: {entities: %s}}\n"
    path = tmp_path / "c.yaml"
    for word, value in (("on", True), ("off", False)):
        path.write_text(text % word)
        assert load_configuration(path).stages.metadata.entities is value
    path.write_text(text % "perhaps")
    with pytest.raises(ConfigurationError, match=r"metadata.entities"):
        load_configuration(path)
