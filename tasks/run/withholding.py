"""The mode `run.redact_only`: a lake that keeps no text from before redaction, once nobody is at work on it."""

from pathlib import Path

from tasks.errors import ConfigurationError, RunError
from tasks.figures.catalogue import load_catalogue
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.report.write import write_report
from tasks.run.configuration import Configuration
from tasks.withhold.names import withhold_names
from tasks.withhold.texts import run_folders, withhold_texts


def refuse_without_texts(lake: Lake, run_id: str, what: str) -> None:
    """Raises where a run's documents lie in the lake without their text.

    Raises:
        ConfigurationError: so it is.
    """
    if "redacted_at" in Runs(lake).manifest(run_id):
        raise ConfigurationError(
            f"{what} needs the text of the documents, and the lake keeps none of run {run_id} (run.redact_only)",
            remedy="labels, settings and documents that have changed are taken in by the next run, which asks their "
            "sources: `corpusgate run`",
        )


_REPORTS = ("report.md", "report.html")


def withhold(configuration: Configuration, lake: Lake, *, resting: bool = False) -> int:
    """Takes out of the lake what stands there of before redaction, where the mode is on; returns how many files and
    folders held some. To be called by whoever holds the lake; `resting` as in `withhold_texts`.

    Raises:
        RunError: a file is torn, or the disk refuses it; the same call goes on.
    """
    if not configuration.run.redact_only:
        return 0
    folders = run_folders(lake)
    for folder in folders:
        withhold_names(lake, folder)
        if folder.parent == lake.runs:
            _report_anew(lake, folder)
    return len(folders) + withhold_texts(lake, resting=resting)


def _report_anew(lake: Lake, folder: Path) -> None:
    """A report names documents as they were called when it was written."""
    reports = [path for name in _REPORTS if (path := folder / name).exists()]
    for path in reports:
        path.unlink()
    if reports:
        try:
            write_report(lake, folder.name, load_catalogue())
        except (ConfigurationError, RunError):
            return  # a run of an older version: it keeps its tables, and has no report any more
