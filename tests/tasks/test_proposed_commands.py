"""Every command that a reader is told to give finds the configuration that it is about, whoever says it."""

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from flows.cli.app import app, main
from tasks import proposed as module
from tasks.proposed import BY_ARGUMENT, OF_NO_CORPUS, addressed, proposed
from tests.engine import run_engine
from tests.tasks.run.notes import configuration, write_notes

ROOT = Path(__file__).parents[2]
CONFIG = Path("my demo/corpusgate.yaml")


def commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


COMMAND = re.compile(rf"(?<!`)corpusgate (?:{'|'.join(commands())})\b")


def test_the_doctests_hold() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", commands())
def test_a_proposed_command_names_the_configuration_as_the_command_takes_it(name: str) -> None:
    command = commands()[name]
    command = next(iter(getattr(command, "commands", {"": command}).values()))  # those of a group are alike
    kinds = {parameter.param_type_name for parameter in command.params if parameter.name == "config"}
    assert kinds == (set() if name in OF_NO_CORPUS else {"argument"} if name in BY_ARGUMENT else {"option"})
    said = proposed(name, CONFIG)
    assert (
        said.removeprefix(f"corpusgate {name}")
        == {
            frozenset(): "",
            frozenset({"argument"}): " 'my demo/corpusgate.yaml'",
            frozenset({"option"}): " --config 'my demo/corpusgate.yaml'",
        }[frozenset(kinds)]
    )


def test_only_commands_between_backticks_are_addressed() -> None:
    text = "run again (corpusgate run), or `corpusgate doctor --repair`"
    assert (
        addressed(text, Path("c.yaml")) == "run again (corpusgate run), or `corpusgate doctor --repair --config c.yaml`"
    )
    assert addressed(text, None) == text


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a module that are no docstrings, those of one expression put together."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


@pytest.mark.parametrize("folder", ["tasks", "flows"])
def test_code_writes_commands_between_backticks_or_has_them_made(folder: str) -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        # What is written into files for people, and the name of a flow.
        if path.name not in ("template.py", "pipeline.py") and path.parent.name != "demo"
        for line, text in strings(path)
        if COMMAND.search(text)
    ]
    assert bare == []
    templates = [path for path in (ROOT / "tasks").rglob("*.j2") if "corpusgate " in path.read_text(encoding="utf-8")]
    assert templates == []


def test_reports_and_errors_name_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_notes(tmp_path / "notes", 2)
    (tmp_path / "notes" / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    path = tmp_path / "own.yaml"
    settings: dict[str, Any] = configuration(tmp_path).model_dump(mode="json", exclude_unset=True)
    path.write_text(str(settings | {"lake": str(tmp_path / "lake")}), encoding="utf-8")
    run = run_engine(path)
    option = f"--config {path}"
    page = run.session.context.folder / "report.md"
    for report in (page, page.with_suffix(".html")):
        told = re.findall(r"corpusgate \w+[^`<]*", report.read_text(encoding="utf-8"))
        commands_told = [command for command in told if COMMAND.match(command)]
        assert len(commands_told) >= 4
        assert all(option in command for command in commands_told), report
    for words, said in (
        (["trace", "no-such.md"], f'`corpusgate sql "SELECT document_id, uri FROM documents" {option}`'),
        (["status"], f"corpusgate run {path}, when the corpus has changed"),
        (["quarantine", "list"], "corpusgate quarantine show doc-"),
    ):
        monkeypatch.setattr("sys.argv", ["corpusgate", *words, "--config", str(path)])
        with pytest.raises(SystemExit):
            main()
        shown = "".join(capsys.readouterr())
        assert said in shown
        assert str(path) in shown
