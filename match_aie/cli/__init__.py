"""The command line: verbs to calls, errors to exit codes. No compiler logic lives here."""

from __future__ import annotations


def main() -> None:
    """The entry point `match-aie`: imports the rest where an interrupt is caught."""
    import sys

    try:
        from match_aie.cli.guard import main as guarded

        guarded()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


__all__ = ["main"]
