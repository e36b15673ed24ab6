"""Pages and tables of the documentation that follow from the code: `make docs` writes them, a test compares them.

A generated part lies between two comments of a page; what stands around it is written by hand.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer
from pydantic import BaseModel

from flows.graph import mermaid
from schemas.names import StageName
from tasks.figures.catalogue import Metric, load_catalogue
from tasks.gate.rules import default_rules
from tasks.gate.settings import Rule
from tasks.gold.importers.formats import FORMATS
from tasks.gold.kinds import LABEL_KINDS
from tasks.report.queries import available
from tasks.run.configuration import Configuration

ROOT = Path(__file__).resolve().parent.parent

_JSON_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
_SIGNS = {"higher": "higher is better", "lower": "lower is better", "none": "a signal, no better or worse"}


def settings() -> str:
    """Every key of a configuration, a table for each part of the file."""
    lines: list[str] = []
    for path, model in _models("", Configuration, set()):
        heading = f"`{path}`" if path else "Top level"
        lines += [f"## {heading}", "", _first_paragraph(model), ""]
        schema = model.model_json_schema(by_alias=True)
        required = set(schema.get("required", ()))
        rows = [
            (
                f"`{name}`",
                _type(value, schema.get("$defs", {})),
                "required" if name in required else _default(value),
                str(value.get("description", "")),
            )
            for name, value in schema["properties"].items()
        ]
        lines += [_table(("key", "type", "default", "meaning"), rows), ""]
    return "\n".join(lines).rstrip()


def measures() -> str:
    """Every measure of the catalogue by stage: first what each is, then the small print."""
    catalogue = load_catalogue()
    lines: list[str] = []
    for stage in ("all", *StageName):
        own = [metric for metric in catalogue.metrics if metric.stage == stage]
        lines += [f"## {'Every stage' if stage == 'all' else stage}", ""]
        for metric in own:
            lines += [f"### {metric.id}", "", f"**{metric.title}.** {metric.definition}", "", _small_print(metric), ""]
    return "\n".join(lines).rstrip()


def rules() -> str:
    """The default rules of the gate."""
    rows = [
        (
            f"`{rule.id}`",
            str(rule.stage),
            f"`{rule.metric}`" + (f" ({rule.aggregation})" if rule.aggregation else ""),
            rule.kind,
            _bound(rule),
            rule.slice,
            rule.severity,
            "yes" if rule.required else "",
            str(rule.min_items),
        )
        for rule in default_rules()
    ]
    head = ("rule", "stage", "measure", "kind", "bound", "slice", "severity", "required", "least items")
    return _table(head, rows)


def label_kinds() -> str:
    """The kinds of label, their keys, and which stages score them."""
    readers: dict[str, dict[str, None]] = {}
    for metric in load_catalogue().metrics:
        for kind in metric.labels:
            readers.setdefault(kind, {})["every stage" if metric.stage == "all" else metric.stage] = None
    rows = []
    for kind, model in LABEL_KINDS.items():
        keys = ", ".join(f"`{name}`" for name in model.model_fields)
        rows.append((f"`{kind}.jsonl`", _first_paragraph(model), keys, ", ".join(readers.get(kind, {})) or "none"))
    return _table(("file", "a label says", "its keys", "scored at"), rows)


def gold_formats() -> str:
    """The formats of labels that can be imported."""
    rows = [(f"`{form.name}`", form.expects, form.gives) for form in FORMATS]
    return _table(("format", "what its folder must hold", "documents and kinds of label"), rows)


def queries() -> str:
    """The named queries with their parameters."""
    rows = [
        (
            f"`{query.name}`",
            query.answers,
            ", ".join(f"`{p.name}`" + ("" if p.required else f" = {p.default or 'any'}") for p in query.parameters),
        )
        for query in available().values()
    ]
    return _table(("query", "answers", "parameters"), rows)


def commands() -> str:
    """Every command with its arguments, options and examples, as `--help` shows them."""
    lines: list[str] = []
    for name, command in command_tree().items():
        given = [_argument(parameter) for parameter in command.params if parameter.param_type_name == "argument"]
        lines += [f"## {name}", "", _prose(command.help or ""), ""]
        if given:
            lines += [_table(("argument", "default", "meaning"), given), ""]
        if rows := [_option(parameter) for parameter in options_of(command)]:
            lines += [_table(("option", "default", "meaning"), rows), ""]
    return "\n".join(lines).rstrip()


def command_tree() -> dict[str, Any]:
    """Every command that does something, by its words (`gold import`)."""
    from flows.cli.app import app

    return dict(_leaves("", typer.main.get_command(app)))


def options_of(command: Any) -> list[Any]:
    """A command's options, without `--help`."""
    return [parameter for parameter in command.params if parameter.param_type_name == "option"]


def graph() -> str:
    """The graph of a run as a Mermaid flowchart."""
    return f"```mermaid\n{mermaid()}\n```"


PARTS: Mapping[tuple[str, str], Callable[[], str]] = MappingProxyType(
    {
        ("README.md", "graph"): graph,
        ("docs/commands.md", "commands"): commands,
        ("docs/gate.md", "rules"): rules,
        ("docs/labels.md", "formats"): gold_formats,
        ("docs/labels.md", "kinds"): label_kinds,
        ("docs/looking-into-a-document.md", "queries"): queries,
        ("docs/measures.md", "measures"): measures,
        ("docs/settings.md", "settings"): settings,
    }
)
"""Generated parts by page and name."""


