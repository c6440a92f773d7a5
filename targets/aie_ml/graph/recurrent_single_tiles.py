"""Tiles of a recurrent layer in float32: functions of every way, and which lie beside which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.recurrent_single import single_banks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import GraphKernel
from match_aie.targets.aie_ml.graph.recurrent_splits import cell_of
from match_aie.targets.aie_ml.kernels.recurrent_single import (
    GROUPS,
    LANES,
    SingleCall,
    SingleSpec,
)
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import LinkCall, chain_of
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import SentCall, keep_call
from match_aie.workload import Workload

#: Tiles above each other: two with rows, and those for their inputs; the one that collects is
#: above.
HIGH = 4

#: Tiles that may send each other packets.
MOST_SENDERS = 16


def single_call(workload: Workload, name: str) -> SingleCall:
    """The function of a layer on one tile, with the shortest calls."""
    sizes = workload.sizes
    units = LANES * ceil(sizes["K"] / LANES)
    names = f"{name}_steps", f"{name}_kernels.h", SingleSpec(cell_of(workload))
    return SingleCall(*names, sizes["OY"], sizes["C"], sizes["K"], units, 1)


def ways_of(call: SingleCall) -> Iterator[SingleCall]:
    """The functions of the first tile with states, of every way, fewest tiles first."""
    yield call
    yield replace(call, parts=("steps",))
    for senders in range(2, MOST_SENDERS + 1):
        units = LANES * ceil(call.hidden / (LANES * senders))
        if (senders - 1) * units < call.hidden:
            rows = replace(call, symbol=f"{call.symbol}_rows", units=units, parts=("steps",))
            yield replace(rows, role="rows", senders=senders)


def in_groups(call: SingleCall, device: Device) -> Iterator[SingleCall]:
    """The same with calls, or sums, of more steps, as far as there is room."""
    groups = dict.fromkeys(min(group, call.steps) for group in GROUPS)
    longer = (replace(call, group=group) for group in groups)
    return (
        each
        for each in longer
        if not any(isinstance(single_banks(tile, device), Infeasible) for tile in tiles_of(each))
    )


def tiles_of(call: SingleCall) -> tuple[SingleCall, ...]:
    """The functions of all tiles, from the lowest row up; `call` is one of them."""
    if isinstance(call, LinkCall):
        return chain_of(call)
    if isinstance(call, SentCall):
        return hybrid_tiles(call)
    if "inputs" in call.parts:
        return (call,)
    inputs = replace(
        call, symbol=_named(call, "inputs"), parts=("inputs",), role="alone", senders=0
    )
    if not call.senders:
        return inputs, call
    row = inputs, replace(call, symbol=_named(call, "rows"), role="rows")
    both = in_pairs(*row, call.senders)
    return (*both, replace(call, symbol=_named(call, "states"), parts=(), role="gather"))


def _named(call: SingleCall, what: str) -> str:
    return f"{call.symbol.rpartition('_rows')[0] if call.senders else call.symbol}_{what}"


def wide(call: SingleCall) -> int:
    """Columns that its tiles take."""
    if isinstance(call, LinkCall):
        return call.chain
    return max(1, ceil(call.senders / 2))


def kernel_of(call: SingleCall) -> GraphKernel:
    """A kernel of the function, without its numbers."""
    out, sent = call.output_size or None, call.sent_size or None
    return GraphKernel(call, (0, 0), call.input_sizes, out, 1, walks=True, sent=sent)


def in_pairs(inputs: SingleCall, row: SingleCall, senders: int) -> Iterator[SingleCall]:
    """So many tiles with rows, each beside one that multiplies inputs; rows meet in the middle."""
    for tile in range(senders):
        yield from (row, inputs) if tile % 2 else (inputs, row)


def beside(row: int) -> int:
    """Which tile multiplies the inputs of the tile with rows that has this number."""
    return row - 1 if row % HIGH == 1 else row + 1


def hybrid_tiles(call: SentCall) -> tuple[SingleCall, ...]:
    """The functions of all tiles, from the lowest row up; `call` is one of them."""
    name = call.symbol.removesuffix("_rows") + "_inputs"
    same = name, call.header, call.spec, call.steps, call.inputs, call.hidden, call.units
    inputs = SingleCall(*same, call.group, ("inputs",))
    return (*in_pairs(inputs, call, call.senders), keep_call(call))
