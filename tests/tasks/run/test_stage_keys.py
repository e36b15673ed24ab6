"""A key changes when, and only when, something that shapes the output changes."""

import json

import pytest

from schemas.names import StageName
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.chunk.settings import ChunkSettings
from tasks.metadata.settings import MetadataSettings
from tasks.parse.settings import ParseSettings
from tasks.run.keys import digest, document_key, measures_key, measuring_settings, shaping_settings, stage_base
from tasks.run.registry import STAGES
from tasks.stage import StageSettings


def test_a_setting_that_shapes_the_output_changes_the_base() -> None:
    stage = STAGES[StageName.CHUNK]
    assert stage_base(stage, ChunkSettings()) != stage_base(stage, ChunkSettings(max_tokens=200))


def test_limits_and_worker_counts_stay_out_of_the_key() -> None:
    plain = ParseSettings()
    patient = ParseSettings.model_validate({"limits": {"seconds_per_document": 999.0, "workers": 1}})
    assert plain != patient
    stage = STAGES[StageName.PARSE]
    assert stage_base(stage, plain) == stage_base(stage, patient)


def test_defaults_written_out_give_the_same_key() -> None:
    written = ChunkSettings.model_validate(ChunkSettings().model_dump())
    assert shaping_settings(written) == shaping_settings(ChunkSettings())


def test_keys_are_chained() -> None:
    assert document_key("base", "before", {}) != document_key("base", "other", {})
    assert document_key("base", "before", {"tenant": "a"}) != document_key("base", "before", {"tenant": "b"})


def test_labels_and_scorer_shape_the_measures_key_only() -> None:
    assert (
        len({measures_key("k", *rest) for rest in (("f", 1, None), ("f", 1, "labels"), ("f", 2, None), ("g", 1, None))})
        == 4
    )


def test_a_setting_of_a_measure_scores_again_and_cuts_nothing_anew() -> None:
    plain, measuring = ChunkSettings(), ChunkSettings(coherence_places=4)
    stage = STAGES[StageName.CHUNK]
    assert stage_base(stage, plain) == stage_base(stage, measuring)
    keys = [measures_key("k", "f", 1, None, measuring_settings(settings)) for settings in (plain, measuring)]
    # A default leaves the keys of rows that were scored before it was a setting.
    assert keys[0] == measures_key("k", "f", 1, None) != keys[1]


def test_the_order_of_keys_in_a_mapping_does_not_matter() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest(["a", "b"]) != digest(["b", "a"])


def test_settings_of_a_class_enter_the_keys_of_its_documents_only() -> None:
    stage = STAGES[StageName.BOILERPLATE]
    plain = BoilerplateSettings()
    forums = BoilerplateSettings.model_validate({"by_class": {"forum": {"extractor": "resiliparse"}}})

    def base(settings: BoilerplateSettings, doc_class: str) -> str:
        return stage_base(stage, settings.for_class(doc_class))

    assert base(forums, "article") == base(plain, "article") == base(plain, "forum")
    assert base(forums, "forum") == base(BoilerplateSettings(extractor="resiliparse"), "article")
    assert base(forums, "forum") != base(plain, "forum")
    # What a run says of its code knows of both.
    assert stage_base(stage, forums) != stage_base(stage, plain)


@pytest.mark.parametrize(
    "settings",
    [
        BoilerplateSettings.model_validate({"extractor": "resiliparse", "by_class": {"a": {"favor": "recall"}}}),
        MetadataSettings.model_validate({"entities": True, "by_class": {"a": {"title_from": ["opening"]}}}),
    ],
)
def test_settings_of_a_class_come_back_from_a_manifest_as_they_were_given(settings: StageSettings) -> None:
    stored = type(settings).model_validate_json(json.dumps(settings.model_dump(mode="json")))
    assert stored == settings
    assert stored.for_class("a") == settings.for_class("a") != settings.for_class("b")
