"""Which layers are divided over cores, where, and what that is modelled to cost."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cost_models.cores import fork_join, meeting
from match_aie.mapping import search
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.cores import Split, Way, bounds, divide
from match_aie.targets.cpu.machine import machine
from match_aie.targets.cpu.module import Int8Module
from match_aie.targets.cpu.vector_module import VectorModule
from match_aie.workload import (
    Quantized,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    real_dense,
    real_matmul,
    recurrent,
    table,
)

FACTS = machine("x86-64-v3")
X, Y = Quantized("uint8", 0.02, 128), Quantized("int8", 0.05, -3)
TAIL = full_range("int8", -3)


def on(cores):
    return replace(FACTS, cores=cores)


def convolution(rows=32, columns=32, channels=16):
    shape, weights = (1, rows, columns, channels), (channels, 3, 3, channels)
    window = Window(padding=(1, 1, 1, 1))
    return conv2d(X, Y, shape=shape, weight_shape=weights, window=window, tail=TAIL, scales=1)


@given(st.integers(1, 500), st.integers(1, 40), st.integers(1, 17))
def test_parts_cover_everything_once_and_start_at_grains(size, grain, parts):
    found = bounds(Way("K", size, grain), parts)
    assert len(found) == parts + 1
    assert (found[0], found[-1]) == (0, size)
    assert list(found) == sorted(found)
    assert all(begin % grain == 0 for begin in found[:-1] if begin < size)
    grains = [-(-(b - a) // grain) for a, b in pairwise(found)]
    assert max(grains) - min(grains) <= 1


@given(st.integers(2, 16), st.floats(1.0, 1e6))
def test_a_division_is_never_dearer_than_one_core(cores, whole):
    split = divide(cores, [Way("K", 64, 8)], whole, lambda _, size: whole * size / 64)
    slowest = whole if split is None else split.share * whole + split.join
    assert slowest <= whole
    if split is not None:
        assert split.parts <= min(cores, 8)
        assert split.join == fork_join(cores)


def test_handing_over_grows_with_the_cores():
    for price in (fork_join, meeting):
        costs = [price(cores) for cores in (2, 4, 8, 16)]
        assert costs == sorted(set(costs))


def test_a_layer_that_is_too_small_stays_on_one_core():
    small = dense(X, Y, rows=1, inputs=16, outputs=16, tail=TAIL, scales=1)
    assert Int8Module(on(2)).split(small) is None
    assert (
        Int8Module(on(2)).kernel(small, search(small, Int8Module(on(2)))[0].mapping).split is None
    )
    adds = {n: elementwise("add", X, Y, Y, shape=(1, 1, 1, n), shape1=(1, 1, 1, n),
                           out=(1, 1, 1, n), tail=TAIL) for n in (64, 65536)}  # fmt: skip
    assert VectorModule(on(2)).split(adds[64]) is None
    assert VectorModule(on(2)).split(adds[65536]).parts == 2
    looked_up = {n: VectorModule(on(4)).split(table(X, Y, elements=n)) for n in (64, 65537)}
    assert looked_up[64] is None
    assert looked_up[65537].parts == 4
    assert all(begin % 64 == 0 for begin in looked_up[65537].bounds[:-1])


@pytest.mark.parametrize(
    ("workload", "dim", "grain"),
    [
        (convolution(), "OY", 1),
        (convolution(rows=1), "K", 8),
        (dense(X, Y, rows=1, inputs=640, outputs=1024, tail=TAIL, scales=1), "K", 8),
    ],
)
def test_what_is_divided(workload, dim, grain):
    split = Int8Module(on(2)).split(workload)
    assert split.dim == dim
    assert split.bounds[1] % grain == 0


def float_module(kind, cores):
    products, rows = CPU("x86-64-v3", cores=cores).modules()[-2:]
    return products if kind in ("dense", "matmul") else rows


@pytest.mark.parametrize(
    "workload",
    [
        real_dense(rows=128, inputs=768, outputs=768, bias=True),
        real_dense(rows=64, inputs=300, outputs=200, x_axes=("C", "B")),
        real_dense(rows=64, inputs=300, outputs=200, y_axes=("K", "B")),
        real_matmul({"OY": 128, "C": 256, "K": 128}, ("OY", "C"), ("C", "K"), ("OY", "K")),
    ],
)
def test_products_are_mapped_as_on_one_core(workload):
    """So that sums are of the same parts: the results are the same bits."""
    one, many = (search(workload, float_module(workload.kind, c))[0] for c in (1, 4))
    assert one.mapping == many.mapping
    assert many.cost.cycles < one.cost.cycles
    kernel = float_module(workload.kind, 4).kernel(workload, many.mapping)
    sides = {"m": kernel.a, "n": kernel.b}
    assert all(side.how != "pack_rows" for axis, side in sides.items() if axis != kernel.axis)


def test_cores_that_meet_after_every_step_pay_for_it():
    short, long = (
        recurrent("gru", steps=10, batch=1, inputs=64, hidden=hidden) for hidden in (16, 400)
    )
    module = float_module("gru", 2)
    assert module.split(short) is None
    assert module.split(long).dim == "K"
    assert module.split(long).share * module.machine.cores > 1.0


def test_every_core_has_scratch_of_its_own():
    one, four = (Int8Module(on(cores)) for cores in (1, 4))
    mapping = search(convolution(), one)[0].mapping
    kernel = four.kernel(convolution(), mapping)
    assert four.workspace_bytes(convolution(), mapping) == 4 * kernel.part_bytes
    assert kernel.part_bytes % 64 == 0
    assert kernel.part_bytes <= one.workspace_bytes(convolution(), mapping)


def test_a_split_says_how_large_its_parts_are():
    split = Split("K", (0, 16, 33), 0.5, 1.0)
    assert (split.parts, split.sizes, split.most) == (2, {16, 17}, 17)
