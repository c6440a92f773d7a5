"""Two folders exchange their names in one step, where the system can."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

#: Of `renameat2` (Linux) and `renamex_np` (macOS): the current folder, and "exchange".
_HERE, _EXCHANGE, _SWAP = -100, 2, 2


def exchange(fresh: Path, place: Path, old: Path) -> None:
    """Put `fresh` where `place` is, and what was there at `old`.

    In one step where system and filesystem can; else in two, between which there is nothing at
    `place`: then `folder.recover` brings the old one back.

    Raises:
        OSError: it cannot be done; nothing has changed.
    """
    if _in_one_step(fresh, place):
        os.rename(fresh, old)
        return
    try:
        os.rename(place, old)
        os.rename(fresh, place)
    finally:
        if old.exists() and not place.exists():
            os.rename(old, place)


def _in_one_step(a: Path, b: Path) -> bool:
    """Whether the two have exchanged their names."""
    system = ctypes.CDLL(None)
    one, other = os.fsencode(a), os.fsencode(b)
    try:
        if sys.platform == "darwin":
            return int(system.renamex_np(one, other, _SWAP)) == 0
        return int(system.renameat2(_HERE, one, _HERE, other, _EXCHANGE)) == 0
    except AttributeError:
        return False
