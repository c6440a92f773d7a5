"""Constants as a module packs them, held against what the layer and its layouts say."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf

import numpy as np

from match_aie.errors import TargetError, shorten
from match_aie.hardware import ExecModule, Mapping, Packed, Tiled, facet, packings
from match_aie.workload import Operand, Workload


def packed_constants(
    workload: Workload,
    module: ExecModule,
    mapping: Mapping,
    constants: MappingOf[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """What the emitted code of a layer reads, by operand name.

    Args:
        workload: the layer.
        module: that runs it.
        mapping: how.
        constants: by operand name, not packed.

    Raises:
        TargetError: the module leaves one out, gives something that is no array, another element
            type, or another layout than it declares.
    """
    packed = facet(module, Packed).pack_mapped(workload, mapping, constants)
    who = f"{type(module).__name__}.pack() of a {workload.kind}"
    where = f"module {module.name}"
    if not isinstance(packed, MappingOf):
        raise TargetError(
            f"{who} gives {shorten(repr(packed), 60)}, not arrays by operand name", where=where
        )
    layouts = packings(workload, module)
    moves = len(module.memories) > 1 and not facet(module, Tiled).caches
    for operand in workload.constants:
        if operand.name not in packed:
            raise TargetError(
                f"{who} leaves out {operand.name}: it gives {', '.join(packed) or 'nothing'}",
                where=where,
                hint="start from the constants that it gets: {**constants, ...}",
            )
        value = packed[operand.name]
        wrong = "it is no numpy array"
        if isinstance(value, np.ndarray):
            packing = layouts.get(operand.name)
            expected = packing.nbytes(operand) if packing else None
            opaque = packing is not None and packing.cell is not None
            wrong = _unlike(operand, value, expected, opaque, moves)
        if wrong:
            raise TargetError(
                f"{who}: {operand.name}: {wrong}",
                where=where,
                hint="pack() and layouts() are two sides of one thing; see docs/targets.md",
            )
    return {operand.name: packed[operand.name] for operand in workload.constants}


def _unlike(
    operand: Operand, value: np.ndarray, expected: int | None, opaque: bool, moves: bool
) -> str:
    """What is wrong with a packed constant; "" where nothing is.

    Args:
        operand: as the layer has it.
        value: packed.
        expected: bytes that its layout takes; None where it has none.
        opaque: whether the layout leaves the bytes to the module.
        moves: whether tiles of it are moved, so that its layout must be known.
    """
    has = f"{value.dtype} {list(value.shape)}"
    needs = f"{operand.dtype} {list(operand.shape)}"
    if value.dtype.hasobject:
        return f"it is an array of {value.dtype}"
    if expected is not None and value.nbytes != expected:
        return f"its layout takes {expected} bytes, and {has} is {value.nbytes}"
    if opaque:
        return ""
    plain = value.shape == operand.shape or expected is not None
    # Bytes are how modules that move nothing pack what only their own code reads.
    raw = not moves and value.dtype.itemsize == 1
    if (plain or moves) and value.dtype.name != operand.dtype and not raw:
        return f"it is {has}, and the layer reads {needs}"
    if moves and not plain:
        return (
            f"it is {has} where the layer has {needs}, and layouts() does not say how it lies; "
            "tiles would be cut where no block begins"
        )
    return ""
