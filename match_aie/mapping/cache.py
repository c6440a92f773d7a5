"""Results of searches on disk, shared by processes and by compilations.

Entries are JSON text in plain files (`store`). What lies there may be anyone's: nothing is
unpickled, and an answer is used only if the independent checker accepts it (`revalidate`).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from match_aie.errors import Infeasible, ProjectError, shorten
from match_aie.hardware import (
    ExecModule,
    cost_from_json,
    cost_to_json,
    mapping_from_json,
    mapping_to_json,
)
from match_aie.mapping.options import SearchOptions
from match_aie.mapping.revalidate import Found, objection
from match_aie.mapping.search import MappedCost
from match_aie.mapping.store import Store, Unusable
from match_aie.workload import Workload

#: Names the folder, or turns the cache off with one of `OFF`.
VARIABLE = "MATCH_AIE_CACHE"
OFF = ("", "0", "off", "no", "none", "false")

#: One in so many stored entries looks whether old ones must make room.
TRIM_EVERY = 64


class CacheWarning(UserWarning):
    """The cache was damaged or cannot be used; results are right all the same."""


def cache_folder(setting: bool | str | os.PathLike[str]) -> Path | None:
    """Where results are kept; None for nowhere.

    Args:
        setting: False for nowhere, a folder, or True for the one that the environment variable
            MATCH_AIE_CACHE names ("off" for none) or else the platform's folder for caches.

    Raises:
        RuntimeError: it lies in a home folder that nobody has.
    """
    if setting is False:
        return None
    if setting is not True:
        return Path(setting)
    named = os.environ.get(VARIABLE)
    if named is not None:
        return None if named.strip().lower() in OFF else Path(named).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("match_aie").expanduser() / "search"


@contextmanager
def open_cache(setting: bool | str | os.PathLike[str]) -> Iterator[SearchCache | None]:
    """The cache that `setting` means (see `cache_folder`); None where it means none."""
    try:
        folder = cache_folder(setting)
    except RuntimeError as error:
        warnings.warn(f"no cache of searches: {error}", CacheWarning, stacklevel=3)
        folder = None
    if folder is None:
        yield None
        return
    cache = SearchCache(folder)
    try:
        yield cache
    finally:
        cache.close()


class SearchCache:
    """Search results by key. No failure of the disk is an error: it is one warning, and a miss."""

    def __init__(self, folder: Path) -> None:
        """Open or create the cache's own subfolder of `folder`; without it nothing is found."""
        self.folder = folder
        self._warned = self._full = False
        self._store: Store | None = None
        try:
            self._store = Store(folder)
        except (OSError, ValueError, Unusable) as error:
            self._warn(f"the cache cannot be used ({_said(error)}); searching without")

    def get(
        self, key: str, workload: Workload, module: ExecModule, options: SearchOptions
    ) -> Found | None:
        """What was stored under `key`; None where nothing was, or it is damaged or does not fit.

        Args:
            key: see `facts.search_key`.
            workload: that was searched.
            module: on which.
            options: of the search.
        """
        if self._store is None:
            return None
        try:
            text = self._store.get(key)
            found = None if text is None else decode(text)
        except (OSError, Unusable, ProjectError, ValueError, TypeError, RecursionError) as error:
            self._warn(f"an entry is damaged ({_said(error)}); searching again")
            return None
        wrong = "" if found is None else objection(found, workload, module, options)
        if wrong:
            self._warn(f"an entry does not fit ({shorten(wrong, 200)}); searching again")
            return None
        return found

    def put(self, key: str, found: Found) -> None:
        """Store `found` under `key`."""
        if self._store is None or self._full:
            return
        try:
            self._store.put(key, encode(found))
            if int(key[:8], 16) % TRIM_EVERY == 0:
                self._store.trim()
        except Unusable as error:
            self._warn(f"an answer cannot be stored ({_said(error)})")
        except OSError as error:
            self._full = True
            self._warn(f"answers cannot be stored ({_said(error)})")

    def close(self) -> None:
        """Close the folder."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _warn(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            where = shorten(str(self.folder))
            warnings.warn(f"{where}: {what}", CacheWarning, stacklevel=3)


def _said(error: Exception) -> str:
    """What went wrong, in a few words that may be printed."""
    text = error.strerror if isinstance(error, OSError) else None
    return shorten(str(text or error) or type(error).__name__, 200)


def encode(found: Found) -> bytes:
    """A search's answer as JSON text; `decode` gives an equal one."""
    if isinstance(found, Infeasible):
        return json.dumps({"infeasible": asdict(found)}, sort_keys=True).encode()
    rows = [
        {
            "mapping": mapping_to_json(row.mapping),
            "cost": cost_to_json(row.cost),
            "bound": None if row.bound is None else float(row.bound).hex(),
            "nbytes": row.nbytes,
        }
        for row in found
    ]
    return json.dumps({"found": rows}, sort_keys=True).encode()


def decode(text: bytes) -> Found:
    """The answer that `encode` wrote.

    Raises:
        ProjectError, ValueError, TypeError, RecursionError: `text` is something else.
    """
    data = json.loads(text)
    try:
        if "infeasible" in data:
            reason = dict(data["infeasible"])
            reason["levers"] = tuple(reason["levers"])
            reason["breakdown"] = tuple((who, much) for who, much in reason["breakdown"])
            return Infeasible(**reason)
        rows = [_row(row) for row in data["found"]]
    except (KeyError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not rows:
        raise ValueError("no mapping")
    return rows


def _row(row: dict[str, object]) -> MappedCost:
    """One mapping with its cost; what is wrong in it raises anything that `decode` knows."""
    bound, nbytes = row["bound"], row["nbytes"]
    if nbytes is not None and type(nbytes) is not int:
        raise ValueError("nbytes is no number")
    return MappedCost(
        mapping_from_json(row["mapping"]),  # type: ignore[arg-type]  # refuses what is no object
        cost_from_json(row["cost"]),  # type: ignore[arg-type]
        None if bound is None else float.fromhex(str(bound)),
        nbytes,
    )
