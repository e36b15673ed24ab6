"""Errors that name their cause and what to do about it; nothing else is ever shown to a user."""


class CorpusgateError(Exception):
    """A failure that a person can act on: `str(error)` is the cause, `remedy` the next step."""

    def __init__(self, message: str, *, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class ConfigurationError(CorpusgateError):
    """Wrong usage or configuration (exit code 2)."""


class DocumentError(CorpusgateError):
    """One document cannot pass one stage; it goes to quarantine and the run goes on.

    `error_class` is a short stable name (`encrypted`, `corrupt`, `empty`, `timeout` …) by which quarantine is
    listed and gated. `transient` says that a later attempt may succeed without any change of the document.
    The message must never hold text of the document.
    """

    def __init__(self, error_class: str, message: str, *, remedy: str, transient: bool = False) -> None:
        super().__init__(message, remedy=remedy)
        self.error_class = error_class
        self.transient = transient


class RunError(CorpusgateError):
    """The run itself failed (exit code 3)."""
