"""Cycles of an image layer's kernel calls, from their schedules: modelled."""

from __future__ import annotations

from functools import lru_cache

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.handing import hand
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.image import CutLayer
from match_aie.targets.aie_ml.kernels.lanes import MaxPoolSpec
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule import CallSchedule, Kernel, schedule_call
from match_aie.targets.aie_ml.schedule.call import ArchitectureKey
from match_aie.targets.aie_ml.schedule.generated import (
    kernel_of,
    pool_schedule,
    schedule_of,
)
from match_aie.targets.aie_ml.schedule.least import least_behind, least_body


@lru_cache(maxsize=16384)
def _schedule(spec: KernelSpec, name: str) -> CallSchedule:
    kernel = kernel_of(spec)
    if not _fits(kernel, name, spec.k):
        raise TargetError(f"registers of {name} do not hold a block of {spec.family}")
    return schedule_of(spec, known(name).architecture)


@lru_cache(maxsize=4096)
def _fits(kernel: Kernel, name: str, reduction: int) -> bool:
    """Whether a block has a schedule; found out once, since it takes long where there is none."""
    t = kernel.tiling
    rows, columns = kernel.rows * t.m, kernel.columns * t.n
    try:
        schedule_call(kernel, known(name).architecture, rows, reduction, columns)
    except TargetError:
        return False
    return True


def window_cycles(plan: CutLayer, device: Device, assumed: Assumed) -> tuple[float, float]:
    """Cycles of the slowest tile's call, and by which a chain's last tile ends later than it.

    A kernel that walks is started once a run, and is no function that each band calls, unless the
    device calls functions by name.

    Raises:
        TargetError: a kernel has no schedule on the device.
    """
    walk, t = plan.walk, plan.cut.tiling
    if plan.layer.epilogue is None:
        pool = MaxPoolSpec(plan.layer.dtype, t.m, t.n, plan.cut.rows)
        tiles = walk.m // t.m * (walk.n // t.n)
        return pool_schedule(pool, device.architecture, tiles, walk.taps).body, 0.0
    columns = range(plan.cut.length)
    calls = [_schedule(plan.kernel(column), device.name) for column in columns]
    room, around = 2 * device.architecture.core.cascade_fifo, assumed.call(2)
    chain = hand(calls, room, assumed.cascade, around)
    body = max(call.body for call in calls)
    return body + device.call_cycles + chain.waits, chain.behind


def least_cycles(plan: CutLayer, device: Device, assumed: Assumed) -> tuple[int, int]:
    """At most what `window_cycles` gives, without a schedule, of a layer that is no maximum.

    Raises:
        TargetError: there is no product for a kernel.
    """
    last, key = plan.kernel(plan.cut.length - 1), _key(device.name)
    body = least_body(kernel_of(last), key, (last.m, last.k, last.n))
    behind = 0
    for column in range(1, plan.cut.length):
        spec = plan.kernel(column)
        behind += assumed.cascade + least_behind(kernel_of(spec), key, spec.k)
    return device.call_cycles + body, behind


@lru_cache(maxsize=16)
def _key(name: str) -> ArchitectureKey:
    return ArchitectureKey(known(name).architecture)
