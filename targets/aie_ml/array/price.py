"""The cost model's view of a mapping: what it asks of tiles, streams and the ways in and out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from match_aie.cost_models.aie_array import ArrayCost, Work, array_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.fit import (
    Fit,
    MemoryPlan,
    buffer_ports,
    fit,
    program_bytes,
    schedules,
)
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.handing import hand
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer, Order
from match_aie.targets.aie_ml.array.local import LocalPlan
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule import CallSchedule
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES


@dataclass(frozen=True)
class Priced:
    """A mapping that fits, with its cost."""

    mapping: ArrayMapping
    cost: ArrayCost
    local: LocalPlan


@dataclass(frozen=True)
class Body:
    """The slowest kernel of a chain: cycles of a call, around it, and of the cascade's way."""

    cycles: float
    around: float
    skew: float


def price(
    mapping: ArrayMapping, device: Device, assumed: Assumed, *, near: bool = False
) -> Priced | Infeasible:
    """What a mapping costs, or what it lacks.

    Args:
        mapping: that is priced.
        device: the array.
        assumed: times that no document states.
        near: as `plan_local`.

    Raises:
        TargetError: a fact that the mapping needs is not known of the device.
    """
    fitted = fit(mapping, device, near=near)
    if isinstance(fitted, Infeasible):
        return fitted
    floor, local, memory = fitted.floor, fitted.local, fitted.memory
    calls = schedules(mapping, device)
    program = max(program_bytes(turns, device) for turns in calls)
    bound = device.architecture.core.program_memory_bytes
    if program > bound:
        return Infeasible("program memory", program, bound, "bytes", ("smaller blocks", "a loop"))
    body = _slowest(mapping, calls, assumed, device)
    work = _work(mapping, device, assumed, floor, memory, local, body)
    return Priced(mapping, array_cost(work), local)


def bound_of(
    mapping: ArrayMapping, device: Device, assumed: Assumed, fitted: Fit, call: int = 0
) -> ArrayCost:
    """A cost that no schedule of the kernels beats: products at the core's full rate.

    Args:
        mapping: whose block of accumulators is not chosen yet.
        device: the array.
        assumed: times that no document states.
        fitted: what the mapping takes at least.
        call: cycles of a call's turns that no kernel beats, with what conflicts of banks cost where
            they hang on the kernel; the bound is a closer one then.
    """
    floor, local, memory = fitted.floor, fitted.local, fitted.memory
    rate = device.architecture.core.macs_of(mapping.layer.a, mapping.layer.w) or 1
    macs = mapping.call_rows * mapping.part_reduction * mapping.call_columns
    turns = mapping.reduction_steps
    lost = turns * local.stall(device) if mapping.streamed and turns > 1 else 0
    # A tile hands its sums on in its last turn: all turns before it are before the next tile's.
    skew = (mapping.cas_length - 1) * (turns - 1) * macs / rate / turns if call else 0
    body = Body(max(macs / rate, call - lost), _around(mapping, 0, assumed, device), skew)
    return array_cost(_work(mapping, device, assumed, floor, memory, local, body))


def _around(mapping: ArrayMapping, at: int, assumed: Assumed, device: Device) -> float:
    """Cycles around the turns of a call: it starts once, each turn takes and gives its inputs.

    Where turns are calls of functions, each but the one that is started costs such a call.
    """
    again = (assumed.acquire + assumed.release) * (2 if mapping.streamed else 1)
    turns = (mapping.reduction_steps - 1) * (again + device.call_cycles)
    return assumed.call(buffer_ports(mapping, at)) + turns


def _slowest(
    mapping: ArrayMapping,
    calls: tuple[tuple[CallSchedule, ...], ...],
    assumed: Assumed,
    device: Device,
) -> Body:
    """The slowest tile of a chain, and how far its last tile is behind its first.

    Sums go from the last turn of a tile to the first turn of the next: the two run together, and
    take as long as the slower.
    """
    cycles = []
    for at, turns in enumerate(calls):
        body = sum(turn.body for turn in turns)
        if len(turns) > 1:
            before = calls[at - 1][-1].body if at else 0
            after = calls[at + 1][0].body if at + 1 < len(calls) else 0
            body += max(0, before - turns[0].body) + max(0, after - turns[-1].body)
        cycles.append((body, _around(mapping, at, assumed, device)))
    body, around = max(cycles, key=sum)
    room = 2 * device.architecture.core.cascade_fifo
    if mapping.reduction_steps == 1:
        chain = hand([turns[0] for turns in calls], room, assumed.cascade, round(around))
        return Body(body + chain.waits, around, chain.behind)
    waits = skew = 0.0
    for turns, later in itertools.pairwise(calls):
        pair = hand((turns[-1], later[0]), room, assumed.cascade, round(around))
        waits = max(waits, pair.waits)
        skew += sum(turn.body for turn in turns[:-1]) + pair.behind
    return Body(body + waits, around, skew)


