"""The drawing library that a page brings along: Vega, Vega-Lite and Vega-Embed in one script.

It comes out of the installed package vl-convert, which needs seconds to join its parts; so the
script is kept beside the cache of searches. All three are under BSD's licence with three clauses,
which lets a page with them belong to whoever made it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from match_aie.mapping.cache import cache_folder
from match_aie.report.figures.figure import VEGA_LITE

#: SHA-256 of the script by vl-convert's version. What lies in a cache may be anyone's: only these
#: bytes are taken from there. Of other versions the script is joined anew each time.
DIGESTS = {"1.9.0": "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572"}

#: Bytes of a kept script that are read.
_LARGEST = 4_000_000


@cache
def javascript() -> str:
    """The script; it defines `vegaEmbed` and loads nothing."""
    import vl_convert

    digest = DIGESTS.get(vl_convert.__version__)  # type: ignore[attr-defined]
    place = _place(digest)
    if place is not None and digest is not None:
        kept = _read(place)
        if hashlib.sha256(kept).hexdigest() == digest:
            return kept.decode()
    # The package's type stubs do not know that the snippet may be left out.
    made = str(vl_convert.javascript_bundle(vl_version=VEGA_LITE))  # type: ignore[call-arg]
    if place is not None:
        _keep(place, made.encode())
    return made


def _place(digest: str | None) -> Path | None:
    """Where the script is kept; None for nowhere."""
    try:
        folder = cache_folder(True)
    except RuntimeError:  # nobody's home
        return None
    return folder / f"page-{digest[:16]}.js" if folder is not None and digest else None


def _read(place: Path) -> bytes:
    """What lies there; nothing where it is no file, or too large to be ours."""
    try:
        if not place.is_file():
            return b""
        with place.open("rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""


def _keep(place: Path, script: bytes) -> None:
    """Write it whole or not at all; what lies there already, or a full disk, is left as it is."""
    with suppress(OSError):  # to look is refused, too, in a folder that is another user's
        if place.exists() or place.is_symlink():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=place.parent, prefix=".page-")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(script)
            Path(name).replace(place)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
