"""Mako layer templates, one folder per chip; only `match_aie.codegen` opens them.

A target outside this package brings its own and names them "package:path".
"""

from functools import reduce
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import truediv
from pathlib import PurePosixPath

from match_aie.errors import TargetError, shorten

if __name__ != "match_aie.templates":
    raise ImportError("this folder installs as match_aie.templates; import it by that name")


def source(name: str) -> str:
    """Text of the template `name`.

    Args:
        name: a path below this folder such as "cpu/conv2d.c.mako"; or the name of any installed
            package, a colon, and a path below that package, such as "my_chip:dense.c.mako".

    Raises:
        TargetError: there is no such package or template.
    """
    package, colon, below = name.rpartition(":")
    path, where = PurePosixPath(below), ""
    if not path.is_absolute() and ".." not in path.parts and path.suffix == ".mako":
        folder = _folder(package if colon else __name__, name)
        where = str(folder)
        found = reduce(truediv, path.parts, folder)
        if found.is_file():
            return found.read_text(encoding="utf-8")
    raise TargetError(
        f"there is no layer template {shorten(name, 80)!r}",
        where=where,
        hint="ExecModule.template gives the path below templates/, such as 'cpu/dense.c.mako', or "
        "below a package of your own, such as 'my_chip:dense.c.mako'",
    )


def _folder(package: str, name: str) -> Traversable:
    """Where the files of `package` lie.

    Raises:
        TargetError: it is no installed package.
    """
    try:
        return files(package)
    except (ImportError, TypeError, ValueError) as error:
        raise TargetError(
            f"layer template {shorten(name, 80)!r}: there is no package {shorten(package, 60)!r}",
            hint="before the colon stands the name that `import` takes",
        ) from error
