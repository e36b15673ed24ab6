"""Options that several commands share."""

import math
import re
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

from tasks.lake.layout import Lake
from tasks.run.configuration import Configuration, load_configuration

_GIVEN: ContextVar[Path | None] = ContextVar("configuration", default=None)


def _remember(config: Path) -> Path:
    _GIVEN.set(config)
    return config


def given_config() -> Path | None:
    """The configuration that the command in this process was given; null where it takes none.

    What goes wrong with a command is told after it has ended, and what to do next is about the same corpus.
    """
    return _GIVEN.get()


ConfigArgument = Annotated[
    Path,
    typer.Argument(metavar="CONFIG", help="The configuration (`corpusgate init` writes one).", callback=_remember),
]
ConfigOption = Annotated[
    Path,
    typer.Option("--config", "-c", metavar="CONFIG", help="The configuration of the corpus.", callback=_remember),
]
RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run id, the beginning of one, or `last`: the newest that got to its gate."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output on standard output.")]


def finite(value: float) -> float:
    """The value of an option that is a number; `nan` is none, whatever bounds it passes.

    Raises:
        typer.BadParameter: it is not.
    """
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no number of seconds")
    return value


_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def duration(text: str) -> float:
    """Seconds of a length of time as people write it.

    >>> duration("5s"), duration("1.5h"), duration("90")
    (5.0, 5400.0, 90.0)

    Raises:
        typer.BadParameter: it is none, or longer than a year.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhd]?)", text.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else math.inf
    if seconds > 366 * _UNITS["d"]:
        raise typer.BadParameter(f"{text!r} is no length of time; write 5s, 10m, 1h or 1d")
    return seconds


def existing_lake(config: Path) -> tuple[Configuration, Lake]:
    """The configuration and its lake, which must have been made by a run.

    Raises:
        ConfigurationError: the configuration is wrong, or nothing was run yet.
    """
    from tasks.errors import ConfigurationError

    configuration = load_configuration(config)
    lake = Lake(configuration.lake)
    if not (lake.root / "lake.json").exists():
        raise ConfigurationError(
            f"there is no lake at {lake.root} yet", remedy="run the pipeline first: `corpusgate run`"
        )
    return configuration, lake


WaitOption = Annotated[
    float,
    typer.Option(min=0, max=31_536_000, callback=finite, help="Seconds to wait for another run on the same lake."),
]
