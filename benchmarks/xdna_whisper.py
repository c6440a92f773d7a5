"""Layers of Whisper-base's whole encoder on Ryzen AI arrays, 8 bits: planned, executed, simulated.

Sizes are published ones (3,000 frames of 80 bands, two convolutions, 1,500 frames of 512, 6 layers
with 8 heads, 2,048 between two dense layers), weights and scales seeded. Every layer is planned for
the whole array, layers of one shape once; its program is executed on real sizes, the result held to
the reference bit for bit, and simulated behind a dispatch. Layers of rows (norms, sums, GELU) are
several runs of one program behind a dispatch, of which one is executed.

Ways of the array go through tensors themselves where an interface tile's DMA can (`direct`), heads
of queries, values and results among them. Dense layers share one configuration of the array
(`xdna_overlay.py`). The processor brings rows of a convolution's window
together and transposes keys. Layers themselves are in `xdna_layers.py`; `xdna_strategies.py` adds
everything up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from xdna_encoder import dense_plan
from xdna_layers import Kind
from xdna_overlay import SIZES, WRITE_NS, plan_of
from xdna_own import run_of

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.graph.held import HeldPlan
from match_aie.targets.aie_ml.graph.layer import LayerPlan, zeros_of
from match_aie.targets.aie_ml.graph.overlay import OverlayPlan
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Outside
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.simulate import Beyond, simulate_program
from match_aie.targets.xdna.direct import direct
from match_aie.workload import (
    Converted,
    Operand,
    Workload,
    reference,
)

Row = dict[str, object]

#: Of a layer.
Plan = LayerPlan | OverlayPlan | HeldPlan


@dataclass(frozen=True)
class Timed:
    """Layers of one shape on an array.

    Attributes:
        kind: which.
        cycles: of a dispatch and a layer, simulated; at half and double of what is assumed.
        behind: of a further layer in the same dispatch, likewise.
        traffic: bytes from and to the chip's memory, simulated; the least of the schedule.
        gathered: bytes of ways that are no piece of a tensor.
        seconds: of planning, simulation and execution.
        note: the plan.
        best: it, and how often it runs.
    """

    kind: Kind
    cycles: tuple[float, float, float]
    behind: tuple[float, float, float]
    traffic: tuple[int, int]
    gathered: int
    seconds: tuple[float, float, float]
    note: str
    best: Parted

    @property
    def copied(self) -> int:
        """Bytes that the processor moves for a layer."""
        return self.kind.moved + self.gathered


def _planned(kind: Kind, layer: Converted, array: Device) -> Plan | Infeasible:
    """The best plan on the whole array; of a dense layer that of its overlay, if it has one."""
    if kind.shared is not None:
        return plan_of(kind.shared, layer, array)
    if layer.workload.kind == "dense":
        return dense_plan(layer, array)
    ways = min((array.gmio_in or 2) // 2, array.gmio_out or 1)
    return plan_cut(layer.workload, array.name, array.columns, ways)


@dataclass(frozen=True)
class Parted:
    """A plan, what it is of, and how often its program runs for a layer."""

    plan: Plan
    made: Converted
    runs: int
    heads: bool = False
    wide: int = 0

    def graph(self, array: Device, name: str, *, real: bool) -> LayerGraph:
        """Its graph of this name, with the layer's numbers or without."""
        workload = self.made.workload
        numbers = dict(self.made.constants) if real else zeros_of(workload)
        graph = self.plan.graph(name, workload, numbers)
        if self.heads:
            graph = replace(graph, inputs=of_rows(graph.inputs), outputs=of_rows(graph.outputs))
        if self.wide:
            graph = replace(graph, outputs=of_columns(graph.outputs, self.wide))
        return direct(graph, None, array, narrow=True)

    def program(self, array: Device, *, real: bool) -> tuple[LayerGraph, ArrayProgram]:
        """Its graph and program, with the layer's numbers or without."""
        graph = self.graph(array, "own", real=real)
        program = lay_out(graph, array)
        assert not isinstance(program, Infeasible), program
        return graph, program

    def cycles(self, program: ArrayProgram, array: Device, factor: float = 1.0) -> float:
        """Of a dispatch and all runs, with all that is assumed times `factor`."""
        alone, _ = run_of(program, array, factor)
        if isinstance(self.plan, OverlayPlan):
            alone += factor * len(program.cores) * WRITE_NS * array.clock_ghz
        if self.runs == 1:
            return alone
        beyond = replace(Beyond(), memory_cycles=round(factor * Beyond().memory_cycles))
        assumed = Assumed().scaled(factor)
        interval = simulate_program(program, array, assumed=assumed, beyond=beyond).interval
        return alone + (self.runs - 1) * interval


def best_of(kind: Kind, array: Device) -> Parted:
    """The parts and the plan of the fewest cycles."""
    found: list[tuple[float, int, Parted]] = []
    reason: object = None
    for runs in kind.runs:
        made = kind.made(runs)
        if isinstance(made, str):
            raise TargetError(f"{kind.name}: {made}")
        plan = _planned(kind, made, array)
        if isinstance(plan, Infeasible):
            reason = plan
            continue
        parted = Parted(plan, made, runs, kind.heads, kind.wide)
        cycles = 0.0
        if len(kind.runs) > 1:
            cycles = parted.cycles(parted.program(array, real=False)[1], array)
        found.append((cycles, runs, parted))
    if not found:
        raise TargetError(f"{array.name} has no plan for {kind.name}: {reason}")
    return min(found, key=lambda each: each[:2])[2]


