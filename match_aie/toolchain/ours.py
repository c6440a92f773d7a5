"""What of a folder match_aie wrote, and removing that and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from match_aie.codegen.digests import seal
from match_aie.codegen.manifest import FILE
from match_aie.errors import ProjectError

#: The page of a project, which is no part of it.
PAGE = "report.html"

_EMPTY: dict[str, Any] = {}


def refuse_foreign(place: Path) -> None:
    """Refuse to replace a project that holds more, or something else, than match_aie wrote.

    Raises:
        ProjectError: a file was edited, or put there by somebody else.
        OSError: it cannot be read.
    """
    manifest = _manifest(place)
    digests = dict(manifest.get("digests", {}))
    made = _products(str(manifest.get("network", "")))
    for name, path in _files(place):
        if made.fullmatch(name) or name == PAGE:
            continue
        if name == FILE:
            edited = seal(manifest) != manifest.get("seal")
        elif name in digests:
            edited = _digest(path) != digests[name]
        else:
            raise ProjectError(
                "the project's folder holds a file that match_aie did not write",
                where=str(path),
                hint="move it away, or choose another folder",
            )
        if edited:
            raise ProjectError(
                "a file of the project was edited since match_aie wrote it",
                where=str(path),
                hint="move it away or delete it, or choose another folder",
            )


def clear(folder: Path, names: Set[str] = frozenset()) -> None:
    """Delete what match_aie wrote to `folder`, and the folder where nothing else is left.

    Args:
        folder: a project, or what was written of one; may be missing.
        names: files of it, beside those that its manifest lists.

    Raises:
        OSError: something cannot be deleted.
    """
    if not folder.is_dir():
        return
    manifest = _manifest(folder)
    own = {str(name) for name in manifest.get("files", ())} | names | {FILE, PAGE}
    made = _products(str(manifest.get("network", "")))
    # The manifest last: as long as it is there, whoever comes after a kill knows what is ours.
    for name, path in sorted(_files(folder), key=lambda item: item[0] == FILE):
        if name in own or made.fullmatch(name):
            path.unlink()
    for root, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(root)
        except OSError:
            continue  # not empty: what is there is somebody's


def _files(place: Path) -> Iterator[tuple[str, Path]]:
    """Everything below `place` but folders: links, and whatever else there may be, too."""
    for root, folders, files in os.walk(place, onerror=_raise):
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        for name in sorted([*files, *links]):
            path = Path(root, name)
            yield path.relative_to(place).as_posix(), path


def _raise(error: OSError) -> None:
    raise error


def _digest(path: Path) -> str:
    if not stat.S_ISREG(path.lstat().st_mode):
        return "no file of ours"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(place: Path) -> dict[str, Any]:
    """The manifest, of whatever schema version; nothing where it is damaged."""
    try:
        document = json.loads((place / FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return _EMPTY
    usable = isinstance(document, dict) and isinstance(document.get("digests"), dict)
    return document if usable and isinstance(document.get("files"), list) else _EMPTY


def _products(network: str) -> re.Pattern[str]:
    """Paths of what builds make, by `toolchain` or by the project's Makefile.

    Below build/chip are builds for the chip: what its tool chain puts there, nobody here knows.
    """
    name = re.escape(network)
    return re.compile(
        r"build/("
        r"[A-Za-z0-9_.-]+-[0-9a-f]{12}(\.so|\.log|\.o|-sanitize|-static)(\.[0-9a-f]+)?"
        rf"|lib{name}\.so|{name}_main|{name}_static|(plain|checked)/[^/].*\.o|chip/.+)"
    )
