"""Recurrent layers in float32 on a VCK190: every way, beside the reference and the simulator."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.check import check, violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.neighbours import reached
from match_aie.targets.aie_ml.array.rules_cascade import cascades
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, plan_cut
from match_aie.targets.aie_ml.graph.recurrent_single_tiles import single_call, tiles_of, ways_of
from match_aie.targets.aie_ml.schedule.recurrent_single import single_schedules
from match_aie.targets.aie_ml.schedule.recurrent_single_code import SingleTimes, pipeline
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.workload import reference
from tests.unit.workload.test_recurrent_single import layer

VCK190 = device("vck190")

LANES = Loop("K", 8)
WAYS = {
    "one": (LANES,),
    "apart": (Loop("C", 2), Loop("K", 1), LANES),
    **{f"rows{tiles}": (Loop("K", 1), Loop("K", tiles), LANES) for tiles in range(2, 17)},
    **{
        f"chain{seen}+{states}": (Loop("C", seen), Loop("C", states), LANES)
        for seen in range(1, 4)
        for states in range(1, 5)
    },
}
TILES = {"one": 1, "apart": 2}
TILES |= {f"rows{tiles}": 2 * tiles + 1 for tiles in range(2, 17)}
TILES |= {f"chain{seen}+{states}": seen + states for seen in range(1, 4) for states in range(1, 5)}


def program(workload, constants, way):
    plan = cut_plan(workload, "vck190", Mapping(WAYS[way], ()))
    made = lay_out(plan.graph("layer", workload, constants), VCK190, 3)
    check(made, VCK190)
    return plan, made


def equal(workload, constants, x, way):
    """Two runs; the second begins with a state of zeros."""
    _, made = program(workload, constants, way)
    assert len(made.cores) == TILES[way]
    wanted = reference(workload, [x], constants)
    done = execute(made, VCK190, [{"x": x[::-1].copy()}, {"x": x}])
    np.testing.assert_array_equal(done.tensor(wanted, run=1), wanted)


@pytest.mark.parametrize(
    ("kind", "after", "steps", "inputs", "hidden", "way"),
    [
        ("gru", True, 1, 1, 1, "one"),
        ("gru", True, 9, 5, 17, "one"),
        ("gru", False, 11, 13, 20, "one"),
        ("lstm", True, 3, 9, 8, "one"),
        ("gru", True, 17, 3, 31, "apart"),
        ("gru", False, 8, 32, 10, "apart"),
        ("lstm", True, 5, 40, 23, "apart"),
        ("lstm", True, 4, 3, 10, "rows2"),
        ("gru", True, 9, 33, 64, "rows4"),
        ("gru", True, 1, 1, 9, "rows2"),
        ("gru", True, 9, 5, 23, "rows3"),
        ("lstm", True, 17, 3, 31, "rows4"),
        ("gru", True, 8, 40, 39, "rows5"),
        ("lstm", True, 3, 2, 61, "rows8"),
        ("gru", True, 5, 3, 101, "rows13"),
        ("gru", False, 9, 5, 20, "rows3"),
        ("gru", False, 1, 3, 33, "rows3"),
        ("gru", False, 10, 7, 70, "rows9"),
        ("gru", True, 10, 7, 128, "rows16"),
        ("gru", True, 1, 1, 1, "chain1+1"),
        ("gru", True, 9, 5, 17, "chain1+2"),
        ("gru", True, 10, 23, 8, "chain3+1"),
        ("lstm", True, 3, 20, 23, "chain2+3"),
        ("lstm", True, 9, 17, 12, "chain2+1"),
        ("gru", True, 17, 40, 39, "chain3+4"),
    ],
)
def test_executed_programs_equal_their_references(kind, after, steps, inputs, hidden, way):
    """Units that fill no vector, inputs that fill none, groups that steps do not fill."""
    equal(*layer(kind, after, steps, inputs, hidden), way)


@pytest.mark.parametrize(
    ("way", "after"),
    [*product(["apart", "rows2", "rows4", "chain1+1", "chain2+3"], [True]), ("rows4", False)],
)
def test_models_are_close_to_the_simulator(way, after):
    workload, constants, _ = layer("gru", after, 64, 32, 32)
    plan, made = program(workload, constants, way)
    result = simulate_program(made, VCK190)
    assert result.steady
    assert result.latency == pytest.approx(plan.cycles, rel=0.1)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_step_of_32_units_takes_less_than_350_ns(kind):
    """What the search chooses, everything included: 64 steps of 32 inputs, runs repeated."""
    workload, constants, _ = layer(kind, True, 64, 32, 32)
    plan = plan_cut(workload, "vck190", 2)
    made = lay_out(plan.graph("layer", workload, constants), VCK190)
    result = simulate_program(made, VCK190)
    assert result.steady
    assert result.interval / 64 / VCK190.clock_ghz < 350
    slow = simulate_program(made, VCK190, assumed=Assumed().scaled(2))
    assert result.interval < slow.interval < 1.2 * result.interval


@pytest.mark.parametrize("after", [True, False])
def test_packets_may_come_in_any_order(after):
    """Single tiles send late; headers say whose units follow."""
    workload, constants, x = layer("gru", after, 6, 3, 30)
    _, made = program(workload, constants, "rows4")
    wanted = reference(workload, [x], constants)
    (merge,) = made.merges
    assert len(merge.sources) == 4
    assert len(merge.sinks) == 5
    for source in merge.sources:
        done = execute(made, VCK190, [{"x": x}], slow=(source,))
        np.testing.assert_array_equal(done.tensor(wanted, run=0), wanted)


@pytest.mark.parametrize(
    ("kind", "hidden", "columns", "helps"),
    [("gru", 100, 4, True), ("lstm", 65, 4, True), ("gru", 129, 8, False), ("lstm", 160, 4, False)],
)
def test_a_refusal_names_more_columns_where_they_help(kind, hidden, columns, helps):
    workload, _, _ = layer(kind, True, 8, 5, hidden)
    refused = plan_cut(workload, "vck190", columns)
    assert isinstance(refused, Infeasible)
    assert ("more columns for a layer (columns_per_layer)" in refused.levers) == helps
    assert isinstance(plan_cut(workload, "vck190", 8), Infeasible) != helps


def test_registers_and_program_memory_hold_every_schedule():
    """A chunk's products and functions; twice the times take at most twice the cycles."""
    arch = VCK190.architecture
    core = pipeline(arch, SingleTimes())
    assert (core.load, core.product, core.sum, core.registers) == (7, 7, 2, 8)
    for kind, after in (("gru", True), ("gru", False), ("lstm", True)):
        for hidden in (3, 32, 64):
            workload, _, _ = layer(kind, after, 4, 6, hidden)
            call = single_call(workload, "layer")
            own = single_schedules(call, arch)["own"]
            # As many vector instructions as products, and no fewer cycles.
            assert own.step >= call.chunks * hidden * len(call.spec.gates)
            slow = single_schedules(call, arch, SingleTimes().scaled(2))["own"]
            assert own.step < slow.step <= 2 * own.step
    with pytest.raises(TargetError, match="float32 products of AIE-ML have no schedule"):
        pipeline(device("vek280").architecture, SingleTimes())


