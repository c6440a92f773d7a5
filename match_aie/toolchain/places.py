"""Folders as users name them."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from match_aie.errors import ProjectError, shorten


def place_of(folder: str | os.PathLike[str]) -> Path:
    """The absolute path of a folder, there or not; `~` is a home.

    Raises:
        ProjectError: no folder can have this name: it is too long, say, or its user has no home.
    """
    try:
        place = Path(folder).expanduser().absolute()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            os.stat(place)  # follows links: one of a circle leads nowhere
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ProjectError(
            f"there can be no such folder: {reason}",
            where=shorten(os.fspath(folder), 100),
            hint="give another name, or a whole path",
        ) from error
    return place


def try_instead(error: OSError) -> str:
    """What to try where a file or a folder could not be written, by what the system said."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free space on that disk, or choose a place on another one"
    if error.errno in (errno.EBUSY, errno.EXDEV):
        return "something is mounted there, or uses it: choose another name"
    return "choose a folder that you may write to"


def refuse_unwritable(place: Path) -> None:
    """Refuse what no folder can be put in one step, as far as that can be seen before.

    Args:
        place: absolute path of the folder to be put there; may be missing or empty.

    Raises:
        ProjectError: the shell is in it, a disk is mounted there, or its parent takes no folder.
    """
    if _holds_current(place):
        raise ProjectError(
            "the folder that you are in would be replaced",
            where=str(place),
            hint="give the name of a folder in it, or leave it first",
        )
    if os.path.ismount(place):
        raise ProjectError(
            "a disk is mounted there, which cannot be replaced in one step",
            where=str(place),
            hint="give the name of a folder in it",
        )
    parent = place.parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if parent.is_dir() and not os.access(parent, os.W_OK | os.X_OK):
        raise ProjectError(
            "the project cannot be written: the folder above it takes no new ones",
            where=str(parent),
            hint="choose a folder that you may write to",
        )


def _holds_current(place: Path) -> bool:
    try:
        return place.exists() and Path.cwd().is_relative_to(place.resolve())
    except OSError:
        return False  # there is no current folder, or nobody may look
