"""Banks of a tile whose keys and values go by (`kernels.streamed_attention.StreamedAttention`).

Copies of a part of the keys and values have a bank each, which products alone load from. Scores,
what a softmax adds up, and queries lie in a third, sums of results in a fourth; so the second
product loads from three. Arrays of the table lie in these two, since the DMA fills none of them.
"""

from __future__ import annotations

from collections import defaultdict

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.stacked import Banked
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.lookup import ENTRIES
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.kernels.streamed_attention import StreamedAttention

LEVERS = ("fewer rows of queries a block", "fewer keys a part")

#: Bytes of one of the table's two arrays.
TABLE = 4 * 2 * ENTRIES

#: What lies in which bank.
_WHAT = (
    "queries, scores and exponentials",
    "keys and values of a part and results",
    "keys and values of a part and queries that arrive",
    "sums of results",
)


def streaming_banks(call: StreamedAttention, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Buffers of a tile in banks, or what there is too little of."""
    banks, size = logical_banks(device)
    if banks < len(_WHAT):
        return Infeasible("memory banks of a tile", len(_WHAT), banks, "banks", LEVERS)
    first, last = call.scores.spec, call.values.spec
    bytes_of = {name: BYTES[dtype] * many for name, dtype, many in call.local}
    least = device.need(device.architecture.core.stack_default_bytes, "default stack")
    rest = bytes_of["most"] + bytes_of["totals"]
    out = last.m * last.n * BYTES[last.requantise.dtype]
    found = (
        Banked("in0", (2,), call.piece * BYTES[first.a], 2, "a"),
        Banked("in1", (1, 2), call.held * BYTES[first.b], 2, "w"),
        Banked("queries", (0,), bytes_of["queries"], 1, "kept"),
        Banked("scores", (0,), bytes_of["scores"], 1, "kept"),
        Banked("sums", (3,), bytes_of["sums"], 1, "kept"),
        Banked("w", (0,), TABLE, 1, "bias"),
        Banked("cd", (3,), TABLE, 1, "bias"),
        *(Banked(p.name, (3,), 4 * p.size, 1, "bias") for p in call.parameters[2:]),
        Banked("out", (1,), out, 1, "out"),
        Banked("stack", (0,), least + rest, 1, "stack"),
    )
    taken: dict[int, int] = defaultdict(int)
    for one in found:
        for bank in one.banks:
            taken[bank] += one.bytes * one.copies // len(one.banks)
    for bank, much in sorted(taken.items()):
        if much > size:
            what = f"a bank of a tile for {_WHAT[bank]}"
            return Infeasible(what, much, size, "bytes", LEVERS)
    return found


def shared_bytes(call: StreamedAttention) -> int:
    """Bytes a call, on average, that the DMA moves where products load keys and values.

    Queries that arrive, and results that leave; each word of 128 bits costs the core a cycle.
    """
    first, last = call.scores.spec, call.values.spec
    queries = call.together * first.m * first.k * BYTES[first.a]
    return -(-(queries + last.m * last.n * BYTES[last.requantise.dtype]) // len(call.phases))
