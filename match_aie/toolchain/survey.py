"""Which compilers this machine has, for `match-aie doctor`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from match_aie.errors import ToolchainError
from match_aie.toolchain.compiler import find_compiler
from match_aie.toolchain.cxx import find_cxx_compiler

_SECONDS = 20


@dataclass(frozen=True)
class FoundCompiler:
    """A compiler.

    Attributes:
        command: as it is called, a word each.
        path: of its program.
        version: the first line that it says of itself; empty where it does not run.
        used: whether builds use it when nobody asks for another.
    """

    command: tuple[str, ...]
    path: str
    version: str
    used: bool


def survey_compilers() -> tuple[FoundCompiler, ...]:
    """$CC, cc, gcc, clang and the ziglang package, as far as they are there."""
    try:
        used = find_compiler()
    except ToolchainError:
        used = ()
    commands = [used, ("cc",), ("gcc",), ("clang",)]
    if importlib.util.find_spec("ziglang") is not None:
        commands.append((sys.executable, "-m", "ziglang", "cc"))
    found = []
    for command in dict.fromkeys(c for c in commands if c):
        path = shutil.which(command[0])
        if path is not None:
            found.append(FoundCompiler(command, path, _version(command), command == used))
    return tuple(found)


def survey_cxx_compiler() -> FoundCompiler | None:
    """What compiles the C++ of projects that have some; None where nothing is there."""
    try:
        try:
            used = find_cxx_compiler(find_compiler())
        except ToolchainError:
            used = find_cxx_compiler()
    except ToolchainError:
        return None
    path = shutil.which(used[0])
    return None if path is None else FoundCompiler(used, path, _version(used), True)


def _version(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""
