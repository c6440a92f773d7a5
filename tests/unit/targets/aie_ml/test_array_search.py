"""Splits of a layer over the array: all sizes map or say why not, and the best is found."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.array import ArrayMapping, Assumed, DenseLayer, price, search
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.fit import fit
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.kernel_choice import least_cycles, with_kernel
from match_aie.targets.aie_ml.array.layer import Home
from match_aie.targets.aie_ml.array.price import bound_of, carried
from match_aie.targets.aie_ml.array.search import Given
from match_aie.targets.aie_ml.array.shapes import (
    blocks,
    candidates,
    counts,
    native_tilings,
    smallest,
    splits,
)
from match_aie.targets.aie_ml.graph.given import find, program_of
from match_aie.targets.aie_ml.graph.region import region
from tests.random_mappings import sample

VEK280 = device("vek280")
I8 = Tiling(4, 8, 8, True)

sizes = st.integers(1, 120)


def covered(mapping: ArrayMapping) -> bool:
    """Whether the parts hold the whole layer and the array the parts."""
    layer = mapping.layer
    return (
        mapping.part_rows * mapping.row_parts >= layer.rows
        and mapping.part_reduction * mapping.cas_length >= layer.reduction
        and mapping.part_columns * mapping.column_parts >= layer.columns
        and mapping.call_rows * mapping.row_steps >= mapping.part_rows
        and mapping.call_columns * mapping.column_steps >= mapping.part_columns
        and mapping.tiles <= VEK280.core_tiles
    )


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(sizes, sizes, sizes, st.sampled_from(["int8", "int16"]))
def test_odd_layers_map_legally(rows: int, reduction: int, columns: int, a: str) -> None:
    found = find(DenseLayer(rows, reduction, columns, a=a), VEK280)
    assert not isinstance(found, Infeasible)
    assert covered(found[0].mapping)
    program = program_of(found[0].mapping, VEK280)
    assert not isinstance(program, Infeasible)
    assert violations(program, VEK280) == ()


@pytest.mark.parametrize(
    "shape",
    [
        (1, 8, 8),
        (4096, 8, 8),
        pytest.param((1, 4096, 4096), marks=pytest.mark.slow),
        pytest.param((4096, 4096, 4096), marks=pytest.mark.slow),
    ],
)
def test_the_extremes_map(shape: tuple[int, int, int]) -> None:
    found = search(DenseLayer(*shape), VEK280)
    assert not isinstance(found, Infeasible)
    assert covered(found[0].mapping)
    big = shape[1] * shape[2] > VEK280.core_tiles * 48 * 1024
    assert found[0].mapping.streamed == big


def test_fewer_tiles_are_never_faster() -> None:
    layer = DenseLayer(256, 256, 256)
    cycles = []
    for most in (1, 4, 16, 64, 304):
        found = search(layer, VEK280, most_tiles=most)
        assert not isinstance(found, Infeasible)
        assert found[0].mapping.tiles <= most
        cycles.append(found[0].cost.interval)
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] > 30 * cycles[-1]


def test_no_random_mapping_is_cheaper_than_the_chosen_one() -> None:
    layer = DenseLayer(128, 256, 192)
    found = find(layer, VEK280)
    assert not isinstance(found, Infeasible)
    others = sample(layer, VEK280, 12, seed=3)
    assert len(others) == 12
    assert found[0].cost.interval <= min(p.cost.interval for p in others)


def best_of_all(layer: DenseLayer, parts: tuple[int, int, int]) -> float:
    """Cycles of the best of all calls of a split that a graph may have.

    Every turn, column step, row and order; weights that stay, or come from the chip's memory.
    """
    base = ArrayMapping(layer, I8, (1, 1), "overlapped", *parts, 4, 8)
    rows, columns = base.part_rows // 4, base.part_columns // 8
    turns = counts(base.part_reduction // 8, 64)
    best = float("inf")
    homes: tuple[Home, ...] = ("tile", "chip")
    for steps, calls, m, home in product(
        turns, counts(columns, columns), range(1, rows + 1), homes
    ):
        if home == "tile" and calls > 1:
            continue
        n = -(-columns // calls) * 8
        for order in ("m", "n"):
            shape = replace(
                base, reduction_steps=steps, call_columns=n, call_rows=m * 4, home=home, order=order
            )
            taken = fit(shape, VEK280, least=True)
            if isinstance(taken, Infeasible):
                continue
            if bound_of(shape, VEK280, Assumed(), taken).interval >= best:
                continue
            for block, variant in product(blocks(shape), ("flat", "overlapped")):
                priced = price(replace(shape, block=block, variant=variant), VEK280, Assumed())
                if not isinstance(priced, Infeasible):
                    best = min(best, priced.cost.interval)
    return best


@pytest.mark.parametrize(
    ("layer", "parts"),
    [
        (DenseLayer(512, 256, 256), (2, 2, 4)),
        pytest.param(DenseLayer(64, 512, 512), (1, 2, 1), marks=pytest.mark.slow),
        pytest.param(DenseLayer(256, 2048, 512), (3, 2, 2), marks=pytest.mark.slow),
        pytest.param(DenseLayer(100, 1000, 700), (2, 3, 1), marks=pytest.mark.slow),
    ],
)
def test_calls_are_near_the_best_of_all(layer: DenseLayer, parts: tuple[int, int, int]) -> None:
    found = search(layer, VEK280, given=Given(*parts))
    assert not isinstance(found, Infeasible)
    assert found[0].cost.interval <= 1.01 * best_of_all(layer, parts)


def test_what_does_not_fit_says_which_resource() -> None:
    base = ArrayMapping(DenseLayer(64, 512, 512), I8, (2, 2), "overlapped", 1, 1, 1, 64, 512)
    banks = price(base, VEK280, Assumed())
    assert isinstance(banks, Infeasible)
    assert banks.resource == "memory banks of a tile"
    assert banks.demand > banks.bound == 4
    assert dict(banks.breakdown)["weights"] == 512 * 512
    chains = price(
        replace(base, cas_length=32, column_parts=32, call_columns=16), VEK280, Assumed()
    )
    assert isinstance(chains, Infeasible)
    assert (chains.demand, chains.bound) == (32, 8)
    wide = DenseLayer(4, 8, 1_000_000)  # its bias alone fills sixteen tiles
    none = search(wide, device("npu1"))
    assert isinstance(none, Infeasible)
    assert none.demand > none.bound


def test_a_reduction_that_is_too_long_is_walked_over_time() -> None:
    long = DenseLayer(4, 40_000, 8, a="int16", w="int16", out="int16")
    found = find(long, VEK280, most_tiles=8)
    assert not isinstance(found, Infeasible)
    mapping = found[0].mapping
    assert mapping.reduction_steps > 1
    assert mapping.part_reduction * mapping.cas_length >= 40_000
    program = program_of(mapping, VEK280)
    assert not isinstance(program, Infeasible)
    assert violations(program, VEK280) == ()
    turns = mapping.calls * mapping.reduction_steps
    assert {len(core.work) for core in program.cores} == {turns}


def test_element_types_without_a_product_are_refused() -> None:
    with pytest.raises(TargetError, match="no native product int8xint16"):
        search(DenseLayer(8, 8, 8, w="int16"), VEK280)
    npu2 = device("npu2")
    core = replace(npu2.architecture.core, accumulators=None)
    npu2 = replace(npu2, architecture=replace(npu2.architecture, core=core))
    with pytest.raises(TargetError, match="registers of XDNA2 are not known"):
        search(DenseLayer(8, 64, 64), npu2)


def test_columns_are_not_padded_to_two_tiles() -> None:
    mapping = ArrayMapping(DenseLayer(64, 128, 72), I8, (4, 1), "overlapped", 1, 1, 1, 32, 72)
    assert mapping.part_columns == 72
    priced = price(mapping, VEK280, Assumed())
    assert not isinstance(priced, Infeasible)


def test_streams_and_compute_bound_are_told_apart() -> None:
    wide = ArrayMapping(DenseLayer(512, 128, 128), I8, (2, 2), "flat", 1, 1, 1, 32, 128)
    narrow = replace(wide, layer=DenseLayer(512, 128, 8), call_columns=8, block=(2, 1))
    for mapping, slowest in ((wide, "compute"), (narrow, "activation streams")):
        priced = price(mapping, VEK280, Assumed())
        assert not isinstance(priced, Infeasible)
        assert priced.cost.bound == slowest


@pytest.mark.parametrize(("column_parts", "up"), [(4, 5), (16, 9)])
def test_no_two_slices_of_a_column_share_a_way_up(column_parts: int, up: int) -> None:
    layer = DenseLayer(64, 2048, 2048)
    mapping = ArrayMapping(layer, I8, (2, 2), "flat", 19, column_parts, 1, 32, 32, home="chip")
    floor = Floor(mapping, VEK280)
    assert floor.distinct_a + floor.distinct_w == up
    assert sum(len(net.chains) for net in floor.nets) == mapping.tiles
    answer = fit(mapping, VEK280)
    assert isinstance(answer, Infeasible) == (up > floor.lanes_up == 6)


def test_no_mapping_beats_the_bounds_that_order_the_search() -> None:
    """Of every split and shape: else the search might stop before the best."""
    layer = DenseLayer(40, 96, 56)
    small = region("vek280", 3, 8)
    (tiling,) = native_tilings(layer, small)
    priced = 0
    for split in splits(layer, small, tiling, None):
        least = max(split.bound, carried(smallest(layer, tiling, split), small))
        for turns in (False, True):
            for shape in candidates(layer, small, tiling, split, turns=turns):
                mapping = with_kernel(shape, small, ("flat",))
                taken = fit(shape, small, least=True)
                if mapping is None or isinstance(taken, Infeasible):
                    continue
                quick = bound_of(shape, small, Assumed(), taken)
                found = price(mapping, small, Assumed())
                if isinstance(found, Infeasible):
                    continue
                assert least <= found.cost.interval <= found.cost.latency
                assert quick.interval <= found.cost.interval
                assert quick.latency <= found.cost.latency
                call = least_cycles(shape, small, ("flat",))
                assert call is not None
                closer = bound_of(shape, small, Assumed(), taken, call)
                assert quick.interval <= closer.interval <= found.cost.interval
                assert quick.latency <= closer.latency <= found.cost.latency
                priced += 1
    assert priced > 50


def test_weights_that_stay_when_asked() -> None:
    layer, small = DenseLayer(64, 256, 256), region("vek280", 2, 8)
    found = search(layer, small, objective="latency", keep=8, resident=True)
    assert not isinstance(found, Infeasible)
    assert all(not p.mapping.streamed and p.mapping.reduction_steps == 1 for p in found)
    everything = search(layer, small, objective="latency", keep=8)
    assert not isinstance(everything, Infeasible)
    assert everything[0].cost.latency == found[0].cost.latency
    refused = search(DenseLayer(8, 2048, 2048), small, resident=True)
    assert isinstance(refused, Infeasible)
    assert refused.resource == "memory banks of a tile"


def test_an_array_without_memory_tiles_is_refused_by_name():
    with pytest.raises(TargetError, match="vck190 has no memory tiles"):
        search(DenseLayer(64, 64, 64), device("vck190"))


def test_program_memory_of_a_call_whose_numbers_come_behind_its_weights():
    """The plan that 4096x4096 with 512 rows had before these loads were scheduled."""
    mapping = ArrayMapping(
        *(DenseLayer(256, 4096, 4096), I8, (2, 2), "overlapped", 4, 4, 2, 32, 32),
        home="chip",
        reduction_steps=4,
    )
    refused = price(mapping, VEK280, Assumed())
    assert isinstance(refused, Infeasible)
    assert (refused.resource, refused.demand, refused.bound) == ("program memory", 16992, 16384)


def test_a_kernel_hangs_on_no_layer_that_was_planned_before():
    """Numbers behind weights are loaded with them: a layer alike in all else has another block."""
    layer = DenseLayer(64, 64, 64, resident=False)
    plain = ArrayMapping(layer, I8, (1, 1), "overlapped", 1, 1, 1, 64, 64, home="chip")
    shared = replace(plain, layer=replace(layer, shared=True))
    chosen = [with_kernel(each, VEK280, ("overlapped",)) for each in (plain, shared)]
    assert [each and each.block for each in chosen] == [(2, 2), (4, 1)]
