"""Banks of a tile that runs a recurrent layer (`kernels.recurrent`): two sides of two banks.

Halves of the weights lie on both sides, so that a product loads a vector from each; so do both
arrays of the tables. Within a side, whatever is accessed counts as one bank.
"""

from __future__ import annotations

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.stacked import Banked
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.recurrent import NEAR, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: C++ types of run-time parameters that are not named as data types.
_NAMES = {"float": "float32"}

LEVERS = ("fewer hidden units", "fewer inputs")


def recurrent_banks(call: RecurrentCall, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Everything in the tile's memory, side by side; why it does not fit."""
    count, size = logical_banks(device)
    if count < 4:
        return Infeasible("memory banks of a tile", 4, count, "banks", ("another device",))
    near, far = tuple(range(count // 2)), tuple(range(count // 2, count))
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    found = [
        Banked("in0", near, call.group * call.x_width * call.x_bytes, 2, "a"),
        Banked("out", near, call.out_bytes, 2, "out"),
        Banked("stack", far, stack + call.stack_bytes, 1, "stack"),
    ]
    if isinstance(call, AnyJoined):
        found.append(Banked("in1", far, call.whole * call.h_bytes, 2, "a"))
    for p in call.parameters:
        role = "w" if p.name in ("w", "v") else "bias"
        much = p.size * BYTES[_NAMES.get(p.c_type, p.c_type)]
        found.append(Banked(p.name, near if p.name in NEAR else far, much, 1, role))
    for side in (near, far):
        taken = sum(one.bytes * one.copies for one in found if one.banks == side)
        if taken > len(side) * size:
            what = f"half of the memory of the tile of kernel {call.symbol}"
            return Infeasible(what, taken, len(side) * size, "bytes", LEVERS)
    return tuple(found)
