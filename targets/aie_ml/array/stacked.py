"""Banks of a tile that runs several layers (`kernels.stack.Stack`).

What a layer stores is what the next one loads, so results go to and fro between two banks, and a
layer's numbers by column lie beside its results: no layer loads activations from the bank into
which it stores. Weights have the banks between.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.kernels.stack import Stack


@dataclass(frozen=True)
class Banked:
    """A buffer and its banks.

    Attributes:
        name: unique in the tile.
        banks: logical ones.
        bytes: of one copy.
        copies: 2 for what streams fill or empty.
        role: as `array.program.Buffer` has it.
        north: whether it lies in the memory of the tile north.
    """

    name: str
    banks: tuple[int, ...]
    bytes: int
    copies: int
    role: str
    north: bool = False


def stack_banks(stack: Stack, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Everything in the tile's memory, bank by bank; why it does not fit."""
    count, size = logical_banks(device)
    if count < 3:
        return Infeasible("memory banks of a tile", 3, count, "banks", ("one layer a tile",))
    sides, weights = ((0,), (count - 1,)), tuple(range(1, count - 1))
    first, last = stack.nests[0].call.spec, len(stack.nests) - 1
    found = [Banked("in0", sides[0], first.m * first.k * BYTES[first.a], 2, "a")]
    for at, nest in enumerate(stack.nests):
        into = sides[(at + 1) % 2]
        for p in nest.parameters:
            much = p.size * BYTES[p.c_type]
            banks, role = (weights, "w") if p.name == "w" else (into, "bias")
            found.append(Banked(f"{p.name}{at}", banks, much, 1, role))
        name, copies, role = (stack.kept(at), 1, "kept") if at < last else ("out", 2, "out")
        found.append(Banked(name, into, stack.kept_bytes(at), copies, role))
    least = device.need(device.architecture.core.stack_default_bytes, "default stack")
    found.append(Banked("stack", sides[1], least, 1, "stack"))
    taken: dict[tuple[int, ...], int] = defaultdict(int)
    for one in found:
        taken[one.banks] += one.bytes * one.copies
    for banks, much in taken.items():
        if much > len(banks) * size:
            what = f"banks {banks} of kernel {stack.symbol}"
            return Infeasible(what, much, len(banks) * size, "bytes", ("fewer layers a tile",))
    return tuple(found)
