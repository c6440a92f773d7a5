"""One call of a compiler, and what it says when it refuses."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from match_aie.errors import ToolchainError

_SHOWN_LINES = 12


def compile_file(folder: Path, command: Sequence[str], target: str, log: Path) -> None:
    """Run a compiler in `folder`; `target` is the word of `command` that names what it makes.

    Raises:
        ToolchainError: it refuses; carries the first lines that it said.
        OSError: the folder cannot be written.
    """
    # Two processes may build at once: each makes its own file, the last rename stays.
    partial = f"{target}.{os.getpid()}"
    own = [partial if word == target else word for word in command]
    try:
        done = subprocess.run(
            own, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        said = (done.stdout + done.stderr).strip()
        log.write_text(f"{shlex.join(command)}\n{said}\n", encoding="utf-8")
        if done.returncode != 0:
            raise _refusal(command, done.returncode, said, log)
        os.replace(folder / partial, folder / target)
    finally:
        (folder / partial).unlink(missing_ok=True)


def _refusal(command: Sequence[str], status: int, said: str, log: Path) -> ToolchainError:
    lines = said.splitlines()
    shown = [line[:200] for line in lines[:_SHOWN_LINES]]
    if len(lines) > len(shown):
        shown.append(f"... {len(lines) - len(shown)} more lines in the log")
    how = f"was killed by signal {-status}" if status < 0 else f"failed with status {status}"
    return ToolchainError(
        "\n    ".join([f"the compiler {command[0]} {how}:", *shown]),
        where=str(log),
        hint="another compiler (CC=clang); if none works, report this as a defect of match_aie",
    )
