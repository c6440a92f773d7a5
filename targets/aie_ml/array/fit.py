"""Whether a mapping fits a device: chains, banks of a tile, memory tiles. No cost model here."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES, names_bytes
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.local import LocalPlan, plan_local
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule import CallSchedule, schedule_call
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES


@dataclass(frozen=True)
class MemoryPlan:
    """What memory tiles hold.

    Attributes:
        inputs_held: whether whole parts of the activations, or single calls of them.
        bytes: taken of the fullest memory tile.
    """

    inputs_held: bool
    bytes: int


@dataclass(frozen=True)
class Fit:
    """What a mapping takes, where it fits."""

    floor: Floor
    local: LocalPlan
    memory: MemoryPlan


def plan_memory_tiles(
    mapping: ArrayMapping, floor: Floor, device: Device
) -> MemoryPlan | Infeasible:
    """What the fullest memory tile holds, everything twice; whole parts where they fit.

    Those are there once where turns read them again for every call along the columns; results may
    then lie in memory tiles of all columns of a chain.
    """
    mem = device.architecture.mem
    bound = mem.bytes if mem is not None else 0
    a, w = _slices(floor, device)
    element = ELEMENT_BYTES[mapping.layer.a]
    whole = 2 * a * mapping.part_rows * mapping.part_reduction * element
    call = 2 * a * mapping.input_bytes
    weights = 2 * w * mapping.weight_bytes
    results = -(-min(device.core_rows, mapping.chains) // max(1, device.mem_rows))
    outputs = 2 * results * mapping.output_bytes
    spread = 2 * -(-results // mapping.cas_length) * mapping.output_bytes
    once = mapping.streamed and mapping.reduction_steps > 1
    turned = [(True, whole // 2, outputs), (True, whole // 2, spread)] if once else []
    for held, inputs, out in ((True, whole, outputs), *turned, (False, call, outputs)):
        if inputs + weights + out <= bound:
            return MemoryPlan(held, inputs + weights + out)
    return Infeasible(
        "a memory tile",
        call + weights + outputs,
        bound,
        "bytes",
        ("fewer rows a call", "weights from the chip's memory", "more tiles"),
        (("activations", call), ("weights", weights), ("results", outputs)),
    )


def _slices(floor: Floor, device: Device) -> tuple[int, int]:
    """Most slices of activations and of weights in one memory tile: columns go over them."""
    rows = max(1, device.mem_rows)
    return -(-floor.distinct_a // rows), -(-floor.distinct_w // rows)


def schedules(mapping: ArrayMapping, device: Device) -> tuple[tuple[CallSchedule, ...], ...]:
    """Of each tile of a chain: one call, turn by turn."""
    by_position = {
        mapping.position(at): tile_schedules(mapping, device, at)
        for at in (0, min(1, mapping.cas_length - 1), mapping.cas_length - 1)
    }
    return tuple(by_position[mapping.position(at)] for at in range(mapping.cas_length))


def tile_schedules(mapping: ArrayMapping, device: Device, at: int) -> tuple[CallSchedule, ...]:
    """Of tile number `at` of a chain."""
    size = (mapping.call_rows, mapping.call_reduction, mapping.call_columns)
    return tuple(
        call
        for times, kernel in mapping.turns(at)
        for call in (schedule_call(kernel, device.architecture, *size),) * times
    )


def program_bytes(turns: tuple[CallSchedule, ...], device: Device) -> int:
    """Estimate of a tile's program memory: every different kernel of its turns, and run time.

    They are in one function, which is entered once, under a name for each where cores call by name.
    """
    once = {id(turn): turn for turn in turns}.values()
    different = {turn.kernel: turn for turn in once}.values()
    frames = (len(different) - 1) * FRAME_BUNDLES * BUNDLE_BYTES
    around = RUNTIME_BYTES + names_bytes(len(different), device)
    return around + sum(call.program_bytes for call in different) - frames


def buffer_ports(mapping: ArrayMapping, at: int) -> int:
    """Buffers that a call of tile `at` takes and gives."""
    last = at == mapping.cas_length - 1
    return 1 + (1 if mapping.streamed else 0) + (1 if last else 0)


def fit(
    mapping: ArrayMapping, device: Device, *, least: bool = False, near: bool = False
) -> Fit | Infeasible:
    """Whether tiles, their memories and the memory tiles suffice.

    Args:
        mapping: that they run.
        device: the array.
        least: as `plan_local`.
        near: likewise.
    """
    capacity = (device.columns // mapping.cas_length) * device.core_rows
    if mapping.chains > capacity:
        return Infeasible(
            f"chains of {mapping.cas_length} tiles",
            mapping.chains,
            capacity,
            "chains",
            ("fewer parts of rows or columns", "shorter chains"),
        )
    local = plan_local(mapping, device, least=least, near=near)
    if isinstance(local, Infeasible):
        return local
    floor = Floor(mapping, device)
    up = floor.distinct_a + floor.distinct_w
    if up > floor.lanes_up:
        levers = ("fewer parts of rows in a column",)
        return Infeasible("ways up a column", up, floor.lanes_up, "streams", levers)
    memory = plan_memory_tiles(mapping, floor, device)
    return memory if isinstance(memory, Infeasible) else Fit(floor, local, memory)
