"""The verdict as a person reads it on a terminal: the answer first, then what it rests on, then what to do."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from schemas.names import StageName, VerdictStatus
from schemas.verdict import Blame, Finding, FindingOutcome, Verdict
from tasks.report.values import shown_value

ANSWERS = {
    VerdictStatus.PASS: ("PASS", "every rule that could be judged holds", "bold green"),
    VerdictStatus.WARN: ("WARN", "nothing blocks, but read the warnings", "bold yellow"),
    VerdictStatus.FAIL: ("FAIL", "the candidate is blocked", "bold red"),
    VerdictStatus.UNDETERMINED: ("UNDETERMINED", "blocked: a required rule could not be judged", "bold magenta"),
}

MOST_FINDINGS = 8
"""How many findings of a kind are spelled out; the report has all of them."""


def print_verdict(console: Console, verdict: Verdict, folder: Path, promotion: str) -> None:
    """Prints a verdict: one line of answer, the findings that matter, where the fault lies, what is live, what next.

    Reads the same without colour. `folder` is the run's folder, `promotion` what became of the candidate.
    """
    word, meaning, style = ANSWERS[verdict.status]
    console.print(Text.assemble((word, style), f"  run {verdict.run_id}: {meaning}"), soft_wrap=True)
    for heading, findings in sorted_findings(verdict):
        console.print()
        console.print(f"{heading} ({len(findings)})", style="bold", markup=False, highlight=False)
        for finding in findings[:MOST_FINDINGS]:
            _line(console, finding_line(finding))
        if len(findings) > MOST_FINDINGS:
            _line(console, f"… and {len(findings) - MOST_FINDINGS} more, in the report")
    blamed = blame_lines(verdict.blame)
    if blamed:
        console.print()
        console.print("Where it went wrong first", style="bold")
        for line in blamed[:MOST_FINDINGS]:
            _line(console, line)
    console.print()
    _line(console, counts_line(verdict.reasons), indent=0)
    _line(console, f"live: {promotion}" if promotion else "live: nothing was promoted", indent=0)
    for name, value in (("report", str(folder / "report.html")), ("next", next_command(verdict))):
        console.print(f"{name}: {value}", markup=False, highlight=False, soft_wrap=True)


def sorted_findings(verdict: Verdict) -> list[tuple[str, list[Finding]]]:
    """The findings that matter under their headings: what blocks, warnings, required rules that cannot be judged.

    Causes stand before consequences, then by stage; what holds, and what need not be judged, is left out.
    """
    blocking = [f for f in verdict.reasons if f.violated and f.blocks]
    unjudged = [f for f in verdict.reasons if not f.violated and f.blocks]
    warnings = [f for f in verdict.reasons if f.violated and not f.blocks]
    open_questions = [f for f in verdict.reasons if f.outcome is FindingOutcome.UNDETERMINED and not f.blocks]
    headed = (
        ("Blocking", blocking),
        ("Required but not judged", unjudged),
        ("Warnings", warnings),
        ("Too little data to tell (not required)", open_questions),
    )
    return [(heading, sorted(found, key=_importance)) for heading, found in headed if found]


def finding_line(finding: Finding) -> str:
    """One finding as a line: stage, where, what the gate said, and whether an earlier stage is the cause."""
    message = finding.message or f"{finding.metric} is {shown_value(finding.value)}"
    consequence = "  [follows from an earlier stage]" if finding.consequence else ""
    return f"{finding.stage} · {finding.where}: {message}{consequence}"


def blame_lines(blames: Sequence[Blame]) -> list[str]:
    """The first stage that went wrong, per class (or for the corpus), with the stages that followed."""
    lines = []
    for blame in blames:
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
    counts = Counter("broken" if f.violated else f.outcome.value for f in findings)
    names = (
        ("ok", "held"),
        ("broken", "broken"),
        ("undetermined", "undetermined"),
        ("not_applicable", "without data (not judged)"),
        ("first_run", "without a baseline (not judged)"),
    )
    said = ", ".join(f"{counts[key]} {name}" for key, name in names if counts[key])
    return f"rules applied to slices: {said or 'none'}"


def next_command(verdict: Verdict) -> str:
    """What to do now."""
    worst = next((blame.document_id for blame in verdict.blame if blame.document_id), None)
    if verdict.status is VerdictStatus.PASS:
        return "corpusgate status"
    if worst and verdict.status is not VerdictStatus.UNDETERMINED:
        return f"corpusgate trace {worst} --run {verdict.run_id}"
    return f"corpusgate report {verdict.run_id}"


def _importance(finding: Finding) -> tuple[bool, int, bool, str, str]:
    stages = list(StageName)
    position = stages.index(StageName(finding.stage)) if finding.stage in stages else len(stages)
    return finding.consequence, position, finding.slice_key is not None, finding.metric, finding.slice_value or ""


def _line(console: Console, text: str, indent: int = 2) -> None:
    # A hanging indent, so that a wrapped finding still reads as one.
    console.print(Padding(Text(text), (0, 0, 0, indent), expand=False), soft_wrap=False, highlight=False)
