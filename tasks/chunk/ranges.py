"""A chunk's place in redacted text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """[start, end) of redacted text that makes a chunk, and the header rows repeated before it."""

    start: int
    end: int
    prefix: str = ""
