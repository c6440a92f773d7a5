"""Dense layers on Ryzen AI whose weights come in every run: traffic, programs, and their text."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan, timed_best
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.versal.executing import drawn
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.workload import reference
from tests.aie_timed import layer

NPU1 = device("npu1")


def planned(form, seed=5, sizes=(96, 1536, 64), *, shared=False):
    """A layer whose weights would stay in two tiles, and its plan on them, by stream in turns."""
    made = layer(np.random.default_rng(seed), *sizes, form=form, zero=3)
    assert made is not None
    workload, constants = made
    asked = replace(dense_layer(workload), resident=False, shared=shared)
    plan = timed_best(asked, workload, "npu1", 2, 2)
    assert isinstance(plan, TimedPlan)
    return plan, workload, constants


def program_of(plan, workload, constants):
    """Laid out, and found to keep all rules."""
    program = lay_out(plan.graph("layer", workload, constants), NPU1)
    assert not isinstance(program, Infeasible)
    check(program, NPU1)
    return program


@pytest.mark.parametrize("form", ["shift", "channel"])
def test_weights_that_may_not_stay_come_in_every_run(form):
    plan, workload, constants = planned(form)
    m = plan.timed.mapping
    assert (m.home, m.reduction_steps > 1) == ("chip", True)
    program = program_of(plan, workload, constants)
    rng = np.random.default_rng(2)
    x = drawn(workload.inputs[0], rng)
    wanted = reference(workload, [x], constants)
    done = execute(program, NPU1, {"x": x})
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    # Numbers by column come with the weights: nothing of the layer stays in a tile.
    assert not [b.name for b in program.buffers if b.values is not None]
    assert "sums" in {b.name for b in program.buffers}


@pytest.mark.parametrize("form", ["shift", "channel"])
def test_traffic_is_what_the_plan_says(form):
    plan, workload, constants = planned(form)
    program = program_of(plan, workload, constants)
    carried = sum(
        route.bytes * route.sends
        for route in program.routes
        if route.source.tile[1] == 0 or any(sink.tile[1] == 0 for sink in route.sinks)
    )
    run = run_layer(program, NPU1)
    modelled, least = plan.traffic
    assert run.whole
    assert modelled == carried == run.moved
    rows, (x, w) = plan.timed.rows, (plan.timed.mapping.layer, constants["weight"])
    assert least == rows * (x.reduction + x.columns) + plan.timed.passes * w.size
    assert least <= modelled <= 1.3 * least


def test_layers_of_a_shape_differ_in_streamed_weights_alone():
    """Which is what lets one configuration of the array serve them."""
    one, *first = planned("channel", 5)
    two, *second = planned("channel", 6)
    assert one == two
    programs = [program_of(plan, *made) for plan, made in ((one, first), (two, second))]
    written = [text(program, NPU1) for program in programs]
    shifts = [core.function.call.shift for program in programs for core in program.cores]
    assert len(set(shifts)) == 1
    assert written[0] == written[1]
    assert read(written[0], NPU1, kernels_of(programs[0])) == programs[0]


def test_a_program_that_is_shared_holds_no_numbers_of_its_layer():
    """Where it would hold some otherwise: its calls take turns, with which they come."""
    sizes = (96, 256, 64)
    assert planned("channel", sizes=sizes)[0].timed.mapping.reduction_steps == 1
    plan, *one = planned("channel", 5, sizes, shared=True)
    same, *two = planned("channel", 6, sizes, shared=True)
    assert plan == same
    assert plan.timed.mapping.reduction_steps > 1
    program, other = (program_of(plan, *made) for made in (one, two))
    assert not [b.name for b in program.buffers if b.values is not None]
    assert text(program, NPU1) == text(other, NPU1)
