"""The schedule of a kernel that the generator emits: the same operations, one for one."""

from __future__ import annotations

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.counts import Counts as EmittedCounts
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.targets.aie_ml.schedule.call import CallSchedule, schedule_call
from match_aie.targets.aie_ml.schedule.kernel import Kernel, Requantise, Variant


def kernel_of(spec: KernelSpec, variant: Variant | None = None) -> Kernel:
    """What the scheduler knows of `spec`; `variant` as the source has it where None.

    Raises:
        TargetError: the kernel is no plain matrix product, which is all that is scheduled.
    """
    tail = spec.requantise
    plain = spec.operation == "mmul" and not (spec.gathered or spec.border_bias or spec.row_bias)
    if not plain or spec.joined > 1 or tail.addend != "zero_point":
        raise TargetError(
            f"kernels of family {spec.family} have no schedule yet",
            hint="plain matrix products have one",
        )
    forms: dict[str, Requantise] = {
        "shift": "shift",
        "tensor": "multiplier",
        "channel": "channel",
        "none": "shift" if tail.dtype == "bfloat16" else "none",
    }
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
    )


def schedule_of(
    spec: KernelSpec, arch: Architecture, variant: Variant | None = None
) -> CallSchedule:
    """Modelled cycles of one call of `spec` on `arch`.

    Raises:
        TargetError: as `kernel_of` and `schedule_call`.
    """
    return schedule_call(kernel_of(spec, variant), arch, spec.m, spec.k, spec.n)


def emitted_counts(call: CallSchedule) -> EmittedCounts:
    """Operations of `call` in the terms in which the emulation counts them."""
    c = call.counts
    return EmittedCounts(
        mmul=call.macs // call.kernel.tiling.macs,
        vmac=c.products,
        multiply=c.multiplies,
        load=c.loads_a + c.loads_w + c.loads_bias + c.loads_factors,
        store=c.stores,
        srs=c.srs,
        cascade_in=c.cascade_reads,
        cascade_out=c.cascade_writes,
    )
