"""Results of searches on disk, shared by processes and by compilations.

Entries are JSON text in a `diskcache.Cache` (SQLite). Nothing stored is ever unpickled: a folder
that others can write to could otherwise run their code.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, TypeVar, cast

from match_aie.errors import Infeasible, OptionError, ProjectError
from match_aie.hardware import cost_from_json, cost_to_json, mapping_from_json, mapping_to_json
from match_aie.mapping.search import MappedCost

Found = list[MappedCost] | Infeasible

#: Names the folder, or turns the cache off with one of `OFF`.
VARIABLE = "MATCH_AIE_CACHE"
OFF = ("", "0", "off", "no", "none", "false")

#: Least recently stored entries go when the folder holds more bytes than this.
SIZE_LIMIT = 256 << 20


class CacheWarning(UserWarning):
    """The cache was damaged or cannot be used; results are right all the same."""


def cache_folder(setting: bool | str | os.PathLike[str]) -> Path | None:
    """Where results are kept; None for nowhere.

    Args:
        setting: False for nowhere, a folder, or True for the one that the environment variable
            MATCH_AIE_CACHE names ("off" for none) or else the platform's folder for caches.
    """
    if setting is False:
        return None
    if setting is not True:
        return Path(setting)
    named = os.environ.get(VARIABLE)
    if named is not None:
        return None if named.strip().lower() in OFF else Path(named).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("match_aie") / "search"


@contextmanager
def open_cache(setting: bool | str | os.PathLike[str]) -> Iterator[SearchCache | None]:
    """The cache that `setting` means (see `cache_folder`); None where it means none."""
    folder = cache_folder(setting)
    if folder is None:
        yield None
        return
    cache = SearchCache(folder)
    try:
        yield cache
    finally:
        cache.close()


T = TypeVar("T")


class _Store(Protocol):
    """What is used of a `diskcache.Cache`."""

    def get(self, key: str) -> object:
        """The value, or None."""

    def set(self, key: str, value: str) -> bool:
        """Keep a value."""

    def close(self) -> None:
        """Close the files."""


class SearchCache:
    """Search results by key. No failure of the disk is an error: it is a warning and a miss."""

    def __init__(self, folder: Path) -> None:
        """Open or create `folder`.

        Raises:
            OptionError: `folder` is a file.
        """
        if folder.exists() and not folder.is_dir():
            raise OptionError(
                "the folder for cached searches is a file",
                where=str(folder),
                hint=f"another folder (cache= or {VARIABLE}), or remove the file",
            )
        self.folder = folder
        self._store: _Store | None = None
        self._guarded(self._open)

    def get(self, key: str) -> Found | None:
        """What was stored under `key`; None where nothing was, or it is damaged."""
        store = self._store
        text = None if store is None else self._guarded(lambda: store.get(key))
        if text is None:
            return None
        try:
            return decode(str(text))
        except (ProjectError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._warn(f"an entry is damaged ({error}); searching again")
            return None

    def put(self, key: str, found: Found) -> None:
        """Store `found` under `key`."""
        store, text = self._store, encode(found)
        if store is not None:
            self._guarded(lambda: store.set(key, text))

    def close(self) -> None:
        """Close the files."""
        if self._store is not None:
            self._guarded(self._store.close)

    def _open(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._store = _text_store(self.folder)

    def _guarded(self, action: Callable[[], T]) -> T | None:
        """`action()`; a damaged folder is rebuilt, one that cannot be used is left alone."""
        from diskcache import Timeout

        try:
            return action()
        except (Timeout, OSError, sqlite3.Error, UnicodeError, ValueError) as error:
            self._recover(error)
            return None

    def _recover(self, error: Exception) -> None:
        self._store = None
        if not _damaged(error):
            self._warn(f"the cache cannot be used ({error}); searching without")
            return
        self._warn(f"the cache is damaged ({error}); starting an empty one")
        aside = self.folder.with_name(f"{self.folder.name}.damaged-{os.getpid()}")
        try:
            # Renamed first: another process may be doing the same, and one of the two succeeds.
            self.folder.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
        except OSError:
            pass
        try:
            self._open()
        except (OSError, sqlite3.Error) as again:
            self._store = None
            self._warn(f"the cache cannot be rebuilt ({again}); searching without")

    def _warn(self, what: str) -> None:
        warnings.warn(f"{self.folder}: {what}", CacheWarning, stacklevel=4)


def _damaged(error: Exception) -> bool:
    """Whether the contents are at fault, rather than the disk, permissions or another process."""
    if isinstance(error, sqlite3.OperationalError):
        return str(error).startswith("no such")
    return isinstance(error, sqlite3.DatabaseError | UnicodeError | ValueError)


def _text_store(folder: Path) -> _Store:
    """A `diskcache.Cache` that holds text only."""
    import diskcache

    class TextDisk(diskcache.Disk):  # type: ignore[misc]
        """Refuses pickles."""

        def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> object:
            if mode == diskcache.core.MODE_PICKLE:
                raise ValueError("an entry is no text")
            return super().fetch(mode, filename, value, read)

    store = diskcache.Cache(str(folder), disk=TextDisk, size_limit=SIZE_LIMIT, timeout=30)
    return cast("_Store", store)


def encode(found: Found) -> str:
    """A search's answer as JSON text; `decode` gives an equal one."""
    if isinstance(found, Infeasible):
        return json.dumps({"infeasible": asdict(found)}, sort_keys=True)
    rows = [
        {
            "mapping": mapping_to_json(row.mapping),
            "cost": cost_to_json(row.cost),
            "bound": None if row.bound is None else float(row.bound).hex(),
        }
        for row in found
    ]
    return json.dumps({"found": rows}, sort_keys=True)


def decode(text: str) -> Found:
    """The answer that `encode` wrote.

    Raises:
        ProjectError, ValueError, KeyError, TypeError: `text` is something else.
    """
    data = json.loads(text)
    if "infeasible" in data:
        reason = dict(data["infeasible"])
        reason["levers"] = tuple(reason["levers"])
        reason["breakdown"] = tuple((str(who), much) for who, much in reason["breakdown"])
        return Infeasible(**reason)
    rows = [
        MappedCost(
            mapping_from_json(row["mapping"]),
            cost_from_json(row["cost"]),
            None if row["bound"] is None else float.fromhex(row["bound"]),
        )
        for row in data["found"]
    ]
    if not rows:
        raise ValueError("no mapping")
    return rows
