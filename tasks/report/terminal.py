"""The verdict as a person reads it on a terminal: the answer first, then what it rests on, then what to do."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from schemas.names import StageName, VerdictStatus
from schemas.verdict import Blame, Finding, FindingOutcome, Verdict
from tasks.proposed import addressed, proposed
from tasks.report.values import plain_text, shown_value

ANSWERS = {
    VerdictStatus.PASS: ("PASS", "every rule that could be judged holds", "bold green"),
    VerdictStatus.WARN: ("WARN", "nothing blocks, but read the warnings", "bold yellow"),
    VerdictStatus.FAIL: ("FAIL", "the candidate is blocked", "bold red"),
    VerdictStatus.UNDETERMINED: ("UNDETERMINED", "blocked: a required rule could not be judged", "bold magenta"),
}

MOST_LINES = 8
"""How many lines of a kind are printed; the report has all of them."""

OPEN = "Too little data to tell, not required"


def print_verdict(console: Console, verdict: Verdict, folder: Path, promotion: str, config: Path | None = None) -> None:
    """Prints a verdict: one line of answer, where the fault lies, the findings that matter, what is live, what next.

    A measure has one line, its worst slice; the report has every finding. Reads the same without colour. `folder` is
    the run's folder, `promotion` what became of the candidate, `config` what the proposed commands are about.
    """
    word, _, style = ANSWERS[verdict.status]
    console.print(Text.assemble((word, style), answer_line(verdict).removeprefix(word)), soft_wrap=True)
    _section(console, "Where it went wrong first", blame_lines(verdict.blame))
    for heading, findings in sorted_findings(verdict):
        causes = [finding for finding in findings if not finding.consequence]
        lines = (
            [_names(findings)]
            if heading == OPEN
            else [addressed(group_line(group), config) for group in _grouped(causes)]
        )
        if follows := [finding for finding in findings if finding.consequence]:
            lines = [*lines[:MOST_LINES], f"and what follows from these: {_names(follows)}"]
        _section(console, f"{heading} ({len(findings)})", lines)
    console.print()
    _line(console, counts_line(verdict.reasons), indent=0)
    _line(console, f"live: {promotion}" if promotion else "live: nothing was promoted", indent=0)
    for name, value in (("report", str(folder / "report.html")), ("next", next_command(verdict, config))):
        console.print(f"{name}: {value}", markup=False, highlight=False, soft_wrap=True)


def answer_line(verdict: Verdict) -> str:
    """The verdict in one line, the first that is printed."""
    word, meaning, _ = ANSWERS[verdict.status]
    return f"{word}  run {verdict.run_id}: {meaning}"


def sorted_findings(verdict: Verdict) -> list[tuple[str, list[Finding]]]:
    """The findings that matter under their headings: what blocks, warnings, what cannot be judged, what is only noted.

    Causes stand before consequences, then by stage; what holds, and what need not be judged, is left out.
    """
    blocking = [f for f in verdict.reasons if f.violated and f.blocks]
    unjudged = [f for f in verdict.reasons if not f.violated and f.blocks]
    broken = [f for f in verdict.reasons if f.violated and not f.blocks]
    warnings = [f for f in broken if f.severity != "note"]
    noted = [f for f in broken if f.severity == "note"]
    open_questions = [f for f in verdict.reasons if f.outcome is FindingOutcome.UNDETERMINED and not f.blocks]
    headed = (
        ("Blocking", blocking),
        ("Required but not judged", unjudged),
        ("Warnings", warnings),
        (OPEN, open_questions),
        ("Noted", noted),
    )
    return [(heading, sorted(found, key=_importance)) for heading, found in headed if found]


def finding_line(finding: Finding) -> str:
    """One finding as a line: stage, measure, where, what the gate said, and whether an earlier stage is the cause."""
    message = finding.message or f"is {shown_value(finding.value)}"
    consequence = "  [follows from an earlier stage]" if finding.consequence else ""
    return plain_text(f"{finding.stage} {finding.metric} · {finding.where}: {message}{consequence}")


def group_line(findings: Sequence[Finding]) -> str:
    """The findings of one measure as a line: the worst class, else all documents; in brackets how many more."""
    worst = max(findings, key=lambda f: (f.slice_key == "class", f.slice_key is None, f.loss or 0.0))
    said = worst.message
    if worst.outcome is FindingOutcome.REGRESSED and worst.loss is not None and worst.max_loss is not None:
        said = (
            f"{shown_value(worst.value)} against {shown_value(worst.baseline_value)} in {worst.against}, "
            f"worse by {shown_value(worst.loss)}, allowed {shown_value(worst.max_loss)}"
        )
    more = "" if len(findings) == 1 else f" (+{len(findings) - 1})"
    return plain_text(f"{worst.stage} {worst.metric} · {worst.where}: {said}{more}")


def blame_lines(blames: Sequence[Blame]) -> list[str]:
    """The first stage that went wrong, per class and then for the corpus, with the stages that followed."""
    lines = []
    for blame in sorted(blames, key=lambda blame: (blame.doc_class is None, blame.doc_class or "")):
        if blame.document_id is not None:
            continue
        whom = f"class {blame.doc_class}" if blame.doc_class else "all documents"
        loss = "" if blame.loss is None else f", worse by {shown_value(blame.loss)}"
        after = f"; then {', '.join(blame.consequences)}" if blame.consequences else ""
        lines.append(f"{whom}: {blame.stage} ({blame.metric}{loss}){after}")
    return lines


def counts_line(findings: Sequence[Finding]) -> str:
    """How many rules held, were broken, or said nothing.

    A rule that could not be judged is never counted with those that hold.
    """
    counts = Counter(_kind(f) for f in findings)
    names = (
        ("ok", "held"),
        ("broken", "broken"),
        ("noted", "broken and only noted"),
        ("undetermined", "undetermined"),
        ("not_applicable", "without data (not judged)"),
        ("nothing_alike", "without a like figure in the baseline (not judged)"),
        ("first_run", "without a baseline (not judged)"),
    )
    said = ", ".join(f"{counts[key]} {name}" for key, name in names if counts[key])
    return f"rules applied to slices: {said or 'none'}"


def _kind(finding: Finding) -> str:
    if finding.violated:
        return "noted" if finding.severity == "note" else "broken"
    has_figure = finding.value is not None and finding.max_loss is not None
    if finding.outcome is FindingOutcome.NOT_APPLICABLE and has_figure:
        return "nothing_alike"  # the run has a figure, and the baseline has none of these documents
    return finding.outcome.value


def next_command(verdict: Verdict, config: Path | None = None) -> str:
    """What to do now."""
    return proposed(_next_words(verdict), config)


def _next_words(verdict: Verdict) -> str:
    worst = next((blame.document_id for blame in verdict.blame if blame.document_id), None)
    if verdict.status is VerdictStatus.PASS:
        return "status"
    if worst and verdict.status is not VerdictStatus.UNDETERMINED:
        return f"trace {worst} --run {verdict.run_id}"
    if any(finding.blocks and finding.metric == "unexpected_quarantine" for finding in verdict.reasons):
        return f"sql quarantine --run {verdict.run_id}"
    return f"report {verdict.run_id}"


def _importance(finding: Finding) -> tuple[bool, int, str, bool, str]:
    stages = list(StageName)
    position = stages.index(StageName(finding.stage)) if finding.stage in stages else len(stages)
    return finding.consequence, position, finding.metric, finding.slice_key is not None, finding.slice_value or ""


def _grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.stage, finding.metric), []).append(finding)
    return list(groups.values())


def _names(findings: Sequence[Finding]) -> str:
    by_stage: dict[str, dict[str, None]] = {}
    for finding in findings:
        by_stage.setdefault(finding.stage, {})[finding.metric] = None
    return "; ".join(f"{stage} {', '.join(metrics)}" for stage, metrics in by_stage.items())


def _section(console: Console, heading: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print()
    console.print(heading, style="bold", markup=False, highlight=False)
    for line in lines[: MOST_LINES + 1]:
        _line(console, line)
    if len(lines) > MOST_LINES + 1:
        _line(console, f"… and {len(lines) - MOST_LINES - 1} more, in the report")


def _line(console: Console, text: str, indent: int = 2) -> None:
    # A hanging indent, so that a wrapped finding still reads as one.
    margin = " " * indent
    for line in textwrap.wrap(
        text, console.width, initial_indent=margin, subsequent_indent=margin + "  ", break_on_hyphens=False
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