def generate(page: str, text: str) -> str:
    """A page with its generated parts as the code has them now.

    Raises:
        ValueError: the page lacks the comments between which a part stands.
    """
    for (of_page, name), make in PARTS.items():
        if of_page != page:
            continue
        begin, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
        before, found_begin, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            raise ValueError(f"{page} has no place for its part {name!r}: {begin} … {end}")
        text = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return text


def pages() -> list[str]:
    """The pages that hold a generated part."""
    return sorted({page for page, _ in PARTS})


def main() -> None:
    """Writes the generated parts of all pages."""
    for page in pages():
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        if (new := generate(page, old)) != old:
            path.write_text(new, encoding="utf-8")
            sys.stdout.write(f"wrote {page}\n")


def _models(path: str, model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[tuple[str, type[BaseModel]]]:
    if model in seen:
        return
    seen.add(model)
    if model.__name__ != "StagesSettings":
        yield path, model
    for name, field in model.model_fields.items():
        found = list(_models_in(field.annotation))
        for inner in found:
            repeated = "[]" if "tuple" in str(field.annotation) else ""
            kind = f" of type {inner.model_fields['type'].default}" if len(found) > 1 else ""
            yield from _models(f"{path}.{name}{repeated}{kind}".lstrip("."), inner, seen)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models_in(argument)


def _first_paragraph(model: type[BaseModel]) -> str:
    return _prose((model.__doc__ or "").split("\n\n")[0])


def _prose(text: str) -> str:
    """Docstring to Markdown: paragraphs unwrapped, indented blocks as code."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text.replace("\b", "").strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        if lines[0].startswith(("corpusgate ", "xdg-open ")):
            paragraphs.append("```sh\n" + "\n".join(lines) + "\n```")
        else:
            paragraphs.append(" ".join(lines))
    return "\n\n".join(paragraphs).replace("```\n\n```sh\n", "")


def _type(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    if "$ref" in value:
        named = definitions[value["$ref"].rsplit("/", 1)[1]]
        return _type(named, definitions) if "enum" in named else "a part of its own"
    if "anyOf" in value:
        parts = value["anyOf"]
        return " or ".join("nothing" if part.get("type") == "null" else _type(part, definitions) for part in parts)
    if "oneOf" in value:
        return "a part of its own"
    if "enum" in value:
        return ", ".join(f"`{item}`" for item in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if value.get("type") == "array":
        return f"list: {_type(value['items'], definitions)}"
    if value.get("type") == "object":
        # Where the keys have a pattern, so has the schema of what they lead to.
        led_to = value.get("additionalProperties") or next(iter(value["patternProperties"].values()))
        return f"mapping to: {_type(led_to, definitions)}"
    name = {"path": "path", "date": "date"}.get(value.get("format", ""), _JSON_TYPES[value["type"]])
    return f"{name}{_bounds(value)}"


def _bounds(value: Mapping[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    said = [f"{sign} {value[key]}" for key, sign in signs.items() if key in value]
    return f", {', '.join(said)}" if said else ""


def _default(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    if "$ref" in value or ("default" not in value and "anyOf" not in value):
        return "as below"
    if default is None:
        return "nothing"
    if default in ([], {}, ""):
        return "empty" if default == "" else "none"
    if isinstance(default, dict):
        return ", ".join(f"`{key}: {_yaml(item)}`" for key, item in default.items())
    if isinstance(default, list):
        return ", ".join(f"`{_yaml(item)}`" for item in default)
    return f"`{_yaml(default)}`"


def _yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bound(rule: Rule) -> str:
    return f"{rule.limit:g}" if rule.max_loss is None else f"loss up to {rule.max_loss:g}"


def _small_print(metric: Metric) -> str:
    low, high = ("unbounded" if end is None else f"{end:g}" for end in metric.range)
    needs = f"labels of kind {', '.join(metric.labels)}" if metric.needs == "gold" else "no labels"
    score = "" if metric.missing_score is None else f" (counts as {metric.missing_score:g})"
    lines = [
        f"{metric.unit}, {low} to {high}; {_SIGNS[metric.direction]}",
        f"needs {needs}; {metric.basis}; {', '.join(metric.aggregation)} over one row per {metric.per}",
        f"nothing to measure: {metric.empty}",
        f"missing output: {metric.missing_note}{score}",
        f"source: {metric.source}; version {metric.version}",
        f"proven by: {metric.oracle}; in {', '.join(f'`{test}`' for test in metric.proven_in)}",
    ]
    if metric.places:
        lines.insert(2, f"places at fault: {metric.places}")
    if metric.slices:
        lines.insert(2, f"slices beside class and cohort: {', '.join(metric.slices)}")
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)


def _leaves(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, child in inner.items():
        yield from _leaves(f"{words} {name}".strip(), child)


def _argument(parameter: Any) -> tuple[str, ...]:
    return (f"`{parameter.metavar or parameter.name.upper()}`", _given_default(parameter), parameter.help or "")


def _option(parameter: Any) -> tuple[str, ...]:
    return (", ".join(f"`{name}`" for name in parameter.opts), _given_default(parameter), parameter.help or "")


def _given_default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "" if parameter.default is None or parameter.default is False else f"`{parameter.default}`"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
