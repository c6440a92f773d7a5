"""Runs a command line and turns whatever happens into one screen of text and an exit code.

Exit codes: 0 ok, 1 user error (wrong use included), 2 infeasible, 3 toolchain, 4 mismatch,
130 interrupted, 141 the reader of our output went away.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from match_aie.cli.terminal import Loudness, speaking
from match_aie.errors import MatchError, shorten

INTERRUPTED = 130

#: Words that may stand anywhere, and how much louder each makes the log.
_QUIET = ("--quiet", "-q")
_VERBOSE = {"--verbose": 1, "-v": 1, "-vv": 2}


def main() -> None:
    """The entry point `match-aie`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code, raises nothing.

    `--debug`, `--quiet` and `-v` may stand anywhere; the first shows the traceback of whatever
    fails.
    """
    debug = "--debug" in arguments
    loudness = Loudness(
        any(word in _QUIET for word in arguments), sum(_VERBOSE.get(w, 0) for w in arguments)
    )
    anywhere = {"--debug", *_QUIET, *_VERBOSE}
    rest = [argument for argument in arguments if argument not in anywhere]
    try:
        with speaking(loudness):
            return _invoke(rest)
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001  no traceback reaches a user
        if debug:
            traceback.print_exception(error)
        code, text = _verdict(error, debug)
    if sys.stderr is not None:
        print(text, file=sys.stderr)  # noqa: T201
    return code


def _verdict(error: BaseException, debug: bool) -> tuple[int, str]:
    """Exit code and text for whatever was raised."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, MatchError):
        return error.exit_code, f"error: {error}"
    return 1, _unexpected(error, debug)


def _invoke(arguments: list[str]) -> int:
    import typer

    from match_aie.cli.app import app

    try:
        code = app(arguments, prog_name="match-aie", standalone_mode=False)
    except typer.Abort as abort:
        raise KeyboardInterrupt from abort
    except typer.TyperException as error:
        raise _usage(error, arguments) from error
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _usage(error: Exception, arguments: Sequence[str]) -> MatchError:
    """Wrong use, in the words of the other errors."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "match-aie"
    message = str(getattr(error, "format_message", error.__str__)())
    what = message.strip() or "no command was given"
    return MatchError(
        what[:1].lower() + what[1:],
        where=shorten(" ".join(["match-aie", *arguments]), 200),
        hint=f"{path} --help",
    )


def _unexpected(error: BaseException, debug: bool) -> str:
    """One sentence about a defect, and what to send us."""
    kind, message = type(error).__name__, shorten(str(error), 300)
    lines = [f"error: match_aie failed in a way it should not: {kind}: {message}"]
    if not debug:
        lines.append("  try:   the same command with --debug, and report what it prints together")
        lines.append("         with the output of `match-aie doctor` (and the model, if you may)")
    return "\n".join(lines)
