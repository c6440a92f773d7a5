"""The planner's own mappings of published products: planned, executed where small, simulated."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from aie_executed import floats, integers, proven
from xdna_gemm import Gemm

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed, DenseLayer
from match_aie.targets.aie_ml.array.layer import PartialSums
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.search import Given
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.proof import cannot_be_written
from match_aie.targets.aie_ml.graph.timed_plan import (
    TimedPlan,
    timed_best,
    timed_near,
    timed_of_split,
)
from match_aie.targets.aie_ml.graph.timed_splits import splits_of, spreads
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.aie_ml.simulate import Beyond, run_layer
from match_aie.targets.versal.executing import drawn
from match_aie.workload import Converted, Turns, reference, with_rounded_sums

#: A product whose weights fit no tiles of npu1 either, and whose rows take several passes there:
#: the interpreter moves every byte of it.
SMALL = (1344, 2016, 1008)


#: Splits over tiles whose plans are simulated beside the planner's best, as long as they are
#: modelled to take no more than so many times its cycles.
SPLITS, NEAR = 8, 1.02


def _layer(fixed: Converted, sums: PartialSums) -> DenseLayer:
    """As the target's option of that name has it."""
    rounded = with_rounded_sums(fixed.workload) if sums == "result" else fixed.workload
    return dense_layer(rounded)


def _planned(
    gemm: Gemm, size: tuple[int, int, int], array: Device, sums: PartialSums
) -> tuple[TimedPlan, Converted]:
    plain = DenseLayer(*size, gemm.a, gemm.a, gemm.out, bias=False, relu=False)
    if gemm.out == "int32":
        plain = replace(plain, requantise="none")
    fixed = floats(plain) if gemm.a == "bfloat16" else integers(plain)
    assert not isinstance(fixed, str), fixed
    plan = timed_best(_layer(fixed, sums), fixed.workload, array.name, array.columns)
    assert not isinstance(plan, Infeasible), plan
    return plan, fixed


def _near(
    plan: TimedPlan, fixed: Converted, array: Device, sums: PartialSums
) -> list[tuple[TimedPlan, ArrayProgram]]:
    """The planner's best plan, and others that are modelled as fast; their programs.

    Those of other splits, the best of each number of passes of its own, and each with results in
    as few memory tiles as hold them.
    """
    layer, zeros = _layer(fixed, sums), zeros_of(fixed.workload)
    found = [plan]
    for _, split in splits_of(layer, array.name, array.columns, None)[:SPLITS]:
        other = timed_of_split(layer, array.name, split, NEAR * plan.cycles)
        if not isinstance(other, Infeasible) and other not in found:
            found.append(other)
    m = plan.timed.mapping
    mine = Given(m.cas_length, m.column_parts, m.row_parts)
    best: dict[int, TimedPlan] = {plan.timed.passes: plan}
    for other in timed_near(layer, array.name, mine, NEAR * plan.cycles):
        best.setdefault(other.timed.passes, other)
    found += [each for each in best.values() if each not in found]
    found += [least for each in found if (least := _least_spread(each)) not in found]
    made = []
    for each in found:
        graph = each.graph("own", fixed.workload, zeros)
        program = lay_out(graph, array)
        if not isinstance(program, Infeasible) and cannot_be_written(graph, array) is None:
            made.append((each, program))
    return made


def _least_spread(plan: TimedPlan) -> TimedPlan:
    """The same with results in as few memory tiles as hold them: cycles are those of the other."""
    t = plan.timed
    able = spreads(t.mapping, t.device, t.rows, t.feeds)
    cut = (replace(timed, cut=t.cut) for timed in able if timed.direct == t.direct)
    return replace(plan, timed=next(timed for timed in cut if timed.fits))


@dataclass(frozen=True)
class Small:
    """A smaller product of the same types whose program was executed, bit for bit its reference.

    Attributes:
        note: what it took.
        mean: difference of its results from those of exact sums.
        most: the largest one.
    """

    note: str
    mean: float
    most: float


