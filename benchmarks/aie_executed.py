"""Dense layers as programs of the array that are executed with real data before they are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from versal import mlp

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array import ArrayMapping, ArrayProgram, Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense import DenseGraph
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.simulate import Beyond, run_layer, simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.module import plan_of
from match_aie.workload import Quantized, Workload, dense, full_range, reference

Row = Callable[..., dict[str, object]]

#: case -> rows, reduction, columns.
GEMMS = {"gemm_512x896x576": (512, 896, 576), "gemm_4096x896x576": (4096, 896, 576)}


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
) -> Program:
    """The program of `graph`, executed.

    Raises:
        AssertionError: it breaks a rule, or its result is not the reference's.
    """
    program = lay_out(graph, device, column)
    assert not isinstance(program, Infeasible), program
    check(program, device)
    rng = np.random.default_rng(1)
    x = workload.inputs[0]
    info = np.iinfo(x.dtype)
    tensor = rng.integers(info.min, info.max + 1, x.shape).astype(x.dtype)
    wanted = reference(workload, [tensor], constants)
    begun = time.perf_counter()
    done = execute(program, device, {"x": tensor})
    seconds = time.perf_counter() - begun
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    assert np.unique(wanted).size > 20
    return Program(graph, program, seconds, workload.macs)


def of_mapping(mapping: ArrayMapping, device: Device) -> Program:
    """The program of a dense layer spread as `mapping` says, requantised by a shift."""
    layer = mapping.layer
    scale = np.sqrt(layer.reduction) * np.iinfo(layer.w).max
    rng = np.random.default_rng(0)
    info = np.iinfo(layer.w)
    # Sums of 16-bit operands must fit 32 bits.
    most = info.max if layer.w == "int8" else 300
    workload = dense(
        Quantized(layer.a, 2.0**-4, 0),
        Quantized(layer.out, 2.0**-3, 0),
        rows=layer.rows,
        inputs=layer.reduction,
        outputs=layer.columns,
        weight_dtype=layer.w,
        tail=replace(full_range(layer.out, 0), lo=0),
        scales=1,
    )
    wide = np.iinfo(layer.a).max / np.iinfo(layer.out).max
    shift = round(np.log2(wide * scale * most / info.max))
    constants = {
        "weight": rng.integers(-most, most + 1, (layer.columns, layer.reduction)).astype(layer.w),
        "bias": rng.integers(-2000, 2000, layer.columns).astype(np.int32),
        "scale": np.full(1, 2.0**-shift, np.float32),
    }
    fixed = in_fixed_point(workload, constants)
    assert not isinstance(fixed, str), fixed
    graph = DenseGraph("layer", mapping, device, fixed.workload, fixed.constants).graph
    return proven(graph, fixed.workload, dict(fixed.constants), device)


def gemms(device: Device, row: Row) -> list[dict[str, object]]:
    """Products as `match.compile` emits them for a whole array, executed, then simulated."""
    rows = []
    for case, (m, k, n) in GEMMS.items():
        target = VersalAIEML(columns_per_layer=device.columns, modules=("array",))
        begun = time.perf_counter()
        net = match.compile(mlp(1, k, m, columns=n), target=target)
        searched = time.perf_counter() - begun
        (layer,) = net.program.schedule.chosen
        plan = plan_of(layer.workload, device.name, layer.mapping)
        graph = plan.graph(layer.symbol, layer.workload, layer.constants)
        made = proven(graph, layer.workload, dict(layer.constants), device)
        rows += _timed(case, made, device, row)
        rows.append(row(case, "seconds_search", searched, "s", "measured", "match.compile"))
        rows.append(row(case, "seconds_execution", made.seconds, "s", "measured"))
    return rows


def _timed(case: str, made: Program, device: Device, row: Row) -> list[dict[str, object]]:
    """Repeated and once, with assumptions at half and double."""
    how = f"{len(made.program.cores)} tiles: {made.graph.remark}; from the chip's memory and back"

    def repeated(assumed: Assumed, beyond: Beyond) -> float:
        result = simulate_program(made.program, device, assumed=assumed, beyond=beyond)
        return result.interval

    begun = time.perf_counter()
    interval = repeated(Assumed(), Beyond())
    took = time.perf_counter() - begun
    once = run_layer(made.program, device).cycles
    macs = device.architecture.core.macs_of("int8", "int8") or 0
    peak = 2 * macs * device.core_tiles * device.clock_ghz / 1000
    tops = made.tops(interval, device)
    rows = [
        row(case, "executed", 1, "", "measured", "result equal to the reference bit for bit"),
        row(case, "simulated_cycles", interval, "cycles", "simulated", f"repeated, {how}"),
        row(case, "simulated_tops", tops, "TOPS", "simulated", f"repeated, {how}"),
        row(case, "efficiency_percent", 100 * tops / peak, "%", "simulated", f"of {peak:.2f}"),
        row(case, "simulated_cycles_once", once, "cycles", "simulated", "first fill to last drain"),
        row(case, "simulated_tops_once", made.tops(once, device), "TOPS", "simulated", "likewise"),
        row(case, "seconds_simulation", took, "s", "measured"),
    ]
    base = Beyond()
    for factor, name in ((0.5, "half"), (2.0, "double")):
        array = repeated(Assumed().scaled(factor), base)
        beyond = replace(
            base,
            memory_gbps=base.memory_gbps / factor,
            memory_cycles=round(base.memory_cycles * factor),
        )
        memory = repeated(Assumed(), beyond)
        for kind, cycles, what in (
            ("", array, "start, locks, descriptors, cascade"),
            ("_memory", memory, "the chip's memory: latency; its rate the other way"),
        ):
            metric, note = f"simulated_tops{kind}_{name}", f"assumed times at {name}: {what}"
            value = made.tops(cycles, device)
            rows.append(row(case, metric, value, "TOPS", "simulated", note))
    return rows
