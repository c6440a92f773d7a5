"""Mako layer templates, one folder per chip; only `match_aie.codegen` opens them."""

from importlib.resources import files
from pathlib import PurePosixPath

from match_aie.errors import TargetError, shorten

if __name__ != "match_aie.templates":
    raise ImportError("this folder installs as match_aie.templates; import it by that name")


def source(name: str) -> str:
    """Text of the template at `name`, a path below this folder such as "cpu/conv2d.c.mako".

    Raises:
        TargetError: there is no such template.
    """
    path = PurePosixPath(name)
    found = files(__name__).joinpath(*path.parts)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".mako" or not found.is_file():
        raise TargetError(
            f"there is no layer template {shorten(name, 80)!r}",
            hint="ExecModule.template gives the path below templates/, such as 'cpu/dense.c.mako'",
        )
    return found.read_text(encoding="utf-8")