def small(gemm: Gemm, sums: PartialSums = "exact") -> Small:
    """Plan, execute and simulate one.

    Raises:
        AssertionError: its result is not the reference's.
    """
    array = known_device(gemm.device)
    plan, fixed = _planned(gemm, SMALL, array, sums)
    constants, timed = dict(fixed.constants), plan.timed
    tensor = drawn(fixed.workload.inputs[0], np.random.default_rng(1))
    exact = wanted = reference(fixed.workload, [tensor], constants)
    if sums == "result" and gemm.out != "int32":  # these are exact anyway
        m = timed.mapping
        turns = Turns(m.call_reduction, m.reduction_steps, m.cas_length)
        wanted = reference(with_rounded_sums(fixed.workload, turns), [tensor], constants)
    graph = plan.graph("own", fixed.workload, constants)
    made = proven(graph, fixed.workload, constants, array, wanted=wanted)
    tops = made.tops(run_layer(made.program, array).cycles, array)
    what = f"{'x'.join(map(str, SMALL))} in {timed.passes} passes"
    turns = f", calls in {timed.mapping.reduction_steps} turns" if sums == "result" else ""
    off = np.abs(wanted.astype(np.float64) - exact)
    return Small(f"{what}{turns}, executed: {tops:.2f} TOPS", float(off.mean()), float(off.max()))


@dataclass(frozen=True)
class Own:
    """The planner's mapping of a product behind a dispatch, simulated.

    Attributes:
        tops: of results of 32-bit sums, exact ones of integers, without a bias.
        varied: the same with all assumed times, and conflicts of banks, at half and double.
        note: what the mapping is.
        moved: bytes from and to the chip's memory, simulated.
        modelled: the same as the plan has it.
        least: of that schedule.
        once: every operand once.
    """

    tops: float
    varied: tuple[float, float]
    note: str
    moved: int
    modelled: int
    least: int
    once: int


def run_of(program: ArrayProgram, array: Device, factor: float = 1.0) -> tuple[float, int]:
    """Of a dispatch and the run behind it, and the bytes that this moves.

    Args:
        program: of the product.
        array: where.
        factor: of all assumed times, and of what conflicts of banks cost.
    """
    varied, beyond = varied_by(program, factor)
    run = run_layer(varied, array, assumed=Assumed().scaled(factor), beyond=beyond)
    return around_of(array) + run.cycles, run.moved


def varied_by(program: ArrayProgram, factor: float) -> tuple[ArrayProgram, Beyond]:
    """A program with what conflicts of banks cost times `factor`, and times beyond the array."""
    cores = (replace(c, shared_bytes=round(factor * c.shared_bytes)) for c in program.cores)
    beyond = replace(Beyond(), memory_cycles=round(factor * Beyond().memory_cycles))
    return replace(program, cores=tuple(cores)), beyond


def around_of(array: Device) -> float:
    """Cycles of a dispatch around its run."""
    return array.need(array.dispatch_us, "dispatch") * 1e3 * array.clock_ghz


def own(gemm: Gemm, sums: PartialSums = "exact") -> Own:
    """The mapping of a product of these types that is simulated fastest of the planner's best."""
    array = known_device(gemm.device)
    best, fixed = _planned(gemm, gemm.size, array, sums)
    runs = [(run_of(made, array), plan, made) for plan, made in _near(best, fixed, array, sums)]
    (cycles, moved), plan, program = min(runs, key=lambda run: run[0][0])
    half, double = (run_of(program, array, factor)[0] for factor in (0.5, 2.0))
    m = plan.timed.mapping
    note = (
        f"{plan.timed.passes} passes, {m.chains} chains of {m.cas_length} tiles, calls of "
        f"{m.call_rows}x{m.call_reduction}x{m.call_columns} in {m.reduction_steps} turns, "
        f"{'weights straight to the tiles, ' * plan.timed.direct}"
        f"the fastest of {len(runs)} simulated"
    )
    rows, reduction, columns = gemm.size
    wide, out = BYTES[gemm.a], BYTES[gemm.out]
    rate = 2 * fixed.workload.macs * array.clock_ghz / 1000
    return Own(
        rate / cycles,
        (rate / half, rate / double),
        note,
        moved,
        *plan.traffic,
        wide * (rows * reduction + reduction * columns) + out * rows * columns,
    )
