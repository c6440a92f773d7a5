"""Cycles of an image layer's kernel calls: modelled.

Convolutions have the schedule of the matrix kernel with the same block, whose loads grow by those
of unaligned addresses. Kernels that work lane by lane have no schedule yet: a bound of their
operations by slot stands for it, with the set-up of every block's loop.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.price import hand_over
from match_aie.targets.aie_ml.devices import Architecture, Device
from match_aie.targets.aie_ml.kernels.counts import Counts, kernel_counts, operand_loads
from match_aie.targets.aie_ml.kernels.lanes import AddSpec, MaxPoolSpec
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule import CallSchedule
from match_aie.targets.aie_ml.schedule.generated import schedule_of

#: Cycles in which a loop is set up (see `schedule.place`, fitted there on calibration rows).
LOOP = 2


def kernel_cycles(spec: KernelSpec, device: Device) -> float:
    """Cycles of one call of `spec`, from the call to its last store.

    Raises:
        TargetError: the pair has no native product, or facts are missing.
    """
    return _kernel_cycles(spec, device.name)


@lru_cache(maxsize=16384)
def _kernel_cycles(spec: KernelSpec, name: str) -> float:
    device = known(name)
    arch = device.architecture
    if spec.operation != "mmul":
        blocks = spec.blocks[0] * spec.blocks[1]
        return bounded(kernel_counts(spec, arch.core), arch) + LOOP * blocks
    call = matrix_schedule(spec, device)
    loads = -(-operand_loads(spec) // arch.core.loads.count)
    late = sum(
        part.times * spec.k_steps * max(0, loads - part.schedule.interval) for part in call.parts
    )
    return call.cycles + late


def matrix_schedule(spec: KernelSpec, device: Device) -> CallSchedule:
    """The schedule of the matrix kernel that a gathered one is, addresses apart."""
    twin = replace(
        spec,
        gathered=False,
        border_bias=False,
        requantise=replace(spec.requantise, addend="zero_point"),
    )
    return schedule_of(twin, device.architecture)


def chain_skew(specs: tuple[KernelSpec, ...], device: Device, assumed: Assumed) -> float:
    """Cycles by which the last tile of a chain is behind the first."""
    calls = [matrix_schedule(spec, device) for spec in specs]
    return float(sum(hand_over(a, b, assumed) for a, b in pairwise(calls)))


def pool_cycles(
    spec: MaxPoolSpec, blocks: int, groups: int, taps: int, arch: Architecture
) -> float:
    """Cycles of a maximum pool's call."""
    return bounded(spec.counts(blocks, groups, taps), arch) + LOOP * blocks * groups


def add_cycles(spec: AddSpec, vectors: int, arch: Architecture) -> float:
    """Cycles of a sum's call."""
    return bounded(spec.counts(vectors), arch) + LOOP


def bounded(counts: Counts, arch: Architecture) -> float:
    """Cycles that a call's operations take in the fullest of their slots, filled and drained."""
    slots = (
        counts.vmac + counts.multiply,
        -(-counts.load // arch.core.loads.count),
        counts.srs + counts.store,
    )
    fill = arch.latency("vector_load_to_use") + arch.latency("vmac_int_latency")
    drain = arch.latency("vsrs_latency") + arch.latency("vst_memory_stage")
    call = arch.latency("l1_kernel_call_loop_overhead")
    return float(max(slots) + fill + drain + call)
