"""Banks of a tile of attention with a running softmax (`kernels.running_attention`).

Copies of a part of the keys and values have a bank each, with an array of the table, and one of
them queries that arrive. Scores, powers, sums of weights, results and the stack lie in a third,
sums of results in a fourth, and queries with these, where there is room: then the first product
stores where it does not load.
"""

from __future__ import annotations

from math import ceil

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.stacked import Banked
from match_aie.targets.aie_ml.array.streaming import LEVERS
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.running_attention import TABLE, RunningAttention
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: Share of a call's cycles in which the table is read, at most. ASSUMPTION: of what schedules say,
#: rounded up.
GATHERING = 1 / 3

#: What lies in which bank.
_WHAT = (
    "scores, powers, sums of weights and results",
    "keys and values of a part and an array of the table",
    "keys and values of a part, an array of the table and queries that arrive",
    "queries and sums of results",
)


def running_banks(call: RunningAttention, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Buffers of a tile in banks, or what there is too little of."""
    banks, size = logical_banks(device)
    if banks < len(_WHAT):
        return Infeasible("memory banks of a tile", len(_WHAT), banks, "banks", LEVERS)
    first = call.scores.spec
    bytes_of = {name: BYTES[dtype] * many for name, dtype, many in call.local}
    least = device.need(device.architecture.core.stack_default_bytes, "default stack")
    table = BYTES["int16"] * TABLE
    found = (
        Banked("in0", (2,), call.piece * BYTES[first.a], 2, "a"),
        Banked("in1", (1, 2), call.held * BYTES[first.b], 2, "w"),
        Banked("queries", (3 if call.queries_beside_sums else 0,), bytes_of["queries"], 1, "kept"),
        Banked("scores", (0,), bytes_of["scores"], 1, "kept"),
        Banked("powers", (0,), bytes_of["powers"], 1, "kept"),
        Banked("masses", (0,), bytes_of["masses"], 1, "kept"),
        Banked("sums", (3,), bytes_of["sums"], 1, "kept"),
        Banked("w", (1,), table, 1, "bias"),
        Banked("cd", (2,), table, 1, "bias"),
        Banked("turn", (0,), 4 * call.parameters[2].size, 1, "bias"),
        Banked("out", (0,), call.rows * call.width * BYTES[call.dtype], 1, "out"),
        Banked("stack", (0,), least, 1, "stack"),
    )
    taken = [0] * len(_WHAT)
    for one in found:
        for bank in one.banks:
            taken[bank] += one.bytes * one.copies // len(one.banks)
    for bank, much in enumerate(taken):
        if much > size:
            what = f"a bank of a tile for {_WHAT[bank]}"
            return Infeasible(what, much, size, "bytes", LEVERS)
    return found


def running_shared_bytes(call: RunningAttention) -> int:
    """Bytes a call, on average, that the DMA moves where products, or the table, are loaded from.

    Queries that arrive, and results that leave, while products load; of keys and values, which come
    where half of the table lies, the share of `GATHERING`. Each word of 128 bits costs the core a
    cycle.
    """
    block = call.rows * call.width
    moved = call.together * block * BYTES[call.scores.spec.a] + block * BYTES[call.dtype]
    met = GATHERING * call.parts * call.held * BYTES[call.scores.spec.b]
    return ceil((moved + met) / len(call.phases))
