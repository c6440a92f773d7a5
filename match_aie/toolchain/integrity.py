"""Whether a project is still what was compiled, before anything of it is built or loaded."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from match_aie.codegen.digests import seal
from match_aie.codegen.manifest import FILE
from match_aie.errors import ProjectError
from match_aie.toolchain.record import Record

#: Environment variable that allows edited files in every project; any value but "" and "0".
ALLOW = "MATCH_AIE_EDITED"


@dataclass(frozen=True)
class Verified:
    """The files that a build for this machine reads.

    Attributes:
        digests: SHA-256 of each as it is now, by path.
        edited: those that are not as they were compiled, match_aie.json among them.
    """

    digests: Mapping[str, str]
    edited: tuple[str, ...]


def verify(folder: Path, record: Record, *, edited: bool = False) -> Verified:
    """Compare the files of a project with what its manifest says they were.

    Args:
        folder: of the project.
        record: its manifest.
        edited: accept files that differ, and give their names.

    Raises:
        ProjectError: a file differs and `edited` is False, or a file cannot be read.
    """
    try:
        names = [name for name in record.digests if name not in record.unread]
        now = {name: _digest(folder / name) for name in names}
    except ProjectError:
        _refuse_another(folder, record)
        raise
    different = [name for name, digest in now.items() if digest != record.digests[name]]
    different += [FILE] if seal(record.everything) != record.seal else []
    if different:
        _refuse_another(folder, record)
    allowed = edited or os.environ.get(ALLOW, "") not in ("", "0")
    if different and not allowed:
        raise _refusal(folder, different)
    return Verified(now, tuple(different))


def _refuse_another(folder: Path, record: Record) -> None:
    """Say so where the files are not edited ones, but those of another project.

    Raises:
        ProjectError: another project has been written to the folder since this one was loaded.
    """
    try:
        document = json.loads((folder / FILE).read_bytes())
        now = str(document["seal"])
        whole = seal(document) == now
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return
    if whole and now != record.seal:
        raise ProjectError(
            "another project was written to this folder since this one was loaded",
            where=str(folder),
            hint="load it again, or write each project to a folder of its own",
        )


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ProjectError(
            f"a file of the project cannot be read: {error.strerror or error}",
            where=str(path),
            hint="compile the model again",
        ) from error


def _refusal(folder: Path, different: list[str]) -> ProjectError:
    shown = ", ".join(different[:5]) + (" and more" if len(different) > 5 else "")
    verb = "is" if len(different) == 1 else "are"
    return ProjectError(
        f"{shown} {verb} not what was compiled",
        where=str(folder),
        hint=f"if you edited that: `run --edited`, edited=True, or {ALLOW}=1; "
        "if not, compile the model again",
    )
