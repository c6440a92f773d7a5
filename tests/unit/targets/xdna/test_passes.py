"""Products in passes on Ryzen AI: bounds of their search, reads beyond what a lock counts."""

from dataclasses import replace
from math import ceil, inf, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cost_models.aie_timed import PassWork, timed_cycles
from match_aie.errors import Infeasible, InfeasibleError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.price import Priced, price
from match_aie.targets.aie_ml.array.search import SLOWER, Given, search
from match_aie.targets.aie_ml.array.semaphores import handshakes, numbers, semaphores
from match_aie.targets.aie_ml.array.shapes import native_tilings, smallest
from match_aie.targets.aie_ml.array.words import meant
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph import timed as sizes
from match_aie.targets.aie_ml.graph import timed_plan, timed_room
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.pass_work import memory_work
from match_aie.targets.aie_ml.graph.proof import cannot_be_written, cannot_lie
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.graph.timed_plan import (
    TimedPlan,
    _search,
    timed_best,
    timed_of_split,
)
from match_aie.targets.aie_ml.graph.timed_splits import (
    REQUEST_CYCLES,
    columns_for,
    least_of_passes,
    least_of_run,
)
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate import Beyond, run_layer
from match_aie.targets.versal.executing import drawn
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.workload import reference
from tests.aie_timed import layer

NPU1 = device("npu1")


def test_a_request_takes_what_the_simulator_takes():
    assert REQUEST_CYCLES == Beyond().memory_cycles


@pytest.mark.parametrize(
    ("name", "split", "types", "resident"),
    [
        ("npu1", Given(4, 1, 1), "int8", False),
        ("npu1", Given(2, 2, 1), "int8", False),
        ("npu2", Given(2, 1, 4), "int8", False),
        ("npu1", Given(2, 1, 2), "bfloat16", False),
        ("npu1", Given(2, 3, 2), "int8", True),
        ("vek280", Given(1, 7, 1), "int8", True),
    ],
)
def test_no_plan_is_faster_than_the_bound_of_its_passes(name, split, types, resident):
    """And what is asked to be faster than it can be is refused as slower, not as what cannot be."""
    one = DenseLayer(191, 512, 193, types, types, types, resident=resident)
    array = columns_for(name, split.column_parts * split.row_parts, split.cas_length)
    tiling, seen = native_tilings(one, array)[0], 0
    for passes in (1, 2, 5):
        found = _search(one, array, passes, split, inf)
        if isinstance(found, Infeasible):
            continue
        seen += 1
        part = replace(one, rows=ceil(one.rows / passes))
        least = smallest(part, tiling, split.split)
        bound = least_of_passes(one, array, passes, least)
        beside, closer = least_of_run(one, array, passes, least)
        best = min(plan.cycles for plan in found)
        assert 0.1 * best < bound < closer <= best
        assert 0 < beside < closer > 0.2 * best
        assert _search(one, array, passes, split, bound) is SLOWER
        assert _search(one, array, passes, split, closer, closely=True) is SLOWER
        under = _search(one, array, passes, split, 1.001 * best, closely=True)
        assert not isinstance(under, Infeasible)
        assert min(plan.cycles for plan in under) == best
    assert seen
    assert timed_of_split(one, name, split, 1.0) is SLOWER


def test_weights_that_stay_do_not_count_in_every_pass():
    """More passes may be faster then: no bound of streamed weights keeps them out."""
    one = DenseLayer(1500, 512, 512)
    plan = timed_of_split(one, "npu1", Given(2, 4, 2), 200_000.0)
    assert isinstance(plan, TimedPlan)
    assert plan.cycles < 150_000 < timed_of_split(one, "npu1", Given(4, 2, 2)).cycles
    assert plan.timed.mapping.home == "tile"
    assert plan.timed.passes > 4


def test_mappings_beyond_a_limit_are_not_found():
    """The best is found under a limit above its cycles, and nothing under one below them."""
    one = DenseLayer(256, 512, 256, resident=False)
    array = columns_for("npu1", 4, 1)
    (best,) = search(one, array, objective="latency")
    assert search(one, array, objective="latency", most=1.01 * best.cost.inside) == (best,)
    assert search(one, array, objective="latency", most=0.3 * best.cost.inside) is SLOWER


