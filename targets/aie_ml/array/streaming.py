"""Banks of a tile of attention whose keys and values go by (`kernels.attention_parts.PartsCall`).

Copies of a part of the keys and values have a bank each; queries that arrive lie in one of them.
What loops between the products read and write lies in a third, sums of results in a fourth.

Products alone load from the copies' banks where the model's arithmetic is kept: arrays of the table
lie in the other two, since the DMA fills none of these. A running softmax has an array of its table
beside each copy, and queries beside sums where there is room: then the first product stores where
it does not load. In bfloat16 the stack, and what belongs to single rows, lie where most is left.
"""

from __future__ import annotations

from math import ceil

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.stacked import Banked
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall
from match_aie.targets.aie_ml.kernels.float_attention import FloatAttention
from match_aie.targets.aie_ml.kernels.running_attention import RunningAttention
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: What helps where the smallest block and part, which the search tries, are too large.
LEVERS = ("heads of fewer elements", "another module for the layer (pins)")

#: Share of a call's cycles in which a running softmax's table is read, at most. ASSUMPTION: of what
#: schedules say, rounded up.
GATHERING = 1 / 3

#: Banks by what lies there: of all such functions, and of each kind.
_ALWAYS = {"scores": 0, "sums": 3}
_KEPT = _ALWAYS | {"queries": 0, "w": 0, "cd": 3, "turn": 3, "bias0": 3, "out": 1, "stack": 0}
_RUNNING = _ALWAYS | {"powers": 0, "masses": 0, "w": 1, "cd": 2, "turn": 0, "out": 0, "stack": 0}
_FLOAT = _ALWAYS | {"queries": 0, "out": 1}

#: What lies in which bank, likewise.
_KEPT_WHAT = (
    "queries, scores and exponentials",
    "keys and values of a part and results",
    "keys and values of a part and queries that arrive",
    "sums of results",
)
_RUNNING_WHAT = (
    "scores, powers, sums of weights and results",
    "keys and values of a part and an array of the table",
    "keys and values of a part, an array of the table and queries that arrive",
    "queries and sums of results",
)
_FLOAT_WHAT = ("queries and scores", *_KEPT_WHAT[1:])


def _places(call: PartsCall) -> tuple[dict[str, int], tuple[str, ...]]:
    """Banks by name, and what lies in which."""
    if isinstance(call, RunningAttention):
        return _RUNNING | {"queries": 3 if call.queries_beside_sums else 0}, _RUNNING_WHAT
    return (_FLOAT, _FLOAT_WHAT) if isinstance(call, FloatAttention) else (_KEPT, _KEPT_WHAT)


def streaming_banks(call: PartsCall, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Buffers of a tile in banks, or what there is too little of."""
    places, what = _places(call)
    banks, size = logical_banks(device)
    if banks < len(what):
        return Infeasible("memory banks of a tile", len(what), banks, "banks", LEVERS)
    local = {name: BYTES[dtype] * many for name, dtype, many in call.local}
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    stack += sum(much for name, much in local.items() if name not in places)
    needs = [(name, much, "kept") for name, much in local.items() if name in places]
    needs += [(p.name, p.size * BYTES[p.c_type], "bias") for p in call.parameters]
    out = call.rows * call.width * BYTES[call.dtype]
    needs += [("out", out, "out"), ("stack", stack, "stack")]
    found = [
        Banked("in0", (2,), call.piece * BYTES[call.scores.spec.a], 2, "a"),
        Banked("in1", (1, 2), call.held * BYTES[call.scores.spec.b], 2, "w"),
    ]
    found += [Banked(n, (places[n],), much, 1, role) for n, much, role in needs if n in places]
    taken = [_taken(found, bank) for bank in range(len(what))]
    room = taken.index(min(taken))
    found += [Banked(n, (room,), much, 1, role) for n, much, role in needs if n not in places]
    for bank, text in enumerate(what):
        if (much := _taken(found, bank)) > size:
            return Infeasible(f"a bank of a tile for {text}", much, size, "bytes", LEVERS)
    return tuple(found)


def _taken(buffers: list[Banked], bank: int) -> int:
    """Bytes of a bank that buffers take."""
    return sum(b.bytes * b.copies // len(b.banks) for b in buffers if bank in b.banks)


def shared_bytes(call: PartsCall) -> int:
    """Bytes a call, on average, that the DMA moves where products, or the table, are loaded from.

    Queries that arrive, and results that leave, while products load keys and values; of these,
    which come where half of a running softmax's table lies, the share of `GATHERING`. Each word of
    128 bits costs the core a cycle.
    """
    block, spec = call.rows * call.width, call.scores.spec
    moved = call.together * block * BYTES[spec.a] + block * BYTES[call.dtype]
    gathers = isinstance(call, RunningAttention)
    met = GATHERING * call.parts * call.held * BYTES[spec.b] if gathers else 0
    return ceil((moved + met) / len(call.phases))
