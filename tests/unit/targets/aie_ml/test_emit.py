"""Mappings are priced with the schedules of the very kernels that are emitted for them."""

from dataclasses import replace

import pytest

from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Device, Tiling, device
from match_aie.targets.aie_ml.array import ArrayMapping, DenseLayer, search
from match_aie.targets.aie_ml.array.emit import call_spec, tile_nest
from match_aie.targets.aie_ml.array.fit import program_bytes, schedules
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.spec import Requantise
from match_aie.targets.aie_ml.schedule import Requantise as Requantising
from match_aie.targets.aie_ml.schedule.generated import kernel_of
from tests.kernel_counts import emitted_counts, kernel_counts
from tests.kernel_reference import turn_specs
from tests.random_mappings import sample

VEK280 = device("vek280")
LAYERS = (
    DenseLayer(96, 512, 128),
    DenseLayer(64, 2048, 64, a="uint8", out="uint8", requantise="multiplier"),
    DenseLayer(64, 512, 64, a="int16", w="int16", out="int16", requantise="channel", bias=False),
    DenseLayer(32, 256, 64, a="bfloat16", w="bfloat16", out="bfloat16"),
)


def same(mapping: ArrayMapping, array: Device = VEK280) -> None:
    """What is scheduled for every tile and turn is what is emitted, counts included."""
    calls = schedules(mapping, array)
    assert max(program_bytes(turns, array) for turns in calls) <= 16384
    for at, turns in enumerate(calls):
        specs = turn_specs(mapping, at)
        assert len(specs) == len(turns) == mapping.reduction_steps
        for turn, spec in enumerate(specs):
            check_kernel(spec, array)
            kernel = kernel_of(spec, beside=mapping.numbers(at) > 0)
            assert kernel == mapping.kernel(at, turn)
            assert kernel.variant == ("flat" if spec.flat else "overlapped")
            counted = kernel_counts(spec, array.architecture.core)
            assert emitted_counts(turns[turn]) == counted


@pytest.mark.parametrize("size", [(512, 896, 576), (4096, 896, 576)])
def test_the_large_products_are_emitted_flat(size: tuple[int, int, int]) -> None:
    found = search(DenseLayer(*size), VEK280)
    assert isinstance(found, tuple)
    mapping = found[0].mapping
    assert mapping.variant == "flat"
    same(mapping)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: f"{layer.a} {layer.requantise}")
def test_what_is_scheduled_is_what_is_emitted(layer: DenseLayer) -> None:
    turned = 0
    for priced in sample(layer, VEK280, 12, seed=4):
        if priced.mapping.variant != "exposed":
            same(priced.mapping)
            turned += priced.mapping.reduction_steps > 1
    assert turned or layer.a == "bfloat16"


@pytest.mark.parametrize("requantise", ["shift", "channel"])
def test_the_last_turn_has_single_tiles_where_registers_hold_no_more(requantise: Requantising):
    """Products of npu2 wait two cycles for the one before on the same sums, so blocks have two."""
    array = device("npu2")
    layer = DenseLayer(384, 256, 256, relu=False, requantise=requantise, resident=False)
    (tiling,) = array.architecture.core.tilings_of("int8", "int8")[:1]
    shape = ArrayMapping(
        layer, tiling, (1, 1), "flat", 1, 4, 4, 96, 64, home="chip", reduction_steps=4,
    )  # fmt: skip
    mapping = with_kernel(shape, array, VARIANTS)
    assert mapping is not None
    assert sorted(mapping.block) == [1, 2]
    assert mapping.last_block == ((1, 1) if requantise == "channel" else None)
    same(mapping, array)
    assert with_kernel(mapping, array, VARIANTS) == mapping
    single = with_kernel(shape, array, VARIANTS, ((1, 1),))
    assert single is not None
    assert single.last_block is None
    faster, slower = (
        sum(turn.body for turn in schedules(one, array)[0]) for one in (mapping, single)
    )
    assert faster < slower
    with pytest.raises(TargetError, match="no multiple of blocks"):
        replace(mapping, last_block=(5, 1))


@pytest.mark.parametrize("requantise", ["shift", "channel"])
def test_ends_of_a_call_have_blocks_of_their_own_where_cores_call_by_name(
    requantise: Requantising,
) -> None:
    """First turns have the fastest; both have less code where program memory lacks room for it."""
    array = device("npu1")
    most = array.architecture.core.program_memory_bytes
    layer = DenseLayer(1024, 3072, 256, relu=False, requantise=requantise, resident=False)
    (tiling,) = array.architecture.core.tilings_of("int8", "int8")[:1]
    shape = ArrayMapping(
        layer, tiling, (1, 1), "flat", 1, 4, 4, 64, 64, home="chip", reduction_steps=32,
    )  # fmt: skip
    mapping = with_kernel(shape, array, VARIANTS, ((2, 2),))
    assert mapping is not None
    assert mapping.first_block is not None
    assert (mapping.last_block is None) == (requantise == "shift")
    same(mapping, array)
    plain = replace(mapping, first_block=None, last_block=None)
    (ours,), (theirs,) = schedules(mapping, array), schedules(plain, array)
    assert program_bytes(ours, array) <= most
    assert ours[0].body < theirs[0].body
    assert ours[1:-1] == theirs[1:-1]
    if requantise == "channel":
        assert program_bytes(theirs, array) > most
    assert with_kernel(shape, array, VARIANTS, ((2, 2),), alike=True) != mapping
    other = with_kernel(shape, VEK280, VARIANTS, ((2, 2),))
    if requantise == "channel":  # all turns alike are too much code
        assert other is None
    else:
        assert other is not None
        assert (other.first_block, other.last_block) == (None, None)
    with pytest.raises(TargetError, match="no multiple of blocks"):
        replace(mapping, first_block=(5, 1))


def test_the_function_of_a_tile_walks_the_mapping() -> None:
    layer = DenseLayer(64, 512, 64)
    mapping = ArrayMapping(
        layer, Tiling(4, 8, 8, True), (2, 2), "flat", 2, 1, 1, 32, 16,
        home="chip", outer="m", reduction_steps=4,
    )  # fmt: skip
    spec = call_spec(mapping, 1)
    nest = tile_nest(mapping, LayerCall("f", "f.h", spec, shift=9))
    assert (nest.m_tiles, nest.n_tiles, nest.k_tiles, nest.order) == (2, 4, 4, "mn")
    assert nest.streamed
    assert nest.stack_bytes == mapping.sums_bytes == 4 * 32 * 16
    assert [k.position for k in nest.kernels] == ["last", "only", "only"]
    with pytest.raises(TargetError, match="is not one of the mapping"):
        tile_nest(mapping, LayerCall("f", "f.h", replace(spec, m=64)))


def test_what_is_not_emitted_is_refused() -> None:
    layer = DenseLayer(64, 128, 64)
    mapping = ArrayMapping(layer, Tiling(4, 8, 8, True), (2, 2), "exposed", 1, 1, 1, 32, 64)
    with pytest.raises(TargetError, match="simulated, and not emitted"):
        call_spec(mapping, 0)
    with pytest.raises(TargetError, match="is not that of"):
        call_spec(replace(mapping, variant="flat"), 0, Requantise("tensor", "int8"))
    with pytest.raises(TargetError, match="no multiple of blocks"):
        replace(mapping, call_rows=36)
