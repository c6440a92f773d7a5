"""One call of a compiler, and what it says when it refuses."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from match_aie.errors import ProjectError, ToolchainError
from match_aie.toolchain.places import try_instead

_SHOWN_LINES = 12

_FULL = "free space on that disk; TMPDIR names where compilers keep what they make on the way"
_OTHER = "another compiler (CC=gcc, CC=clang); if none works, report this as a defect of match_aie"

#: What clang before 15 says on x86, and what to do.
_NO_HALVES = "_Float16 is not supported"
_HALVES = "a compiler that has 16-bit floats: on x86 gcc 12 or clang 15, or newer (CC=gcc)"


def key(words: Iterable[str], digests: Mapping[str, str]) -> str:
    """What a build depends on, as a short name.

    Args:
        words: of the command.
        digests: SHA-256 of all files that it may read, by path.
    """
    digest = hashlib.sha256("\0".join(words).encode())
    for name, content in sorted(digests.items()):
        digest.update(f"\0{name}\0{content}".encode())
    return digest.hexdigest()[:12]


def compile_file(folder: Path, command: Sequence[str], target: str, log: Path) -> None:
    """Run a compiler in `folder`, whose folder `build` is made where it is not there.

    Args:
        folder: of the project.
        command: the compiler's, with `target` as the word that names what it makes.
        target: path in `folder`.
        log: where what the compiler says is kept.

    Raises:
        ToolchainError: it refuses; carries the first lines that it said.
        ProjectError: the build folder cannot be written.
    """
    try:
        (folder / "build").mkdir(exist_ok=True)
        _run(folder, command, target, log)
    except OSError as error:
        raise ProjectError(
            f"the build folder cannot be written: {error.strerror or error}",
            where=str(error.filename or folder),
            hint=f"{try_instead(error)}, and copy the project there",
        ) from error


def _run(folder: Path, command: Sequence[str], target: str, log: Path) -> None:
    # Two processes or threads may build at once: each makes its own file, the last rename stays.
    partial = f"{target}.{secrets.token_hex(4)}"
    own = [partial if word == target else word for word in command]
    try:
        done = subprocess.run(
            own, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        said = (done.stdout + done.stderr).strip()
        log.write_text(f"{shlex.join(command)}\n{said}\n", encoding="utf-8")
        if done.returncode != 0:
            raise _refusal(command, done.returncode, said, log)
        if not (folder / partial).exists():
            raise ToolchainError(
                f"the compiler {command[0]} reports success and has written nothing",
                where=str(log),
                hint="name a C compiler (CC=gcc, --compiler gcc), or unset CC",
            )
        os.replace(folder / partial, folder / target)
    finally:
        (folder / partial).unlink(missing_ok=True)


def _refusal(command: Sequence[str], status: int, said: str, log: Path) -> ToolchainError:
    lines = said.splitlines()
    shown = [line[:200] for line in lines[:_SHOWN_LINES]]
    if len(lines) > len(shown):
        shown.append(f"... {len(lines) - len(shown)} more lines in the log")
    how = f"was killed by signal {-status}" if status < 0 else f"failed with status {status}"
    full = os.strerror(errno.ENOSPC) in said
    return ToolchainError(
        "\n    ".join([f"the compiler {command[0]} {how}:", *shown]),
        where=str(log),
        hint=_FULL if full else _HALVES if _NO_HALVES in said else _OTHER,
    )
