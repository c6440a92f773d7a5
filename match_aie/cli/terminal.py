"""What the command line writes: results to stdout, progress to a terminal on stderr."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

#: 128 + SIGPIPE, as a shell reports a program whose reader went away.
READER_GONE = 141

Progress = Callable[[str], None]


def say(text: str = "") -> None:
    """Write one piece of text to stdout; ends the program quietly if nobody reads it."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError as error:
        # Python flushes stdout once more at exit; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(READER_GONE) from error
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def say_json(value: object) -> None:
    """Write `value` to stdout as JSON."""
    say(json.dumps(value, indent=2, ensure_ascii=True))


@contextmanager
def working(what: str) -> Iterator[Progress | None]:
    """Shows `what` and the current stage while a terminal watches stderr, else does nothing."""
    if not sys.stderr.isatty():
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
