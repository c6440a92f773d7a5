"""Layers whose rows are computed by themselves: their schedules, their programs' results."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.choose_rows import RowCuts
from match_aie.targets.aie_ml.graph.cut_plan import cut_plans, plan_cut, share
from match_aie.targets.aie_ml.graph.join import Member, can_follow
from match_aie.targets.aie_ml.graph.kinds import ROW_KINDS
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.rows import row_graph
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.kernels.lookup import TableCall, TableSpec
from match_aie.targets.aie_ml.kernels.norm import NormCall, NormSpec
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxCall, SoftmaxNumbers, SoftmaxSpec
from match_aie.targets.aie_ml.schedule.rows import row_schedule
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.versal.module import AieArray
from match_aie.workload import (
    Converted,
    NormNumbers,
    Quantized,
    Tail,
    elementwise,
    fixed_norm,
    fixed_softmax,
    full_range,
    quantised_norm,
    rowwise,
    table,
)
from tests.aie_programs import case, equal
from tests.kernel_counts import counts_of
from tests.streamed_checks import overlap_rightly

ARCH = device("vek280").architecture
NUMBERS = SoftmaxNumbers(1 << 14, Tail(0, 0, 255, shift=5, bits=64))
SOFTMAX = SoftmaxCall("f", "f.h", SoftmaxSpec("int8", "uint8"), 1, 100, NUMBERS)
NORM = NormCall(
    "f", "f.h", NormSpec("int8", "int8"), 1, 100, NormNumbers(9), Tail(0, -128, 127, shift=20)
)
RMS = replace(NORM, spec=NormSpec("int8", "int8", rms=True), numbers=NormNumbers(9, -3))
CALLS = (TableCall("f", "f.h", TableSpec("int8", "uint8"), 1), SOFTMAX, NORM, RMS)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.spec.family)
def test_turns_of_a_loop_overlap_without_taking_each_others_place(call) -> None:
    for _, loop in row_schedule(call, ARCH).loops:
        overlap_rightly(loop, writes_once=True)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.spec.family)
def test_what_is_scheduled_is_what_the_kernel_does(call) -> None:
    call = replace(call, rows=37)
    schedule = row_schedule(call, ARCH)
    own = isinstance(call, NormCall)
    counts = counts_of(call) if own else counts_of(call.spec, 37 * call.width // 32)
    kinds = {"load": "load", "store": "store", "srs": "srs", "multiply": "multiply"}
    assert {name: schedule.counts[kind] for name, kind in kinds.items()} == {
        name: getattr(counts, name) for name in kinds
    }
    assert schedule.cycles > schedule.body > counts.load / 2
    assert schedule.program_bytes < ARCH.core.program_memory_bytes


def random_table(seed):
    """A table on a random number of elements."""
    rng = np.random.default_rng(seed)
    types = [("int8", "uint8")[int(bit)] for bit in rng.integers(0, 2, 2)]
    elements = int(rng.integers(1, 40) ** rng.integers(1, 4))
    x, y = (Quantized(dtype, 0.1, 0) for dtype in types)
    info = np.iinfo(types[1])
    entries = rng.integers(info.min, info.max + 1, 256).astype(types[1])
    return table(x, y, elements=elements), {"table": entries}


def check(made, seed, name="vek280") -> int:
    """Execute a random layer on up to two columns; tiles that it took."""
    workload, constants = made
    plans = cut_plans(workload, name, 1 + seed % 2)
    assert not isinstance(plans, Infeasible), plans
    graph = plans[-1].graph("layer", workload, constants)
    array = device(name)
    found = case(graph, workload, constants, np.random.default_rng(seed), array=array)
    assert violations(found.program, array) == ()
    equal(found)
    return len(graph.kernels)


def random_softmax(seed):
    """A softmax in fixed point of random rows."""
    rng = np.random.default_rng(seed)
    types = [("int8", "uint8")[int(bit)] for bit in rng.integers(0, 2, 2)]
    rows, columns = int(rng.integers(1, 40)), int(rng.integers(1, 150))
    x, y = Quantized(types[0], float(rng.uniform(0.01, 0.3)), 3), Quantized(types[1], 1 / 256, 0)
    tail = full_range(types[1], 0)
    made = fixed_softmax(rowwise("softmax", x, y, rows=rows, columns=columns, tail=tail))
    return made.workload, made.constants


def random_norm(seed):
    """A layer norm in fixed point of random rows."""
    rng = np.random.default_rng(seed)
    types = [("int8", "uint8")[int(bit)] for bit in rng.integers(0, 2, 2)]
    rows, columns = int(rng.integers(1, 40)), int(rng.integers(1, 150))
    x, y = Quantized(types[0], float(rng.uniform(0.01, 0.3)), 3), Quantized(types[1], 0.03, 100)
    tail = full_range(types[1], 100)
    layer = quantised_norm(
        x, y, rows=rows, columns=columns, epsilon=1e-5, tail=tail, kind="layer_norm"
    )
    made = fixed_norm(layer, random_numbers(columns, rng))
    return made.workload, made.constants


def random_rms(seed):
    """An RMS norm in fixed point of random rows."""
    rng = np.random.default_rng(seed)
    types = [("int8", "uint8")[int(bit)] for bit in rng.integers(0, 2, 2)]
    rows, columns = int(rng.integers(1, 40)), int(rng.integers(1, 150))
    x, y = Quantized(types[0], float(rng.uniform(0.01, 0.3)), 3), Quantized(types[1], 0.03, 100)
    tail = full_range(types[1], 100)
    layer = quantised_norm(
        x, y, rows=rows, columns=columns, epsilon=1e-5, tail=tail, kind="rms_norm"
    )
    made = fixed_norm(layer, {"weight": random_numbers(columns, rng)["weight"]})
    return made.workload, made.constants


def random_numbers(columns, rng):
    """Factors and addends of a layer norm."""
    weight, bias = rng.normal(1, 0.3, columns), rng.normal(0, 0.3, columns)
    return {"weight": weight.astype(np.float32), "bias": bias.astype(np.float32)}


LAYERS = {
    "table": random_table,
    "softmax": random_softmax,
    "layer_norm": random_norm,
    "rms_norm": random_rms,
}


@pytest.mark.parametrize("kind", LAYERS)
def test_random_rows_equal_their_reference(kind) -> None:
    assert {check(LAYERS[kind](seed), seed) for seed in range(6)} > {1}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LAYERS)
def test_many_random_rows_equal_their_reference(kind) -> None:
    for seed in range(1000, 1300):
        check(LAYERS[kind](seed), seed)


@pytest.mark.parametrize("kind", LAYERS)
def test_random_rows_do_on_cores_whose_tables_repeat_256_bits(kind) -> None:
    assert {check(LAYERS[kind](seed), seed, "npu2") for seed in range(6)} > {1}


def test_cores_without_public_look_ups_get_no_table() -> None:
    workload, constants = random_table(1)
    for name in ("vek280", "npu1", "npu2"):
        assert isinstance(AieArray(name, 4).convert(workload, constants), Converted)
    assert "AIE-MLv2" in AieArray("vek385", 4).convert(workload, constants)


def member(made) -> Member:
    """A layer of a chain, alone on a column."""
    workload, constants = made
    plans = cut_plans(workload, "vek280", 1)
    return Member(plans[0].graph("layer", workload, constants), ("x",))


def test_what_fills_rows_up_is_not_taken_from_whoever_stored_before() -> None:
    """Behind a softmax's 42 elements lies what is never the largest, and no layer leaves that."""
    x, y = Quantized("int8", 0.05, 0), Quantized("int8", 1 / 256, -128)
    tail = full_range("int8", -128)

    def softmax(columns):
        made = fixed_softmax(rowwise("softmax", x, y, rows=4, columns=columns, tail=tail))
        return member((made.workload, made.constants))

    layer = table(x, x, elements=4 * 64)
    before = member((layer, {"table": np.zeros(256, np.int8)}))
    assert can_follow(before, softmax(64), "x")
    assert not can_follow(softmax(42), softmax(42), "x")


