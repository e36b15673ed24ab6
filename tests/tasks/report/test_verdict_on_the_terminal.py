"""A verdict as it is printed: readable at 100 columns, without colour, with nothing that a terminal would obey."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from schemas.names import VerdictStatus
from schemas.verdict import FindingOutcome, Verdict
from tasks.report.terminal import print_verdict
from tests.tasks.report.lake_by_hand import NEW, REPORT, findings, verdict

FOLDER = Path("lake/runs") / NEW


def printed(given: Verdict, width: int = 100) -> list[str]:
    """The lines on a console without colour."""
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        print_verdict(console, given, FOLDER, "not promoted: live is untouched")
    return capture.get().splitlines()


def test_the_answer_is_the_first_line_and_the_next_command_the_last() -> None:
    lines = printed(verdict(NEW, VerdictStatus.FAIL, findings()))
    assert lines[0] == f"FAIL  run {NEW}: the candidate is blocked"
    assert lines[-1] == f"next: corpusgate trace {REPORT} --run {NEW}"
    assert "live: not promoted: live is untouched" in lines
    assert f"report: {FOLDER / 'report.html'}" in lines


def test_the_cause_is_told_from_what_follows_and_from_warnings() -> None:
    lines = printed(verdict(NEW, VerdictStatus.FAIL, findings()))
    blame = lines.index("Where it went wrong first")
    blocking = lines.index("Blocking (2)")
    warnings = lines.index("Warnings (1)")
    assert blame < blocking < warnings
    assert lines[blame + 1] == "  class report: parse (cer, worse by 0.2); then chunk"
    assert lines[blocking + 1].startswith("  parse cer · class report: ")
    assert lines[blocking + 2] == "  and what follows from these: chunk conservation"
    assert "ann_recall_at_k" not in "\n".join(lines)  # nothing to judge is counted, not told as a finding
    assert "rules applied to slices: 1 held, 3 broken, 1 without data (not judged)" in lines


@pytest.mark.parametrize("width", [60, 100])
def test_no_line_is_wider_than_the_terminal_but_paths_and_commands(width: int) -> None:
    lines = printed(verdict(NEW, VerdictStatus.FAIL, findings()), width)
    assert [line for line in lines if len(line) > width and not line.startswith(("report:", "next:", "FAIL"))] == []
    assert all(line == line.rstrip() for line in lines)


def test_what_is_only_noted_is_no_warning() -> None:
    lines = printed(verdict(NEW, VerdictStatus.PASS, [replace(findings()[0], severity="note")]))
    assert "Noted (1)" in lines
    assert not any(line.startswith("Warnings") for line in lines)


def test_a_measure_broken_in_many_slices_has_one_line() -> None:
    first = findings()[0]
    many = [replace(first, slice_value=f"class{i}", loss=i / 10) for i in range(5)]
    lines = printed(verdict(NEW, VerdictStatus.FAIL, many))
    assert sum("parse cer · " in line for line in lines) == 1
    assert any("class class4" in line and line.endswith("(+4)") for line in lines)


def test_a_required_rule_that_could_not_be_judged_is_said_to_block() -> None:
    open_rule = replace(findings()[4], required=True)
    lines = printed(verdict(NEW, VerdictStatus.UNDETERMINED, [open_rule]))
    assert lines[0].startswith("UNDETERMINED  run ")
    assert "Required but not judged (1)" in lines
    assert lines[-1] == f"next: corpusgate report {NEW}"


def test_an_undetermined_rule_is_never_counted_as_held() -> None:
    unsure = replace(findings()[3], outcome=FindingOutcome.UNDETERMINED)
    lines = printed(verdict(NEW, VerdictStatus.WARN, [unsure]))
    assert "Too little data to tell, not required (1)" in lines
    assert "rules applied to slices: 1 undetermined" in lines


def test_a_figure_that_the_baseline_lacks_is_not_counted_as_lacking_itself() -> None:
    bare = replace(findings()[4], value=None, max_loss=0.02)
    alone = replace(bare, value=0.9, message="none of the 3 documents has this figure in live")
    lines = printed(verdict(NEW, VerdictStatus.PASS, [bare, alone]), 120)
    counts = "1 without data (not judged), 1 without a like figure in the baseline (not judged)"
    assert f"rules applied to slices: {counts}" in lines


def test_a_foreign_name_cannot_colour_the_terminal() -> None:
    hostile = replace(findings()[0], slice_value="\x1b[31mred\u202e", message="of [bold]x[/bold]", loss=None)
    text = "\n".join(printed(verdict(NEW, VerdictStatus.FAIL, [hostile])))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]x[/bold]" in text


def test_a_pass_is_short() -> None:
    lines = printed(verdict(NEW, VerdictStatus.PASS))
    assert lines[0].startswith("PASS  run ")
    assert len(lines) == 6
