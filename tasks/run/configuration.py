"""The configuration of a corpus: one documented YAML file, validated before anything runs."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.names import StageName
from tasks.boilerplate.settings import BoilerplateSettings
from tasks.chunk.settings import ChunkSettings
from tasks.dedup.settings import DedupSettings
from tasks.embed.settings import EmbedSettings
from tasks.errors import ConfigurationError
from tasks.fetch.folders import takes_in
from tasks.fetch.settings import FetchSettings
from tasks.fetch.sources import FolderSource, FsspecSource, Source
from tasks.gate.settings import GateSettings
from tasks.index.settings import IndexSettings
from tasks.language.settings import LanguageSettings
from tasks.metadata.entities import PII_TYPES
from tasks.metadata.settings import MetadataSettings
from tasks.normalize.settings import NormalizeSettings
from tasks.notify.settings import NotifySettings
from tasks.parse.settings import ParseSettings
from tasks.pii.settings import PiiSettings
from tasks.stage import StageSettings


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PathRule(_Part):
    """Which documents a rule is about."""

    path: str = Field(default="**", description="Glob over the document's path in its source, or its URL.")
    source: str | None = Field(default=None, description="Name of a source; any source where absent.")


class ClassRule(PathRule):
    """Documents that match all given conditions belong to this class; the first rule that matches wins."""

    doc_class: str = Field(alias="class", pattern=r"^[a-z][a-z0-9_-]*$", description="Name of the document class.")


class AccessRule(PathRule):
    """Who may see the documents that match; the first rule that matches wins."""

    tenant: str = Field(default="default", min_length=1, description="The tenant that owns the documents.")
    groups: tuple[str, ...] = Field(default=(), description="Groups within the tenant; empty means all of it.")


class StagesSettings(_Part):
    """The settings of the eleven stages."""

    fetch: FetchSettings = FetchSettings()
    parse: ParseSettings = ParseSettings()
    boilerplate: BoilerplateSettings = BoilerplateSettings()
    normalize: NormalizeSettings = NormalizeSettings()
    language: LanguageSettings = LanguageSettings()
    dedup: DedupSettings = DedupSettings()
    pii: PiiSettings = PiiSettings()
    chunk: ChunkSettings = ChunkSettings()
    metadata: MetadataSettings = MetadataSettings()
    embed: EmbedSettings = EmbedSettings()
    index: IndexSettings = IndexSettings()

    def of(self, name: StageName) -> StageSettings:
        """The settings of one stage. Chunks are counted by the embedding model's tokenizer unless another is named."""
        if name is StageName.CHUNK and self.chunk.tokenizer is None:
            return self.chunk.model_copy(update={"tokenizer": self.embed.tokenizer})
        found: StageSettings = getattr(self, name.value)
        return found


class RunSettings(_Part):
    """How a run uses the machine, and what stops it before it begins; none of this shapes a result."""

    batch_size: int = Field(default=256, ge=1, le=1000, description="Most documents that travel together.")
    workers: int = Field(default=2, ge=1, le=64, description="Batches that are worked on at the same time.")
    keep_generations: int = Field(default=3, ge=1, description="Index generations that stay for a rollback.")
    keep_retired_seconds: float = Field(
        default=60.0,
        ge=0,
        le=86_400,
        description="How long at least any other generation stays after it was live, so that a search begun on it can "
        "end. It goes with the end of the first run after that; what `erase` takes out goes with that command.",
    )
    keep_runs: int = Field(
        default=30,
        ge=1,
        description="Newest runs whose records stay, besides those that made the kept generations, the pinned anchor "
        "and the baselines of all these. What no kept run refers to is collected, once there is a quarter more.",
    )
    max_deleted_share: float = Field(
        default=0.3,
        ge=0,
        le=1,
        description="Share of a source's live documents up to which a run may delete at once; more stops it before any "
        "stage, unless it is given `--allow-mass-delete`.",
    )
    max_deleted_least: int = Field(
        default=10,
        ge=0,
        description="Up to this many documents of a source may be deleted at once whatever their share.",
    )
    score_alone: bool = Field(
        default=False,
        description="Also run and score each labelled stage on gold inputs, so that its own faults are told from "
        "inherited ones. Runs the stages after parse a second time on the labelled documents.",
    )
    redact_only: bool = Field(
        default=False,
        description="Keep no text from before redaction: at its end every run takes bytes, parsed and cleaned texts, "
        "labels and paths out of the lake, those of earlier runs too. A document is then asked from its source again "
        "whenever something is to be made of its text; docs/privacy.md says what that costs.",
    )


