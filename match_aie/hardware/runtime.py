"""Files that a target ships beside its Python: C sources and headers of emitted projects."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from match_aie.errors import TargetError


def runtime_files(package: str, names: Sequence[str]) -> dict[str, bytes]:
    """Files below the folder `runtime` of a package, by the same paths.

    Args:
        package: such as "match_aie.targets.common".
        names: paths below its `runtime`, such as "include/ma_tiles.h".

    Raises:
        TargetError: the package has no such file.
    """
    found = {}
    for name in names:
        file = files(package).joinpath("runtime", *name.split("/"))
        if not file.is_file():
            raise TargetError(f"package {package} has no file runtime/{name}")
        found[name] = file.read_bytes()
    return found


#: What every chip with a scratchpad and a DMA needs: the tile walk, and its emulation. The chip
#: adds emulation/ma_chip.h: MA_L1_BYTES, MA_CORES, MA_DMA_TRANSFERS, MA_DMA_ALIGNMENT.
SCRATCHPAD_FILES = (
    "include/ma_platform.h",
    "include/ma_tiles.h",
    "emulation/ma_host.c",
    "emulation/ma_host.h",
)
