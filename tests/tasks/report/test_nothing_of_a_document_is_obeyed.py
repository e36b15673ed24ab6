"""Hostile names and texts through the whole engine: page, Markdown, terminal, CSV, JSON, artifacts and logs."""

import csv
import hashlib
import io
import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
import yaml
from lxml import html
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from flows.cli.app import app, main
from schemas.names import StageName
from tasks.figures.stage_table import stage_table
from tasks.gate.rules import default_rules
from tasks.gold.writing import seal_gold_set
from tests.engine import EngineRun, run_engine

HOSTILE = (
    "=cmd|' /C calc'!A0.txt",
    "@SUM(1+1)*cmd.txt",
    "<script>alert(document.domain)<script>.txt",
    '"><img src=x onerror=alert(1)>.txt',
    "[click](javascript:alert(1)) ![p](http:x) **b** `c` | d.txt",
    "a\x1b[2J\x1b]0;owned\x07\x1b[31mred.txt",
    "c1\x9b31mbel\x07.txt",
    "exe\u202etxt.\u2066pdf\u2069.txt",
    "[bold red]rich[/bold red] [link=http:x]y[/link].txt",
    "two\nlines\r# heading\n| a | b |.txt",
    "zero\u200bwidth\ufeff\u2028sep.txt",
)
"""Names of files, and what their first lines say. None has a slash, which no name may have."""

ENDS = ("ok", "empty")


def text_of(number: int, name: str) -> str:
    """A text that says the name. With ESC or BEL in it a file is taken for binary, and behind `<` for a page."""
    said = name.translate({0x1B: None, 0x07: None})
    return f"{'see ' if said.startswith('<') else ''}{said}\n\nThe harbour {number} is closed.\n"