def test_what_has_no_room_is_refused_by_name():
    """Half of a tile's memory for weights; the layer goes to the Arm core then."""
    workload, _, _ = layer("lstm", True, 4, 64, 200)
    refused = plan_cut(workload, "vck190", 50)
    assert isinstance(refused, Infeasible)
    assert "half of the memory of the tile" in refused.resource
    assert refused.levers == ("fewer hidden units", "fewer inputs")


@pytest.mark.parametrize(
    ("kind", "after", "hidden", "most"),
    [
        ("gru", True, 32, 170),
        ("gru", True, 64, 170),
        ("gru", False, 32, 170),
        ("lstm", True, 32, 128),
        ("lstm", True, 64, 128),
    ],
)
def test_inputs_up_to_what_is_documented(kind, after, hidden, most):
    for inputs in (most, most + 1):
        workload, _, _ = layer(kind, after, 4, inputs, hidden)
        assert isinstance(plan_cut(workload, "vck190", 4), Infeasible) == (inputs > most)


@pytest.mark.parametrize(
    ("kind", "after", "columns", "most"),
    [
        ("gru", True, 4, 85),
        ("gru", False, 4, 72),
        ("lstm", True, 4, 64),
        ("gru", True, 8, 128),
        ("gru", False, 8, 72),
        ("lstm", True, 8, 98),
    ],
)
def test_units_up_to_what_is_documented(kind, after, columns, most):
    for hidden in (most, most + 1):
        workload, _, _ = layer(kind, after, 4, 3, hidden)
        assert isinstance(plan_cut(workload, "vck190", columns), Infeasible) == (hidden > most)


