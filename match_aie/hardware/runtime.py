"""Files that a target ships beside its Python: C sources and headers of emitted projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from importlib.resources import files
from operator import truediv
from types import MappingProxyType

from match_aie.errors import TargetError


@dataclass(frozen=True)
class Runtime:
    """C that an emitted project calls.

    Attributes:
        files: contents by path in the project. Headers go to include/. C files are compiled into
            the host's library: they are the emulation, and belong into emulation/.
        headers: what the network's C includes, in this order, such as "ma_tiles.h".
        layer_headers: what it includes after them where any module runs a layer of it.
        guard: C function of the headers, `const char *guard(void)`: why the machine that it runs
            on cannot run the code, in a sentence, or NULL; empty where any can.
        entry: C function that runs the network's steps and gives a status, such as "ma_network"
            of ma_platform.h; empty where the steps are called as they are.
        vendor: further files by path, which only the chip's own tool chain compiles.
        rules: one of them, which the project's Makefile includes: how `make NAME` builds for the
            chip, such as "pmsis/gap9.mk" for `make gap9`. NETWORK and SOURCES are set there.
    """

    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    headers: tuple[str, ...] = ()
    layer_headers: tuple[str, ...] = ()
    guard: str = ""
    entry: str = ""
    vendor: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    rules: str = ""


def runtime_files(package: str, names: Sequence[str]) -> dict[str, bytes]:
    """Files below the folder `runtime` of a package, by the same paths.

    Args:
        package: such as "match_aie.targets.common".
        names: paths below its `runtime`, such as "include/ma_tiles.h".

    Raises:
        TargetError: the package has no such file.
    """
    folder, found = files(package), {}
    for name in names:
        file = reduce(truediv, ("runtime", *name.split("/")), folder)
        if not file.is_file():
            raise TargetError(f"package {package} has no file runtime/{name}", where=str(folder))
        found[name] = file.read_bytes()
    return found


#: What every chip with a scratchpad and a DMA needs: the tile walk, and its emulation. The chip
#: adds emulation/ma_chip.h: MA_L1_BYTES, MA_CORES, MA_DMA_TRANSFERS, MA_DMA_ALIGNMENT.
SCRATCHPAD_FILES = (
    "include/ma_beside.h",
    "include/ma_platform.h",
    "include/ma_tiles.h",
    "include/ma_walk.h",
    "emulation/ma_host.c",
    "emulation/ma_host.h",
)