def corpus(folder: Path, names: tuple[str, ...]) -> EngineRun:
    """A run over two files of each name, one of which holds nothing, with a question to each that finds no evidence."""
    rows = []
    for number, name in enumerate(names):
        for end in ENDS:
            path = folder / "in" / end / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text_of(number, name) if end == "ok" else "", encoding="utf-8")
        question = {"question_id": f"{number} {name}", "question": name, "evidence": [{"exact": "never written"}]}
        sha = hashlib.sha256((folder / "in" / "ok" / name).read_bytes()).hexdigest()
        label = {"questions": [question]}
        rows.append({"document": f"s:ok/{name}", "content_sha": sha, "label": label})
    gold = folder / "gold"
    gold.mkdir()
    (gold / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    seal_gold_set(gold, "names", "1")
    settings = {
        "lake": "lake",
        "sources": [{"name": "s", "type": "files", "root": "in"}],
        "gold": ["gold"],
        "gate": {"disabled": [rule.id for rule in default_rules()]},
    }
    (folder / "corpusgate.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return run_engine(folder / "corpusgate.yaml")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    return corpus(tmp_path_factory.mktemp("hostile"), HOSTILE)


@pytest.fixture(scope="module")
def tame(tmp_path_factory: pytest.TempPathFactory) -> EngineRun:
    return corpus(tmp_path_factory.mktemp("tame"), tuple(f"name {n}.txt" for n in range(len(HOSTILE))))


def folder_of(run: EngineRun) -> Path:
    return run.session.context.folder


def said(run: EngineRun, *arguments: str) -> str:
    config = run.session.context.lake.root.parent / "corpusgate.yaml"
    done = CliRunner().invoke(app, [*arguments, "--config", str(config)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def obeyed(text: str) -> set[str]:
    """Characters that a terminal or a reader's eye would obey."""
    return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}


def elements(run: EngineRun) -> Counter[tuple[str, tuple[str, ...]]]:
    page = html.document_fromstring((folder_of(run) / "report.html").read_bytes())
    return Counter((str(node.tag), tuple(sorted(node.attrib))) for node in page.iter())


def test_every_hostile_name_came_through_the_engine(hostile: EngineRun) -> None:
    assert len(hostile.locations) == 2 * len(HOSTILE)
    outcomes = Counter(hostile.outcome(path) for path in hostile.locations)
    assert outcomes == {("ok", StageName.INDEX): len(HOSTILE), ("quarantined", StageName.FETCH): len(HOSTILE)}
    assert hostile.promotion.startswith("promoted")


def test_the_page_has_the_elements_of_a_tame_one_and_no_other(hostile: EngineRun, tame: EngineRun) -> None:
    assert set(elements(hostile)) == set(elements(tame))
    page = html.document_fromstring((folder_of(hostile) / "report.html").read_bytes())
    assert not page.xpath("//script | //img | //iframe | //@*[starts-with(name(), 'on')]")
    assert {link for _, _, link, _ in page.iterlinks() if not link.startswith("#")} == set()
    text = "".join(page.itertext())
    assert "<script>alert(document.domain)" in text
    assert not obeyed(text)


def test_markdown_starts_no_markup_and_keeps_its_tables(hostile: EngineRun, tame: EngineRun) -> None:
    def tokens(run: EngineRun) -> list[str]:
        source = (folder_of(run) / "report.md").read_text(encoding="utf-8")
        parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(source)
        return [t.type for token in parsed for t in (token, *(token.children or ())) if t.type != "text"]

    assert not {"html_block", "html_inline", "link_open", "image"} & set(tokens(hostile))
    for kind in ("heading_open", "tr_open", "td_open", "th_open", "table_open"):
        assert tokens(hostile).count(kind) == tokens(tame).count(kind), kind
    assert set(tokens(hostile)) <= set(tokens(tame))


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("report",),
        ("sql", "quarantine"),
        ("sql", "evidence_lost"),
        ("sql", "SELECT uri, previous_uri, locator FROM documents"),
        ("sql", "SELECT text FROM chunks"),
        ("sql", "SELECT text, section_path FROM chunks", "--format", "csv"),
        ("sql", "SELECT uri, locator FROM documents", "--format", "csv"),
        ("sql", "SELECT uri FROM documents", "--format", "json"),
        ("search", "harbour closed", "--k", "50"),
        ("search", "harbour closed", "--k", "50", "--json"),
        ("compare", "last", "last", "--all"),
        ("status", "--json"),
    ],
    ids=" ".join,
)
def test_no_command_prints_what_a_terminal_obeys(hostile: EngineRun, command: tuple[str, ...]) -> None:
    assert not obeyed(said(hostile, *command))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_trace_shows_the_name_and_obeys_none_of_it(hostile: EngineRun, name: str) -> None:
    config = str(hostile.session.context.lake.root.parent / "corpusgate.yaml")
    done = CliRunner().invoke(app, ["trace", f"ok/{name}", "--config", config], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert not obeyed(done.output)
    # Rich's markup stands as it was written.
    assert "[bold red]" not in name or "[bold red]rich[/bold red]" in done.output


def test_an_error_that_names_hostile_documents_obeys_none_of_them(
    hostile: EngineRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = str(hostile.session.context.lake.root.parent / "corpusgate.yaml")
    errors = io.StringIO()
    monkeypatch.setattr("sys.argv", ["corpusgate", "trace", "doc-", "--config", config])
    monkeypatch.setattr("sys.stderr", errors)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "documents of run" in errors.getvalue()
    assert not obeyed(errors.getvalue())


def test_no_cell_of_csv_is_a_formula(hostile: EngineRun) -> None:
    output = said(hostile, "sql", "SELECT c.text, c.text_sha, 0 - c.tokens AS less FROM chunks c", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(output)))
    assert len(rows) == len(HOSTILE)
    assert sum(row["text"].startswith("'=cmd|") for row in rows) == 1
    assert sum(row["text"].startswith("'@SUM") for row in rows) == 1
    assert not [row for row in rows if row["text"][:1] in "=+-@\t\r"]
    # A number stays one.
    assert all(int(row["less"]) < 0 for row in rows)


def test_json_gives_names_back_as_they_are(hostile: EngineRun) -> None:
    rows = json.loads(said(hostile, "sql", "SELECT uri FROM documents", "--format", "json"))
    assert {row["uri"] for row in rows} == {f"{end}/{name}" for end in ENDS for name in HOSTILE}


def test_artifacts_of_stages_and_logs_hold_nothing_of_documents(
    tmp_path: Path, hostile: EngineRun, caplog: pytest.LogCaptureFixture
) -> None:
    session = hostile.session
    for stage in StageName:
        table = json.dumps(stage_table(session.context.lake, session.context.run_id, stage, session.catalogue))
        assert not [name for name in HOSTILE if json.dumps(name)[1:-1] in table]
        assert "harbour" not in table
    with caplog.at_level("DEBUG"):
        corpus(tmp_path, HOSTILE[2:4])
    assert not [word for word in ("alert(", "harbour", "never written") if word in caplog.text]
