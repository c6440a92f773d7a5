"""Project folders: written whole or not at all, and read back."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from match_aie.codegen.manifest import FILE
from match_aie.errors import ProjectError
from match_aie.toolchain.exchange import exchange
from match_aie.toolchain.locks import exclusive, shared
from match_aie.toolchain.ours import clear, refuse_foreign
from match_aie.toolchain.places import place_of, refuse_unwritable, try_instead
from match_aie.toolchain.project import Project
from match_aie.toolchain.record import Record, parse

#: Bytes of a name that leave room for what is put before and behind it (255 in all on Linux).
_LONGEST = 240


def write(
    sources: Mapping[str, bytes], folder: str | os.PathLike[str], *, overwrite: bool = False
) -> Project:
    """Write `sources` as a project folder, in one step as seen from outside.

    Several processes may write, build and run in one folder: a project is replaced when nobody
    reads, builds or runs it. One with the same contents is left as it is, with what was built.

    Args:
        sources: file contents by relative path.
        folder: where; made if missing, with the folders above it.
        overwrite: replace a project that is there already; what match_aie did not write, or what
            was edited since, is never deleted.

    Raises:
        ProjectError: something else is there, or the place cannot be written.
    """
    place = free_place(folder, overwrite=overwrite)
    fresh = _beside(place, "new")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        while not _written(fresh, place, sources, overwrite):
            pass  # somebody took the new folder for dead before it was locked: make it again
    except OSError as error:
        # What lay beside it is gone when the user reads this.
        said = str(error.filename or place)
        raise ProjectError(
            f"the project cannot be written: {error.strerror or error}",
            where=str(place) if said.startswith(str(fresh)) else said,
            hint=try_instead(error),
        ) from error
    finally:
        # After success it is gone; where the same project was there, and after an error or an
        # interrupt, it may not stay. Others who look for what the dead left stay away meanwhile.
        with exclusive(fresh):
            _discard(fresh, frozenset(sources))
    return load(place)


def free_place(folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Where a project would be written: what can be seen of it before anything is compiled.

    Args:
        folder: as the user names it.
        overwrite: a project that is there may be replaced.

    Raises:
        ProjectError: something else is there, or no project can be put there.
    """
    # The last folder may be a link to where projects are kept: replace what it leads to.
    place = place_of(folder)
    place = place.resolve() if place.is_symlink() else place
    recover(place)
    with shared(place):
        _check_free(place, overwrite)
    refuse_unwritable(place)
    return place


def _written(fresh: Path, place: Path, sources: Mapping[str, bytes], overwrite: bool) -> bool:
    """Make and fill `fresh`, and put it at `place`; False where it was removed before the lock.

    Raises:
        ProjectError: what is there may not be replaced.
        OSError: it cannot be done.
    """
    fresh.mkdir()
    with exclusive(fresh):
        if not fresh.is_dir():
            return False
        for name in sorted(sources, key=lambda name: (name != FILE, name)):
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sources[name])
        while not _put(fresh, place, sources, overwrite):
            pass  # another process was faster: look again
    return True


def _put(fresh: Path, place: Path, sources: Mapping[str, bytes], overwrite: bool) -> bool:
    """Put `fresh` at `place`; False where another process was faster and it is to be looked again.

    Raises:
        ProjectError: what is there may not be replaced.
        OSError: it cannot be done.
    """
    if not (place / FILE).exists():
        try:
            os.rename(fresh, place)  # onto nothing, or onto an empty folder
        except OSError:
            if not (place / FILE).exists():
                raise
            return False
        return True
    with exclusive(place):
        if not (place / FILE).exists():
            return False
        _check_free(place, overwrite)
        if all(_same(place / name, data) for name, data in sources.items()):
            return True
        old = _beside(place, "old")
        exchange(fresh, place, old)
        try:
            # Somebody may have added or edited a file just now.
            refuse_foreign(old)
        except BaseException:
            exchange(old, place, fresh)
            raise
        _discard(old, frozenset())
    return True


def recover(place: Path) -> None:
    """Bring back a project whose replacement was killed half way; what it left is removed."""
    pattern = re.compile(re.escape(_stem(place)) + r"[0-9a-f]{8}\.(new|old)")
    try:
        left = [place.parent / n for n in os.listdir(place.parent) if pattern.fullmatch(n)]
    except OSError:
        return
    for path in sorted(left, key=lambda path: path.suffix != ".old"):
        bring = path.suffix == ".old" and not place.exists()
        # Whoever made it holds a lock on it for as long as it lives; without locks nobody knows.
        with exclusive(path, wait=bring) as dead:
            try:
                if bring and dead and not place.exists():
                    os.rename(path, place)
                elif dead and path.suffix == ".old":
                    refuse_foreign(path)
                    clear(path)
                elif dead:
                    clear(path)
            except (OSError, ProjectError):
                continue  # somebody else's, or somebody else was faster: it harms nobody


def _beside(place: Path, kind: str) -> Path:
    return place.parent / f"{_stem(place)}{secrets.token_hex(4)}.{kind}"


def _stem(place: Path) -> str:
    """How names of folders beside `place` begin: with its own, or a digest of one that is long."""
    name = os.fsencode(place.name)
    kept = place.name if len(name) <= _LONGEST else hashlib.sha256(name).hexdigest()[:32]
    return f".{kept}."


def _same(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def _discard(folder: Path, names: frozenset[str]) -> None:
    """Delete what we wrote to `folder`; an interrupt meanwhile waits until that is gone."""
    try:
        clear(folder, names)
    except (KeyboardInterrupt, OSError) as interrupt:
        clear(folder, names)
        if isinstance(interrupt, KeyboardInterrupt):
            raise


def _check_free(place: Path, overwrite: bool) -> None:
    try:
        if not place.exists() or (place.is_dir() and not any(place.iterdir())):
            return
        if not place.is_dir():
            raise ProjectError("there is a file of that name", where=str(place))
        if not (place / FILE).is_file():
            raise ProjectError(
                "the folder is not empty and is no match_aie project",
                where=str(place),
                hint="choose another folder",
            )
        if not overwrite:
            raise ProjectError(
                "there is a project already",
                where=str(place),
                hint="allow overwriting (overwrite=True, --overwrite), or choose another folder",
            )
        refuse_foreign(place)
    except OSError as error:
        raise ProjectError(
            f"the folder cannot be read: {error.strerror or error}", where=str(place)
        ) from error


def load(folder: str | os.PathLike[str], *, edited: bool = False) -> Project:
    """The project in `folder`.

    Args:
        folder: where.
        edited: run files as they are, whether or not they are what was compiled.

    Raises:
        ProjectError: there is none, it is damaged or incomplete, or of another schema version.
    """
    place = place_of(folder)
    if not place.exists():
        recover(place)
    with shared(place):
        return Project(place, _read(place), edited)


def _read(place: Path) -> Record:
    path = place / FILE
    if not path.is_file():
        kind = f"a folder without {FILE}" if place.is_dir() else "a file, not a folder"
        found = kind if place.exists() else "the folder is missing"
        raise ProjectError(
            f"no match_aie project here: {found}",
            where=str(place),
            hint="give the folder that `match-aie compile` wrote",
        )
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise ProjectError(f"{FILE} cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise ProjectError(
            f"{FILE} is damaged: {error}", where=str(path), hint="compile the model again"
        ) from error
    record = parse(document, place)
    missing = [name for name in record.files if not (place / name).is_file()]
    if missing:
        raise ProjectError(
            f"the project is incomplete: {', '.join(missing[:5])} missing",
            where=str(place),
            hint="compile the model again",
        )
    return record
