"""Folders as users name them."""

from __future__ import annotations

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
