"""Finding a C++ compiler, and compiling the C++ sources of a project into objects."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from match_aie.codegen.flags import CXX_CORRECTNESS, CXX_SANITIZERS, WARNINGS, checked, is_cxx
from match_aie.errors import ToolchainError
from match_aie.toolchain.objects import compile_objects
from match_aie.toolchain.record import Record

#: Tried in this order where the C compiler has no counterpart.
_NAMES = ("c++", "g++", "clang++")

#: Commands that run the compiler which their next word names.
_WRAPPERS = ("ccache", "sccache", "distcc")


def find_cxx_compiler(c_compiler: Sequence[str] = ()) -> tuple[str, ...]:
    """The command of a C++ compiler: $CXX, else the C compiler's own counterpart, else any.

    Args:
        c_compiler: command that compiles the same project's C.

    Raises:
        ToolchainError: none is there; says what to install.
    """
    asked = shlex.split(os.environ.get("CXX", "").strip())
    if asked:
        if shutil.which(asked[0]) is None:
            raise ToolchainError(
                f"there is no C++ compiler {asked[0]}",
                hint="set CXX to a compiler that is installed, or unset it",
            )
        return tuple(asked)
    own = counterpart(c_compiler)
    if own is not None and all(map(shutil.which, _programs(own))):
        return own
    for name in _NAMES:
        if shutil.which(name):
            return (name,)
    raise ToolchainError(
        "no C++ compiler was found, and the project has C++ sources "
        "(looked for $CXX, c++, g++ and clang++)",
        hint="apt install g++, or pip install ziglang and no other C compiler",
    )


def counterpart(c_compiler: Sequence[str]) -> tuple[str, ...] | None:
    """The C++ command that goes with a C compiler's; None where its name says nothing.

    >>> counterpart(["gcc-13"]), counterpart(["/usr/bin/clang"]), counterpart(["tcc"])
    (('g++-13',), ('/usr/bin/clang++',), None)
    >>> counterpart(["ccache", "gcc"])
    ('ccache', 'g++')
    """
    if not c_compiler:
        return None
    if Path(c_compiler[0]).name in _WRAPPERS:
        inner = counterpart(c_compiler[1:])
        return None if inner is None else (c_compiler[0], *inner)
    if tuple(c_compiler[-2:]) == ("ziglang", "cc"):
        return (*c_compiler[:-1], "c++")
    folder, name = os.path.split(c_compiler[0])
    for c, cxx in (("gcc", "g++"), ("clang", "clang++"), ("cc", "c++")):
        if name == c or name.startswith(f"{c}-") or name.endswith(f"-{c}"):
            replaced = name.replace(c, cxx, 1) if name.startswith(c) else name[: -len(c)] + cxx
            return (os.path.join(folder, replaced), *c_compiler[1:])
    return None


def _programs(command: Sequence[str]) -> Sequence[str]:
    """The words of a command that must be programs."""
    return command[:2] if Path(command[0]).name in _WRAPPERS else command[:1]


def build_cxx(
    folder: Path,
    record: Record,
    c_compiler: Sequence[str],
    digests: Mapping[str, str],
    *,
    sanitize: bool,
    quick: bool,
) -> tuple[list[str], list[str]]:
    """Objects of the project's C++ sources, in `folder`/build, and what to link them with.

    Args:
        folder: of the project.
        record: its manifest.
        c_compiler: command that compiles its C.
        digests: SHA-256 of the project's files as they are, by path.
        sanitize: with sanitizers, else for a shared library.
        quick: without optimisation.

    Raises:
        ToolchainError: no compiler, or it refuses.
        ProjectError: the build folder cannot be written.
    """
    sources = [path for path in record.sources if is_cxx(path)]
    if not sources:
        return [], []
    words = find_cxx_compiler(c_compiler)
    flags = [*CXX_CORRECTNESS, *checked(record.cxx_flags), *WARNINGS, "-Iinclude"]
    flags += [*CXX_SANITIZERS] if sanitize else ["-fPIC"]
    flags += ["-O0"] if quick else []
    objects = compile_objects(folder, words, flags, sources, digests)
    # Threads of emulated kernels: older C libraries have them apart.
    return objects, ["-lc++" if sys.platform == "darwin" else "-lstdc++", "-pthread"]
