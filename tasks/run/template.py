"""A commented configuration, made from the settings' own declarations, so that it never says other than the code."""

import json
import textwrap
from typing import Any

from pydantic import BaseModel

from tasks.run.configuration import RunSettings, StagesSettings

_HEAD = """\
# corpusgate: what to ingest, how to measure it, what must hold before it goes live.
# Run it with: corpusgate run corpusgate.yaml      Every key: corpusgate schema

# Folder of the lake (bytes, stage outputs, measures, index). Paths are relative to this file.
lake: ./lake

# Where documents come from.
sources:
  - name: handbook
    type: files
    root: ./documents
    include: ["**/*"]
  # - name: site
  #   type: http
  #   urls: ["https://example.org/terms", "https://example.org/privacy"]
  #   sitemaps: ["https://example.org/sitemap.xml"]
  # - name: bucket # s3://, gs://, az://, file://; keys come from the environment. An archive: `zip::` and its URL
  #   type: fsspec
  #   url: s3://example-bucket/reports
  #   include: ["**/*.pdf"]
  # - name: rows # each row of JSON Lines or Parquet files is a document
  #   type: records
  #   root: ./rows
  #   id: id
  #   content: text
  # - name: crawl # each page of a web archive with status 200 is a document
  #   type: warc
  #   root: ./crawl

# Document classes, by which every figure is sliced. The first rule that matches wins, else `unclassified`.
classes:
  - class: policy
    path: "policies/**"
  - class: report
    path: "**/*.pdf"

# Who may see what. The first rule that matches wins, else tenant `default` with no groups.
access:
  - path: "**"
    tenant: default
    groups: []

# Folders of gold sets (labels). Without labels every free measure still works.
gold: []

# What must hold before a candidate goes live. Default rules: docs/gate.md
gate:
  rules: []
  # A rule of your own, or a default one replaced by its id:
  #   - {id: policy-recall, stage: boilerplate, metric: content_recall, kind: floor, threshold: 0.9, slice: class}
  disabled: []
  expected_quarantine: []
  # Known and accepted failures:
  #   - {path: "archive/broken.pdf", stage: parse, error_class: corrupt, reason: "the original is lost"}

# A webhook that is told how runs end; its URL comes from the environment.
# notify:
#   url_env: CORPUSGATE_WEBHOOK
#   outcomes: [fail, undetermined, error]
"""


def commented_configuration() -> str:
    """The text of a configuration with every setting at its default, as a comment that says what it is."""
    lines = [_HEAD, "# How a run uses the machine, and what stops it; none of this shapes a result.", "# run:"]
    lines += _settings(RunSettings(), "#   ")
    lines += ["", "# Settings of the stages, at their defaults. Uncomment what you change.", "# stages:"]
    stages = StagesSettings()
    for name in StagesSettings.model_fields:
        lines.append(f"#   {name}:")
        lines += _settings(getattr(stages, name), "#     ")
    return "\n".join(lines) + "\n"


def _settings(model: BaseModel, indent: str) -> list[str]:
    lines: list[str] = []
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if field.description:
            lines += textwrap.wrap(
                field.description, 112 - len(indent), initial_indent=indent + "# ", subsequent_indent=indent + "# "
            )
        if isinstance(value, BaseModel):
            lines.append(f"{indent}{name}:")
            lines += _settings(value, indent + "  ")
        else:
            lines.append(f"{indent}{name}: {_yaml(model, name)}")
    return lines


def _yaml(model: BaseModel, name: str) -> str:
    value: Any = model.model_dump(mode="json", include={name})[name]
    return json.dumps(value, ensure_ascii=False)
