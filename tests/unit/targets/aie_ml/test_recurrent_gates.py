"""Recurrent layers whose gates are spread over chains of tiles, whose states come as packets."""

from itertools import pairwise

import numpy as np
import pytest

from match_aie.errors import TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, plan_cut
from match_aie.targets.aie_ml.graph.recurrent_splits import along_cascade
from match_aie.targets.aie_ml.kernels.recurrent_gates import (
    ORDER,
    SPLITS,
    GatesCall,
    chain_of,
    sequence,
)
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import layer

VEK280 = device("vek280")


def loops(depth, chains):
    return Loop("C", depth), Loop("K", chains), Loop("K", 16)


def program(workload, constants, depth, chains):
    plan = cut_plan(workload, "vek280", Mapping(loops(depth, chains), ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    return plan, made


@pytest.mark.parametrize(
    ("kind", "steps", "inputs", "hidden", "depth"),
    [
        ("gru", 9, 5, 40, 2),
        ("gru", 2, 30, 64, 3),
        ("gru", 21, 40, 100, 3),
        ("lstm", 6, 8, 64, 2),
        ("lstm", 18, 20, 48, 4),
    ],
)
def test_executed_programs_equal_their_references(kind, steps, inputs, hidden, depth):
    """Two runs, of which the second begins with a state of zeros; tiles that send late, too."""
    workload, constants, x = layer(kind, True, steps, inputs, hidden)
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants, depth, -(-hidden // 16))
    assert len(made.cores) == depth * -(-hidden // 16)
    (merge,) = made.merges
    assert len(merge.sinks) == len(made.cores)
    for slow in ((), merge.sources[:1], merge.sources[1:]):
        done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}], slow=slow)
        np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize("cell", SPLITS)
def test_every_gate_is_some_tiles_and_its_sums_begin_with_what_comes(cell):
    """Words ahead of a step and in it are sent by one tile and taken by the next one."""
    for split in SPLITS[cell]:
        assert sum(split) == len(ORDER[cell])
        kind = "gru" if cell == "gru" else "lstm"
        workload, _, _ = layer(kind, True, 9, 5, 48)
        spatial = loops(len(split), 3)
        cut = cut_plan(workload, "vek280", Mapping(spatial, ())).cut
        assert isinstance(cut, GatesCall)
        tiles = chain_of(cut)
        assert tuple(gate for tile in tiles for gate in tile.own) == ORDER[cell]
        for tile, source in pairwise(tiles):
            assert (*tile.handed, *tile.kept) == source.handed
            assert tile.later == (*source.own, *source.later)
        assert [tile.ends for tile in tiles] == [True] + [False] * (len(tiles) - 1)
        assert [tile.begins for tile in tiles] == [False] * (len(tiles) - 1) + [True]
        assert not tiles[0].handed
        assert not tiles[-1].later


def test_inputs_of_the_next_group_are_multiplied_a_gate_behind_each_step():
    """Those of the first group before the first step; of a group without a next one none."""
    workload, _, _ = layer("gru", True, 9, 5, 48)
    cut = cut_plan(workload, "vek280", Mapping(loops(2, 3), ())).cut
    found = sequence(chain_of(cut)[-1])
    assert found[:5] == (("inputs", 0), ("send", 0), ("step", 0), ("send", 1), ("ahead", 0))
    assert [at for doing, at in found if doing == "ahead"] == [0, 1, 2, 4, 5, 6]
    assert found[-2:] == (("send", 8), ("step", 8))
    assert [at for doing, at in found if doing == "send"] == list(range(9))


@pytest.mark.parametrize(
    ("kind", "depth", "hidden"), [("gru", 2, 64), ("gru", 3, 128), ("lstm", 2, 96), ("lstm", 4, 64)]
)
def test_a_step_takes_what_is_modelled(kind, depth, hidden):
    """Shorter than where each tile has all gates of its units."""
    workload, constants, _ = layer(kind, True, 64, 32, hidden)
    plan, made = program(workload, constants, depth, hidden // 16)
    result = simulate_program(made, VEK280)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.05)
    slow = simulate_program(made, VEK280, assumed=Assumed().scaled(2)).interval
    assert slow > result.interval
    rows = cut_plan(workload, "vek280", Mapping((Loop("K", 1), *loops(1, hidden // 16)[1:]), ()))
    whole = lay_out(rows.graph("layer", workload, constants), VEK280, 3)
    assert result.interval < 0.9 * simulate_program(whole, VEK280).interval


@pytest.mark.parametrize(("kind", "hidden"), [("gru", 64), ("gru", 128), ("lstm", 48)])
def test_the_search_takes_it_where_it_is_fastest(kind, hidden):
    workload, _, _ = layer(kind, True, 64, 32, hidden)
    assert isinstance(plan_cut(workload, "vek280", 4).cut, GatesCall)


def test_what_a_lock_costs_is_paid_once_in_a_step():
    """That of its packet: gates and sums come along cascades, results leave in groups."""
    workload, constants, _ = layer("gru", True, 64, 32, 64)
    _, made = program(workload, constants, 2, 4)
    plain = simulate_program(made, VEK280).interval
    slow = simulate_program(made, VEK280, assumed=Assumed(acquire=Assumed().acquire + 10)).interval
    assert 10 <= (slow - plain) / 64 <= 10 * 1.2


def test_loops_say_which_way_they_are_of():
    assert along_cascade(loops(3, 4)) is None
    assert along_cascade((Loop("C", 3), Loop("K", 1), Loop("K", 16))) == 3
    workload, _, _ = layer("gru", False, 6, 8, 64)
    with pytest.raises(TargetError):
        cut_plan(workload, "vek280", Mapping(loops(2, 4), ()))
