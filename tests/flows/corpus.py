"""A small corpus of every format and the command line as a user calls it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tasks.demo.build import build
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tests.flows.notes import ONE_WORKER

ROOT = Path(__file__).resolve().parents[2]


def corpusgate(
    *arguments: str | Path, environment: dict[str, str] | None = None, program: tuple[str, ...] = ("-m", "flows")
) -> "subprocess.CompletedProcess[str]":
    """Runs the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, *program, *map(str, arguments)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        | (environment or {}),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def small_corpus(folder: Path, *, keep: tuple[str, ...] = ("support", "bulletins")) -> Path:
    """The demo's notes and one report without its other classes: a run of seconds. Returns the configuration."""
    built = build(folder)
    report = next(d.path for d in built.documents if d.doc_class == "report")
    for document in built.documents:
        if not document.path.startswith(keep) and document.path != report:
            (built.corpus / document.path).unlink()

    def fit(settings: Any) -> None:
        settings["gate"].update(expected_quarantine=[])
        for stage, limits in ONE_WORKER.items():
            settings["stages"].setdefault(stage, {}).update(limits)

    change(built.configuration, fit)
    return built.configuration


def change(configuration: Path, edit: Any) -> None:
    """Edits a configuration as a mapping."""
    settings = yaml.safe_load(configuration.read_text(encoding="utf-8"))
    edit(settings)
    configuration.write_text(yaml.safe_dump(settings), encoding="utf-8")


def lake_of(configuration: Path) -> Lake:
    """The lake beside a demo's configuration."""
    return Lake(configuration.parent / "lake")


def last_run(configuration: Path) -> str:
    """The newest run of its lake."""
    return Runs(lake_of(configuration)).resolve("last")