def test_results_are_not_filled_up_with_what_inputs_are() -> None:
    """The least int8 is no uint8, and golden data of the vendor's simulators is cut so."""
    x, y = Quantized("int8", 0.05, 0), Quantized("uint8", 1 / 255, 0)
    tail = full_range("uint8", 0)
    made = fixed_softmax(rowwise("softmax", x, y, rows=4, columns=60, tail=tail))
    graph = cut_plans(made.workload, "vek280", 1)[0].graph("layer", made.workload, made.constants)
    [came], [left] = (
        [end.part for end in ends if end.part is not None] for ends in (graph.inputs, graph.outputs)
    )
    assert came.cut(np.zeros((4, 60), np.int8)).reshape(4, -1)[:, 60:].max() == -128
    assert not left.cut(np.ones((4, 60), np.uint8)).reshape(4, -1)[:, 60:].any()


def test_sums_use_as_many_columns_as_there_are_ways_where_a_column_has_one_memory_tile() -> None:
    """Its six channels send two operands to two tiles, and results on."""
    shape = 1, 1, 75, 512
    x, y = Quantized("int8", 0.05, 3), Quantized("int8", 0.06, 2)
    tail = full_range("int8", 2)
    layer = elementwise("add", x, x, y, shape=shape, shape1=shape, out=shape, tail=tail)
    made = in_fixed_point(layer, {})
    assert not isinstance(made, str)
    plan = plan_cut(made.workload, "npu1", 4, 4)
    assert not isinstance(plan, Infeasible), plan
    assert plan.cut.cut.tiles == 8
    assert plan.ways == (8, 4)


