"""Dense layers as programs of the array that are executed with real data before they are timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from rows import duration, processor
from versal import mlp

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array import ArrayMapping, ArrayProgram, Assumed, DenseLayer
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.given import find, timed_of
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point, without_starts
from match_aie.targets.aie_ml.simulate import Beyond, run_layer, simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import drawn, wide_weights
from match_aie.targets.versal.module import plan_of
from match_aie.workload import (
    Converted,
    Quantized,
    RealTail,
    Workload,
    dense,
    full_range,
    real_dense,
    reference,
)

Row = Callable[..., dict[str, object]]

#: case -> rows, reduction, columns.
GEMMS = {"gemm_512x896x576": (512, 896, 576), "gemm_4096x896x576": (4096, 896, 576)}


#: case -> element types of x, weights and result: other than int8, on the whole array.
TYPES = {
    "gemm_512x896x576_i16xi8": ("int16", "int8", "int8"),
    "gemm_512x896x576_i16xi16": ("int16", "int16", "int16"),
    "gemm_512x896x576_to_int32": ("int8", "int8", "int32"),
    "gemm_512x896x576_i32xi16": ("int32", "int16", "int32"),
    "gemm_512x896x576_i16xi32": ("int16", "int32", "int32"),
    "gemm_512x896x576_i32xi32": ("int32", "int32", "int32"),
    "gemm_512x896x576_bf16": ("bfloat16", "bfloat16", "bfloat16"),
}


@dataclass(frozen=True, eq=False)
class Program:
    """A layer's program that gave the reference's result bit for bit.

    Attributes:
        graph: that it is laid out from.
        program: on the array.
        seconds: of its execution.
        macs: useful multiply-accumulates of a run.
    """

    graph: LayerGraph
    program: ArrayProgram
    seconds: float
    macs: int

    def tops(self, cycles: float, device: Device) -> float:
        """At so many cycles a run."""
        return 2 * self.macs / cycles * device.clock_ghz / 1000


def proven(
    graph: LayerGraph,
    workload: Workload,
    constants: dict[str, np.ndarray],
    device: Device,
    column: int = 0,
    wanted: np.ndarray | None = None,
) -> Program:
    """The program of `graph`, executed.

    Args:
        graph: of the layer.
        workload: likewise.
        constants: its own.
        device: where.
        column: the first one.
        wanted: its result; that of exact sums where None.

    Raises:
        AssertionError: it breaks a rule, or its result is not the reference's.
    """
    program = lay_out(graph, device, column)
    assert not isinstance(program, Infeasible), program
    check(program, device)
    rng = np.random.default_rng(1)
    tensor = drawn(workload.inputs[0], rng)
    wanted = reference(workload, [tensor], constants) if wanted is None else wanted
    begun = processor()
    done = execute(program, device, {"x": tensor})
    seconds = processor() - begun
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    assert np.unique(wanted).size > 20
    return Program(graph, program, seconds, workload.macs)


def of_mapping(mapping: ArrayMapping, device: Device) -> Program:
    """The program of a dense layer spread as `mapping` says, requantised by a shift or not."""
    layer = mapping.layer
    fixed = floats(layer) if layer.a == "bfloat16" else integers(layer)
    assert not isinstance(fixed, str), fixed
    timed = timed_of(mapping, device)
    assert timed is not None, mapping
    graph = TimedGraph("layer", timed, Numbers(timed, fixed.workload, fixed.constants)).graph
    return proven(graph, fixed.workload, dict(fixed.constants), device)


def floats(layer: DenseLayer) -> Converted | str:
    """A float32 layer in bfloat16, with a bias or not, and ReLU or not."""
    rng, shape = np.random.default_rng(0), (layer.columns, layer.reduction)
    workload = real_dense(
        rows=layer.rows,
        inputs=layer.reduction,
        outputs=layer.columns,
        bias=layer.bias,
        tail=RealTail("relu" if layer.relu else "identity"),
    )
    constants = {"weight": rng.standard_normal(shape).astype(np.float32)}
    if layer.bias:
        constants["bias"] = rng.standard_normal(layer.columns).astype(np.float32)
    return in_fixed_point(workload, constants)


def integers(layer: DenseLayer) -> Converted | str:
    """An integer layer of 32-bit sums, with a bias or not, requantised by a shift or not."""
    plain = layer.requantise == "none"
    scale = np.sqrt(layer.reduction) * np.iinfo(layer.w).max
    rng = np.random.default_rng(0)
    info = np.iinfo(layer.w)
    # Sums of 16-bit operands must fit 32 bits.
    largest = (2**31 - 2**17) // (layer.reduction * (1 + np.iinfo(layer.a).max))
    most = info.max if layer.w == "int8" else min(300, largest)
    workload = dense(
        Quantized(layer.a, 2.0**-4, 0),
        Quantized(layer.out, 2.0**-3, 0),
        rows=layer.rows,
        inputs=layer.reduction,
        outputs=layer.columns,
        weight_dtype=layer.w,
        tail=None if plain else replace(full_range(layer.out, 0), lo=0),
        scales=0 if plain else 1,
    )
    constants = {
        "weight": rng.integers(-most, most + 1, (layer.columns, layer.reduction)).astype(layer.w),
        "bias": layer.bias * rng.integers(-2000, 2000, layer.columns).astype(np.int32),
    }
    if "int32" in (layer.a, layer.w):
        constants["weight"] = wide_weights(layer.a, layer.w, constants["weight"].shape, rng)
    if not plain:
        wide = np.iinfo(layer.a).max / np.iinfo(layer.out).max
        shift = round(np.log2(wide * scale * most / info.max))
        constants["scale"] = np.full(1, 2.0**-shift, np.float32)
    fixed = in_fixed_point(workload, constants)
    return fixed if isinstance(fixed, str) or layer.bias else without_starts(fixed)


def gemms(device: Device, row: Row) -> list[dict[str, object]]:
    """Products as `match.compile` emits them for a whole array, executed, then simulated.

    Fed by streams of programmable logic for the interval of repeated runs and for a single run, and
    by the chip's memory.
    """
    rows = []
    for case, sizes in GEMMS.items():
        for memory, aim in (("plio", "throughput"), ("plio", "latency"), ("ddr", "latency")):
            target = VersalAIEML(
                columns_per_layer=device.columns,
                modules=("array",),
                memory=memory,
                optimize_for=aim,
            )
            begun = processor()
            net = match.compile(mlp(1, sizes[1], sizes[0], columns=sizes[2]), target=target)
            searched = processor() - begun
            (layer,) = net.program.schedule.chosen
            plan = plan_of(layer.workload, device.name, layer.mapping)
            graph = plan.graph(layer.symbol, layer.workload, layer.constants)
            made = proven(graph, layer.workload, dict(layer.constants), device)
            which = {"throughput": "", "latency": "_once"}[aim] + (
                "" if memory == "plio" else "_ddr"
            )
            rows += _timed(case, which, made, device, row, repeated=aim == "throughput")
            tag = f"seconds_search{which}"
            rows.append(duration(case, tag, searched, "match.compile"))
            rows.append(duration(case, f"seconds_execution{which}", made.seconds))
    return rows


def precisions(device: Device, row: Row) -> list[dict[str, object]]:
    """Products of other element types, spread by the search, executed, then simulated repeated.

    Each with what the cost model says it is bound by.
    """
    rows = []
    for case, (a, w, out) in TYPES.items():
        form = _form(out)
        sizes = GEMMS["gemm_512x896x576"]
        layer = DenseLayer(*sizes, a, w, out, relu=form == "shift", requantise=form)
        found = find(layer, device)
        assert not isinstance(found, Infeasible), found
        made = of_mapping(found[0].mapping, device)
        cycles = simulate_program(made.program, device).interval
        tops = made.tops(cycles, device)
        peak = 2 * (device.architecture.core.macs_of(a, w) or 0) * device.core_tiles
        share = 100 * tops / (peak * device.clock_ghz / 1000)
        which = f"all {device.core_tiles} tiles, {peak // 2 // device.core_tiles} products a cycle"
        how = f"{len(made.program.cores)} tiles, repeated runs; bound: {found[0].cost.bound}"
        rows += [
            row(case, "executed", 1, "", "measured", "result equal to the reference"),
            row(case, "simulated_cycles", cycles, "cycles", "simulated", how),
            row(case, "simulated_tops", tops, "TOPS", "simulated", how),
            row(case, "efficiency_percent", share, "%", "simulated", "of the types' peak"),
            row(case, "peak_tops", peak * device.clock_ghz / 1000, "TOPS", "modelled", which),
        ]
    return rows


def _form(out: str) -> Literal["shift", "none"]:
    """Sums of 32 bits are stored as they are."""
    return "none" if out == "int32" else "shift"


def _timed(
    case: str, which: str, made: Program, device: Device, row: Row, *, repeated: bool
) -> list[dict[str, object]]:
    """A single run, every call of it simulated, or repeated ones; assumptions at half and double.

    The transfer of a cascade at 2, 8 and 16 cycles, too.
    """
    streams = made.graph.memory == "plio"
    how = f"{len(made.program.cores)} tiles: {made.graph.remark}; " + (
        "interval of repeated runs" if repeated else "first fill to last drain"
    )

    def cycles_of(assumed: Assumed, beyond: Beyond) -> float:
        if repeated:
            return simulate_program(made.program, device, assumed=assumed, beyond=beyond).interval
        return run_layer(made.program, device, assumed=assumed, beyond=beyond).cycles

    base = Beyond()
    begun = processor()
    cycles = cycles_of(Assumed(), base)
    took = processor() - begun
    macs = device.architecture.core.macs_of("int8", "int8") or 0
    peak = 2 * macs * device.core_tiles * device.clock_ghz / 1000
    tops = made.tops(cycles, device)
    rows = [
        row(case, f"executed{which}", 1, "", "measured", "result equal to the reference"),
        row(case, f"simulated_cycles{which}", cycles, "cycles", "simulated", how),
        row(case, f"simulated_tops{which}", tops, "TOPS", "simulated", how),
        row(case, f"efficiency_percent{which}", 100 * tops / peak, "%", "simulated", f"{peak:.2f}"),
        duration(case, f"seconds_simulation{which}", took),
    ]
    varied = [
        (name, Assumed().scaled(factor), base, f"assumed times of the array at {name}")
        for factor, name in ((0.5, "half"), (2.0, "double"))
    ]
    varied += [
        (f"cascade_{much}", replace(Assumed(), cascade=much), base, f"{much} cycles a transfer")
        for much in (2, 8, 16)
    ]
    if not streams:
        varied += [
            (f"memory_{name}", Assumed(), _memory(base, factor), "the chip's memory")
            for factor, name in ((0.5, "half"), (2.0, "double"))
        ]
    for name, assumed, beyond, note in varied:
        value = made.tops(cycles_of(assumed, beyond), device)
        metric = f"simulated_tops{which}_{name}"
        rows.append(row(case, metric, value, "TOPS", "simulated", note))
    return rows


def _memory(base: Beyond, factor: float) -> Beyond:
    """The chip's memory with its latency multiplied, its rate divided."""
    return replace(
        base,
        memory_gbps=base.memory_gbps / factor,
        memory_cycles=round(base.memory_cycles * factor),
    )
