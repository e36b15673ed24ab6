"""Without a terminal, progress is told in lines: each counts from the beginning of the run, and says so."""

import io
import re

import pytest
from rich.console import Console

from flows.cli.progress import shown_progress
from schemas.names import StageName


def test_a_line_says_whether_its_counts_are_of_all_documents_or_of_those_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flows.cli.progress._SECONDS_BETWEEN_LINES", 0.0)
    written = io.StringIO()
    with shown_progress(Console(file=written, width=100)) as progress:
        progress.expect(6, 3)
        progress.advance(StageName.PARSE, 2, 2)
        progress.advance(StageName.PARSE, 2, 0)
        progress.advance(StageName.PARSE, 1, 1)
    told = [re.sub(r"^ *[\d.]+ s  ", "", line) for line in written.getvalue().splitlines()]
    assert told == [
        "plan         6 documents",
        "parse        2 documents so far, 2 computed",
        "parse        4 documents so far, 2 computed",
        "parse        5 documents in all, 3 computed",
    ]
