"""The documentation against the code: links resolve, commands and options exist, generated parts are up to date."""

import re
from pathlib import Path

import pytest
import yaml

from flows import documentation
from tasks.figures.catalogue import load_catalogue
from tasks.report.queries import available
from tasks.run.configuration import Configuration, parse_configuration

ROOT = documentation.ROOT
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))]

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"corpusgate ([a-z][^`|\n)]*)")
_QUOTED = re.compile(r'"[^"$]*"')


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _anchors(page: str) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    found: set[str] = set()
    for line in re.sub(r"^```.*?^```", "", _text(page), flags=re.MULTILINE | re.DOTALL).splitlines():
        if heading := re.match(r"#+ (.+)", line):
            words = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
            found.add(words)
    return found


def _commands(page: str) -> list[str]:
    """What follows `corpusgate` where a page gives it as a command: in code, inline or in a block."""
    text = _text(page)
    blocks = [body for kind, body in _BLOCK.findall(text) if kind in ("sh", "cron")]
    inline = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", _BLOCK.sub("", text))
    lines = [line for part in (*blocks, *inline) for line in part.splitlines()]
    return [match[1] for line in lines for match in _COMMAND.finditer(_QUOTED.sub('""', line.split(" #")[0]))]


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_and_headings_resolve(page: str) -> None:
    for target in _LINK.findall(_BLOCK.sub("", _text(page))):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (ROOT / page).parent / path if path else ROOT / page
        assert linked.exists(), f"{page} links to {target}"
        if anchor:
            assert anchor in _anchors(linked.resolve().relative_to(ROOT).as_posix()), f"{page} links to {target}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist_with_their_options(page: str) -> None:
    tree = documentation.command_tree()
    for line in _commands(page):
        words = line.split()
        name = next((n for n in (" ".join(words[:2]), words[0]) if n in tree), None)
        assert name is not None, f"{page}: there is no command `corpusgate {line}`"
        allowed = {flag for option in documentation.options_of(tree[name]) for flag in option.opts} | {"--help"}
        for flag in words:
            if re.fullmatch(r"--[a-z-]+|-[a-z]", flag):
                assert flag in allowed, f"{page}: `corpusgate {line}` has no option {flag}"


def test_every_command_is_described() -> None:
    page = _text("docs/commands.md")
    for name in documentation.command_tree():
        assert f"\n## {name}\n" in page


@pytest.mark.parametrize("page", documentation.pages())
def test_generated_parts_are_what_the_code_generates(page: str) -> None:
    assert documentation.generate(page, _text(page)) == _text(page), "give: make docs"


def test_a_page_without_a_place_for_its_part_is_refused() -> None:
    with pytest.raises(ValueError, match=r"docs/gate\.md has no place for its part 'rules'"):
        documentation.generate("docs/gate.md", "# The gate\n")


def test_generated_parts_hold_every_key_rule_and_measure() -> None:
    settings = documentation.settings()
    for name in (*Configuration.model_fields, "max_tokens", "expected_quarantine", "seconds_per_page", "urls_file"):
        assert f"`{name}`" in settings
    measures = documentation.measures()
    for metric in load_catalogue().metrics:
        assert f"### {metric.id}\n" in measures
    shipped = yaml.safe_load((ROOT / "data_contracts" / "gate.yaml").read_text(encoding="utf-8"))
    table = documentation.rules().splitlines()
    assert len(table) == len(shipped) + 2
    for rule in shipped:
        row = next(line for line in table if line.startswith(f"| `{rule['id']}` |"))
        bound = f"{rule['threshold']:g}" if "threshold" in rule else f"loss up to {rule['max_loss']:g}"
        assert f"| {rule['kind']} | {bound} | {rule.get('slice', 'all')} |" in row
    assert all(f"`{name}`" in documentation.queries() for name in available())


@pytest.mark.parametrize("page", PAGES)
def test_yaml_examples_are_valid_parts_of_a_configuration(page: str, tmp_path: Path) -> None:
    for kind, body in _BLOCK.findall(_text(page)):
        if kind == "yaml":
            whole = {"lake": "lake", "sources": [{"name": "handbook", "type": "files", "root": "documents"}]}
            parse_configuration(whole | yaml.safe_load(body), tmp_path / "corpusgate.yaml")


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_no_place_on_one_machine(page: str) -> None:
    assert not re.search(r"(?<![\w./])/(work|tmp|home|root|usr)/", _text(page))


def test_ci_examples_are_yaml_and_run_the_check() -> None:
    for path in (ROOT / "deployments" / "ci").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert isinstance(yaml.safe_load(text), dict)
        assert "corpusgate run corpusgate.yaml --json > verdict.json" in text


def test_the_threat_model_names_tests_that_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", _text("docs/threat-model.md"))
    assert len(named) > 20
    for path, name in named:
        assert f"def {name}(" in _text(path), f"{path}::{name}"
