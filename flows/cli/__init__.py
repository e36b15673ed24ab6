"""The command line. Heavy libraries are imported by the command that needs them."""

from flows.cli.app import main

__all__ = ["main"]
