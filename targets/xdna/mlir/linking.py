"""What the linker of a core's ELF file has room for."""

from __future__ import annotations

from itertools import pairwise

from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.program import ArrayProgram, Core
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.objects import initial
from match_aie.targets.xdna.mlir.places import Addresses, addresses


def crowded(program: ArrayProgram, device: Device, dialect: Dialect) -> str:
    """Which cores have no room for initial values a second time; "" for none.

    Until September 2026 mlir-aie's object file of a core held the values of its buffers too, and
    the linker wants room for them beside the buffers, though nothing reads them there.

    Args:
        program: the array's.
        device: what it is for.
        dialect: its version says where the linker puts such data.
    """
    at = addresses(program, device)
    lacking = []
    for core in program.cores:
        over = _copied(program, core) - _room(program, core, at, device, dialect.widest_gap)
        if over > 0:
            lacking.append((over, core.tile))
    if not lacking:
        return ""
    over, tile = max(lacking)
    return (
        f"{len(lacking)} of {len(program.cores)} cores lack room for a second copy of their "
        f"weights (tile {tile}: {over} bytes), without which mlir-aie from before September 2026 "
        "does not link them"
    )


def _copied(program: ArrayProgram, core: Core) -> int:
    """Bytes of a core's buffers that begin with values."""
    own = [buffer for buffer in program.buffers if buffer.tile == core.tile]
    return sum(b.bytes * b.copies for b in own if initial(program, b) is not None)


def _room(program: ArrayProgram, core: Core, at: Addresses, device: Device, widest: bool) -> int:
    """Bytes behind a core's last buffer; of the widest gap between two of them where one is."""
    banks, size = logical_banks(device)
    spans = sorted(
        (place, place + buffer.bytes)
        for buffer in program.buffers
        if buffer.tile == core.tile and buffer.role != "stack"
        for place in at[core.tile, buffer.name]
    )
    gaps = [banks * size - max((end for _, end in spans), default=0)]
    if widest:
        gaps += [begin - end for (_, end), (begin, _) in pairwise(spans)]
    return max(gaps)