def gathered(graph: LayerGraph) -> int:
    """Bytes that the processor brings together for a run, and takes apart after it."""
    found = 0
    for outside in graph.outside:
        held = outside.part or outside.blocks
        itself = outside.blocks is not None and outside.blocks.memory
        if outside.values is None and held is not None and not (held.contiguous or itself):
            found += outside.elements * BYTES[outside.dtype]
    return found


def of_rows(ways: tuple[Outside, ...]) -> tuple[Outside, ...]:
    """Ways of queries, values and results in tensors of which a row holds all heads.

    Keys stay transposed head by head: a DMA moves no single bytes.
    """
    found = []
    for way in ways:
        blocks = way.blocks
        if way.part is not None and way.part.operand in ("x", "x2"):
            heads, rows, wide = way.part.rows, way.part.columns, way.part.channels
            matrix = way.part.tensor[1], way.part.tensor[0] * wide
            first = way.part.first * wide
            blocks = Blocks(
                way.part.operand, matrix, rows, wide, column=first, column_step=wide, blocks=heads
            )
        elif blocks is not None:
            heads, wide, step = blocks.passes, blocks.width, blocks.row_step
            matrix = step, blocks.matrix[0] // step * wide
            first, row = divmod(blocks.row, step)
            blocks = Blocks("y", matrix, blocks.rows, wide, row, 0, 1, first * wide, wide, heads)
        found.append(way if blocks is None else replace(way, part=None, blocks=blocks))
    return tuple(found)


def of_columns(ways: tuple[Outside, ...], wide: int) -> tuple[Outside, ...]:
    """Results as the first columns of a tensor of so many."""
    return tuple(
        way
        if way.blocks is None
        else replace(way, blocks=replace(way.blocks, matrix=(way.blocks.matrix[0], wide)))
        for way in ways
    )


def drawn(operand: Operand, rng: np.random.Generator) -> np.ndarray:
    """A tensor: all integers of 8 bits, or floats of deviation 1."""
    if operand.dtype == "int8":
        return rng.integers(-128, 128, operand.shape).astype(np.int8)
    return rng.standard_normal(operand.shape).astype(np.float32)


def _proven(best: Parted, array: Device) -> float:
    """Seconds of an execution.

    Raises:
        AssertionError: its result is not the reference's.
    """
    _, program = best.program(array, real=True)
    check(program, array)
    inputs, wanted = example(best, 1)
    begun = time.perf_counter()
    done = execute(program, array, inputs)
    seconds = time.perf_counter() - begun
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    assert np.unique(wanted).size > 20
    return seconds


def example(best: Parted, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Tensors of a run as they lie in the chip's memory: all inputs, and the reference's result."""
    made, rng = best.made, np.random.default_rng(seed)
    workload = made.workload
    inputs = {o.name: drawn(o, rng) for o in workload.inputs}
    tensors = [inputs[o.name] for o in workload.inputs]
    wanted = reference(workload, tensors, made.constants)
    if best.heads:
        inputs |= {name: joined_heads(inputs[name]) for name in ("x", "x2")}
        wanted = joined_heads(wanted)
    if best.wide:
        wanted = np.pad(wanted, ((0, 0), (0, best.wide - wanted.shape[1])))
    return inputs, wanted


def joined_heads(tensor: np.ndarray) -> np.ndarray:
    """[heads, rows, width] as [rows, heads * width]."""
    return np.ascontiguousarray(np.moveaxis(tensor, 0, 1)).reshape(tensor.shape[1], -1)


def carried(workload: Workload, operand: Operand) -> str:
    """Element type of a tensor in the chip's memory: floats lie there as bfloat16."""
    return "bfloat16" if workload.rounded else operand.dtype


def _least(kind: Kind, best: Parted) -> int:
    """Bytes of the schedule: of a dense layer x and y once, weights in every pass.

    Of an overlay weights come for every call of rows, and what it computes beyond the layer's rows
    and reduction does not count.
    """
    workload = best.made.workload
    if isinstance(best.plan, OverlayPlan):
        size, t = SIZES[kind.sequence], best.plan.timed
        columns, each = t.mapping.layer.columns, BYTES[t.mapping.layer.a]
        again = t.passes * t.mapping.row_steps
        tensors = size.rows * (size.reduction + columns) + again * size.reduction * columns
        return each * tensors
    if isinstance(best.plan, TimedPlan | HeldPlan):
        return best.plan.traffic[1]
    tensors = (*workload.inputs, workload.output)
    return sum(int(np.prod(o.shape)) * BYTES[carried(workload, o)] for o in tensors)


def timed(kind: Kind, array: Device, *, executes: bool) -> Timed:
    """Layers of one shape, planned, executed and simulated."""
    begun = time.process_time()
    best = best_of(kind, array)
    planned = time.process_time() - begun
    seconds = 0.0
    if executes:
        seconds = _proven(best, array)
    graph, program = best.program(array, real=False)
    begun = time.process_time()
    _, moved = run_of(program, array)
    cycles = best.cycles(program, array)
    simulated = time.process_time() - begun
    half, double = (best.cycles(program, array, factor) for factor in (0.5, 2.0))
    twice = replace(best, runs=2 * best.runs)
    alone = zip((cycles, half, double), (1.0, 0.5, 2.0), strict=True)
    one, two, three = (twice.cycles(program, array, factor) - each for each, factor in alone)
    least = _least(kind, best)
    runs = f", {best.runs} runs each" if best.runs > 1 else ""
    return Timed(
        kind,
        (cycles, half, double),
        (one, two, three),
        (best.runs * moved, best.runs * least),
        best.runs * gathered(graph),
        (planned, simulated, seconds),
        f"{kind.many} x {kind.name}{runs}: {graph.remark}",
        best,
    )
