"""Dense layers whose weights lie in memory tiles during a run: results, traffic, text, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.held import HeldPlan, held_best
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.versal.executing import drawn
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.targets.xdna.mlir.host import host_arguments
from match_aie.targets.xdna.mlir.overlay import kernels_of_overlay, overlay, single
from match_aie.targets.xdna.mlir.sequence import Round
from match_aie.workload import reference
from tests.held_layers import NPU1, plan_of, program_of
from tests.overlays import floats_of, layer_of

#: Rows, reduction and columns: of one pass, of several, of rests in each of them.
SIZES = [(64, 64, 64), (100, 72, 40), (141, 40, 24), (32, 32, 8)]


def holds(made, seed=1):
    """Two runs of a layer, each result its reference's; the program and the plan."""
    plan, program = plan_of(made), program_of(made)
    rng = np.random.default_rng(seed)
    runs = [drawn(made.workload.inputs[0], rng) for _ in range(2)]
    done = execute(program, NPU1, [{"x": x} for x in runs])
    for number, x in enumerate(runs):
        wanted = reference(made.workload, [x], made.constants)
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
    return plan, program


@pytest.mark.parametrize("make", [floats_of, layer_of])
@pytest.mark.parametrize("size", SIZES)
def test_results_are_the_references(make, size):
    made = make(*size)
    plan, program = holds(made)
    # Nothing of the layer stays in a tile: numbers by column come with the weights.
    assert not [b.name for b in program.buffers if b.values is not None]
    run = run_layer(program, NPU1)
    assert run.whole
    moved, least = plan.traffic
    assert run.moved == moved >= least


@settings(max_examples=8, deadline=None)
@given(st.integers(16, 150), st.integers(4, 12), st.integers(1, 50))
def test_any_size_that_has_a_plan(rows, eights, columns):
    made = floats_of(rows, 8 * eights, columns)
    if isinstance(plan_of(made), HeldPlan):
        holds(made)


@pytest.mark.parametrize("make", [floats_of, layer_of])
def test_weights_come_once_whatever_the_passes(make):
    plans = [plan_of(make(rows, 64, 64)) for rows in (384, 1536)]
    assert plans[0].timed.passes < plans[1].timed.passes
    weights = {sum(plan.timed.w_loads) for plan in plans}
    each = [plan.traffic[0] - sum(plan.timed.w_loads) for plan in plans]
    assert len(weights) == 1
    assert each[1] == 4 * each[0]


@pytest.mark.parametrize("make", [floats_of, layer_of])
def test_the_text_is_read_back(make):
    program = program_of(make(100, 72, 40))
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


def test_layers_of_a_size_have_one_program():
    """What the array is configured with does not know their numbers."""
    one = floats_of(100, 72, 40)
    other = replace(one, constants={n: 2 * v + 1 for n, v in one.constants.items()})
    texts = [text(program_of(made), NPU1) for made in (one, other)]
    assert texts[0] == texts[1]


def test_layers_of_a_size_are_sequences_of_one_configuration():
    """Without numbers of turns; a dispatch may be of two windows, whose transfers are queued."""
    one = floats_of(100, 72, 40)
    other = replace(one, constants={n: 2 * v + 1 for n, v in one.constants.items()})
    programs = {"one": program_of(one), "other": program_of(other)}
    words = {arg.name: arg.words for arg in host_arguments(programs["one"])}
    further = Round(None, tuple((name, words[name]) for name in ("inputs", "outputs")))
    more = {"windows": ("one", (Round(), further))}
    module = overlay(programs, NPU1, more=more, turned=False)
    kernels = kernels_of_overlay(programs, turned=False)
    for name, whose in {"one": "one", "other": "other", "windows": "one"}.items():
        assert read(single(module, name), NPU1, kernels[whose]) == programs[whose]
    moved = [single(module, name).count("dma_memcpy_nd") for name in ("one", "windows")]
    assert moved[1] == 2 * moved[0] > 0
    with pytest.raises(TargetError, match=r"different kernels|not one configuration"):
        overlay(programs | {"wider": program_of(floats_of(64, 64, 64))}, NPU1, turned=False)


@pytest.mark.parametrize("size", [(512, 2048, 512), (12, 64, 64), (128, 16, 64)])
def test_what_has_no_such_plan_is_refused(size):
    """Weights that memory tiles do not hold; rows or a reduction that are no part for each tile."""
    made = floats_of(*size)
    found = held_best(dense_layer(made.workload), made.workload, "npu1", NPU1.columns)
    assert isinstance(found, Infeasible)
    assert found.resource.startswith("parts of the rows and the reduction")
