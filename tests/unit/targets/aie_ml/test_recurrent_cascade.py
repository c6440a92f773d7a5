"""Recurrent layers along a cascade: executed, and simulated with every way round paid."""

from collections import Counter

import numpy as np
import pytest

from match_aie.errors import TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan
from match_aie.targets.aie_ml.graph.recurrent_cascade import passing_cycles
from match_aie.targets.aie_ml.graph.recurrent_splits import along_cascade
from match_aie.targets.aie_ml.kernels.recurrent_cascade import chain
from match_aie.targets.aie_ml.schedule.recurrent import GroupSchedule
from match_aie.targets.aie_ml.schedule.recurrent_cascade import cascade_schedules
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.aie_ml.simulate.returning import returning_routes
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import layer
from tests.unit.workload.test_recurrent_int8 import layer as layer8

VEK280 = device("vek280")


def along(workload, constants, tiles):
    spatial = Loop("C", tiles), Loop("K", 1), Loop("K", 16)
    plan = cut_plan(workload, "vek280", Mapping(spatial, ()))
    assert along_cascade(plan.nest.spatial) == tiles
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    return plan, made


@pytest.mark.parametrize(
    ("kind", "steps", "inputs", "hidden", "tiles"),
    [
        ("gru", 9, 5, 17, 3),
        ("lstm", 6, 13, 33, 4),  # units in three parts of a chunk
        ("gru", 5, 70, 90, 8),  # in two parts
        ("gru", 1, 8, 24, 4),
    ],
)
def test_executed_programs_equal_their_references(kind, steps, inputs, hidden, tiles):
    """Octets that are spread evenly and not; a second run begins with a state of zeros."""
    workload, constants, x = layer(kind, True, steps, inputs, hidden)
    wanted = reference(workload, [x], constants)
    _, made = along(workload, constants, tiles)
    assert len(made.cores) == tiles
    assert len(made.cascades) == tiles - 1
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(
    ("kind", "steps", "hidden", "tiles", "dtype", "zero"),
    [
        ("gru", 9, 64, 3, "int8", -3),
        ("lstm", 6, 70, 4, "uint8", 120),
        ("gru", 5, 128, 4, "int8", 5),  # two vectors, and one in each of two tiles
        ("gru", 1, 90, 3, "int8", 0),
    ],
)
def test_products_of_8_bits(kind, steps, hidden, tiles, dtype, zero):
    """Integers go along as the bits of floats; the last tile stores what products read apart."""
    workload, constants, x = layer8(kind, True, steps, 13, hidden, 0, dtype, zero)
    wanted = reference(workload, [x], constants)
    _, made = along(workload, constants, tiles)
    assert len(made.cascades) == tiles - 1
    assert {route.reads for route in made.routes} >= {"out", "sent"}
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(("kind", "after", "tiles"), [("gru", False, 3), ("gru", True, 4)])
def test_what_has_no_such_cut_is_refused(kind, after, tiles):
    """A reset gate before the product, and fewer octets of a state than tiles."""
    workload, constants, _ = layer(kind, after, 4, 8, 16)
    with pytest.raises(TargetError, match="is no nest of a"):
        along(workload, constants, tiles)


@pytest.mark.parametrize(
    ("made_of", "kind", "hidden", "tiles"),
    [
        (layer, "gru", 16, 3),
        (layer, "gru", 96, 6),
        (layer, "gru", 128, 7),
        (layer, "lstm", 128, 7),
        (layer8, "gru", 64, 3),
        (layer8, "lstm", 128, 5),
    ],
)
def test_plans_are_what_is_simulated(made_of, kind, hidden, tiles):
    """Tiles of units that are walked in parts are at work at the same time."""
    workload, constants, _ = made_of(kind, True, 16, 32, hidden)
    plan, made = along(workload, constants, tiles)
    assert simulate_program(made, VEK280).latency == pytest.approx(plan.cycles, rel=0.08)


def test_a_tile_stands_still_where_a_word_is_not_there():
    """And all its later words are later by as much."""
    nothing = Counter[str](), Counter[str]()

    def step(body, reads, writes):
        return GroupSchedule(0, body - 10, 10, 1, 0, 1, nothing, reads, writes)

    first = step(30, (), (5, 20))
    assert passing_cycles((first,), 8) == 30
    last = step(40, (0, 10), ())
    assert passing_cycles((first, last), 8) == 40 + max(13, 28 - 10)
    middle = step(25, (0, 2), (1, 3))  # begins a word 13 late, and has the next one 26 late
    assert passing_cycles((first, middle, last), 8) == 40 + max(13 + 1 + 8, 26 + 3 + 8 - 10)


def test_every_step_pays_the_way_round():
    """States go back to the tiles in the middle, whose words the last one waits for."""
    workload, constants, _ = layer("gru", True, 16, 32, 64)
    plan, made = along(workload, constants, 4)
    routes = [made.routes[number] for number in sorted(returning_routes(made))]
    assert [len(route.sinks) for route in routes] == [3]  # out, and to two tiles
    result = simulate_program(made, VEK280)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.2)
    slow = simulate_program(made, VEK280, assumed=Assumed().scaled(2))
    assert slow.interval > result.interval
    *_, last = chain(plan.cut, 4)
    gates = cascade_schedules(last, VEK280.architecture)["step"].step
    assert result.interval / 16 > gates + 2 * 64 / 4  # and the words of a state on their way


def test_words_of_neighbours_are_as_many():
    """What a tile writes in a step the next one reads."""
    workload, constants, _ = layer("lstm", True, 16, 32, 80)
    plan, _ = along(workload, constants, 4)
    tiles = chain(plan.cut, 4)
    pieces = [cascade_schedules(tile, VEK280.architecture) for tile in tiles]
    sent = [piece["send" if not at else "step"].writes for at, piece in enumerate(pieces[:-1])]
    read = [piece["step"].reads for piece in pieces[1:]]
    assert [len(each) for each in sent] == [len(each) for each in read] == 3 * [5 * 4]
    assert all(list(each) == sorted(each) for each in (*sent, *read))
    assert sum(tile.own_octets for tile in tiles) == 10
