"""Versions of the MLIR-AIE dialect that the text can be in: what differs between them.

From the dialect's definitions, verifiers and test files (github.com/Xilinx/mlir-aie). A name is a
month in which the forms were current; the README of an emitted project says which to take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.known import device as known


@dataclass(frozen=True)
class Dialect:
    """One version.

    Attributes:
        name: year and month.
        sequence: the operation that holds the host's transfers (`aie` since November 2025).
        globals: whether a way of the host needs a `memref.global` of its name, which
            `aiex.npu.dma_wait` looks up; else its allocation is the symbol.
        allocation_tile: whether `aie.shim_dma_allocation` names a tile, and not a column.
        lock_values: whether `aie.use_lock` takes a number; else an SSA value (July 2026).
        positional: whether `aie.dma_bd` takes numbers by place; else by name (July 2026).
        core_links: whether `aie.core` names the object file; else the function does.
        most_size: elements of a dimension. Verifiers said 1023 and took 512 until July 2026.
        most_step: a step is smaller. Likewise 2**20, and 2**19 was taken.
        numbers_written: whether `aiex.npu.rtp_write` takes a number; else an SSA value.
        widest_gap: whether a core's data goes into the widest gap between its buffers; else behind
            the last one (July 2026).
        devices: names of devices that differ from ours.
    """

    name: str
    sequence: str = "aie.runtime_sequence"
    globals: bool = False
    allocation_tile: bool = True
    lock_values: bool = True
    positional: bool = True
    core_links: bool = True
    most_size: int = 512
    most_step: int = 1 << 19
    numbers_written: bool = True
    widest_gap: bool = False
    devices: Mapping[str, str] = field(default_factory=dict)

    def device(self, device: Device) -> str:
        """What it calls a device, or a partition of a device's first columns."""
        if device.columns < known(device.name).columns:
            return f"{device.name}_{device.columns}col"
        return self.devices.get(device.name, device.name)


#: `npu1_4col` became `npu1` in June 2025; `iron` and `aiecc` of that time go with it.
MAY_2025 = Dialect(
    "2025-05",
    sequence="aiex.runtime_sequence",
    globals=True,
    allocation_tile=False,
    devices={"npu1": "npu1_4col"},
)

MARCH_2026 = Dialect("2026-03")

#: Descriptors by keyword, and values of locks as operands.
AUGUST_2026 = Dialect(
    "2026-08",
    lock_values=False,
    positional=False,
    core_links=False,
    numbers_written=False,
    most_size=1023,
    most_step=1 << 20,
    widest_gap=True,
)

DIALECTS: Mapping[str, Dialect] = {one.name: one for one in (MAY_2025, MARCH_2026, AUGUST_2026)}

#: Where nothing is asked for.
DEFAULT = MARCH_2026


def dialect_of(name: str) -> Dialect:
    """The version of that name.

    Raises:
        TargetError: it is not printed.
    """
    if name not in DIALECTS:
        raise TargetError(f"no MLIR-AIE text of {name!r}", hint=", ".join(DIALECTS))
    return DIALECTS[name]
