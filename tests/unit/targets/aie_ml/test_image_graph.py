"""Image layers as graphs, run by the numpy oracle against the workload's meaning, bit for bit."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.graph.borders import borders
from match_aie.targets.aie_ml.graph.candidates import Candidates, Cuts
from match_aie.targets.aie_ml.graph.choose import WindowCuts, cuts, laid_out, price_image, runs
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut, refuses, share
from match_aie.targets.aie_ml.graph.fit import fits_descriptor, fits_local, image_demand
from match_aie.targets.aie_ml.graph.image import CutLayer, ImageCut, ImageLayer
from match_aie.targets.aie_ml.graph.window import window_graph
from match_aie.targets.aie_ml.graph.write import pack
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue, in_fixed_point
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.numeric import round_shift, saturate
from match_aie.targets.aie_ml.kernels.spec import Requantise
from match_aie.targets.aie_ml.kernels.window import Geometry
from match_aie.workload import Quantized, Window, conv2d, full_range, pool2d, reference
from tests.aie_graph import interpret
from tests.aie_layers import constants_of, random_inputs, random_layer

V = device("vek280")
ONE_WAY = share("vek280", 1)
I8, LANES = Tiling(4, 8, 8, native=True), Tiling(4, 1, 8, native=False)
ONES = (1, 1)
KINDS = ("conv", "depthwise", "average", "max", "add", "table")

#: Channels, rows, columns, outputs, filter, stride, dilation, padding; then the cut.
CUTS = (
    ("conv", (16, 9, 10, 20, (3, 3), ONES, ONES, (1, 1, 1, 1)), ImageCut(I8, 1, 2)),
    ("conv", (16, 9, 10, 20, (3, 3), ONES, ONES, (1, 1, 1, 1)), ImageCut(I8, 1, 1, 3, 2, 2, 2)),
    ("conv", (20, 13, 16, 40, (3, 3), (2, 2), ONES, (1, 1, 1, 1)), ImageCut(I8, 1, 2, 2, 3, 2, 3)),
    ("conv", (20, 13, 15, 40, (3, 3), (2, 2), ONES, (1, 1, 1, 1)), ImageCut(I8, 1, 2, 7, 1, 1, 2)),
    ("conv", (3, 13, 15, 8, (3, 3), (2, 2), ONES, (0, 0, 1, 1)), ImageCut(I8, 2, 1, 2, 2)),
    ("conv", (20, 13, 15, 40, (1, 1), (2, 2), ONES, (0, 0, 0, 0)), ImageCut(I8, 1, 2, 2, 2, 2)),
    ("conv", (20, 13, 15, 40, (1, 3), (2, 3), ONES, (0, 1, 0, 1)), ImageCut(I8, 1, 2, 2, 2, 2)),
    ("conv", (20, 13, 15, 40, (3, 1), (3, 2), ONES, (1, 0, 0, 0)), ImageCut(I8, 1, 2, 2, 2, 2)),
    ("conv", (8, 13, 17, 40, (3, 3), ONES, (2, 2), (2, 2, 2, 2)), ImageCut(I8, 1, 2, 2, 2, 2)),
    (
        "depthwise",
        (20, 13, 16, 20, (3, 3), (2, 2), ONES, (1, 1, 1, 1)),
        ImageCut(LANES, 1, 1, 2, 3, 3),
    ),
    (
        "depthwise",
        (20, 13, 16, 20, (5, 5), ONES, ONES, (2, 2, 2, 2)),
        ImageCut(LANES, 1, 1, 3, 2, 2),
    ),
    ("depthwise", (9, 7, 7, 9, (3, 3), (3, 3), ONES, (1, 2, 1, 0)), ImageCut(LANES, 1, 1, 3, 1, 2)),
)


def weighted_layer(kind, sizes, rng, dtype="uint8", zero_point=101):
    g = Geometry(*sizes)
    depth = 1 if kind == "depthwise" else g.channels
    weight = rng.integers(-128, 128, (g.outputs, *g.filter, depth)).astype(np.int8)
    epilogue = Epilogue(
        Requantise("channel", dtype, addend="channel"),
        26,
        rng.integers(1 << 14, 1 << 15, g.outputs),
        rng.integers(-(1 << 30), 1 << 30, g.outputs),
        rng.integers(-9999, 9999, g.outputs),
    )
    return ImageLayer("layer", kind, g, dtype, zero_point, dtype, epilogue, weight)


def plain(layer, x):
    """The layer as its definition says, on a padded image."""
    g, e = layer.geometry, layer.epilogue
    top, left, bottom, right = g.padding
    centred = x.astype(np.int64) - layer.zero_point
    centred = np.pad(centred, ((top, bottom), (left, right), (0, 0)))
    sums = np.zeros((g.out_height, g.out_width, g.outputs), np.int64)
    for fy in range(g.filter[0]):
        for fx in range(g.filter[1]):
            y0, x0 = fy * g.dilation[0], fx * g.dilation[1]
            part = centred[
                y0 : y0 + (g.out_height - 1) * g.stride[0] + 1 : g.stride[0],
                x0 : x0 + (g.out_width - 1) * g.stride[1] + 1 : g.stride[1],
            ]
            taps = layer.weight[:, fy, fx, :].astype(np.int64)
            sums += part * taps[:, 0] if layer.apart else part @ taps.T
    scaled = (sums + e.bias) * e.multiplier + e.addend
    return saturate(round_shift(scaled, e.shift, "conv_even"), layer.stored, "saturate")


@pytest.mark.parametrize("way", [V, ONE_WAY], ids=["ways", "one way"])
@pytest.mark.parametrize(("kind", "sizes", "cut"), CUTS)
def test_cuts_equal_the_definition(kind, sizes, cut, way) -> None:
    rng = np.random.default_rng(sizes[0])
    layer = weighted_layer(kind, sizes, rng)
    g = layer.geometry
    x = rng.integers(0, 256, (g.height, g.width, g.channels)).astype(np.uint8)
    graph = window_graph(CutLayer(layer, cut), way, 38)
    assert len(graph.kernels) == cut.bands * cut.parts * cut.length
    if way is ONE_WAY:
        assert (len(graph.inputs), len(graph.outputs)) == (1, 1)
    y = interpret(graph, {"x": x}, np.zeros((g.out_height, g.out_width, g.outputs), np.uint8))
    np.testing.assert_array_equal(y, plain(layer, x))


def check_random(kind, seed):
    """One random layer, planned and run; None where it has no meaning or no kernel."""
    rng = np.random.default_rng(seed)
    workload = random_layer(rng, kind)
    if workload is None:
        return None
    constants = constants_of(workload, rng)
    converted = in_fixed_point(workload, constants)
    if isinstance(converted, str):
        return None
    fixed, values = converted.workload, converted.constants
    assert refuses(fixed) is None
    plan = plan_cut(fixed, "vek280", 1 + seed % 2, 1 + seed % 3)
    assert not isinstance(plan, Infeasible), (plan, fixed)
    graph = plan.graph("layer", fixed, values)
    assert graph.columns == plan.columns
    x = random_inputs(fixed, rng)
    y = interpret(graph, x, np.zeros(fixed.output.shape, fixed.output.dtype))
    wanted = reference(fixed, [x[o.name] for o in fixed.inputs], values)
    np.testing.assert_array_equal(y, wanted)
    return np.abs(wanted.astype(int) - reference(workload, [*x.values()], constants)).max()


@pytest.mark.parametrize("kind", KINDS)
def test_random_layers_equal_their_reference(kind) -> None:
    found = [check_random(kind, seed) for seed in range(7)]
    seen = [lsb for lsb in found if lsb is not None]
    assert len(seen) >= 3
    assert max(seen) <= 1  # from the model's own arithmetic, in steps of the output


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_layers_equal_their_reference(kind) -> None:
    found = [check_random(kind, seed) for seed in range(1000, 1100)]
    seen = [lsb for lsb in found if lsb is not None]
    assert len(seen) >= 40
    assert max(seen) <= 1


def test_the_cheapest_of_all_that_fit_is_chosen() -> None:
    layer = weighted_layer("depthwise", (17, 7, 7, 17, (3, 3)), np.random.default_rng(1))
    assumed = Assumed()
    able = [
        price_image(plan, ONE_WAY, assumed).latency
        for plan in cuts(layer, ONE_WAY, 2)
        if fits_local(image_demand(plan, borders(layer), ONE_WAY), ONE_WAY) is None
        and runs(plan, ONE_WAY)
        and isinstance(laid_out(plan, ONE_WAY, 2), int)
    ]
    whole = Candidates(WindowCuts(layer, ONE_WAY), 4)
    chosen = whole.best(2)
    assert chosen.cost.latency == min(able)
    assert len({round(cost) for cost in able}) > 10


@pytest.mark.parametrize(("kind", "outputs"), [("conv", 24), ("depthwise", 16)])
def test_bounds_of_cuts_are_no_higher_than_their_cost(kind, outputs) -> None:
    layer = weighted_layer(kind, (16, 9, 9, outputs, (3, 3)), np.random.default_rng(1))
    cut_of = WindowCuts(layer, ONE_WAY)
    close = 0
    for plan in list(cut_of.all(2))[::37]:
        if cut_of.refuses(plan) is not None or not cut_of.runs(plan):
            continue
        priced = cut_of.price(plan)
        if priced is not None:
            latency = priced[1].latency
            assert cut_of.bound(plan) <= cut_of.tight(plan) <= latency
            close += cut_of.tight(plan) > 0.9 * latency
    assert close


def test_what_does_not_fit_says_what_lacks() -> None:
    q = Quantized("int8", 0.1, 0)
    big = conv2d(
        q,
        q,
        shape=(1, 7, 7, 512),
        weight_shape=(512, 3, 3, 512),
        window=Window(padding=(1, 1, 1, 1)),
        tail=full_range("int8", 0),
        scales=1,
    )
    fixed = in_fixed_point(big, constants_of(big, np.random.default_rng(0))).workload
    plan = plan_cut(fixed, "vek280", 2)
    assert isinstance(plan, Infeasible)
    assert plan.resource == "memory banks of a tile"
    assert plan.demand > plan.bound


def test_layers_without_a_kernel_say_why() -> None:
    q, tail = Quantized("int8", 0.1, 0), full_range("int8", 0)
    grouped = conv2d(
        q, q, shape=(1, 8, 8, 8), weight_shape=(8, 3, 3, 4), groups=2, tail=tail, scales=1
    )
    assert "2 groups of 4 to 4 channels" in refuses(grouped)
    batch = conv2d(q, q, shape=(2, 8, 8, 8), weight_shape=(8, 3, 3, 8), tail=tail, scales=1)
    assert "its batch is 2" in refuses(batch)
    clipped = pool2d(
        "max_pool2d", q, q, shape=(1, 8, 8, 8), filter_shape=(2, 2), tail=replace(tail, lo=0)
    )
    assert "clipped to 0 .. 127" in refuses(clipped)
    with pytest.raises(TargetError, match="its batch is 2"):
        plan_cut(batch, "vek280", 1)


def test_padding_of_a_signed_maximum_is_added_by_the_processor() -> None:
    q = Quantized("int8", 0.1, 0)
    window = Window((2, 2), padding=(1, 1, 1, 1))
    pool = pool2d(
        "max_pool2d",
        q,
        q,
        shape=(1, 9, 9, 8),
        filter_shape=(3, 3),
        window=window,
        tail=full_range("int8", 0),
    )
    graph = plan_cut(pool, "vek280", 1).graph("pool", pool, {})
    part = graph.inputs[0].part
    assert (part.first, part.left, part.fill, part.contiguous) == (-1, 1, -128, False)
    x = np.full((1, 9, 9, 8), -128, np.int8)
    y = interpret(graph, {"x": x}, np.zeros(pool.output.shape, np.int8))
    assert (y == -128).all()


def test_descriptors_have_limits() -> None:
    words = Access((12, 5, 5), (6, 5, 5), (0, 0, 0))
    assert "32-bit words" in fits_descriptor(words, 1, V).resource
    padded = Access((8, 5, 5), (8, 60, 5), (0, -40, 0), (), (8, 5, 5))
    assert "padding" in fits_descriptor(padded, 1, V).resource
    deep = Access((64, 9, 9, 9), (4, 2, 2, 2), (0, 0, 0, 0), ((0, 8, 4), (1, 3, 2), (2, 3, 2)))
    assert "dimensions" in fits_descriptor(deep, 1, V).resource
    whole = Access((64, 100, 100), (64, 100, 100), (0, 0, 0))
    assert fits_descriptor(whole, 1, V) is None


def test_a_cut_has_no_empty_parts() -> None:
    layer = weighted_layer("conv", (16, 4, 4, 16, (1, 1)), np.random.default_rng(0))
    for cut in (
        ImageCut(I8, 1, 1, bands=3, firings=2),
        ImageCut(I8, 1, 1, parts=3),
        ImageCut(I8, 1, 1, length=3),
    ):
        with pytest.raises(TargetError, match="empty parts"):
            CutLayer(layer, cut)
    with pytest.raises(TargetError, match="no whole blocks"):
        CutLayer(layer, ImageCut(I8, 4, 1, bands=2))


def test_a_layer_without_constants_has_none_to_pack() -> None:
    rng = np.random.default_rng(5)
    workload = next(w for _ in range(50) if (w := random_layer(rng, "max")) is not None)
    converted = in_fixed_point(workload, constants_of(workload, rng))
    assert not isinstance(converted, str)
    plan = plan_cut(converted.workload, "vek280", 1)
    assert not isinstance(plan, Infeasible)
    graph = plan.graph("pool", converted.workload, converted.constants)
    packing = pack(graph, converted.workload)
    assert (packing.constants, packing.updates, packing.streamed) == ({}, (), {})


class Refusing(Cuts[int]):
    """Cuts of 1 to 4 columns, none of which has a kernel; each says so in its own words."""

    device = ONE_WAY

    def all(self, columns: int) -> Iterator[int]:
        return iter(range(1, columns + 1))

    def shape(self, cut: int) -> tuple[int, int]:
        return cut, cut

    def refuses(self, cut: int) -> Infeasible | None:
        del cut

    def price(self, cut: int) -> Infeasible:
        return Infeasible(f"kernels of {cut} columns", 1, 0, "kernels")

    def bound(self, cut: int) -> float:
        return 10.0 - cut

    graph = lay_out = loops = ways = None  # nobody asks for these


def test_a_refusal_is_the_same_whichever_widths_were_asked_for_before() -> None:
    fresh, asked = Candidates(Refusing(), 4), Candidates(Refusing(), 4)
    for columns in (4, 3):
        asked.best(columns)
    assert asked.best(2) == fresh.best(2)
    assert fresh.best(2).resource == "kernels of 1 columns"
