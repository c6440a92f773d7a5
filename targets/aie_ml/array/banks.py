"""Buffers of a core's tile in its memory's banks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.attending import attending_banks
from match_aie.targets.aie_ml.array.local import LEVERS, Demand, logical_banks
from match_aie.targets.aie_ml.array.program import Buffer, Tile, Work
from match_aie.targets.aie_ml.array.recurrent import met_bytes, recurrent_banks
from match_aie.targets.aie_ml.array.recurrent_single import single_banks, single_met_bytes
from match_aie.targets.aie_ml.array.stacked import Banked, stack_banks
from match_aie.targets.aie_ml.array.streaming import shared_bytes, streaming_banks
from match_aie.targets.aie_ml.array.works import Ports, table_entries
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import Call, GraphKernel
from match_aie.targets.aie_ml.kernels.attention import AttentionCall
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_single import SingleCall
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.kernels.stack import Stack
from match_aie.targets.aie_ml.schedule.generated import kernel_of
from match_aie.targets.aie_ml.schedule.loads import beside_steps, loading

#: Bytes beside the stack of a core that may be told its turns at run time, as those of programs are
#: that share a configuration: a number's buffer is a vector.
_TOLD = 32

#: Bytes of an entry of a table of addresses that lies with a kernel's code.
_ENTRY = 4


@dataclass(frozen=True)
class CoreBuffers:
    """A tile's buffers, and bytes a call that the DMA writes into a bank that is loaded from."""

    buffers: tuple[Buffer, ...]
    shared: int


#: Buffers in banks, or what lacks; and bytes that the DMA and the kernel meet at.
Own = tuple[tuple[Banked, ...] | Infeasible, int]


def core_buffers(
    kernel: GraphKernel, names: Ports, work: tuple[Work, ...], tile: Tile, device: Device
) -> CoreBuffers | Infeasible:
    """Banks for the kernel's buffers, parameters, tables and stack."""
    own = _own_banks(kernel, names, device)
    if own is not None:
        places, shared = own
        return _banked(places, kernel, names, work, tile, shared)
    if isinstance(kernel.call, Nest) and kernel.call.streamed and kernel.call.k_tiles > 1:
        return _turned(kernel.call, names, work, tile, device)
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    stack += kernel.call.stack_bytes
    sizes = {p.name: p.size * BYTES[p.c_type] for p in kernel.call.parameters}
    tables = _ENTRY * table_entries(kernel.call)
    more = [size for _, size in names.inputs[1:]]
    out = names.output[1] if names.output is not None else 0
    rest = sum(size for name, size in sizes.items() if name != "w")
    need = Demand(names.inputs[0][1], sizes.get("w", 0), sum(more), out, rest + tables + stack)
    banks, size = logical_banks(device)
    plan = _with_beside(need, kernel.call, device).plan(banks, size)
    if plan is None:
        breakdown = (
            ("activations, twice", 2 * need.inputs),
            ("weights", need.resident + 2 * need.streamed),
            ("results, numbers, stack", 2 * need.outputs + need.fixed),
        )
        taken = sum(ceil(much / size) for _, much in breakdown)
        return Infeasible(
            f"memory banks of kernel {kernel.call.symbol}",
            taken,
            banks,
            f"banks of {size} bytes",
            LEVERS,
            breakdown,
        )
    first = tuple(range(plan.input_banks))
    second = tuple(range(len(first), len(first) + plan.weight_banks))
    third = tuple(range(len(first) + len(second), len(first) + len(second) + plan.other_banks))
    third = third or first
    fills = {name: sum(name in one.gives for one in work) for name in names.names}
    found = [
        Buffer(name, tile, second if at else first, much, 2, "w" if at else "a", fills[name])
        for at, (name, much) in enumerate(names.inputs)
    ]
    values = dict(kernel.values)
    for name, much in sizes.items():
        group, role = (second, "w") if name == "w" else (third, "bias")
        found.append(Buffer(name, tile, group, much, 1, role, values=values.get(name)))
    if tables:
        found.append(Buffer("tables", tile, third, tables, 1, "bias"))
    if names.output is not None:
        found.append(Buffer("out", tile, third, out, 2, "out", fills["out"]))
    return CoreBuffers((*found, Buffer("stack", tile, third, stack, 1, "stack")), plan.shared)


