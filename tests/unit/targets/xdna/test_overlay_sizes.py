"""Layers of any size by one configuration: padded rows and reductions, several runs of columns."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware.mapping import mapping_from_json, mapping_to_json
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.overlay import Overlaid, OverlayPlan
from match_aie.targets.aie_ml.graph.overlay_nest import is_overlay_nest
from match_aie.targets.aie_ml.graph.overlay_plan import best_overlay, overlay_of_nest
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.mlir import read
from match_aie.targets.xdna.mlir.overlay import kernels_of_overlay, overlay, single
from match_aie.workload import reference
from tests.overlays import NPU1, floats_of, layer_of, small, small_floats

#: Rows, reduction, columns: beyond blocks in each dimension, one row, wide ones of several runs.
ODD = [
    (100, 64, 64),
    (128, 50, 64),
    (1, 7, 3),
    (130, 200, 61),
    (37, 96, 128),
    (128, 64, 100),
    (17, 33, 150),
    (32, 256, 192),
    (300, 64, 128),
    (70, 256, 150),
]


def shared_by(made):
    """The overlay of `small`, as layers of the target see it: every kernel starts from a bias."""
    one = small_floats() if made.workload.rounded else small()
    whole = replace(one.mapping.layer, bias=True)
    return replace(one, mapping=replace(one.mapping, layer=whole))


def program_for(made):
    timed = shared_by(made).padded(dense_layer(made.workload), "npu1")
    assert isinstance(timed, Overlaid), timed
    graph = OverlayPlan(timed).graph("layer", made.workload, made.constants)
    program = lay_out(direct(graph, None, NPU1), NPU1)
    assert not isinstance(program, Infeasible), program
    check(program, NPU1)
    return program


def drawn(made, size, seed=1):
    rng = np.random.default_rng(seed)
    if made.workload.rounded:
        return rng.standard_normal(size[:2]).astype(np.float32)
    return rng.integers(-128, 128, size[:2]).astype(np.int8)


@pytest.mark.parametrize("size", ODD)
@pytest.mark.parametrize("make", [layer_of, floats_of])
def test_results_of_any_size_are_the_references(size, make):
    made = make(*size)
    program, x = program_for(made), drawn(made, size)
    wanted = reference(made.workload, [x], made.constants)
    assert np.unique(wanted).size > 2
    done = execute(program, NPU1, {"x": x})
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    assert run_layer(program, NPU1).whole


def test_they_are_one_text_which_is_read_back():
    programs = {f"layer{n}": program_for(layer_of(*size)) for n, size in enumerate(ODD)}
    module, kernels = overlay(programs, NPU1), kernels_of_overlay(programs)
    for name, program in programs.items():
        assert read(single(module, name), NPU1, kernels[name]) == program


@pytest.mark.parametrize(
    ("size", "what"), [((64, 1100, 64), "turns of a pass"), ((300, 64, 6400), "transfers")]
)
def test_what_no_blocks_hold_is_infeasible(size, what):
    found = small().padded(dense_layer(layer_of(*size).workload), "npu1")
    assert isinstance(found, Infeasible)
    assert found.resource == what


@pytest.mark.parametrize("name", ["npu1", "npu2"])
def test_a_search_weighs_layers_together(name):
    """Every plan comes back from its loops; what is worth nothing, or too long, is left alone."""
    array = device(name)
    sizes = [(200, 96, 64), (200, 320, 64), (50, 64, 256), (8, 16, 16)]
    made = [layer_of(*size) for size in sizes]
    workloads = [one.workload for one in made]
    found = best_overlay(workloads, name, 4, lambda n, cycles: 1e5 - cycles if n < 3 else 0.0)
    assert found is not None
    assert sorted(found.plans) == [0, 1, 2]
    assert found.worth == pytest.approx(sum(1e5 - plan.cycles for plan in found.plans.values()))
    for number, plan in found.plans.items():
        assert is_overlay_nest(plan.nest)
        nest = mapping_from_json(mapping_to_json(plan.nest))
        assert overlay_of_nest(dense_layer(workloads[number]), name, nest) == plan
        graph = plan.graph("layer", workloads[number], made[number].constants)
        program = lay_out(direct(graph, None, array), array)
        assert not isinstance(program, Infeasible), program
        x = drawn(made[number], sizes[number])
        wanted = reference(workloads[number], [x], made[number].constants)
        done = execute(program, array, {"x": x})
        np.testing.assert_array_equal(done.tensor(wanted), wanted)
        assert run_layer(program, array).cycles == pytest.approx(plan.cycles, rel=0.25)
    assert best_overlay(workloads, name, 4, lambda n, cycles: -cycles) is None


def test_another_layer_s_loops_are_refused():
    made = layer_of(200, 96, 64)
    timed = shared_by(made).padded(dense_layer(made.workload), "npu1")
    nest = OverlayPlan(timed).nest
    other = dense_layer(layer_of(200, 400, 64).workload)
    with pytest.raises(TargetError, match="is no nest of a dense layer by an overlay"):
        overlay_of_nest(other, "npu1", nest)
