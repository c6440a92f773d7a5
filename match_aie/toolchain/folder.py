"""Project folders: written whole or not at all, and read back."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from match_aie.codegen.manifest import FILE
from match_aie.errors import ProjectError
from match_aie.toolchain.project import Project
from match_aie.toolchain.record import Record, parse

#: What a project's folder may hold beside the files written: made by builds and reports.
_MADE_LATER = ("build", "report.html")


def write(
    sources: Mapping[str, bytes], folder: str | os.PathLike[str], *, overwrite: bool = False
) -> Project:
    """Write `sources` as a project folder, in one step as seen from outside.

    Args:
        sources: file contents by relative path.
        folder: where; made if missing, with the folders above it.
        overwrite: replace a project that is there already.

    Raises:
        ProjectError: something else is there, or the place cannot be written.
    """
    # The last folder may be a link to where projects are kept: replace what it leads to.
    place = Path(folder).expanduser().absolute()
    place = place.resolve() if place.is_symlink() else place
    _check_free(place, overwrite)
    stem = f".{place.name}.{secrets.token_hex(4)}"
    fresh, old = place.parent / f"{stem}.new", place.parent / f"{stem}.old"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh.mkdir()
        for name, data in sources.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        _exchange(fresh, place, old)
    except OSError as error:
        raise ProjectError(
            f"the project cannot be written: {error.strerror or error}",
            where=str(error.filename or place),
            hint="choose a folder that you may write to",
        ) from error
    finally:
        # After success the first is gone; after an error or an interrupt neither may stay.
        try:
            _discard(fresh)
        finally:
            if place.exists():
                _discard(old)
    return load(place)


def _discard(folder: Path) -> None:
    """Delete `folder` if it is there; an interrupt meanwhile waits until it is gone."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except (KeyboardInterrupt, OSError) as interrupt:
        # rmtree ignores other errors; an interrupt in its os.close becomes "bad file descriptor".
        shutil.rmtree(folder, ignore_errors=True)
        raise KeyboardInterrupt from interrupt


def _exchange(fresh: Path, place: Path, old: Path) -> None:
    """Put `fresh` at `place`; whatever happens, `place` is the old or the new one, whole."""
    try:
        if place.exists():
            os.rename(place, old)
        os.rename(fresh, place)
    finally:
        if old.exists() and not place.exists():
            os.rename(old, place)


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
        _check_own(place)
    except OSError as error:
        raise ProjectError(
            f"the folder cannot be read: {error.strerror or error}", where=str(place)
        ) from error


def _check_own(place: Path) -> None:
    """Refuse to delete what match_aie did not write."""
    known = set(_files(place / FILE))
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if name.split("/")[0] in _MADE_LATER or (path.is_dir() and not path.is_symlink()):
            continue
        if name not in known:
            raise ProjectError(
                "the project's folder holds a file that match_aie did not write",
                where=str(path),
                hint="move it away, or choose another folder",
            )


def _files(manifest: Path) -> tuple[str, ...]:
    """Paths that the manifest lists, of whatever schema version; none where it is damaged."""
    try:
        files = json.loads(manifest.read_bytes())["files"]
        return tuple(str(name) for name in files)
    except (ValueError, KeyError, TypeError):
        return ()


def load(folder: str | os.PathLike[str], *, edited: bool = False) -> Project:
    """The project in `folder`.

    Args:
        folder: where.
        edited: run files as they are, whether or not they are what was compiled.

    Raises:
        ProjectError: there is none, it is damaged or incomplete, or of another schema version.
    """
    place = Path(folder).expanduser().absolute()
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