def walked(columns, *, call=(4, 8), rows=8, reduction=64, parts=2, passes=1, turns=2):
    """A layer whose activations are read again for each call along its columns, and its sizes.

    Args:
        columns: of it.
        call: rows and columns of one.
        rows: of the layer.
        reduction: of it.
        parts: of the rows of a pass.
        passes: over the rows.
        turns: of a call.
    """
    made = layer(np.random.default_rng(3), rows, reduction, columns)
    assert made is not None
    array = columns_for("npu1", parts, 1)
    whole = dense_layer(made[0])
    (tiling,) = native_tilings(whole, array)
    part = replace(whole, rows=rows // passes)
    mapping = ArrayMapping(
        part, tiling, (1, 1), "overlapped", 1, 1, parts, *call, home="chip", reduction_steps=turns
    )
    return made, Timed(mapping, array, rows, 1)


def program_of(made, timed):
    """A layer's program, laid out and checked."""
    graph = TimedGraph("layer", timed, Numbers(timed, *made)).graph
    program = lay_out(graph, NPU1)
    assert not isinstance(program, Infeasible)
    check(program, NPU1)
    return program


@pytest.mark.parametrize("reads", [63, 64, 66, 72])
def test_activations_are_read_more_often_than_a_lock_counts(reads):
    made, timed = walked(8 * reads)
    assert timed.x_repeats == reads
    assert timed.fits
    workload, constants = made
    program = program_of(made, timed)
    assert max(lock.highest for lock in program.locks) <= 63
    x = drawn(workload.inputs[0], np.random.default_rng(2))
    wanted = reference(workload, [x], constants)
    np.testing.assert_array_equal(execute(program, NPU1, {"x": x}).tensor(wanted), wanted)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


@pytest.mark.parametrize(
    ("rows", "parts", "passes", "call", "reads"),
    [
        (48, 4, 3, (4, 8), 21),  # a whole call for each part, in three passes
        (32, 4, 1, (4, 8), 17),  # two calls, a prime
        (21, 3, 1, (4, 8), 29),  # parts of eight rows, of which the last one has five
        (64, 4, 2, (8, 8), 66),  # more than a lock of its own counts
        (12, 2, 1, (4, 8), 40),  # parts of less than two calls: rows that both read
    ],
)
def test_readers_of_rows_of_their_own_have_a_lock_each(rows, parts, passes, call, reads):
    """One descriptor reads for each, as often as there are calls, where no row has two readers.

    The program is run on the semaphores, each stream of that buffer in turn slower than all others,
    and its text is read back.
    """
    made, timed = walked(8 * reads, call=call, rows=rows, parts=parts, passes=passes)
    assert timed.x_copies == 1
    assert timed.x_repeats == reads
    workload, constants = made
    program = program_of(made, timed)
    found = handshakes(program)
    assert not list(semaphores(found, NPU1))
    (held,) = (one for one in found if one.buffer.name.startswith("x"))
    apart = timed.computed_rows <= timed.mapping.part_rows
    assert len(held.writers[0].gates) == (parts - 1 if apart else 0)
    assert {user.again for user in held.readers} == {_again(reads, 1 if apart else parts)}
    x = [drawn(workload.inputs[0], np.random.default_rng(seed)) for seed in range(2)]
    wanted = [reference(workload, [one], constants) for one in x]
    ends = {user.who for user in (*held.writers, *held.readers)}
    for slow in [r.source for r in program.routes if ends & {r.source, *r.sinks}]:
        done = execute(program, NPU1, [{"x": one} for one in x], semaphores=found, slow=[slow])
        for at, one in enumerate(wanted):
            np.testing.assert_array_equal(done.tensor(one, run=at), one)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


@pytest.mark.parametrize(
    ("rows", "parts", "passes", "call", "reads", "cut"),
    [
        (48, 4, 3, (4, 8), 21, 2),  # a call for each part: readers have locks of their own
        (16, 2, 2, (4, 8), 3, 3),  # which all count
        (12, 1, 3, (4, 8), 66, 2),  # a single reader, more reads than a lock counts
        (24, 2, 3, (8, 8), 36, 2),  # calls of more rows than parts have: readers share a lock
        (8, 1, 1, (8, 8), 4, 2),  # a single pass: its first call begins with the first part
    ],
)
def test_activations_come_in_parts(rows, parts, passes, call, reads, cut):
    """Every part is read in each call; what is not read any more is filled for the next pass.

    The program is run on counts and on the semaphores, each stream of a buffer of activations in
    turn slower than all others, and its text is read back.
    """
    made, whole = walked(
        8 * reads, call=call, rows=rows, parts=parts, passes=passes, turns=2 * cut, reduction=192
    )
    timed = replace(whole, cut=cut)
    assert (timed.x_copies, timed.x_repeats, timed.fits) == (cut, reads, True)
    assert sum(timed.x_loads) == sum(whole.x_loads)
    workload, constants = made
    program = program_of(made, timed)
    found = handshakes(program)
    assert not [*semaphores(found, NPU1), *numbers(program, found, NPU1)]
    (held,) = (one for one in found if one.buffer.name.startswith("x"))
    assert (held.buffer.copies, held.buffer.laps) == (cut, reads)
    x = [drawn(workload.inputs[0], np.random.default_rng(seed)) for seed in range(2)]
    wanted = [reference(workload, [one], constants) for one in x]
    ends = {user.who for user in (*held.writers, *held.readers)}
    sources = [r.source for r in program.routes if ends & {r.source, *r.sinks}]
    for on, slow in [(None, ()), *((found, [one]) for one in sources)]:
        done = execute(program, NPU1, [{"x": one} for one in x], semaphores=on, slow=slow)
        for at, one in enumerate(wanted):
            np.testing.assert_array_equal(done.tensor(one, run=at), one)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


@pytest.mark.parametrize("cut", [1, 4, 8])
def test_the_model_of_parts_is_near_the_simulator(cut):
    """Within a hundredth; parts take less than what is brought as a whole, more of them less."""
    made, whole = walked(192, call=(32, 32), rows=256, parts=2, passes=4, turns=16, reduction=2048)
    timed = replace(whole, cut=cut)
    priced = price(whole.mapping, columns_for("npu1", 2, 1), Assumed())
    assert isinstance(priced, Priced)
    work = memory_work(timed, priced.cost)
    modelled = timed_cycles(work)
    program = lay_out(TimedGraph("layer", timed, Numbers(timed, *made)).graph, NPU1)
    assert not isinstance(program, Infeasible)
    assert run_layer(program, NPU1).cycles == pytest.approx(modelled, rel=0.01)
    as_a_whole = replace(work, parts=1, laps=1, double=False)
    assert modelled < 0.99 * timed_cycles(as_a_whole)


@given(
    st.integers(1, 9),
    st.integers(1, 70),
    st.integers(1, 40),
    st.integers(1, 2000),
    st.integers(1, 10**6),
)
def test_parts_take_no_longer_than_a_whole(parts, laps, passes, inside, bytes_in):
    """And no less than products, or activations, alone; a single part is the whole."""
    work = PassWork(
        passes=passes, inside=100 * inside, through=0, inputs=(bytes_in,), double=False,
        weights=(), first_weights=0, outputs=(), last_output=0, way_rate=4, memory_rate=15,
    )  # fmt: skip
    whole, some = timed_cycles(work), timed_cycles(replace(work, parts=parts, laps=laps))
    assert timed_cycles(replace(work, parts=1, laps=laps)) == pytest.approx(whole)
    assert some <= whole * (1 + 1e-9)
    assert some >= passes * max(100 * inside, bytes_in / 4) * (1 - 1e-9)


def test_parts_are_one_buffer_where_they_cannot_be_read_in_turn():
    """As the vendor's graph has them: the same words, in the same order."""
    made, whole = walked(8 * 5, rows=16, parts=2, passes=2, turns=4)
    graph = TimedGraph("layer", replace(whole, cut=2), Numbers(whole, *made)).graph
    (part,) = (each for each in graph.shared if each.laps > 1)
    assert (part.copies, part.laps, part.fills) == (2, 5, 4)
    one = part.joined
    assert (one.copies, one.laps, one.fills) == (1, 1, 2)
    size = prod(part.dimensions) // 4
    for mine, all_of in zip((*part.writes, *part.reads), (*one.writes, *one.reads), strict=True):
        words = meant(mine, 1)
        np.testing.assert_array_equal(meant(all_of, 1), np.concatenate([words, words + size]))
    assert whole.cut == 1
    assert all(each.joined is each for each in graph.shared if each.laps == 1)


def _again(reads, givers):
    """Descriptors of a reader."""
    return min(n for n in range(1, reads + 1) if reads % n == 0 and reads // n * givers <= 63)


def test_reads_that_no_descriptors_repeat_do_not_fit():
    """67 is prime: a lock counts one read, and 67 descriptors for each of two readers are none."""
    assert not walked(8 * 67)[1].fits


@pytest.mark.parametrize(("rows", "call", "kilo"), [(64, 16, 64), (240, 60, 64), (448, 112, 16)])
def test_weights_come_in_smaller_pieces_where_memory_tiles_are_full(rows, call, kilo):
    """Rows that leave room for few weights fit all the same; with room, pieces are large."""
    one = DenseLayer(rows, 4032, 2880)
    mapping = ArrayMapping(
        one, native_tilings(one, NPU1)[0], (1, 2), "flat", 4, 1, 4, call, 64, home="chip",
        reduction_steps=9,
    )  # fmt: skip
    timed = Timed(mapping, NPU1, 4032, 1)
    assert timed.fits
    assert timed.chunk == 1024 * kilo
    assert max(timed.w_bytes(at, range(1)) for at in range(4)) <= timed.chunk


def test_pieces_of_weights_go_on_from_call_to_call(monkeypatch):
    """Of 13 turns of a call none but one divides them: so many pieces are filled all the same."""
    made, timed = walked(8 * 6, reduction=13 * 16, turns=13)
    assert timed.mapping.column_steps == 6
    size = timed.turn_weights(0)
    assert [timed.w_turns(range(1), n * size) for n in (1, 2, 4, 5, 6, 13, 14, 40)] == [
        1, 2, 3, 3, 6, 13, 13, 39,
    ]  # fmt: skip
    monkeypatch.setattr(sizes, "CHUNKS", (6 * size,))
    assert (timed.w_turns(range(1)), timed.w_fills(range(1))) == (6, 13)
    workload, constants = made
    program = program_of(made, timed)
    x = drawn(workload.inputs[0], np.random.default_rng(2))
    wanted = reference(workload, [x], constants)
    done = execute(program, NPU1, {"x": x}, semaphores=handshakes(program))
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


@pytest.mark.parametrize(("call", "apart"), [(112, True), (96, False)])
def test_reads_that_the_text_has_no_descriptors_for_do_not_fit(call, apart):
    """A lock of four readers tells apart 63 reads by nines: seven descriptors for each of them.

    Parts of 112 rows in calls of 96 take rows of the next part as well, so that they share one.
    """
    layer_of = {63: DenseLayer(448, 4032, 4032), 45: DenseLayer(448, 4032, 2880)}
    for reads, one in layer_of.items():
        mapping = ArrayMapping(
            one, native_tilings(one, NPU1)[0], (1, 2), "flat", 4, 1, 4, call, 64, home="chip",
            reduction_steps=9,
        )  # fmt: skip
        timed = Timed(mapping, NPU1, 448, 1)
        assert timed.x_repeats == reads
        assert (timed.computed_rows <= timed.mapping.part_rows) == apart
        assert timed_room._numbered(timed, timed.slots[0]) == (apart or reads == 45)


@pytest.mark.parametrize("reads", [2, 7, 8, 9, 10])
@pytest.mark.parametrize("parts", [2, 3])
def test_the_planner_counts_descriptors_as_the_text_does(reads, parts):
    """Of two copies of activations that are read again, half of a memory tile may be too few."""
    size = {"call": (8, 16), "rows": 16 * parts, "reduction": 48, "parts": parts}
    made, timed = walked(16 * reads, **size, passes=2, turns=3)
    graph = TimedGraph("layer", timed, Numbers(timed, *made)).graph
    if not timed.fits or cannot_lie(graph, NPU1) is not None:
        pytest.skip("it has no program")
    program = program_of(made, timed)
    reason, broken = cannot_be_written(graph, NPU1), None
    try:
        text(program, NPU1)
    except InfeasibleError as error:
        broken = error
    assert (reason is None) == (broken is None)
    assert (reason is None) == (not list(numbers(program, handshakes(program), NPU1)))
    if reads == 9 and parts == 2:
        assert broken is not None


@pytest.mark.parametrize(("most", "same"), [(1, False), (99, True)])
def test_plans_without_a_text_are_taken_where_no_others_are(most, same, monkeypatch):
    """Else the next one is."""
    one = layer(np.random.default_rng(3), 32, 64, 64)
    asked = dense_layer(one[0]), one[0], "npu1", 1
    best, seen = timed_best(*asked), []

    def refused(graph, array):
        seen.append((graph, array))
        return Infeasible("descriptors", 25, 24, "") if len(seen) <= most else None

    monkeypatch.setattr(timed_plan, "cannot_be_written", refused)
    plan = timed_best.__wrapped__(*asked)
    assert len(seen) > 1
    assert (plan == best) == same
    assert plan.cycles >= best.cycles


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sizes"), [("npu1", (4032, 4032, 4032)), ("npu2", (4032, 4320, 4608))]
)
def test_the_plan_of_a_large_product_has_its_text(name, sizes):
    """Its descriptors suffice: what the planner takes can be written down."""
    workload, _ = layer(np.random.default_rng(0), *sizes)
    array = device(name)
    plan = timed_best(dense_layer(workload), workload, name, array.columns)
    assert isinstance(plan, TimedPlan)
    assert plan.timed.passes > 1
    program = lay_out(plan.graph("own", workload, zeros_of(workload)), array)
    assert not isinstance(program, Infeasible)
    assert text(program, array).count("aie.core(") == len(program.cores)


@pytest.mark.slow
def test_a_layer_whose_fastest_plan_has_no_text_has_another():
    """Two copies of activations that two readers read six times, and weights read twice."""
    workload, constants = layer(np.random.default_rng(3), 1000, 768, 768)
    plan, array = timed_best(dense_layer(workload), workload, "npu2", 4), device("npu2")
    program = lay_out(plan.graph("layer", workload, constants), array)
    assert text(program, array).count("aie.core(") == len(program.cores)