class Configuration(_Part):
    """Everything a run depends on besides the documents themselves."""

    lake: Path = Field(
        description="Folder of the lake; made when missing, and not inside a source. Relative to this file."
    )
    sources: tuple[Source, ...] = Field(min_length=1, description="Where documents come from.")
    classes: tuple[ClassRule, ...] = Field(default=(), description="Document classes; else `unclassified`.")
    access: tuple[AccessRule, ...] = Field(default=(), description="Access rules; else tenant `default`.")
    gold: tuple[Path, ...] = Field(default=(), description="Folders of gold sets. Relative to this file.")
    stages: StagesSettings = StagesSettings()
    gate: GateSettings = GateSettings()
    run: RunSettings = RunSettings()
    notify: NotifySettings | None = Field(default=None, description="A webhook that is told how runs end.")

    @model_validator(mode="after")
    def _consistent(self) -> "Configuration":
        names = [source.name for source in self.sources]
        if len(set(names)) != len(names):
            raise ValueError(f"sources: names must differ, found {names}")
        rules: tuple[PathRule, ...] = (*self.classes, *self.access)
        for rule in rules:
            if rule.source is not None and rule.source not in names:
                raise ValueError(f"a rule names the source {rule.source!r}; the sources are {names}")
        retaining = [source.name for source in self.sources if source.on_source_removed == "retain"]
        if self.run.redact_only and retaining:
            raise ValueError(
                f"run.redact_only keeps no text by which a document could be made again that its source no longer has, "
                f"so on_source_removed cannot be `retain` ({', '.join(retaining)})"
            )
        self._keep_masked_types_out_of_metadata()
        return self

    def _keep_masked_types_out_of_metadata(self) -> None:
        """What the pii policy takes out of the text must not come back as an entity that it overlooked."""
        metadata, pii = self.stages.metadata, self.stages.pii
        for name in ("", *metadata.by_class):
            own = metadata.for_class(name)
            masked = [
                kind
                for kind in own.entity_types
                if own.entities and kind in PII_TYPES and pii.action(PII_TYPES[kind]) != "keep"
            ]
            if masked:
                raise ValueError(
                    f"stages.metadata.entity_types holds {', '.join(masked)}, whose values stages.pii.policy takes out "
                    f"of the text ({', '.join(PII_TYPES[kind] for kind in masked)}): leave them out, or keep them there"
                )


def load_configuration(path: Path) -> Configuration:
    """Reads and validates a configuration; relative paths are resolved against the file's folder.

    Raises:
        ConfigurationError: every wrong key or value with its path and what is allowed there.
    """
    return parse_configuration(read_mapping(path), path)


