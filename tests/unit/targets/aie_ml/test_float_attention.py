"""Attention in bfloat16 whose keys and values go by: plans, results, schedules, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.streaming import streaming_banks
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.graph.float_attention import FloatStreamedGraph
from match_aie.targets.aie_ml.graph.float_attention_cuts import (
    BlockedStreamedCuts,
    FloatStreamedCuts,
    attention_kind,
)
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.kernels.float_attention import FloatPartsSpec
from match_aie.targets.aie_ml.schedule.blocked_attention import blocked_bodies
from match_aie.targets.aie_ml.schedule.float_attention import float_schedules
from match_aie.targets.aie_ml.schedule.loops import loop_schedule
from match_aie.targets.aie_ml.schedule.machine import machine
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.versal.module import AieArray
from match_aie.targets.versal.patterns import refuses_float_attention
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.targets.xdna.mlir.dialect import DIALECTS
from match_aie.workload.real import attention
from tests.aie_attention import drawn_floats, float_attention
from tests.streamed_checks import executed, overlap_rightly, read_from_its_nest

NPU1, NPU2 = device("npu1"), device("npu2")
ARCH = NPU2.architecture


def drawn_cut(workload, seed):
    """A cut with a block and a part of any size that fits a tile, and kernels that fit it."""
    rng, kind = np.random.default_rng(seed), FloatStreamedCuts(workload, NPU1)
    cuts = [cut for cut in kind.all(4) if kind.refuses(cut) is None]
    cut = cuts[int(rng.integers(len(cuts)))]
    made = replace(cut, block=int(rng.choice([8, 16, 24])), part=int(rng.choice([32, 64])))
    made = replace(
        made, pieces=int(rng.choice([p for p in (1, 2) if made.block * made.w % (32 * p) == 0]))
    )
    if made.parts < 2 or made.column_rows * (made.columns - 1) >= made.rows or kind.refuses(made):
        made = cut
    priced = kind.price(made)
    assert isinstance(priced, tuple), priced
    return kind, priced[0]


def check(seed, *, unshifted=False) -> int:
    """A random layer in the interpreter, two runs; tiles that it takes."""
    workload, constants = float_attention(seed, unshifted=unshifted)
    kind, cut = drawn_cut(workload, seed)
    inputs = drawn_floats(workload, np.random.default_rng(seed))
    return executed(kind, cut, workload, constants, inputs)


@pytest.mark.parametrize("unshifted", [False, True])
def test_results_are_those_of_the_reference(unshifted) -> None:
    assert len({check(seed, unshifted=unshifted) for seed in range(8)}) > 1


@pytest.mark.parametrize("name", ["npu1", "npu2"])
def test_an_unshifted_softmax_has_keys_go_by_once(name) -> None:
    shifted, unshifted = (
        plan_cut(float_attention(0, heads=8, sizes=(1500, 1500, 64), unshifted=u)[0], name, 4)
        for u in (False, True)
    )
    assert not isinstance(shifted, Infeasible)
    assert not isinstance(unshifted, Infeasible)
    streams = (dict(plan.cost.parts)["input streams"] for plan in (shifted, unshifted))
    assert next(streams) >= 2 * next(streams)
    assert unshifted.cost.latency < 0.8 * shifted.cost.latency


@pytest.mark.slow
def test_more_results_are() -> None:
    for seed in range(100, 130):
        check(seed, unshifted=seed % 2 == 0)


@pytest.mark.parametrize("unshifted", [False, True])
def test_a_plan_is_read_from_its_nest_and_not_searched_again(monkeypatch, unshifted) -> None:
    workload, _ = float_attention(0, heads=2, sizes=(40, 260, 64), unshifted=unshifted)
    read_from_its_nest(workload, FloatStreamedCuts, monkeypatch)


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({"batch": 2}, "batch is 2"),
        ({"size": 12}, "queries of 12"),
        ({"value_size": 32}, "values of 32"),
        ({"mask": ("OX",)}, "added to its scores"),
    ],
)
def test_what_it_does_not_compute_is_refused_by_name(sizes, reason) -> None:
    plain = {"batch": 1, "heads": 2, "queries": 9, "keys": 70, "size": 16, "value_size": 16}
    workload = attention(**(plain | {"factor": 0.25} | sizes))
    refused = refuses_float_attention(workload)
    assert refused is not None
    assert reason in refused


def test_heads_that_fit_no_tile_have_no_plan() -> None:
    workload, _ = float_attention(0, heads=1, sizes=(8, 40, 128))
    found = plan_cut(workload, "npu1", 4)
    assert isinstance(found, Infeasible)
    assert "a bank of a tile for keys and values" in found.resource


def test_what_does_not_fit_a_tile_is_said_by_bank() -> None:
    workload, constants = float_attention(0, heads=1, sizes=(64, 1500, 64))
    cut = next(FloatStreamedCuts(workload, NPU1).all(4))
    graph = FloatStreamedGraph("layer", replace(cut, block=128), NPU1, workload, constants)
    found = streaming_banks(graph.call, NPU1)
    assert isinstance(found, Infeasible)
    assert found.demand > found.bound
    assert "queries and scores" in found.resource


def test_every_element_of_whispers_heads_crosses_the_chips_memory_once() -> None:
    workload, _ = float_attention(0, heads=8, sizes=(1500, 1500, 64))
    plan = plan_cut(workload, "npu1", 4)
    assert not isinstance(plan, Infeasible)
    program = lay_out(plan.graph("layer", workload, zeros_of(workload)), NPU1)
    assert not isinstance(program, Infeasible), program
    run = run_layer(program, NPU1)
    once = 4 * 8 * 1500 * 64 * 2
    assert once <= run.moved < 1.05 * once  # rows and keys are filled up
    compute = dict(plan.cost.parts)["compute"]
    assert compute <= run.cycles < 1.3 * compute
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_of_a_loop_overlap_without_taking_each_others_place(seed) -> None:
    workload, constants = float_attention(seed, unshifted=seed == 1)
    _, cut = drawn_cut(workload, seed)
    call = FloatStreamedGraph("layer", cut, NPU1, workload, constants).call
    found = float_schedules(call, NPU1.architecture)
    for schedule in (found.queries, *(one for both in found.rounds.values() for one in both)):
        assert schedule.loops
        for _, loop in schedule.loops:
            overlap_rightly(loop)


@pytest.mark.parametrize("seed", [0, 1])
def test_its_text_is_read_back(seed) -> None:
    workload, constants = float_attention(seed, unshifted=seed == 1)
    kind, cut = drawn_cut(workload, seed)
    program = lay_out(kind.graph(cut, 4, "layer", workload, constants), NPU1)
    assert not isinstance(program, Infeasible), program
    for dialect in DIALECTS.values():
        written = text(program, NPU1, dialect)
        assert read(written, NPU1, kernels_of(program)) == program


@pytest.mark.parametrize("unshifted", [False, True])
def test_rows_in_lanes_have_the_reference_and_a_text(unshifted) -> None:
    """On npu2, whose products are made lane by lane: keys that end within a part."""
    workload, constants = float_attention(1, heads=1, sizes=(130, 101, 64), unshifted=unshifted)
    kind = attention_kind(workload, NPU2)
    plan = plan_cut(workload, "npu2", 4)
    assert not isinstance(plan, Infeasible), plan
    inputs = drawn_floats(workload, np.random.default_rng(1))
    assert executed(kind, plan.cut, workload, constants, inputs) > 1
    program = lay_out(plan.graph("layer", workload, constants), NPU2)
    assert read(text(program, NPU2), NPU2, kernels_of(program)) == program
    found = float_schedules(FloatStreamedGraph("l", plan.cut, NPU2, workload, constants).call, ARCH)
    for schedule in (found.queries, *(one for both in found.rounds.values() for one in both)):
        for _, loop in schedule.loops:
            overlap_rightly(loop)


def blocked_cut(seed):
    """Attention in blocks with a block and a part of any size that fits a tile; workload, kind."""
    workload, constants = float_attention(seed, unshifted=True, blocks=True)
    rng, kind = np.random.default_rng(seed), attention_kind(workload, NPU2)
    assert isinstance(kind, BlockedStreamedCuts)
    cuts = [cut for cut in kind.all(4) if kind.refuses(cut) is None]
    cut = cuts[int(rng.integers(len(cuts)))]
    made = replace(cut, block=int(rng.choice([16, 32, 48])), part=int(rng.choice([16, 32])))
    if made.column_rows * (made.columns - 1) >= made.rows or kind.refuses(made):
        made = cut
    priced = kind.price(made)
    assert isinstance(priced, tuple), priced
    return workload, constants, kind, priced[0]


def test_products_of_blocks_have_the_reference_and_a_text() -> None:
    """Of heads of any number of elements, whose keys end within a block."""
    for seed in range(6):
        workload, constants, kind, cut = blocked_cut(seed)
        inputs = drawn_floats(workload, np.random.default_rng(seed))
        executed(kind, cut, workload, constants, inputs)
        program = lay_out(kind.graph(cut, 4, "layer", workload, constants), NPU2)
        assert read(text(program, NPU2), NPU2, kernels_of(program)) == program


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_of_loops_of_blocks_overlap_rightly(seed) -> None:
    workload, constants, _, cut = blocked_cut(seed)
    call = FloatStreamedGraph("layer", cut, NPU2, workload, constants).call
    found = float_schedules(call, ARCH)
    for schedule in (found.queries, *(one for both in found.rounds.values() for one in both)):
        assert schedule.loops
        for _, loop in schedule.loops:
            overlap_rightly(loop)


def test_sums_of_weights_are_stored_before_they_are_loaded_again() -> None:
    """Every second turn of the loop that makes weights has the same ones."""
    workload, constants, _, cut = blocked_cut(0)
    call = FloatStreamedGraph("layer", cut, NPU2, workload, constants).call
    core = machine(ARCH)
    turns, body = blocked_bodies(core, call)["weighed"]
    loop = loop_schedule(tuple(body), core.move)
    assert turns * 32 == cut.block * cut.part
    assert loop.interval == 9
    at = {p.operation.name: p.cycle for p in loop.placed}
    assert at["sum1"] < min(at["total0"], at["total1"]) + 2 * loop.interval


def test_products_of_blocks_take_less_than_half_of_those_lane_by_lane() -> None:
    lanes, blocks = (
        plan_cut(
            float_attention(0, heads=8, sizes=(1500, 1500, 64), unshifted=True, blocks=b)[0],
            "npu2",
            8,
        )
        for b in (False, True)
    )
    assert not isinstance(lanes, Infeasible)
    assert not isinstance(blocks, Infeasible)
    assert blocks.cost.latency < 0.5 * lanes.cost.latency
    # Modelled milliseconds, with what calls wait for banks.
    took = [round(plan.cost.latency / NPU2.clock_ghz / 1e6, 2) for plan in (lanes, blocks)]
    assert took == [0.99, 0.49]


def test_attention_of_blocks_is_what_the_target_asks_for() -> None:
    plain = attention(batch=1, heads=2, queries=9, keys=70, size=32, value_size=32, factor=0.25)
    array = AieArray("npu2", 4, floats="bfp16", softmax="unshifted")
    made = array.convert(plain, {})
    assert not isinstance(made, str)
    assert made.workload.real.precision == "bfp16"
    shifted = AieArray("npu2", 4, floats="bfp16")
    assert "heads of 32 elements" in shifted.convert(plain, {})
    with pytest.raises(TargetError, match="unshifted"):
        FloatPartsSpec("blocked")


@pytest.mark.parametrize(
    ("device", "floats", "keys", "least"),
    [("vek280", "bf16", 32, 32), ("npu1", "bf16", 32, 32), ("npu2", "bfp16", 16, 16)],
)
def test_keys_that_are_no_two_parts_are_refused_by_the_arithmetics_own_part(
    device, floats, keys, least
) -> None:
    sizes = {"batch": 1, "heads": 2, "queries": 9, "size": 16, "value_size": 16, "factor": 0.25}
    array = AieArray(device, 4, floats=floats, softmax="unshifted")
    reason = array.convert(attention(keys=keys, **sizes), {})
    assert reason == f"its {keys} keys are no two parts, which have {least} at least"
    assert not isinstance(array.convert(attention(keys=keys + 1, **sizes), {}), str)


@pytest.mark.parametrize("keys", [17, 24, 32])
def test_blocks_take_few_keys(keys) -> None:
    sizes = (9, keys, 16)
    workload, constants = float_attention(keys, sizes=sizes, unshifted=True, blocks=True)
    kind = attention_kind(workload, NPU2)
    cut = next(cut for cut in kind.all(4) if kind.refuses(cut) is None)
    priced = kind.price(cut)
    assert isinstance(priced, tuple), priced
    inputs = drawn_floats(workload, np.random.default_rng(keys))
    executed(kind, priced[0], workload, constants, inputs)


def test_heads_that_lanes_do_not_take_are_refused_by_name() -> None:
    plain = attention(batch=1, heads=2, queries=9, keys=70, size=32, value_size=32, factor=0.25)
    array = AieArray("npu2", 4, floats="bf16")
    reason = array.convert(plain, {})
    assert "heads of 32 elements" in reason
    assert 'floats="bfp16" with softmax="unshifted" takes others' in reason


def test_an_array_without_such_products_refuses_by_name() -> None:
    workload, constants = float_attention(1)
    answer = AieArray("vek385", 4, floats="bf16").convert(workload, constants)
    assert isinstance(answer, str)
    assert "vek385 has no product of bfloat16 in tiles of" in answer
