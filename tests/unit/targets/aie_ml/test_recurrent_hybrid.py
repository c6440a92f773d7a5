"""Recurrent layers whose gates and state are in programmable logic."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import Assumed
from match_aie.targets.aie_ml.array.assumed import LogicTimes
from match_aie.targets.aie_ml.array.check import check, violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import LogicCall
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import layer
from tests.unit.workload.test_recurrent_int8 import layer as layer8

VEK280 = device("vek280")


def program(workload, constants, tiles):
    spatial = Loop("C", 1), Loop("K", tiles), Loop("K", 16)
    plan = cut_plan(workload, "vek280", Mapping(spatial, ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    assert len(made.cores) == tiles
    return plan, made


@pytest.mark.parametrize(
    ("kind", "steps", "inputs", "hidden", "tiles"),
    [
        ("gru", 9, 5, 40, 3),
        ("gru", 1, 3, 7, 1),
        ("lstm", 1, 30, 64, 4),
        ("gru", 6, 40, 100, 7),
        ("lstm", 5, 8, 17, 1),
        ("gru", 5, 8, 30, 1),
    ],
)
def test_executed_programs_equal_their_references(kind, steps, inputs, hidden, tiles):
    """Two runs, of which the second begins with a state of zeros; one chunk a tile, and two."""
    workload, constants, x = layer(kind, True, steps, inputs, hidden)
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants, tiles)
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(
    ("kind", "hidden", "tiles", "dtype", "zero"),
    [("gru", 70, 3, "int8", -3), ("lstm", 50, 2, "uint8", 120), ("gru", 16, 1, "int8", 5)],
)
def test_products_of_8_bits(kind, hidden, tiles, dtype, zero):
    """States come back in steps, a byte each, and results by a stream of their own."""
    workload, constants, x = layer8(kind, True, 9, 13, hidden, 0, dtype, zero)
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants, tiles)
    (logic,) = made.logics
    assert logic.streams == (0,) * tiles + (1,)
    assert (logic.back(0), logic.back(1)) == (32 * tiles, 64 * tiles)
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(
    ("made_of", "units", "kind", "tiles"),
    [(layer, 16, "gru", 2), (layer, 16, "gru", 8), (layer, 16, "lstm", 2), (layer8, 32, "gru", 2)],
)
def test_a_step_takes_what_is_modelled(made_of, units, kind, tiles):
    workload, constants, _ = made_of(kind, True, 64, 32, units * tiles)
    plan, made = program(workload, constants, tiles)
    result = simulate_program(made, VEK280)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.1)
    assert simulate_program(made, VEK280, assumed=Assumed().scaled(2)).interval > result.interval


def test_a_cycle_of_logic_is_four_of_the_array():
    """Which all of a step's in logic and both crossings are waited for."""
    workload, constants, _ = layer("gru", True, 64, 32, 32)
    _, made = program(workload, constants, 2)
    (logic,) = made.logics
    plain = simulate_program(made, VEK280).interval
    for more, cycles in (({"crossing": 5}, 2), ({"table": 3}, 2), ({"add": 4}, 5)):
        slower = replace(logic, times=replace(LogicTimes(), **more))
        took = simulate_program(replace(made, logics=(slower,)), VEK280).interval
        # Both functions have a table and a sum; three sums more form the candidate and the state.
        assert took - plain == pytest.approx(64 * 4 * cycles, abs=16)


def test_a_step_in_logic_is_its_longest_way():
    """GRU: two lines, three roundings to bfloat16 more, and the sums between them."""
    times, call = LogicTimes(), LogicCall("logic", "gru", 2, 16, 8)
    assert times.step(call) == 1 + 2 * (1 + 2 + 3 + 3) + 1 + 2 * (3 + 3 + 1) + (3 + 1) + 3 * 2
    assert times.step(replace(call, tiles=8)) == times.step(call) + 3
    assert (call.words, call.back, call.whole) == (10, (4,), 32)
    narrow = replace(call, narrow=True)
    assert (narrow.back, times.step(narrow)) == ((2, 4), times.step(call) + 3 + 1)
    assert (replace(call, cell="lstm").words, replace(call, tiles=3).abreast) == (8, 16)


def test_rules_count_streams_of_logic():
    """Six streams leave a column, and a core has two channels for them."""
    workload, constants, _ = layer("gru", True, 4, 8, 64)
    _, made = program(workload, constants, 4)
    (logic,) = made.logics
    both = replace(logic, sources=logic.sources * 2, reads=logic.reads * 2)
    rules = {rule for rule, _ in violations(replace(made, logics=(both,)), VEK280)}
    assert {"ways", "channels"} <= rules


def test_a_device_without_logic_refuses():
    workload, constants, _ = layer("gru", True, 4, 8, 32)
    del constants
    with pytest.raises(TargetError):
        cut_plan(workload, "npu1", Mapping((Loop("C", 1), Loop("K", 2), Loop("K", 16)), ()))
