"""The command line: verbs to calls, errors to exit codes. No compiler logic lives here."""

from match_aie.cli.guard import main

__all__ = ["main"]
