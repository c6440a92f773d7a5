"""Who may use a project's folder: many that read, build and run it, or one that replaces it.

A lock is held on the folder itself, so that nothing is left behind, and ends with the process that
holds it, however that ends. A filesystem without such locks is used without.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def shared(folder: Path) -> Iterator[None]:
    """Keep `folder` from being replaced meanwhile; waits for whoever is replacing it."""
    with _held(folder, fcntl.LOCK_SH):
        yield


@contextmanager
def exclusive(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Be the only one that uses `folder`: waits until nobody else does.

    Args:
        folder: that is about to be replaced.
        wait: for others.

    Returns:
        Whether it is so; False where others use it and `wait` is False, where there is no such
        folder, or where the filesystem has no locks.
    """
    with _held(folder, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)) as held:
        yield held


@contextmanager
def _held(folder: Path, how: int) -> Iterator[bool]:
    opened, held = _acquired(folder, how)
    try:
        yield held
    finally:
        if opened is not None:
            if held:
                # Closing is not enough where a process that was forked meanwhile has it open too.
                fcntl.flock(opened, fcntl.LOCK_UN)
            os.close(opened)


def _acquired(folder: Path, how: int) -> tuple[int | None, bool]:
    """An open descriptor of what is called `folder` once the lock is there, and whether it is."""
    while True:
        try:
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None, False  # whoever uses it says what is wrong with it
        try:
            fcntl.flock(opened, how)
        except OSError:
            return opened, False  # held by others and not to be waited for, or no locks here
        except BaseException:
            os.close(opened)
            raise
        # While this process waited, another folder may have got the name.
        try:
            if os.path.samestat(os.stat(folder), os.fstat(opened)):
                return opened, True
        except FileNotFoundError:
            pass
        os.close(opened)
