"""Recurrent layers on two tiles that read each other's memory, with a tile for inputs each."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import Assumed
from match_aie.targets.aie_ml.array.check import check, violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import neighbour_calls
from match_aie.targets.aie_ml.kernels.recurrent_quarters import QuarteredSpec
from match_aie.targets.aie_ml.schedule.recurrent import group_schedule
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_bfloat16 import layer
from tests.unit.workload.test_recurrent_int8 import layer as layer8

VEK280 = device("vek280")

NEIGHBOURS = Loop("C", 2), Loop("K", 2), Loop("K", 16)


def program(workload, constants, spatial=NEIGHBOURS):
    plan = cut_plan(workload, "vek280", Mapping(spatial, ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    check(made, VEK280)
    return plan, made


@pytest.mark.parametrize(
    ("kind", "steps", "inputs", "hidden"),
    [("gru", 9, 5, 17), ("lstm", 1, 30, 32), ("gru", 35, 40, 64), ("lstm", 18, 8, 30)],
)
def test_executed_programs_equal_their_references(kind, steps, inputs, hidden):
    """Two runs, of which the second begins with a state of zeros; streams that are late, too."""
    workload, constants, x = layer(kind, True, steps, inputs, hidden)
    wanted = reference(workload, [x], constants)
    _, made = program(workload, constants)
    assert len(made.cores) == 4
    results = [route.source for route in made.routes if len(route.sinks) == 1]
    for slow in ((), results):
        done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}], slow=slow)
        np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(("kind", "steps", "hidden"), [("gru", 21, 50), ("lstm", 6, 64)])
def test_products_of_8_bits(kind, steps, hidden):
    """What a tile stores is its units twice, for the other one and as results."""
    workload, constants, x = layer8(kind, True, steps, 13, hidden, 0, "uint8", 120)
    _, made = program(workload, constants)
    done = execute(made, VEK280, [{"x": x[::-1].copy()}, {"x": x}])
    wanted = reference(workload, [x], constants)
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


def test_no_stream_is_between_the_two():
    """Each core's inputs come by one stream; units go up through memory, and down by cascade."""
    workload, constants, _ = layer("gru", True, 64, 32, 32)
    plan, made = program(workload, constants)
    (above,) = (core for core in made.cores if core.lent)
    below = made.core_at[above.tile[0], above.tile[1] - 1]
    assert above.lent == (("in1", below.tile, "sent"),)
    assert [(each.source, each.sink) for each in made.cascades] == [(above.tile, below.tile)]
    result = simulate_program(made, VEK280)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.1)
    (step,) = {work.schedule.body for work in below.work if work.takes == ("sent",) and work.uses}
    locks = Assumed().acquire + Assumed().release
    assert step + locks < result.interval / 64 < step + locks + 20
    _, streams = program(workload, constants, (Loop("K", 1), Loop("K", 2), Loop("K", 16)))
    assert simulate_program(streams, VEK280).interval > 1.15 * result.interval


@pytest.mark.parametrize(("kind", "hidden"), [("gru", 32), ("lstm", 20), ("gru", 50)])
def test_words_of_units_are_read_once_each(kind, hidden):
    """By every step but the first, and at the end of a run, so that another one begins anew."""
    workload, constants, _ = layer(kind, True, 6, 8, hidden)
    _, made = program(workload, constants)
    (link,) = made.cascades
    moved = [
        [len(getattr(work.schedule, side)) for work in made.core_at[tile].work]
        for tile, side in ((link.source, "writes"), (link.sink, "reads"))
    ]
    chunks = 1 if hidden <= 32 else 2
    assert moved == [[chunks] * 6 + [0], [0] + [chunks] * 6]
    assert simulate_program(made, VEK280).steady


def test_products_of_8_bits_go_both_ways_through_memory():
    workload, constants, _ = layer8("gru", True, 6, 13, 50, 0, "uint8", 120)
    _, made = program(workload, constants)
    below, above = (core for core in made.cores if core.lent)
    assert (below.lent, above.lent) == (
        (("in1", above.tile, "sent"),),
        (("in1", below.tile, "sent"),),
    )
    assert not made.cascades


def test_cores_reach_the_tiles_next_to_them_alone():
    workload, constants, _ = layer("gru", True, 4, 8, 32)
    _, made = program(workload, constants)
    core = next(core for core in made.cores if core.lent)
    ((name, (column, row), buffer),) = core.lent
    for lent in (((name, (column + 1, row), buffer),), ((name, (column, row), "other"),)):
        cores = tuple(replace(one, lent=lent) if one is core else one for one in made.cores)
        assert "neighbours" in {rule for rule, _ in violations(replace(made, cores=cores), VEK280)}


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_halves_of_a_state_stay_in_registers(cell):
    """The own half is not loaded, and what comes as a word is neither stored nor loaded."""
    same = {"steps": 9, "inputs": 12, "hidden": 16, "whole": 32}
    joined = JoinedCall("steps", "steps.h", QuarteredSpec(cell), **same)
    for call in neighbour_calls(joined, 4):
        loading = replace(call, spec=QuarteredSpec(cell))
        paired, loaded = (group_schedule(each, VEK280.architecture, 4) for each in (call, loading))
        loads, stores = (
            [each.kinds[1][kind] for each in (paired, loaded)] for kind in ("load", "store")
        )
        assert loads[1] - loads[0] == (2 if call.takes else 1)
        assert stores[1] - stores[0] == (2 if call.takes else 1)
        assert paired.step < loaded.step
        assert call.stack_bytes < loading.stack_bytes
        assert not loading.spec.paired


@pytest.mark.parametrize(
    ("cell", "units", "pairs"),
    [("lstm", 32, 2), ("lstm", 48, 12), ("gru", 48, 3), ("gru", 64, 12)],
)
def test_a_gate_loads_no_octets_that_registers_hold(cell, units, pairs):
    """Of few units a step loads each pair of octets once, of more each gate does."""
    same = {"steps": 9, "inputs": 12, "hidden": 16, "whole": units}
    call = JoinedCall("steps", "steps.h", QuarteredSpec(cell), **same)
    kinds = group_schedule(call, VEK280.architecture, 4).kinds[1]
    functions = 5 if cell == "lstm" else 3
    assert kinds["load"] - 2 * kinds["product"] == pairs + 5 * functions  # four of them gather
