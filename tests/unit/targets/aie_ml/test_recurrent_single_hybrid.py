"""Recurrent layers in float32 on a VCK190 whose gates and state are in programmable logic."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import Assumed
from match_aie.targets.aie_ml.array.assumed import LogicTimes
from match_aie.targets.aie_ml.array.check import check, violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, plan_cut
from match_aie.targets.aie_ml.graph.recurrent_splits import with_logic
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import SingleLogicCall
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.workload import product_type, reference
from match_aie.workload.codec import from_json, to_json
from tests.unit.workload.test_recurrent_single import layer

VCK190 = device("vck190")
CELLS = [("gru", True), ("gru", False), ("lstm", True)]


def lines(kind, after, steps, inputs, hidden):
    """A layer whose functions are lines, with its constants and an input."""
    workload, constants, x = layer(kind, after, steps, inputs, hidden)
    real = replace(workload.real, precision="single_lines")
    return replace(workload, real=real), constants, x


def program(workload, constants, senders):
    spatial = Loop("C", 1), Loop("K", senders), Loop("K", 8)
    plan = cut_plan(workload, "vck190", Mapping(spatial, ()))
    made = lay_out(plan.graph("layer", workload, constants), VCK190, 3)
    check(made, VCK190)
    assert len(made.cores) == 2 * senders + 1
    return plan, made


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(CELLS),
    st.integers(1, 18),
    st.integers(1, 20),
    st.integers(1, 40),
    st.integers(1, 5),
)
def test_executed_programs_equal_their_references(cell, steps, inputs, hidden, senders):
    """Two runs, of which the second begins with a state of zeros; one chunk a tile, and more."""
    units = 8 * -(-hidden // (8 * senders))
    senders = -(-hidden // units)  # no tile without units
    workload, constants, x = lines(*cell, steps, inputs, hidden)
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants, senders)
    done = execute(made, VCK190, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize("cell", CELLS)
def test_a_step_takes_what_is_modelled(cell):
    """Assumed times count in both; so do those of logic."""
    workload, constants, _ = lines(*cell, 64, 32, 32)
    plan, made = program(workload, constants, 4)
    result = simulate_program(made, VCK190)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.1)
    assert simulate_program(made, VCK190, assumed=Assumed().scaled(2)).interval > result.interval


@pytest.mark.parametrize(
    ("cell", "crossings", "lines_in_turn"),
    [(CELLS[0], 2, 2), (CELLS[1], 4, 2), (CELLS[2], 2, 2)],
)
def test_a_cycle_of_logic_is_four_of_the_array(cell, crossings, lines_in_turn):
    """All turns of a step and their crossings are waited for."""
    workload, constants, _ = lines(*cell, 64, 8, 16)
    _, made = program(workload, constants, 2)
    (logic,) = made.logics
    assert logic.sends == 64 * logic.function.turns
    plain = simulate_program(made, VCK190).interval
    for more, cycles in (({"crossing": 5}, crossings), ({"table": 3}, lines_in_turn)):
        slower = replace(logic, times=replace(LogicTimes(), **more))
        took = simulate_program(replace(made, logics=(slower,)), VCK190).interval
        assert took - plain == pytest.approx(64 * 4 * cycles, abs=32)


def test_turns_in_logic_are_their_longest_ways():
    """A line is held, placed, read, multiplied and added to: ten cycles of logic."""
    times, call = LogicTimes(), SingleLogicCall("logic", "gru", 4, 8, 8)
    assert times.turns(call) == (1 + 2 * (10 + 3 + 3) + 3 * 2,)
    assert times.turns(replace(call, tiles=8)) == (times.turns(call)[0] + 1,)
    assert times.turns(replace(call, cell="lstm")) == (1 + 10 + 6 + 10 + 3 + 6,)
    before = replace(call, cell="gru_before")
    assert times.turns(before) == (1 + 10 + 3 + 6, 1 + 10 + 6 + 6)
    assert (call.words, call.back, call.sends) == (8, (8,), 8)
    assert (before.words, before.back, before.sends) == (4, (8,), 16)
    assert (replace(call, tiles=3).abreast, replace(call, tiles=8).abreast) == (24, 32)


def test_rules_count_streams_of_logic():
    """Four streams leave a column of cores, and a core has two channels for them."""
    workload, constants, _ = lines("gru", True, 4, 8, 32)
    _, made = program(workload, constants, 4)
    (logic,) = made.logics
    both = replace(logic, sources=logic.sources * 3, reads=logic.reads * 3)
    rules = {rule for rule, _ in violations(replace(made, logics=(both,)), VCK190)}
    assert {"ways", "channels"} <= rules


def test_it_is_the_only_way_of_such_a_layer_and_of_no_other():
    """The number of tiles is searched; a reset gate before the product is spread, too."""
    for cell in CELLS:
        workload, _, _ = lines(*cell, 64, 32, 32)
        assert product_type(workload) == "float32"
        assert from_json(to_json(workload)) == workload
        plan = plan_cut(workload, "vck190", 4)
        assert with_logic(plan.nest.spatial)
        rows, chain = (Loop("K", 1), Loop("K", 4)), (Loop("C", 1), Loop("C", 3))
        for spatial in (rows, chain):  # cores have functions of their own
            with pytest.raises(TargetError, match="no nest"):
                cut_plan(workload, "vck190", Mapping((*spatial, Loop("K", 8)), ()))
        single, _, _ = layer(*cell, 64, 32, 32)
        with pytest.raises(TargetError, match="no nest"):
            cut_plan(single, "vck190", plan.nest)


def test_what_has_no_room_is_refused_with_what_helps():
    workload, _, _ = lines("lstm", True, 4, 5, 100)
    refused = plan_cut(workload, "vck190", 2)
    assert isinstance(refused, Infeasible)
    assert "more columns for a layer (columns_per_layer)" in refused.levers


@pytest.mark.parametrize(
    ("cell", "columns", "most"),
    [
        (CELLS[0], 4, 85),
        (CELLS[1], 4, 85),
        (CELLS[2], 4, 64),
        (CELLS[1], 8, 128),
        (CELLS[2], 8, 128),
    ],
)
def test_units_up_to_what_is_documented(cell, columns, most):
    for hidden in (most, most + 1):
        workload, _, _ = lines(*cell, 4, 3, hidden)
        assert isinstance(plan_cut(workload, "vck190", columns), Infeasible) == (hidden > most)


def test_cores_that_do_not_multiply_floats_are_refused():
    with pytest.raises(TargetError, match="do not multiply float32"):
        VersalAIEML("vek280", floats="float32_logic")
