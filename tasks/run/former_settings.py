"""The settings of stages that former runs had: their rows are looked at, and made again, under these."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from schemas.names import StageName
from tasks.errors import ConfigurationError
from tasks.run.configuration import StagesSettings
from tasks.run.context import RunContext


def settings_of(manifest: Mapping[str, Any]) -> StagesSettings:
    """The settings of stages that a run had.

    Raises:
        ConfigurationError: this version does not know them.
    """
    try:
        return StagesSettings.model_validate(manifest["stage_settings"])
    except (KeyError, ValidationError) as error:
        raise ConfigurationError("its settings are not known to this version", remedy="roll on: run again") from error


def former_contexts(context: RunContext) -> Iterator[RunContext]:
    """This run under the settings of the runs that may have made what a partial run does not take in, newest first.

    That is the run that made live, and where that was a partial one too, the one before it. Sources are asked by the
    settings of now.
    """
    seen = {context.run_id}
    run_id: str | None = context.runs.manifest(context.run_id).get("baseline_run")
    while run_id is not None and run_id not in seen and (context.lake.run(run_id) / "manifest.json").exists():
        seen.add(run_id)
        manifest = context.runs.manifest(run_id)
        try:
            stages = settings_of(manifest)
        except ConfigurationError:
            return
        stages = stages.model_copy(update={StageName.FETCH.value: context.settings(StageName.FETCH)})
        yield replace(context, configuration=context.configuration.model_copy(update={"stages": stages}))
        run_id = manifest.get("baseline_run") if manifest.get("partial") else None
