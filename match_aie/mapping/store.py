"""Small files in a folder of their own, which do no harm whatever lies there.

A folder of a user's, named by an environment variable, may hold anything: foreign files, links,
pipes, devices, what somebody planted. Everything here lives in a subfolder that this module makes
and marks. Entries are plain files read up to a bound, nothing in them is run, and nothing is
removed or replaced that does not begin as they do. No locks: an entry appears at once and whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

#: The subfolder; another format gets another number.
FOLDER = "match_aie-searches-1"

#: Backup programs know this file (bford.info/cachedir); its contents say that the folder is ours.
MARKER = "CACHEDIR.TAG"
MARK = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This folder was made by match_aie and holds answers of mapping searches.\n"
    b"# It may be deleted at any time.\n"
)

#: How an entry begins; a checksum of its name and contents follows, and a line end.
HEADER = b"match_aie search 1 "
CHECKSUM = 64

#: Bytes of an entry; the largest that networks gave is 2 kB.
ENTRY_LIMIT = 256 << 10

#: Bytes of all entries, and how many files are looked at when the oldest make room.
SIZE_LIMIT = 256 << 20
MOST_FILES = 200_000

#: What a file takes at least, for the sum of all.
BLOCK = 4096

_NAME = re.compile(r"[0-9a-f]{64}\.json")
_PARTIAL = re.compile(r"\.[0-9a-f]{16}\.partial")


class Unusable(Exception):
    """What is there is not ours, or not what we wrote; says what."""


class Store:
    """Bytes by key in the subfolder of a folder."""

    def __init__(self, folder: Path) -> None:
        """Open the subfolder of `folder`, made where it is missing.

        Raises:
            OSError: `folder` cannot be used.
            Unusable: something else has the subfolder's name.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._place = _opened(folder)

    def close(self) -> None:
        """Close the folder."""
        os.close(self._place)

    def get(self, key: str) -> bytes | None:
        """What was stored; None where nothing was.

        Raises:
            OSError: it cannot be read.
            Unusable: it is no plain file, too large, or not what was written.
        """
        data = _read(self._place, _name(key), ENTRY_LIMIT)
        if data is None:
            return None
        head, body = data[: len(HEADER) + CHECKSUM], data[len(HEADER) + CHECKSUM + 1 :]
        if head != _head(key, body):
            raise Unusable("it is not what was stored")
        return body

    def put(self, key: str, body: bytes) -> None:
        """Store `body`, unless it is too large; what was there before goes if it was ours.

        Raises:
            OSError: it cannot be written.
            Unusable: something that is not ours has its name.
        """
        name, data = _name(key), _head(key, body) + b"\n" + body
        if len(data) > ENTRY_LIMIT:
            return
        self._own(name)
        partial = f".{secrets.token_hex(8)}.partial"
        _write(self._place, partial, data)
        try:
            os.rename(partial, name, src_dir_fd=self._place, dst_dir_fd=self._place)
        except BaseException:
            os.unlink(partial, dir_fd=self._place)
            raise

    def trim(self, limit: int = SIZE_LIMIT) -> None:
        """Remove our oldest entries until they take no more than `limit` bytes.

        Raises:
            OSError: the folder cannot be read.
        """
        entries = sorted(self._entries())
        total = sum(size for _, _, size in entries)
        for _, name, size in entries:
            if total <= limit:
                return
            try:
                self._own(name)
                os.unlink(name, dir_fd=self._place)
            except (OSError, Unusable):
                continue  # not ours, or another process was faster
            total -= size

    def _entries(self) -> Iterator[tuple[int, str, int]]:
        """When each of our files was written, its name, and the bytes that it takes."""
        with os.scandir(self._place) as found:
            for item in islice(found, MOST_FILES):
                if not (_NAME.fullmatch(item.name) or _PARTIAL.fullmatch(item.name)):
                    continue
                about = item.stat(follow_symlinks=False)
                if stat.S_ISREG(about.st_mode):
                    size = -(-about.st_size // BLOCK) * BLOCK
                    yield about.st_mtime_ns, item.name, size

    def _own(self, name: str) -> None:
        """Refuse a file that does not begin as ours do; none, or an empty one, is no file.

        Raises:
            OSError: it cannot be read.
            Unusable: it is not ours.
        """
        start = _read(self._place, name, len(HEADER), whole=False)
        if start and start != HEADER:
            raise Unusable(f"{name} was not written by match_aie")


def _name(key: str) -> str:
    name = f"{key}.json"
    if not _NAME.fullmatch(name):
        raise ValueError(f"{key!r} is no key")
    return name


def _head(key: str, body: bytes) -> bytes:
    return HEADER + hashlib.sha256(key.encode() + b"\0" + body).hexdigest().encode()


def _opened(folder: Path) -> int:
    """A descriptor of the subfolder, which is ours.

    Raises:
        OSError: `folder` cannot be used.
        Unusable: something else has the subfolder's name.
    """
    place = folder / FOLDER
    if not os.path.lexists(place):
        _make(folder, place)
    try:
        # Neither a link to elsewhere nor anything but a folder.
        opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Unusable(f"{FOLDER} in it is no folder ({error.strerror})") from error
    try:
        if _read(opened, MARKER, len(MARK)) != MARK:
            raise Unusable(f"{FOLDER} in it was not made by match_aie")
    except BaseException:
        os.close(opened)
        raise
    return opened


def _make(folder: Path, place: Path) -> None:
    """Make the marked subfolder, at once with its mark: another process may be doing the same."""
    fresh = folder / f".{FOLDER}.{secrets.token_hex(8)}"
    fresh.mkdir(mode=0o700)
    try:
        with _descriptor(fresh) as inside:
            _write(inside, MARKER, MARK)
        os.rename(fresh, place)
    except BaseException as error:
        (fresh / MARKER).unlink(missing_ok=True)
        fresh.rmdir()
        if not isinstance(error, OSError) or not os.path.lexists(place):
            raise


@contextmanager
def _descriptor(folder: Path) -> Iterator[int]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield opened
    finally:
        os.close(opened)


def _read(place: int, name: str, limit: int, *, whole: bool = True) -> bytes | None:
    """The file's first `limit` bytes; None where there is none.

    Args:
        place: descriptor of its folder.
        name: in that folder.
        limit: bytes.
        whole: refuse a longer one.

    Raises:
        OSError: it cannot be read.
        Unusable: it is no plain file, or longer.
    """
    try:
        # Looked at before it is opened: opening a pipe waits, opening a device may act.
        about = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(about.st_mode):
        raise Unusable(f"{name} is no plain file")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(name, flags, dir_fd=place)
    except FileNotFoundError:
        return None
    with open(opened, "rb") as file:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode) or (whole and about.st_size > limit):
            raise Unusable(f"{name} is no plain file of at most {limit} bytes")
        return file.read(limit)


def _write(place: int, name: str, data: bytes) -> None:
    """Make a new file; where that fails, there is none.

    Raises:
        OSError: it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = os.open(name, flags, 0o600, dir_fd=place)
    try:
        with open(opened, "wb") as file:
            file.write(data)
    except BaseException:
        os.unlink(name, dir_fd=place)
        raise
