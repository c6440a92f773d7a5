"""Banks of a tile that runs attention (`kernels.attention.AttentionCall`).

Keys lie in one bank and values in another, each with one array of the table, which is read while
neither is; queries and results in a third; what is local to the function (scores among it) in a
fourth. So no loop reads two things of a bank, and the DMA fills what no product reads. What it
brings of the next head meets the table's reads: a word of 16 bytes in four cycles at most, which
neither the cost model nor the simulator charges. Values with a port of their own lie in two banks
of the tile north, whose DMA brings them.
"""

from __future__ import annotations

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.stacked import Banked
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.attention import AttentionCall
from match_aie.targets.aie_ml.kernels.lookup import ENTRIES
from match_aie.targets.aie_ml.kernels.spec import BYTES

LEVERS = ("more columns for a layer (columns_per_layer)", "run the layer as its three layers")

#: Bytes of one of the table's two arrays.
TABLE = 4 * 2 * ENTRIES


def attending_banks(call: AttentionCall, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Buffers of a tile in banks, or what there is too little of."""
    banks, size = logical_banks(device)
    first, second = call.scores.spec, call.values.spec
    q = first.m * first.k * BYTES[first.a]
    out = second.m * second.n * BYTES[second.requantise.dtype]
    biases = {p.name: p.size * BYTES["int32"] for p in call.parameters[2:]}
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    queries = 2 * q + 2 * out
    # The second product's bias lies with its results, or with scores where that bank is full.
    beside = 0 if queries + biases.get("bias1", 0) <= size else 3
    kept = {0: 0, 3: biases.get("bias0", 0)}
    kept[beside] += biases.get("bias1", 0)
    local = stack + call.stack_bytes + kept[3]
    held = call.held * BYTES[first.b]
    groups = (
        ("queries and results, twice", queries + kept[0]),
        ("keys, or values, of a head and a table", held + TABLE),
        ("scores and exponentials", local),
    )
    for what, much in groups:
        if much > size:
            return Infeasible(f"a bank of a tile for {what}", much, size, "bytes", LEVERS, groups)
    if banks < 4:
        return Infeasible("memory banks of a tile", 4, banks, "banks", LEVERS, groups)
    return (
        Banked("in0", (0,), q, 2, "a"),
        Banked("in1", (1, 2), held, 2, "w"),
        *([Banked("in2", (0, 1), held, 2, "w", north=True)] if call.apart else []),
        Banked("w", (1,), TABLE, 1, "w"),
        Banked("cd", (2,), TABLE, 1, "bias"),
        *(
            Banked(name, (3 if name == "bias0" else beside,), much, 1, "bias")
            for name, much in biases.items()
        ),
        Banked("out", (0,), out, 2, "out"),
        Banked("stack", (3,), stack + call.stack_bytes, 1, "stack"),
    )
