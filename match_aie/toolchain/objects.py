"""Compiling the sources of a project into objects, each apart and several at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from match_aie.toolchain.step import compile_file, key


def compile_objects(
    folder: Path,
    words: Sequence[str],
    flags: Sequence[str],
    sources: Sequence[str],
    digests: Mapping[str, str],
) -> list[str]:
    """Paths of the objects of `sources` in `folder`/build, in their order.

    A source is compiled again only where the command, itself or a file that it may include has
    changed. Compiled apart, the runtime's sources are the same commands in all projects of a
    target, so a compiler cache (`CC="ccache gcc"`) has to compile only what is a network's own.

    Args:
        folder: of the project.
        words: command of the compiler.
        flags: of this build.
        sources: paths in `folder` of C or of C++ sources.
        digests: SHA-256 of the project's files as they are, by path.

    Raises:
        ToolchainError: the compiler refuses one; the first of them, with what it said.
        ProjectError: the build folder cannot be written.
    """
    make = partial(_compile, folder, words, flags, digests)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(make, sources))


def _compile(
    folder: Path,
    words: Sequence[str],
    flags: Sequence[str],
    digests: Mapping[str, str],
    source: str,
) -> str:
    # No C source includes another; C++ sources do.
    read = {name: of for name, of in digests.items() if name == source or not name.endswith(".c")}
    own = key([shutil.which(words[0]) or "", *words[1:], *flags, source], read)
    target = f"build/{Path(source).stem}-{own}.o"
    if not (folder / target).is_file():
        command = [*words, *flags, "-c", source, "-o", target]
        compile_file(folder, command, target, folder / Path(target).with_suffix(".log"))
    return target
