"""Layers' graphs laid out: all rules kept, everything moved, simulated as the graph says."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.graph.dense import DenseGraph
from match_aie.targets.aie_ml.graph.given import program_of
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.workload import Quantized, dense, full_range
from tests.aie_programs import equal, image_case

VEK280 = device("vek280")
KINDS = ("conv", "depthwise", "average", "max", "add", "table")
WORD = 4


def moved(program: ArrayProgram) -> dict[str, int]:
    """Bytes of a run by what streams carry and where they come from."""
    found = {"in": 0, "out": 0}
    for route in program.routes:
        if route.source.tile[1] < VEK280.shim_rows:
            found["in"] += route.bytes * route.sends
        elif any(sink.tile[1] < VEK280.shim_rows for sink in route.sinks):
            found["out"] += route.bytes * route.sends
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_random_image_layers_keep_all_rules_compute_and_run(kind: str) -> None:
    cases = [made for seed in range(6) if (made := image_case(kind, seed)) is not None]
    assert cases
    for made in cases:
        graph, program = made.graph, made.program
        assert violations(program, VEK280) == ()
        sizes = {"int8": 1, "uint8": 1, "int16": 2, "int32": 4}
        assert moved(program) == {
            "in": sum(o.elements * sizes[o.dtype] for o in graph.inputs),
            "out": sum(o.elements * sizes[o.dtype] for o in graph.outputs),
        }
        equal(made)
        run = run_layer(program, VEK280)
        assert run.whole
        work = {core.tile: sum(w.schedule.body for w in core.work) for core in program.cores}
        assert all(run.busy[tile] >= cycles for tile, cycles in work.items())
        # One channel carries 4 bytes a cycle; a run is in, work and out, one after another.
        least = max(o.elements * sizes[o.dtype] for o in graph.inputs) / WORD
        assert run.cycles > max(max(work.values()), least)
        slower = run_layer(program, VEK280, assumed=Assumed().scaled(2))
        assert slower.cycles > run.cycles


def dense_graph(mapping: ArrayMapping) -> LayerGraph:
    """The mapping's graph, requantised by a shift as the mapping's layer is, weights zero."""
    layer = mapping.layer
    workload = dense(
        Quantized("int8", 2.0**-4, 0),
        Quantized("int8", 2.0**-3, 0),
        rows=layer.rows,
        inputs=layer.reduction,
        outputs=layer.columns,
        tail=full_range("int8", 0),
        scales=1,
    )
    constants = {o.name: np.zeros(o.shape, o.dtype) for o in workload.constants}
    constants["scale"] = np.full(1, 2.0**-8, np.float32)
    fixed = in_fixed_point(workload, constants)
    assert not isinstance(fixed, str)
    zeros = {o.name: np.zeros(o.shape, o.dtype) for o in fixed.workload.constants}
    return DenseGraph("layer", mapping, VEK280, fixed.workload, zeros).graph


def into_cores(program: ArrayProgram) -> dict[tuple[int, int], int]:
    """Bytes that each core is sent in a run."""
    found = {core.tile: 0 for core in program.cores}
    for route in program.routes:
        for sink in route.sinks:
            if sink.tile in found:
                found[sink.tile] += route.bytes * route.sends
    return found


I8 = Tiling(4, 8, 8, True)
#: A single tile, a chain, a block, rows in parts.
MAPPINGS = [
    ArrayMapping(DenseLayer(512, 128, 128, relu=False), I8, (2, 2), "overlapped", 1, 1, 1, 32, 128),
    ArrayMapping(DenseLayer(512, 256, 128, relu=False), I8, (2, 2), "overlapped", 2, 1, 1, 32, 128),
    ArrayMapping(DenseLayer(256, 512, 256, relu=False), I8, (2, 2), "overlapped", 4, 2, 1, 32, 128),
    ArrayMapping(DenseLayer(512, 256, 256, relu=False), I8, (2, 2), "overlapped", 2, 2, 2, 32, 128),
]


@pytest.mark.parametrize("mapping", MAPPINGS, ids=lambda m: f"{m.cas_length}x{m.chains}")
def test_ways_to_memory_and_streams_move_the_same(mapping: ArrayMapping) -> None:
    """The same calls and bytes, whatever is outside; the same schedules."""
    streams = program_of(mapping, VEK280)
    laid = lay_out(dense_graph(mapping), VEK280)
    assert not isinstance(streams, Infeasible)
    assert not isinstance(laid, Infeasible)
    assert {core.tile: len(core.work) for core in streams.cores} == {
        core.tile: len(core.work) for core in laid.cores
    }
    assert into_cores(streams) == into_cores(laid)
    bodies = [{w.schedule.body for c in p.cores for w in c.work} for p in (streams, laid)]
    assert bodies[0] == bodies[1]


def test_a_single_run_is_in_then_work_then_out() -> None:
    """Whole tensors go in and out, 4 bytes a cycle, and calls in between overlap with neither."""
    mapping = MAPPINGS[0]
    laid = lay_out(dense_graph(mapping), VEK280)
    assert not isinstance(laid, Infeasible)
    run = run_layer(laid, VEK280)
    (core,) = laid.cores
    around = Assumed().call(2)
    calls = sum(work.schedule.body + around for work in core.work)
    ways = 2 * 512 * 128 / 4
    assert ways + calls < run.cycles < 1.06 * (ways + calls)


def test_what_does_not_fit_says_what_is_missing() -> None:
    graph = dense_graph(MAPPINGS[2])
    assert isinstance(lay_out(graph, VEK280, 35), Infeasible)
    narrow = replace(VEK280, shim_noc_columns=())
    refused = lay_out(graph, narrow)
    assert isinstance(refused, Infeasible)
    assert "memory" in refused.resource
    large = replace(graph.shared[0], dimensions=(1024, 1024))
    refused = lay_out(replace(graph, shared=(large, *graph.shared[1:])), VEK280)
    assert isinstance(refused, Infeasible)
    assert refused.bound <= 512 * 1024
