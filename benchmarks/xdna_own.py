"""The planner's own mappings of published products: planned, executed where small, simulated."""

from __future__ import annotations

from aie_executed import integers, proven
from xdna_gemm import Gemm

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array import DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan, timed_best
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.workload import Converted

#: A product whose weights fit no tiles of npu1 either, and whose rows take several passes there:
#: the interpreter moves every byte of it.
SMALL = (1344, 2016, 1008)


def _planned(size: tuple[int, int, int], array: Device) -> tuple[TimedPlan, Converted]:
    fixed = integers(DenseLayer(*size, relu=False))
    assert not isinstance(fixed, str), fixed
    layer = dense_layer(fixed.workload)
    plan = timed_best(layer, fixed.workload, array.name, array.columns)
    assert not isinstance(plan, Infeasible), plan
    return plan, fixed


def small(name: str) -> str:
    """What a smaller product took whose program was executed.

    Raises:
        AssertionError: its result is not the reference's.
    """
    array = known_device(name)
    plan, fixed = _planned(SMALL, array)
    constants = dict(fixed.constants)
    made = proven(plan.graph("own", fixed.workload, constants), fixed.workload, constants, array)
    tops = made.tops(run_layer(made.program, array).cycles, array)
    return f"{'x'.join(map(str, SMALL))} in {plan.timed.passes} passes, executed: {tops:.2f} TOPS"


def own(gemm: Gemm) -> tuple[float, str]:
    """TOPS of the planner's mapping behind a dispatch, simulated, and what it is.

    8-bit results of exact 32-bit sums, with a bias.

    Args:
        gemm: of 8-bit operands and results.
    """
    array = known_device(gemm.device)
    plan, fixed = _planned(gemm.size, array)
    graph = plan.graph("own", fixed.workload, zeros_of(fixed.workload))
    program = lay_out(graph, array)
    assert not isinstance(program, Infeasible), program
    around = array.need(array.dispatch_us, "dispatch") * 1e3 * array.clock_ghz
    cycles = around + run_layer(program, array).cycles
    m = plan.timed.mapping
    note = (
        f"{plan.timed.passes} passes, {m.chains} chains of {m.cas_length} tiles, calls of "
        f"{m.call_rows}x{m.call_reduction}x{m.call_columns} in {m.reduction_steps} turns"
    )
    return 2 * fixed.workload.macs / cycles * array.clock_ghz / 1000, note
