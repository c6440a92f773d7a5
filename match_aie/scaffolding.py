"""A new target's package, written to a folder."""

from __future__ import annotations

import os
import secrets
import shutil
from importlib.util import find_spec
from pathlib import Path

from match_aie.codegen.scaffold import scaffold, scaffold_names
from match_aie.errors import OptionError, ProjectError
from match_aie.hardware import target_names
from match_aie.toolchain.places import place_of, try_instead


def new_target(
    name: str, folder: str | os.PathLike[str] | None = None, *, tiled: bool = False
) -> Path:
    """Write a package that `pip install -e` takes: a target with one module and one template.

    Args:
        name: what users call the chip.
        folder: where; the name of the package below the working folder by default.
        tiled: whether the chip has a scratchpad into which tiles are moved.

    Returns:
        The folder.

    Raises:
        OptionError: the name is none, or taken.
        ProjectError: something is there already, or the folder cannot be written.
    """
    names = scaffold_names(name)
    if name.casefold() in (known.casefold() for known in target_names()):
        raise OptionError(f"there is a target called {name} already", hint="choose another name")
    if find_spec(names.package) is not None:
        raise OptionError(
            f"there is a package called {names.package} already", hint="choose another name"
        )
    place = place_of(folder or names.package)
    fresh = place.parent / f".{place.name}.{secrets.token_hex(4)}.new"
    try:
        if place.exists() and not (place.is_dir() and not any(place.iterdir())):
            raise ProjectError("something is there already", where=str(place))
        for path, text in scaffold(names, tiled=tiled).items():
            file = fresh / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        os.replace(fresh, place)
    except OSError as error:
        raise ProjectError(
            f"the package cannot be written: {error.strerror or error}",
            where=str(place),
            hint=try_instead(error),
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return place