def test_ways_are_tiles_that_are_all_of_use():
    """No tile without units, wherever the reset gate is."""
    sizes = ((8, 2), (9, 3), (16, 3), (17, 4), (32, 4), (33, 5), (48, 5))
    for after, (hidden, many) in product((True, False), sizes):
        workload, _, _ = layer("gru", after, 4, 3, hidden)
        found = list(ways_of(single_call(workload, "layer")))
        assert len(found) == many
        for call in found:
            for tile in tiles_of(call):
                assert tile.units * (tile.tiles - 1) < hidden


def test_cores_reach_the_memories_that_facts_say():
    """AIE's core beside its own by the row's parity, with the interface row as row 0."""
    assert reached((4, 2), VCK190) == {(0, 1), (0, -1), (1, 0)}
    assert reached((4, 3), VCK190) == {(0, 1), (0, -1), (-1, 0)}
    assert reached((4, 3), device("vek280")) == {(0, 1), (0, -1), (-1, 0)}


def test_a_binary_lock_has_one_reader():
    """A stream, or a neighbour's core, but not both."""
    workload, constants, _ = layer("gru", True, 4, 3, 16)
    _, made = program(workload, constants, "rows2")
    inputs, rows, other = made.cores[:3]
    assert ("in0", inputs.tile, "out") in rows.lent
    more = replace(other, lent=(*other.lent, ("in0", inputs.tile, "out")))
    broken = replace(made, cores=(inputs, rows, more, *made.cores[3:]))
    found = [each for rule, each in violations(broken, VCK190) if rule == "locks"]
    assert any("users of a binary lock" in each.what for each in found)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_words_of_a_chain_are_those_that_the_next_tile_reads(kind):
    """In number, and each tile's writes come in its own order after its first read."""
    workload, constants, _ = layer(kind, True, 3, 24, 24)
    _, made = program(workload, constants, "chain2+3")
    works = [core.work[0].schedule for core in sorted(made.cores, key=lambda core: core.tile)]
    for one, then in pairwise(works):
        assert len(one.writes) == len(then.reads) > 0
        assert list(one.writes) == sorted(set(one.writes))
    assert not works[0].reads
    assert not works[-1].writes


def test_a_chain_lies_in_a_row_whose_cascade_goes_east():
    """Every other row's goes west (UG1079)."""
    workload, constants, _ = layer("gru", True, 3, 8, 16)
    _, made = program(workload, constants, "chain1+2")
    assert len({core.tile[1] for core in made.cores}) == 1
    for up in range(3):
        cores = (replace(core, tile=(core.tile[0], core.tile[1] + up)) for core in made.cores)
        links = tuple(
            replace(each, source=(first, y + up), sink=(second, y + up))
            for each in made.cascades
            for (first, y), (second, _) in [(each.source, each.sink)]
        )
        found = list(cascades(replace(made, cores=tuple(cores), cascades=links), VCK190))
        assert len(found) == (len(links) if up == 1 else 0)


@pytest.mark.parametrize(
    ("after", "inputs", "hidden", "way"),
    [(False, 8, 16, "chain1+1"), (True, 8, 16, "chain2+1"), (True, 8, 16, "chain1+3")],
)
def test_chains_whose_tiles_had_no_columns_are_none(after, inputs, hidden, way):
    workload, constants, _ = layer("gru", after, 3, inputs, hidden)
    with pytest.raises(TargetError, match="no nest"):
        program(workload, constants, way)
