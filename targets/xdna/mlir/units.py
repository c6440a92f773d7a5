"""Files of an emitted project beside the text: kernels, host programs, commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.hardware import Unit
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.emulation import ARCH_MACRO
from match_aie.targets.aie_ml.graph.write import FOLDER
from match_aie.targets.xdna.mlir.dialect import DIALECTS, Dialect
from match_aie.targets.xdna.mlir.objects import ObjectFile
from match_aie.targets.xdna.mlir.tensors import GraphHost

#: What Peano calls the cores of an architecture (`--target=aie2-none-unknown-elf`).
PEANO = {"XDNA1": "aie2", "XDNA2": "aie2p"}

#: Headers that kernels are compiled with, where the vendor's graph API is not there.
KERNEL_FILES = (
    "mlir/kernels/adf.h",
    "mlir/kernels/aie_api/aie_adf.hpp",
    "mlir/kernels/ma_npu.h",
)

#: What host programs in C++ share.
HOST_FILES = ("mlir/ma_xrt.h",)


@dataclass(frozen=True, eq=False)
class Configured:
    """A configuration of the array.

    Attributes:
        name: of its text.
        hosts: host programs, one for each sequence.
        objects: files that its cores link.
    """

    name: str
    hosts: Sequence[GraphHost]
    objects: Sequence[ObjectFile]

    @property
    def shared(self) -> bool:
        """Whether its sequences have names of their own."""
        return any(host.name != self.name for host in self.hosts)


def kernel_units(made: Sequence[ObjectFile]) -> list[Unit]:
    """Sources of object files, and the headers of kernels that they include.

    Functions that are called whole are those of the folder for ADF graphs.
    """
    found: dict[str, Unit] = {}
    for one in made:
        for k in one.headers:
            path = f"{FOLDER}/{k.family}.hpp"
            found[path] = Unit(path, k.template, {"k": k})
        path = f"mlir/kernels/{one.symbol}.cc"
        found[path] = Unit(path, "xdna/kernel.cc.mako", {"o": one})
    return list(found.values())


def host_units(host: GraphHost) -> list[Unit]:
    """Host programs of a graph, and the words of constants that it streams."""
    head = f"mlir/{host.name}"
    found = [
        Unit(f"{head}_host.cpp", "xdna/host.cpp.mako", {"h": host}),
        Unit(f"{head}_host.py", "xdna/host.py.mako", {"h": host}, verbatim=True),
    ]
    if host.constants is not None:
        write = {"write": host.constant_words}
        found.append(Unit(f"{head}_constants.txt", "aie/text.mako", write, verbatim=True))
    return found


def command_units(
    network: str,
    graphs: Sequence[Configured],
    device: Device,
    dialect: Dialect,
) -> list[Unit]:
    """The commands of the open tool chain, and what host programs in Python share.

    Args:
        network: C identifier.
        graphs: configurations of the array.
        device: the processor.
        dialect: of the text.
    """
    name = device.architecture.name
    values: dict[str, object] = {
        "network": network,
        "configurations": graphs,
        "hosts": [host for graph in graphs for host in graph.hosts],
        "device": device,
        "dialect": dialect,
        "dialects": tuple(DIALECTS),
        "arch": PEANO[name],
        "macro": f"-D__AIE_ARCH__={ARCH_MACRO[name]} ",
    }
    return [
        Unit("mlir/Makefile", "xdna/makefile.mako", values, verbatim=True),
        Unit("mlir/README.md", "xdna/readme.md.mako", values, verbatim=True),
        Unit("mlir/ma_npu.py", "xdna/ma_npu.py.mako", verbatim=True),
    ]
