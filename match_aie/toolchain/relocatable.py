"""A project as one relocatable object, to be linked into somebody else's library."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from match_aie.codegen.flags import CORRECTNESS, WARNINGS, checked, is_cxx
from match_aie.errors import ToolchainError
from match_aie.toolchain.compiler import taking
from match_aie.toolchain.cxx import build_cxx
from match_aie.toolchain.folder import write
from match_aie.toolchain.integrity import verify
from match_aie.toolchain.objects import compile_objects
from match_aie.toolchain.project import Project
from match_aie.toolchain.step import compile_file

#: In the project's folder.
_JOINED = "build/joined.o"
_RESULT = "build/result.o"


@dataclass(frozen=True)
class Relocatable:
    """An object file.

    Attributes:
        data: its bytes.
        arena: bytes that `PREFIX_run_in` wants of its caller.
        alignment: of the arena and of all tensors.
        guarded: whether it has `PREFIX_unsupported`.
        faults: whether it has `PREFIX_fault`.
        cxx: whether it needs the C++ library.
    """

    data: bytes
    arena: int
    alignment: int
    guarded: bool
    faults: bool
    cxx: bool


def relocatable(sources: Mapping[str, bytes], prefix: str) -> Relocatable:
    """Compile a project into one object whose only global functions begin with `prefix`.

    All else is local to the object, the emulation's state included: networks that are linked
    together share nothing. The functions are the project's `_run_in` and `_unsupported`, and
    `_fault` for `ma_fault` of the target's runtime, where they exist.

    Args:
        sources: a whole project, as `codegen.render` gives it.
        prefix: C identifier.

    Raises:
        ToolchainError: no compiler or no objcopy, or one of them refuses.
    """
    with TemporaryDirectory(prefix="match-aie-") as folder:
        project = write(sources, Path(folder, "project"))
        return _joined(project, prefix)


def _joined(project: Project, prefix: str) -> Relocatable:
    folder, record = project.folder, project.record
    files = verify(folder, record, edited=False)
    words = taking(record, None)
    made, _ = build_cxx(folder, record, words, files.digests, sanitize=False, quick=False)
    cxx = bool(made)
    flags = [*CORRECTNESS, *checked(record.flags), *WARNINGS, "-Iinclude", "-fPIC"]
    sources = [path for path in record.sources if not is_cxx(path)]
    made += compile_objects(folder, words, flags, sources, files.digests)
    join = [*words, "-r", "-nostdlib", "-Wl,--force-group-allocation", *made, "-o", _JOINED]
    _step(folder, join, _JOINED)
    names = {
        f"{record.network}_run_in": f"{prefix}_run_in",
        f"{record.network}_unsupported": f"{prefix}_unsupported",
        "ma_fault": f"{prefix}_fault",
    }
    command = [_objcopy(words)]
    for ours, theirs in names.items():
        command += [f"--redefine-sym={ours}={theirs}", f"--keep-global-symbol={theirs}"]
    # Symbols are renamed after they are chosen by one objcopy and before by another: keep both.
    command += [f"--keep-global-symbol={ours}" for ours in names]
    _step(folder, [*command, _JOINED, _RESULT], _RESULT)
    data = (folder / _RESULT).read_bytes()
    has = {name: b"\0" + name.encode() + b"\0" in data for name in names.values()}
    return Relocatable(
        data,
        record.arena,
        record.alignment,
        has[f"{prefix}_unsupported"],
        has[f"{prefix}_fault"],
        cxx,
    )


def _step(folder: Path, command: Sequence[str], target: str) -> None:
    compile_file(folder, command, target, folder / Path(target).with_suffix(".log"))


def _objcopy(compiler: Sequence[str]) -> str:
    """The objcopy that goes with a compiler: of its prefix, else the machine's, else LLVM's.

    Raises:
        ToolchainError: none is there.
    """
    name = Path(compiler[0]).name
    own = [f"{name[: -len(end)]}-objcopy" for end in ("-gcc", "-cc") if name.endswith(end)]
    for tool in (*own, "objcopy", "llvm-objcopy"):
        if shutil.which(tool):
            return tool
    raise ToolchainError("no objcopy was found", hint="apt install binutils, or llvm")
