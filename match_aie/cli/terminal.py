"""What the command line writes: results to stdout, progress to a terminal on stderr."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import typer

from match_aie.errors import OptionError

#: 128 + SIGPIPE, as a shell reports a program whose reader went away.
READER_GONE = 141

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Loudness:
    """How much a command line says.

    Attributes:
        quiet: errors and JSON, nothing else.
        verbose: 1: the library's log of stages on stderr; 2: of single searches, too.
    """

    quiet: bool = False
    verbose: int = 0


_USUAL = Loudness()

#: Of the command line that runs.
_LOUDNESS: ContextVar[Loudness] = ContextVar("loudness", default=_USUAL)


@contextmanager
def speaking(loudness: Loudness) -> Iterator[None]:
    """Say as much as `loudness` allows inside; the library's log goes to stderr where asked for."""
    token = _LOUDNESS.set(loudness)
    log, handler = logging.getLogger("match_aie"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(relativeCreated)9d ms  %(message)s"))
    before = log.level
    if loudness.verbose:
        log.addHandler(handler)
        log.setLevel(logging.INFO if loudness.verbose == 1 else logging.DEBUG)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
        _LOUDNESS.reset(token)


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A sentence, as errors are: where in our sources it was said helps nobody."""
    if sys.stderr is not None and not _LOUDNESS.get().quiet:
        sys.stderr.write(f"warning: {message}\n")


def say(text: str = "") -> None:
    """Write one piece of text to stdout, unless asked to be quiet."""
    if not _LOUDNESS.get().quiet:
        _write(text)


def say_json(value: object) -> None:
    """Write `value` to stdout as JSON, however quiet."""
    _write(json.dumps(value, indent=2, ensure_ascii=True))


def _write(text: str) -> None:
    """Write a line to stdout, if there is one; ends the program silently if nobody reads it.

    Raises:
        OptionError: it cannot be written.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError as error:
        _write_nowhere()
        raise typer.Exit(READER_GONE) from error
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    except OSError as error:
        _write_nowhere()
        raise OptionError(
            f"what is to be printed cannot be written: {error.strerror or error}",
            hint="send it to another place",
        ) from error


def _write_nowhere() -> None:
    """Python flushes stdout once more at exit; give it somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def working(what: str) -> Iterator[Progress | None]:
    """Shows `what` and the current stage while a terminal watches stderr, else does nothing.

    Nothing is shown to who asked for silence, or for the log, which says the same line by line.
    """
    loudness = _LOUDNESS.get()
    if loudness.quiet or loudness.verbose or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(what)) as status:
        yield lambda stage: status.update(f"{escape(what)}: {escape(stage)}")


def program() -> str:
    """How to call this program from the user's shell: by name, or by path where PATH lacks it."""
    own = Path(sys.argv[0])
    if shutil.which("match-aie") is not None or own.name != "match-aie":
        return "match-aie"
    here = Path.cwd()
    return shlex.quote(str(own.relative_to(here) if own.is_relative_to(here) else own))
