"""Partial sums in their results' type: planned smaller, executed as the reference, printed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import Tiling
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.kernel_choice import _options, least_cycles
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.search import VARIANTS, Given
from match_aie.targets.aie_ml.array.shapes import native_tilings
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.timed_plan import timed_of_nest, timed_of_split
from match_aie.targets.aie_ml.kernels.rounded import rounded_sums, waiting
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.schedule.generated import kernel_of
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.workload import reference, with_exact_sums
from tests.rounded_layers import INT8, LAYERS, rounded

NPU1 = device("npu1")
SPEC = KernelSpec(
    "int8", "int8", Tiling(4, 8, 8, native=True), 1, 1, 4, 8, 8, Requantise("shift", "int8")
)


@pytest.mark.parametrize("name", LAYERS)
def test_programs_give_what_the_reference_does(name):
    """Two runs, and the text gives the program back."""
    made = rounded(*LAYERS[name])
    check(made.program, made.array)
    for seed in range(2):
        x = made.drawn(seed)
        wanted = reference(made.fixed.workload, [x], dict(made.fixed.constants))
        done = execute(made.program, made.array, {"x": x}).tensor(wanted)
        np.testing.assert_array_equal(done, wanted)
        assert np.unique(wanted).size > 20
        exact = reference(with_exact_sums(made.fixed.workload), [x], dict(made.fixed.constants))
        assert not np.array_equal(wanted, exact)
    wide = {b.name: b.bytes for b in made.program.buffers if b.name == "sums"}
    m = made.timed.mapping
    assert wide == {"sums": m.sums_bytes}
    assert m.sums_bytes == m.output_bytes
    told = kernels_of(made.program)
    assert read(text(made.program, made.array), made.array, told) == made.program


def test_zero_points_and_saturation():
    """A zero point is in the sums from the first turn on; what saturates between turns stays so."""
    made = rounded("npu1", INT8, (32, 96, 32), (1, 1, 1), (2, 4), 3, zero=3, gain=8.0)
    x = made.drawn(0)
    wanted = reference(made.fixed.workload, [x], dict(made.fixed.constants))
    done = execute(made.program, made.array, {"x": x}).tensor(wanted)
    np.testing.assert_array_equal(done, wanted)
    exact = reference(with_exact_sums(made.fixed.workload), [x], dict(made.fixed.constants))
    assert np.abs(done.astype(int) - exact).max() > 20


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_definition(data):
    """Each number by itself, by integer arithmetic of Python; one turn a tile loses nothing."""
    turns = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    tiles = data.draw(st.lists(st.just(turns), min_size=1, max_size=3))
    k, shift = sum(map(sum, tiles)), data.draw(st.integers(0, 9))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, w = rng.integers(-128, 128, (3, k)), rng.integers(-128, 128, (k, 2))
    start = rng.integers(-500, 500, 2)
    found = rounded_sums(SPEC, x, w, start, tiles, shift)
    for m, n in np.ndindex(3, 2):
        total, at = int(start[n]), 0
        for tile in tiles:
            for number, wide in enumerate(tile):
                total += sum(int(x[m, i]) * int(w[i, n]) for i in range(at, at + wide))
                at += wide
                if number + 1 < len(tile):  # halves to even, as `round` does
                    total = max(-128, min(127, round(total / 2**shift))) << shift
        assert found[m, n] == total
    once = rounded_sums(SPEC, x, w, start, [[k]], shift)
    np.testing.assert_array_equal(once, x @ w + start)


def test_floats_wait_in_bfloat16():
    spec = replace(SPEC, a="bfloat16", b="bfloat16", requantise=Requantise("none", "bfloat16"))
    sums = np.array([[1 + 2**-9, -3.0]], np.float32)
    np.testing.assert_array_equal(waiting(spec, sums, 0), [[1.0, -3.0]])


def test_kernels_are_those_that_the_plan_prices():
    """Turn by turn, and they load and store the results' type."""
    made = rounded(*LAYERS["chain"])
    m = made.timed.mapping
    for at, core in enumerate(made.program.cores):
        specs, wanted = core.function.kernels, [m.kernel(at, turn) for turn in (0, 1)]
        found = [kernel_of(spec, beside=core.function.numbers > 0) for spec in specs]
        assert found == wanted
        assert [kernel.rounded for kernel in found] == [False, True]


@pytest.mark.parametrize("form", ["channel", "multiplier", "narrow_channel"])
def test_what_no_shift_requantises_is_refused(form):
    with pytest.raises(TargetError, match="only a shift is undone"):
        DenseLayer(64, 64, 64, requantise=form, partial_sums="result")
    with pytest.raises(TargetError, match="is none of"):
        DenseLayer(64, 64, 64, partial_sums="wide")


@pytest.mark.parametrize("weights", ["bfloat16", "bfp16"])
def test_products_that_keep_their_sums_are_refused_before_a_plan_is_priced(weights):
    """Lane by lane and in blocks accumulators end with a tile: there is no kernel that rounds."""
    layer = DenseLayer(64, 64, 64, "bfloat16", weights, "bfloat16", partial_sums="result")
    with pytest.raises(TargetError, match="do not round sums that wait") as refused:
        timed_of_split(layer, "npu2", Given(2, 2, 2))
    assert "exact" in str(refused.value.hint)


def test_larger_calls_fit_and_the_plan_is_its_nest():
    """A published product, of one split: exact sums leave room for smaller calls alone."""
    small = rounded(*LAYERS["single"]).timed.mapping.layer
    one = replace(small, rows=4032, reduction=4320, columns=4608, bias=False, resident=False)
    split, found = Given(4, 2, 4), {}
    for sums in ("exact", "result"):
        whole = replace(one, partial_sums=sums)
        plan = timed_of_split(whole, "npu2", split)
        assert not isinstance(plan, Infeasible)
        assert timed_of_nest(whole, "npu2", plan.nest) == plan
        found[sums] = plan
    exact, result = (found[sums].timed.mapping for sums in ("exact", "result"))
    assert result.call_rows * result.call_columns > 1.5 * exact.call_rows * exact.call_columns
    assert found["result"].cycles < 0.8 * found["exact"].cycles


def test_results_spread_where_a_memory_tile_lacks_the_room():
    """A published product: its calls have results beyond a memory tile's room as a whole."""
    small = rounded(*LAYERS["single"]).timed
    one = replace(small.mapping.layer, rows=4032, reduction=4320, columns=4608, bias=False)
    whole = replace(one, partial_sums="result", resident=False)
    plan = timed_of_split(whole, "npu2", Given(4, 1, 8))
    assert not isinstance(plan, Infeasible)
    assert plan.timed.spread > 1
    assert plan.timed.fits
    assert timed_of_nest(whole, "npu2", plan.nest) == plan


def test_kernels_of_exact_sums_are_no_answer_for_rounded_ones():
    """Whoever asks for both finds for each what a process finds that asks for one alone."""
    one = DenseLayer(240, 1024, 256, "bfloat16", "bfloat16", "bfloat16", bias=False)
    mapping = ArrayMapping(
        one, native_tilings(one, NPU1)[0], (1, 1), "flat", 4, 1, 4, 60, 64, home="chip",
        reduction_steps=4,
    )  # fmt: skip
    rounds = replace(mapping, layer=replace(one, partial_sums="result"))
    both = [least_cycles(each, NPU1, VARIANTS) for each in (mapping, rounds)]
    _options.cache_clear()
    assert [least_cycles(each, NPU1, VARIANTS) for each in (rounds, mapping)] == both[::-1]
    assert both[0] != both[1]
