"""Options that several commands share."""

import math
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tasks.lake.layout import Lake
from tasks.run.configuration import Configuration, load_configuration

ConfigArgument = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="The configuration (`corpusgate init` writes one).")
]
ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", metavar="CONFIG", help="The configuration of the corpus.")
]
RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run id, the beginning of one, or `last`: the newest that got to its gate."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output on standard output.")]

DEFAULT_CONFIG = Path("corpusgate.yaml")


def found_by(config: Path) -> str:
    """What a command that is proposed must end with so that it finds the same configuration.

    >>> found_by(Path("corpusgate.yaml")), found_by(Path("my demo/corpusgate.yaml"))
    ('', " --config 'my demo/corpusgate.yaml'")
    """
    return "" if config == DEFAULT_CONFIG else f" --config {shlex.quote(str(config))}"


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
            f"there is no lake at {lake.root} yet", remedy=f"run the pipeline first: corpusgate run {config}"
        )
    return configuration, lake


WaitOption = Annotated[
    float,
    typer.Option(min=0, max=31_536_000, callback=finite, help="Seconds to wait for another run on the same lake."),
]
