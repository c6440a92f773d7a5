"""Dense layers of Whisper-base's encoder on Ryzen AI arrays: planned, executed, simulated.

Sizes are published ones (1,500 frames of 512, 6 layers with 8 heads, 2,048 between two dense
layers), weights and scales seeded. Every shape of dense layer is planned for the whole array,
its program executed on real sizes, the result held to the reference bit for bit, and simulated.
Weights come from the chip's memory in every run, since layers of one shape differ in them. The
figure is the sum over the encoder's layers, each behind a dispatch.

This is not the encoder: attention, norms, tables and convolutions are not in it, nor is the
array's configuration, which shapes do not share, and neither do layers whose requantisation has
another shift. So there is no row of times real time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from aie_executed import proven
from rows import figure
from xdna_own import run_of

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.held import HeldPlan, held_best
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan, timed_best
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.workload import (
    Converted,
    Quantized,
    RealTail,
    dense,
    full_range,
    real_dense,
)

FRAMES, WIDTH, INNER, LAYERS, SECONDS = 1500, 512, 2048, 6, 30

#: Reduction, columns, and how many layers of the encoder have them.
SHAPES = (
    (WIDTH, WIDTH, 4 * LAYERS),
    (WIDTH, INNER, LAYERS),
    (INNER, WIDTH, LAYERS),
)

#: Multiply-accumulates of attention, and of the two convolutions over 3,000 and 1,500 frames.
ATTENTION = LAYERS * 2 * FRAMES * FRAMES * WIDTH
CONVOLUTIONS = 2 * FRAMES * 3 * 80 * WIDTH + FRAMES * 3 * WIDTH * WIDTH


@dataclass(frozen=True)
class Layer:
    """One shape on an array.

    Attributes:
        many: layers of the encoder that have it.
        cycles: of a dispatch and a run, simulated; at half and double of what is assumed.
        moved: bytes from and to the chip's memory, simulated; the least of the schedule.
        macs: useful ones of a run.
        seconds: of planning, simulation and execution.
        note: the mapping.
    """

    many: int
    cycles: tuple[float, float, float]
    moved: tuple[int, int]
    macs: int
    seconds: tuple[float, float, float]
    note: str


def quantised(
    reduction: int, columns: int, rows: int = FRAMES, *, narrow: bool = False
) -> Converted:
    """A layer as quantisers leave it: int8, scales by column, zero points that are not 0.

    Args:
        reduction: of it.
        columns: of it.
        rows: of it.
        narrow: whether multipliers have 16 bits, where they are hardly farther from the model.
    """
    rng = np.random.default_rng(reduction + columns)
    workload = dense(
        Quantized("int8", 2.0**-4, 3),
        Quantized("int8", 2.0**-3, -5),
        rows=rows,
        inputs=reduction,
        outputs=columns,
        weight_dtype="int8",
        tail=full_range("int8", -5),
        scales=columns,
    )
    step = 2.0 ** -round(np.log2(2 * np.sqrt(reduction) * 127))
    constants = {
        "weight": rng.integers(-127, 128, (columns, reduction)).astype(np.int8),
        "bias": rng.integers(-2000, 2000, columns).astype(np.int32),
        "scale": (step * rng.uniform(0.5, 1.5, columns)).astype(np.float32),
    }
    fixed = in_fixed_point(workload, constants, narrow=narrow)
    assert not isinstance(fixed, str), fixed
    return fixed


def floats(reduction: int, columns: int, rows: int = FRAMES, *, blocks: bool = False) -> Converted:
    """A layer of float32 tensors, multiplied in bfloat16, or in blocks of floating point."""
    rng = np.random.default_rng(reduction + columns)
    workload = real_dense(
        rows=rows, inputs=reduction, outputs=columns, bias=True, tail=RealTail("identity")
    )
    shape = columns, reduction
    constants = {
        "weight": (rng.standard_normal(shape) / np.sqrt(reduction)).astype(np.float32),
        "bias": rng.standard_normal(columns).astype(np.float32),
    }
    fixed = in_fixed_point(workload, constants, blocks=blocks)
    assert not isinstance(fixed, str), fixed
    return fixed


#: Element types of a row's name.
MADE = {"int8": quantised, "bf16": floats}


def dense_plan(fixed: Converted, array: Device) -> TimedPlan | HeldPlan | Infeasible:
    """The fastest whose weights come from the chip's memory, as modelled.

    They do in every pass over the rows, or, of layers in bfloat16, once for all passes.
    """
    narrow = bool(fixed.workload.rounded)
    layer = replace(dense_layer(fixed.workload), resident=False, shared=narrow)
    plan = timed_best(layer, fixed.workload, array.name, array.columns)
    if not narrow:
        return plan
    held = held_best(layer, fixed.workload, array.name, array.columns)
    found = [one for one in (plan, held) if not isinstance(one, Infeasible)]
    return min(found, key=lambda one: one.cycles, default=plan)


def _layer(name: str, types: str, shape: tuple[int, int, int], *, executes: bool) -> Layer:
    array, (reduction, columns, many) = known_device(name), shape
    fixed = MADE[types](reduction, columns)
    begun = time.process_time()
    plan = dense_plan(fixed, array)
    planned = time.process_time() - begun
    assert not isinstance(plan, Infeasible), plan
    seconds = 0.0
    if executes:
        constants = dict(fixed.constants)
        graph = plan.graph("own", fixed.workload, constants)
        seconds = proven(graph, fixed.workload, constants, array).seconds
    program = lay_out(plan.graph("own", fixed.workload, zeros_of(fixed.workload)), array)
    assert not isinstance(program, Infeasible), program
    begun = time.process_time()
    cycles, moved = run_of(program, array)
    simulated = time.process_time() - begun
    half, double = (run_of(program, array, factor)[0] for factor in (0.5, 2.0))
    m, t = plan.timed.mapping, plan.timed
    note = (
        f"{FRAMES}x{reduction}x{columns}: {t.passes} passes, {m.chains} chains of {m.cas_length}, "
        f"calls of {m.call_rows}x{m.call_reduction}x{m.call_columns} in {m.reduction_steps} turns"
    )
    times = planned, simulated, seconds
    least = plan.traffic[1]
    macs = fixed.workload.macs
    return Layer(many, (cycles, half, double), (moved, least), macs, times, note)


def encoder(name: str, types: str, *, executes: bool) -> list[dict[str, object]]:
    """All figures of a device with these element types, those of `MADE`."""
    array, case = known_device(name), f"whisper_base_{name}_{types}_dense"
    found = [_layer(name, types, shape, executes=executes) for shape in SHAPES]
    macs = sum(layer.many * layer.macs for layer in found)
    made = []
    for at, what in enumerate(("", "_x0.5", "_x2")):
        cycles = sum(layer.many * layer.cycles[at] for layer in found)
        note = "; ".join(f"{layer.many} of {layer.note}" for layer in found)
        if what:
            note = f"all assumed times, and conflicts of banks, times {what[2:]}"
        ms = cycles / array.clock_ghz / 1e6
        made.append(figure(case, f"dense_milliseconds{what}", ms, "ms", "simulated", note))
        tops = 2 * macs / cycles * array.clock_ghz / 1000
        made.append(
            figure(case, f"dense_tops{what}", tops, "TOPS", "simulated", "dispatches in it")
        )
    moved, least = (sum(layer.many * layer.moved[at] for layer in found) for at in (0, 1))
    note = f"{moved / 1e6:.1f} MB by {least / 1e6:.1f} MB: x and y once, weights in every pass"
    made.append(figure(case, "dram_ratio", moved / least, "", "simulated", note))
    share = 100 * macs / (macs + ATTENTION + CONVOLUTIONS)
    note = "multiply-accumulates of dense layers by all of the encoder's"
    made.append(figure(case, "share_of_macs", share, "%", "modelled", note))
    for at, what in enumerate(("planning", "simulation", "execution")):
        seconds = sum(layer.seconds[at] for layer in found)
        note = "processor time, three shapes"
        if what == "execution":
            note = "by the clock, three shapes, each equal to its reference"
        if seconds:
            made.append(figure(case, f"seconds_{what}", seconds, "s", "measured", note))
    return made