def _with_beside(need: Demand, call: Call, device: Device) -> Demand:
    """With the accesses beside its steps, of a product of rows by weights that stay."""
    if not isinstance(call, Nest) or call.streamed or call.k_tiles > 1:
        return need
    s = call.call.spec
    return replace(need, beside=beside_steps(kernel_of(s), (s.m, s.k, s.n), device))


def _own_banks(kernel: GraphKernel, names: Ports, device: Device) -> Own | None:
    """Of a call that places its buffers itself, and bytes that the DMA and it meet at."""
    call = kernel.call
    if isinstance(call, Stack):
        # The DMA fills one copy of x in all of the layers' calls.
        return stack_banks(call, device), ceil(names.inputs[0][1] / len(call.nests))
    if isinstance(call, AttentionCall):
        return attending_banks(call, device), 0
    if isinstance(call, PartsCall):
        return streaming_banks(call, device), shared_bytes(call)
    if isinstance(call, SingleCall):
        return single_banks(call, device), single_met_bytes(call)
    if isinstance(call, RecurrentCall):
        places = recurrent_banks(call, device)
        met = 0 if isinstance(places, Infeasible) else met_bytes(call, places)
        return places, met
    return None


def _turned(
    nest: Nest, names: Ports, work: tuple[Work, ...], tile: Tile, device: Device
) -> CoreBuffers | Infeasible:
    """Of a function whose calls take turns, whose weights come by stream."""
    spec = nest.call.spec
    # A first turn with other blocks is one of many.
    kernel = kernel_of(replace(nest, first_block=None).kernels[0])
    size = spec.m, spec.k, spec.n
    (_, inputs), (_, weights) = names.inputs
    out = names.output[1] if names.output is not None else 0
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    parameters = {p.name: 4 * p.size for p in nest.parameters}
    told = _TOLD if nest.primed else 0
    need = Demand(
        inputs,
        0,
        weights,
        out,
        stack + sum(parameters.values()) + told,
        nest.sums_bytes + nest.held_bytes,
        nest.k_tiles,
        loading(kernel, size, device),
    )
    banks, each = logical_banks(device)
    plan = need.plan(banks, each)
    if plan is None:
        breakdown = (
            ("activations and weights of a turn, twice", 2 * (inputs + weights)),
            ("waiting sums", need.sums),
            ("results, numbers, stack", out + need.fixed),
        )
        taken = max(banks + 1, ceil(sum(much for _, much in breakdown) / each))
        what = f"memory banks of kernel {nest.symbol}"
        return Infeasible(what, taken, banks, f"banks of {each} bytes", LEVERS, breakdown)
    places = dict(plan.places)
    fills = {name: sum(name in one.gives for one in work) for name in names.names}
    found = [
        Buffer(name, tile, places[role], much, 2, role, fills[name])
        for role, (name, much) in zip("aw", names.inputs, strict=True)
    ]
    found.append(Buffer("sums", tile, places["sums"], nest.sums_bytes, 1, "kept"))
    if nest.held_bytes:
        found.append(Buffer("numbers", tile, places["sums"], nest.held_bytes, 1, "kept"))
    found += [Buffer(n, tile, places["stack"], s, 1, "bias") for n, s in parameters.items()]
    if out:
        found.append(Buffer("out", tile, places["out"], out, 1, "out", fills["out"]))
    found.append(Buffer("stack", tile, places["stack"], stack, 1, "stack"))
    return CoreBuffers(tuple(found), plan.shared)


def _banked(
    placed: tuple[Banked, ...] | Infeasible,
    kernel: GraphKernel,
    names: Ports,
    work: tuple[Work, ...],
    tile: Tile,
    shared: int,
) -> CoreBuffers | Infeasible:
    """Of a function whose buffers have their banks already."""
    if isinstance(placed, Infeasible):
        return placed
    values = dict(kernel.values)
    fills = {name: sum(name in one.gives for one in work) for name in names.names}
    found = [
        Buffer(
            one.name,
            (tile[0], tile[1] + 1) if one.north else tile,
            one.banks,
            one.bytes,
            one.copies,
            one.role,
            fills.get(one.name, 0),
            values=values.get(one.name),
        )
        for one in placed
    ]
    return CoreBuffers(tuple(found), shared)
