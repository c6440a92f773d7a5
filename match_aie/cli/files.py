"""Files that a command is told to write: whole, or what was there before stays."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_file(path: Path, data: bytes) -> None:
    """Write `data` to `path`, by way of a file beside it, so that a full disk harms nothing there.

    A file keeps its mode. Links are followed. Devices, pipes and what a process has open
    (`/dev/stdout`, `/dev/fd/3`) are written to as they are, and so is a file in a folder that takes
    no new ones.

    Raises:
        OSError: it cannot be written; `path` is as it was, but in the last case.
    """
    place = Path(os.path.realpath(path))
    if _is_open(path) or (path.exists() and not path.is_file()):
        path.write_bytes(data)
        return
    if not os.access(place.parent, os.W_OK):
        place.write_bytes(data)
        return
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(path))
    fresh = place.parent / f".{secrets.token_hex(8)}.new"
    try:
        fresh.write_bytes(data)
        if place.exists():
            fresh.chmod(place.stat().st_mode)
        fresh.replace(place)
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from error
    finally:
        fresh.unlink(missing_ok=True)


def _is_open(path: Path) -> bool:
    """Whether it names what a process has open: a link that leads to no name, or to one in use."""
    folder = Path(os.path.realpath(path.parent))
    return folder in (Path("/dev"), Path("/dev/fd")) or folder.is_relative_to("/proc")
