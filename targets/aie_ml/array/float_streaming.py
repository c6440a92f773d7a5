"""Banks of a tile of attention in bfloat16 whose keys and values go by (`FloatAttention`).

Copies of a part of the keys and values have a bank each, which products alone load from; results
and queries that arrive lie there, too. Queries and scores lie in a third, sums of results in a
fourth; the stack, and what belongs to single rows, where most is left.
"""

from __future__ import annotations

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.stacked import Banked
from match_aie.targets.aie_ml.array.streaming import LEVERS
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.float_attention import FloatAttention
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: What lies in which bank.
_WHAT = (
    "queries and scores",
    "keys and values of a part and results",
    "keys and values of a part and queries that arrive",
    "sums of results",
)


def float_streaming_banks(call: FloatAttention, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Buffers of a tile in banks, or what there is too little of."""
    banks, size = logical_banks(device)
    if banks < len(_WHAT):
        return Infeasible("memory banks of a tile", len(_WHAT), banks, "banks", LEVERS)
    wide = BYTES["bfloat16"]
    bytes_of = {name: BYTES[dtype] * many for name, dtype, many in call.local}
    least = device.need(device.architecture.core.stack_default_bytes, "default stack")
    found = [
        Banked("in0", (2,), call.piece * wide, 2, "a"),
        Banked("in1", (1, 2), call.held * wide, 2, "w"),
        Banked("queries", (0,), bytes_of["queries"], 1, "kept"),
        Banked("scores", (0,), bytes_of["scores"], 1, "kept"),
        Banked("sums", (3,), bytes_of["sums"], 1, "kept"),
        Banked("out", (1,), call.rows * call.width * wide, 1, "out"),
    ]
    taken = [0] * len(_WHAT)
    for one in found:
        for bank in one.banks:
            taken[bank] += one.bytes * one.copies // len(one.banks)
    room = min(range(len(taken)), key=lambda bank: (taken[bank], bank))
    apart = {"queries", "scores", "sums"}
    stack = least + sum(size for name, size in bytes_of.items() if name not in apart)
    turn = 4 * call.parameters[0].size
    found += [Banked("turn", (room,), turn, 1, "bias"), Banked("stack", (room,), stack, 1, "stack")]
    taken[room] += turn + stack
    for bank, much in enumerate(taken):
        if much > size:
            what = f"a bank of a tile for {_WHAT[bank]}"
            return Infeasible(what, much, size, "bytes", LEVERS)
    return tuple(found)


def float_shared_bytes(call: FloatAttention) -> int:
    """Bytes a call, on average, that the DMA moves where products load keys and values.

    Queries that arrive, and results that leave; each word of 128 bits costs the core a cycle.
    """
    block = call.rows * call.width * BYTES["bfloat16"]
    return -(-(call.together + 1) * block // len(call.phases))
