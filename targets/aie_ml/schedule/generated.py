"""The schedule of a kernel that the generator emits: the same operations, one for one."""

from __future__ import annotations

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Architecture, Tiling
from match_aie.targets.aie_ml.kernels.lanes import AddSpec, MaxPoolSpec
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.targets.aie_ml.schedule.call import CallSchedule, schedule_call
from match_aie.targets.aie_ml.schedule.kernel import Kernel, Requantise, Variant


def kernel_of(spec: KernelSpec, variant: Variant | None = None, *, beside: bool = False) -> Kernel:
    """What the scheduler knows of `spec`; `variant` as the source has it where None.

    Args:
        spec: of the kernel.
        variant: how epilogues meet the next block.
        beside: whether its numbers by column, if it has any, lie in the weights' bank.

    Raises:
        TargetError: several tiles are stored together, which is not scheduled.
    """
    tail = spec.requantise
    if spec.joined > 1:
        raise TargetError(
            f"kernels of family {spec.family} have no schedule yet",
            hint="tiles of 16 bytes or more have one",
        )
    forms: dict[str, Requantise] = {
        "shift": "shift",
        "tensor": "narrow" if tail.narrow else "multiplier",
        "channel": "narrow_channel" if tail.narrow else "channel",
        "none": "shift" if tail.dtype == "bfloat16" else "none",
    }
    channel = spec.stores and "channel" in (tail.form, tail.addend)
    return Kernel(
        a=spec.a,
        w=spec.b,
        out=tail.dtype,
        tiling=spec.tiling,
        rows=spec.rows,
        columns=spec.columns,
        position="single" if spec.position == "only" else spec.position,
        bias=spec.bias,
        relu=spec.lo is not None or spec.relu,
        requantise=forms[tail.form],
        variant=variant or ("flat" if spec.flat else "overlapped"),
        resumes=spec.resumes,
        rounded=spec.rounded,
        operation=spec.operation,
        gathered=spec.gathered,
        border_bias=spec.border_bias,
        row_bias=spec.row_bias,
        addends=spec.stores and tail.addend == "channel",
        high=spec.stores and tail.hi is not None,
        grouped=spec.carries,
        beside=beside and (spec.bias or channel),
        upright=spec.upright,
        turned=spec.turned,
    )


def add_kernel(spec: AddSpec) -> Kernel:
    """What the scheduler knows of a sum of two activations: a block is one vector."""
    tiling = Tiling(1, 1, spec.lanes, native=False)
    return Kernel(
        a=spec.a,
        w=spec.a,
        out=spec.dtype,
        tiling=tiling,
        rows=1,
        columns=1,
        bias=False,
        relu=spec.lo,
        variant="flat",
        operation="add",
        high=spec.hi,
    )


def pool_kernel(spec: MaxPoolSpec) -> Kernel:
    """What the scheduler knows of a maximum pool: a block is a group of tiles."""
    tiling = Tiling(spec.m, 1, spec.n, native=False)
    return Kernel(
        a=spec.dtype,
        w=spec.dtype,
        out=spec.dtype,
        tiling=tiling,
        rows=spec.rows,
        columns=1,
        bias=False,
        relu=False,
        operation="pool",
        gathered=True,
    )


def add_schedule(spec: AddSpec, arch: Architecture, vectors: int) -> CallSchedule:
    """Modelled cycles of one sum of so many vectors."""
    return schedule_call(add_kernel(spec), arch, vectors, 1, spec.lanes)


def pool_schedule(spec: MaxPoolSpec, arch: Architecture, tiles: int, taps: int) -> CallSchedule:
    """Modelled cycles of one maximum pool of so many tiles, channel blocks included."""
    return schedule_call(pool_kernel(spec), arch, tiles * spec.m, taps, spec.n)


def schedule_of(
    spec: KernelSpec,
    arch: Architecture,
    variant: Variant | None = None,
    *,
    beside: bool = False,
) -> CallSchedule:
    """Modelled cycles of one call of `spec` on `arch`.

    Args:
        spec: of the kernel.
        arch: of its core.
        variant: as `kernel_of`.
        beside: likewise.

    Raises:
        TargetError: as `kernel_of` and `schedule_call`.
    """
    return schedule_call(kernel_of(spec, variant, beside=beside), arch, spec.m, spec.k, spec.n)
