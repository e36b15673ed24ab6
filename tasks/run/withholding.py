"""The mode `run.redact_only`: a lake that keeps no text from before redaction, once nobody is at work on it."""

from tasks.lake.layout import Lake
from tasks.run.configuration import Configuration
from tasks.withhold.names import withhold_names
from tasks.withhold.texts import run_folders, withhold_texts


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
    return len(folders) + withhold_texts(lake, resting=resting)