def _work(
    mapping: ArrayMapping,
    device: Device,
    assumed: Assumed,
    floor: Floor,
    memory: MemoryPlan,
    local: LocalPlan,
    body: Body,
) -> Work:
    layer, arch = mapping.layer, device.architecture
    in_rate, out_rate = external_rates(device)
    copies_a, copies_w = floor.copies
    held = mapping.row_steps * mapping.reduction_steps
    sends = held if memory.inputs_held else mapping.input_sends()
    entering = copies_a * sends * mapping.input_bytes
    if mapping.streamed:
        entering += copies_w * mapping.weight_sends() * mapping.weight_bytes
    first = 0
    if not mapping.streamed and not layer.resident:
        first = mapping.part_weight_bytes
    return Work(
        calls=mapping.calls,
        body=body.cycles,
        around=body.around + mapping.reduction_steps * local.stall(device),
        inputs=mapping.input_sends(),
        input_bytes=mapping.input_bytes,
        weights=mapping.weight_sends(),
        weight_bytes=mapping.weight_bytes,
        outputs=mapping.calls,
        output_bytes=mapping.output_bytes,
        down_share=max(1.0, min(device.core_rows, mapping.chains) / floor.lanes_down),
        rate=arch.core.dma.bytes_per_cycle,
        descriptor=assumed.descriptor,
        external_in=entering,
        external_out=mapping.chains * mapping.calls * mapping.output_bytes,
        external_in_rate=in_rate,
        external_out_rate=out_rate,
        skew=body.skew,
        hops=arch.hop_cycles * (device.mem_rows + device.core_rows),
        first_weights=first,
        first_inputs=copies_a * mapping.input_bytes,
    )


def outside(layer: DenseLayer, device: Device) -> float:
    """Cycles that the layer's operands take on the ways in and out: no mapping is faster.

    Raises:
        TargetError: as `external_rates`.
    """
    in_rate, out_rate = external_rates(device)
    entering = layer.rows * layer.reduction * ELEMENT_BYTES[layer.a]
    leaving = layer.rows * layer.columns * ELEMENT_BYTES[layer.out]
    return max(entering / in_rate, leaving / out_rate)


def carried(split: ArrayMapping, device: Device) -> float:
    """Cycles of what a split's tiles take and give once: no mapping of that split is faster.

    Args:
        split: any mapping of it, in its smallest calls.
        device: the array.

    Raises:
        TargetError: as `external_rates`.
    """
    layer, core = split.layer, device.architecture.core
    in_rate, out_rate = external_rates(device)
    taken = split.part_rows * split.part_reduction * ELEMENT_BYTES[layer.a]
    given = split.part_rows * split.part_columns * ELEMENT_BYTES[layer.out]
    orders: tuple[Order, ...] = ("m", "n")
    copies = min(Floor(replace(split, order=order), device).copies[0] for order in orders)
    return max(
        copies * taken / in_rate,
        split.chains * given / out_rate,
        taken / (core.dma.bytes_per_cycle * core.dma.s2mm),
        given / core.dma.bytes_per_cycle,
    )


def external_rates(device: Device) -> tuple[float, float]:
    """Bytes per cycle into the array and out of it, all ways together.

    Programmable logic where there is any (streams of 128 bits at its clock), else the DMA channels
    to the chip's memory, bounded by what that memory delivers where it is known.

    Raises:
        TargetError: neither is known of the device.
    """
    per = way_rate(device)
    if device.plio_in is not None and device.plio_out is not None:
        ways_in = device.plio_in * per
        ways_out = device.plio_out * per
        if device.if_to_array_gbps is not None:
            ways_in = min(ways_in, device.if_to_array_gbps / device.clock_ghz)
        if device.array_to_if_gbps is not None:
            ways_out = min(ways_out, device.array_to_if_gbps / device.clock_ghz)
        return ways_in, ways_out
    ways_in = device.need(device.gmio_in, "DMA channels from memory") * per
    ways_out = device.need(device.gmio_out, "DMA channels to memory") * per
    if device.dram_way_gbps is not None:
        share = device.dram_way_gbps / device.clock_ghz
        return min(ways_in, share), min(ways_out, share)
    return ways_in, ways_out


def way_rate(device: Device) -> float:
    """Bytes per cycle of one way into the array, or out of it; as `external_rates`.

    Raises:
        TargetError: the clock of programmable logic is not known.
    """
    if device.plio_in is not None and device.plio_out is not None:
        clock = device.need(device.pl_clock_mhz, "clock of programmable logic") / 1000
        return 16 * clock / device.clock_ghz
    return device.architecture.shim_dma.bytes_per_cycle
