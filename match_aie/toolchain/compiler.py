"""Finding a C compiler, and building a project with it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from match_aie.codegen.flags import CORRECTNESS, SANITIZERS, WARNINGS, checked, is_cxx
from match_aie.errors import ToolchainError, shorten
from match_aie.toolchain.blame import blamed
from match_aie.toolchain.cxx import build_cxx
from match_aie.toolchain.integrity import Verified, verify
from match_aie.toolchain.objects import compile_objects
from match_aie.toolchain.record import Record
from match_aie.toolchain.step import compile_file, key

#: Tells the program that it is handed out: outputs and arena are not filled before a run.
STATIC = "-DMATCH_AIE_STATIC"

_NAMES = ("cc", "gcc", "clang")


@dataclass(frozen=True)
class Product:
    """What a compiler made.

    Attributes:
        path: the shared library, or the executable of a sanitized build.
        compiler: command of the compiler.
        command: that made it, run in the project's folder.
        log: what the compiler said.
        reused: whether it was there already.
        edited: files that are not as they were compiled.
    """

    path: Path
    compiler: tuple[str, ...]
    command: tuple[str, ...]
    log: Path
    reused: bool
    edited: tuple[str, ...] = ()


def find_compiler(compiler: str | Sequence[str] | None = None) -> tuple[str, ...]:
    """The command of a C compiler: `compiler`, else $CC, cc, gcc, clang, or the ziglang package.

    Raises:
        ToolchainError: none is there; says what to install.
    """
    asked = compiler or os.environ.get("CC", "").strip()
    if asked:
        words = _words(asked) if isinstance(asked, str) else tuple(asked)
        if not words or shutil.which(words[0]) is None:
            raise ToolchainError(
                f"there is no C compiler {words[0] if words else asked!r}",
                hint="set CC to a compiler that is installed, or unset it",
            )
        return words
    for name in _NAMES:
        if shutil.which(name):
            return (name,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    raise ToolchainError(
        "no C compiler was found (looked for $CC, cc, gcc, clang and the Python package ziglang)",
        hint="apt install gcc, xcode-select --install, or pip install ziglang",
    )


def _words(command: str) -> tuple[str, ...]:
    """A command as a shell would take it apart.

    Raises:
        ToolchainError: a quote in it does not end.
    """
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise ToolchainError(
            f"{shorten(command, 80)!r} is no command: {str(error).lower()}",
            hint="set CC to a compiler that is installed, or unset it",
        ) from error


def build(
    folder: Path,
    record: Record,
    *,
    compiler: str | Sequence[str] | None = None,
    sanitize: bool = False,
    trace: bool = False,
    edited: bool = False,
    quick: bool = False,
    static: bool = False,
) -> Product:
    """Build the project in `folder`, into `folder`/build; nothing is done twice.

    Args:
        folder: of the project.
        record: its manifest.
        compiler: command to use, see `find_compiler`.
        sanitize: an executable with address and undefined-behaviour sanitizers, since a sanitized
            library does not load into Python; else a shared library.
        trace: with the hook that hands out every tensor; builds with sanitizers have it always.
        edited: build files as they are, whether or not they are what was compiled.
        quick: without optimisation: built fast, runs slowly.
        static: an executable that needs no library, with the weights inside.

    Raises:
        ToolchainError: no compiler, none that takes the target's flags, or it refuses; carries
            the first lines that it said.
        ProjectError: a file is not what was compiled, or the build folder cannot be written.
    """
    files = verify(folder, record, edited=edited)
    words = taking(record, compiler)
    try:
        return _product(folder, record, words, files, _Kind(sanitize, trace, quick, static))
    except ToolchainError as error:
        raise blamed(error, folder, record) from error


@dataclass(frozen=True)
class _Kind:
    """What `build` is asked for."""

    sanitize: bool
    trace: bool
    quick: bool
    static: bool

    @property
    def flags(self) -> list[str]:
        """Flags of compilers and of the link."""
        own = SANITIZERS if self.sanitize else [STATIC] if self.static else ["-fPIC"]
        traced = ["-DMATCH_AIE_TRACE"] if self.trace or self.sanitize else []
        return [*own, *traced, *(["-O0"] if self.quick else [])]

    @property
    def link(self) -> list[str]:
        """Flags of the link alone."""
        return [] if self.sanitize else ["-static"] if self.static else ["-shared"]

    @property
    def suffix(self) -> str:
        """Of the product's name."""
        return "-sanitize" if self.sanitize else "-static" if self.static else ".so"


def _product(
    folder: Path, record: Record, words: tuple[str, ...], files: Verified, kind: _Kind
) -> Product:
    cxx, libraries = build_cxx(
        folder, record, words, files.digests, sanitize=kind.sanitize, quick=kind.quick
    )
    flags = [*CORRECTNESS, *checked(record.flags), *WARNINGS, "-Iinclude", *kind.flags]
    mains = [record.main] if kind.sanitize or kind.static else []
    sources = [path for path in [*record.sources, *mains] if path.endswith(".c")]
    objects = compile_objects(folder, words, flags, sources, files.digests)
    # Assembled at the link: it reads the weights, which a cache of compilers would not see.
    objects += [path for path in record.sources if not is_cxx(path) and not path.endswith(".c")]
    objects += cxx
    flags += kind.link
    # Named by content: a library that is loaded already cannot be replaced under its name.
    own = key([shutil.which(words[0]) or "", *words[1:], *flags, *objects], files.digests)
    target = f"build/{record.network}-{own}{kind.suffix}"
    command = (*words, *flags, *objects, "-o", target, "-lm", *libraries)
    log = folder / "build" / f"{record.network}-{own}.log"
    reused = (folder / target).is_file()
    if not reused:
        compile_file(folder, command, target, log)
    return Product(folder / target, words, command, log, reused, files.edited)


def taking(record: Record, compiler: str | Sequence[str] | None) -> tuple[str, ...]:
    """The compiler asked for, or the default one; the target's own where that lacks its flags.

    Raises:
        ToolchainError: none takes the flags; nothing has been written then.
    """
    words = find_compiler(compiler)
    flags = [flag for flag in checked(record.flags) if flag.startswith("-m")]
    said = _rejection(words, flags)
    if said is None:
        return words
    own = () if compiler or os.environ.get("CC", "").strip() else record.compilers
    for name in own:
        if shutil.which(name) and _rejection((name,), flags) is None:
            return (name,)
    known = ", ".join(record.compilers)
    raise ToolchainError(
        f"the C compiler {shlex.join(words)} does not take {' '.join(flags)}: {said}",
        hint="compile the model for another arch"
        + (f", or install and name another compiler (CC=...; tried {known})" if known else ""),
    )


def _rejection(words: Sequence[str], flags: Sequence[str]) -> str | None:
    """What a compiler says against `flags`, in a line; None where it takes them."""
    if not flags:
        return None
    command = [*words, *flags, "-fsyntax-only", "-x", "c", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return (lines or [f"it failed with status {done.returncode}"])[0][:200]