def read_mapping(path: Path) -> Any:
    """What a configuration's file holds, not validated.

    Raises:
        ConfigurationError: it cannot be read, or is no YAML.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}", remedy="`corpusgate init` writes a commented configuration"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid YAML: {error}", remedy="mend the line it names") from error
    return data


def parse_configuration(data: Any, path: Path) -> Configuration:
    """Validates a configuration read from `path`.

    Raises:
        ConfigurationError: as `load_configuration`.
    """
    if not isinstance(data, dict):
        raise ConfigurationError(
            f"{path} holds no mapping", remedy="`corpusgate init` writes a commented configuration"
        )
    try:
        configuration = Configuration.model_validate(data)
    except ValidationError as error:
        lines = [f"{path}:"]
        problems = error.errors(include_url=False)
        for problem in problems:
            # A list whose entries are wrong is also said to be too short; that is no second mistake.
            if problem["type"] == "too_short" and any(
                len(p["loc"]) > len(problem["loc"]) and p["loc"][: len(problem["loc"])] == problem["loc"]
                for p in problems
            ):
                continue
            where = ".".join(str(part) for part in problem["loc"]) or "(top level)"
            lines.append(f"  {where}: {problem['msg']}{_hint(problem)}")
        raise ConfigurationError("\n".join(lines), remedy="`corpusgate schema` prints what is allowed") from None
    resolved = _resolved(configuration, path.resolve().parent)
    _check_lake(resolved, path)
    return resolved


def _check_lake(configuration: Configuration, path: Path) -> None:
    lake = configuration.lake
    if not str(lake).isprintable():
        raise ConfigurationError(
            f"{path}: the path of the lake holds a control character: {str(lake)!r}", remedy="correct `lake`"
        )
    for source in configuration.sources:
        folder = _folder_of(source)
        if folder is not None and takes_in(folder, lake):
            raise ConfigurationError(
                f"{path}: the lake {lake} lies in the folder of source {source.name!r}, so that every run would ingest "
                f"what the run before wrote",
                remedy="put `lake` elsewhere, or name its folder in the source's `exclude`",
            )


def _folder_of(source: Source) -> FolderSource | None:
    """The folder on this machine that a source lists; null where it lists none."""
    if isinstance(source, FsspecSource):
        protocol, _, path = source.url.rpartition("://")
        if protocol not in ("", "file", "local") or "::" in source.url:
            return None
        return FolderSource(name=source.name, root=Path(path), include=source.include, exclude=source.exclude)
    return source if isinstance(source, FolderSource) else None


def _hint(problem: Any) -> str:
    if problem["type"] == "union_tag_not_found":
        return "; write `type: files`, `http`, `fsspec`, `records` or `warc`"
    if problem["type"] != "extra_forbidden":
        given = problem.get("input")
        # A URL may hold a password or a token.
        shown = isinstance(given, (int, float, bool)) or (isinstance(given, str) and "://" not in given)
        return f" (given: {given!r})" if shown else ""
    allowed = _allowed_keys(problem["loc"][:-1])
    return f"; allowed keys: {', '.join(allowed)}" if allowed else ""


def _allowed_keys(location: tuple[Any, ...]) -> list[str]:
    models: list[type[BaseModel]] = [Configuration]
    for part in location:
        if not isinstance(part, str):
            continue
        # Where several kinds of record may stand (sources), pydantic names the kind by its `type`.
        kinds = [
            model for model in models if "type" in model.model_fields and model.model_fields["type"].default == part
        ]
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        models = kinds or [found for field in fields for found in _models_in(field.annotation)]
    return sorted({field.alias or name for model in models for name, field in model.model_fields.items()})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in getattr(annotation, "__args__", ()) for found in _models_in(argument)]


def _resolved(configuration: Configuration, folder: Path) -> Configuration:
    sources = tuple(
        source.model_copy(
            update={
                name: (folder / value).resolve()
                for name in ("root", "urls_file")
                if isinstance(value := getattr(source, name, None), Path)
            }
        )
        for source in configuration.sources
    )
    return configuration.model_copy(
        update={
            "lake": (folder / configuration.lake).resolve(),
            "gold": tuple((folder / path).resolve() for path in configuration.gold),
            "sources": sources,
            "stages": _resolved_stages(configuration.stages, folder),
        }
    )


def _resolved_stages(stages: StagesSettings, folder: Path) -> StagesSettings:
    outside = stages.parse.outside
    if outside is None:
        return stages
    resolved = outside.model_copy(update={"folder": (folder / outside.folder).resolve()})
    return stages.model_copy(update={"parse": stages.parse.model_copy(update={"outside": resolved})})