def sum_of(size, channels):
    """A sum of two images in fixed point."""
    a, b, y = (Quantized("uint8", 0.1, 3), Quantized("uint8", 0.2, 4), Quantized("int8", 0.3, 5))
    shape, tail = (1, size, size, channels), full_range("int8", 5)
    made = elementwise("add", a, b, y, shape=shape, shape1=shape, out=shape, tail=tail)
    return in_fixed_point(made, {}).workload


def softmax_of(rows, columns):
    """A softmax in fixed point."""
    x, y = Quantized("int8", 0.1, 3), Quantized("uint8", 1 / 256, 0)
    tail = full_range("uint8", 0)
    return fixed_softmax(rowwise("softmax", x, y, rows=rows, columns=columns, tail=tail)).workload


@pytest.mark.parametrize(
    ("layer", "most"),
    [
        # Two operands come through one memory: which waits for the other is not in the price.
        (sum_of(32, 16), 0.04),
        (sum_of(8, 64), 0.07),
        (table(Quantized("uint8", 0.1, 3), Quantized("int8", 0.3, 5), elements=16384), 0.06),
        (softmax_of(64, 128), 0.02),
    ],
    ids=("sum", "small sum", "table", "softmax"),
)
def test_modelled_cycles_of_random_cuts_are_those_simulated(layer, most) -> None:
    """Starts count once, and conflicts of banks as often as there are calls."""
    array, wide = share("vek280", 1), device("vek280")
    row = ROW_KINDS[layer.kind].layer(layer, zeros_of(layer), "layer")
    kind, rng = RowCuts(row, array), np.random.default_rng(1)
    cuts = [cut for cut in kind.all(3) if kind.refuses(cut) is None and kind.runs(cut)]
    errors = []
    for at in rng.permutation(len(cuts)):
        graph = row_graph(cuts[at], array, 3)
        program = graph if isinstance(graph, Infeasible) else lay_out(graph, wide)
        if not isinstance(program, Infeasible):
            _, cost = kind.price(cuts[at])
            errors.append(cost.latency / run_layer(program, wide).cycles - 1)
        if len(errors) == 12:
            break
    assert len(errors) == 12
    assert max(map(abs, errors)) < most, errors
