"""Packed constants in blocks: how they lie, and tiles that are whole blocks of them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from match_aie.errors import TargetError
from match_aie.hardware import Blocked, Loop, Packed
from match_aie.lowering import tile_program
from match_aie.lowering.constants import packed_constants
from match_aie.mapping import check, search
from match_aie.mapping.space import build_space
from match_aie.workload import Quantized, Tail, Window, conv2d, dense
from tests.unit.mapping.machines import Machine

U8 = Quantized("uint8", 1.0)
TAIL = Tail(0, 0, 255)
CHANNELS = (3, 10, 16, 24, 40, 70, 130)


def layer(outputs, inputs=5):
    return dense(U8, U8, rows=4, inputs=inputs, outputs=outputs, tail=TAIL, scales=outputs)


def image(outputs, inputs):
    window = Window((1, 1), (1, 1), (1, 1, 1, 1))
    return conv2d(
        U8, U8, shape=(1, 6, 6, inputs), weight_shape=(outputs, 3, 3, inputs), window=window,
        tail=TAIL, scales=outputs,
    )  # fmt: skip


class Array(Machine, Packed):
    """Packs weights as its `given` layout says."""

    def __init__(self, sizes, given, scratch=0, **more):
        super().__init__(sizes, align=16, scratch=scratch, **more)
        self.given = given

    def layouts(self, workload):
        return self.given

    def reserved_bytes(self, workload, memory, tile):
        return np.full_like(next(iter(tile.values())), self.scratch * (memory.name == "L1"))


def constants(workload, rng):
    return {o.name: rng.integers(-128, 128, o.shape).astype(o.dtype) for o in workload.constants}


def blocked(weight, block_k, block_c):
    """[K, FY, FX, C] as [K blocks, FY, FX, C blocks, C of a block, K of a block], by hand."""
    outputs, rows, columns, inputs = weight.shape
    many = -(-outputs // block_k), -(-inputs // block_c)
    found = np.zeros((many[0], rows, columns, many[1], block_c, block_k), weight.dtype)
    for k, fy, fx, c in np.ndindex(weight.shape):
        place = (k // block_k, fy, fx, c // block_c, c % block_c, k % block_k)
        found[place] = weight[k, fy, fx, c]
    return found


@pytest.mark.parametrize(("outputs", "inputs"), [(3, 10), (24, 16), (40, 3), (16, 24)])
def test_declared_blocks_are_packed_as_they_are_counted_by_hand(outputs, inputs):
    workload = image(outputs, inputs)
    given = constants(workload, np.random.default_rng(0))
    module = Array([4096], {"weight": Blocked("K FY FX C c k", K=16, C=16)})
    packed = module.pack(workload, given)
    np.testing.assert_array_equal(packed["weight"], blocked(given["weight"], 16, 16))
    assert packed["bias"] is given["bias"]
    order = Blocked("C K FY FX k", K=4)
    turned = Array([4096], {"weight": order}).pack(workload, given)["weight"]
    expected = blocked(given["weight"], 4, 1)[..., 0, :].transpose(3, 0, 1, 2, 4)
    np.testing.assert_array_equal(turned, expected)


def visited(program, tensor, dim):
    """Rows of the packed weights that arrive for every range of `dim`, from the walk itself."""
    operand = next(o for o in program.operands if o.name == tensor)
    found = {}
    for visit in program.visits():
        region = operand.region(visit.ranges)
        begin = sum(at * axis.stride for at, axis in zip(region.start, operand.axes, strict=True))
        found[visit.ranges[dim]] = (begin, region.nbytes)
    return found


@pytest.mark.parametrize("outputs", CHANNELS)
@pytest.mark.parametrize("block", [4, 16])
def test_tiles_are_the_blocks_that_hold_their_channels(outputs, block):
    """K = 24 in rows of 16 was cut at 12; K = 40 was no tile at all."""
    workload = layer(outputs)
    module = Array(
        [16 * 5 * 16 + 600], {"weight": Blocked("K C k", K=block)}, unroll=(Loop("K", 4),)
    )
    found = search(workload, module)
    mapping = found[0].mapping
    assert check(workload, module, mapping) == ()
    program = tile_program(workload, module, mapping)
    given = constants(workload, np.random.default_rng(1))
    packed = packed_constants(workload, module, mapping, given)["weight"]
    assert packed.shape == (-(-outputs // block), 5, block)
    flat = packed.reshape(-1)
    seen = set()
    for (first, length), (begin, nbytes) in visited(program, "weight", "K").items():
        rows = flat[begin : begin + nbytes].reshape(-1, 5, block)
        for k in range(first, first + length):
            at = k - first
            np.testing.assert_array_equal(rows[at // block, :, at % block], given["weight"][k])
        seen |= set(range(first, first + length))
    assert seen == set(range(outputs))


def test_a_tensor_too_large_is_cut_between_blocks_only():
    workload = layer(40)
    module = Array([600], {"weight": Blocked("K C k", K=16)})
    space = build_space(workload, module, (), "ragged")
    (grid,) = [grid for grid in space.grids if grid.dim == "K"]
    assert set(grid.extents) == {16, 32, 40}
    found = search(workload, module)[0].mapping
    program = tile_program(workload, module, found)
    assert sorted(visited(program, "weight", "K")) in ([(0, 16), (16, 16), (32, 8)],
                                                       [(0, 32), (32, 8)])  # fmt: skip


def test_blocks_of_inputs_lie_in_their_own_axis():
    workload = image(40, 24)
    module = Array([1 << 20], {"weight": Blocked("K FY FX C c k", K=16, C=16)})
    program = tile_program(workload, module, search(workload, module)[0].mapping)
    (weight,) = [o for o in program.operands if o.name == "weight"]
    assert [(axis.size, axis.unit) for axis in weight.axes] == [(3, 16), (3, 1), (3, 1), (2, 16)]
    assert (weight.itemsize, weight.nbytes) == (256, 3 * 9 * 2 * 256)


def test_groups_are_not_divided_where_blocks_would_be():
    workload = conv2d(
        U8, U8, shape=(1, 4, 4, 12), weight_shape=(24, 1, 1, 3), window=Window(), groups=4,
        tail=TAIL, scales=24,
    )  # fmt: skip
    module = Array([1 << 20], {"weight": Blocked("K C k", K=16)})
    space = build_space(workload, module, (), "ragged")
    assert not {"K", "G"} & {grid.dim for grid in space.grids}


def test_memory_is_what_blocks_take():
    """40 channels of 5 inputs are 3 blocks of 16: 240 bytes, and not a byte more is asked for."""
    workload = layer(40)
    given = {"weight": Blocked("K C k", K=16)}
    program = None
    for size in range(400, 1200, 16):
        module = Array([size], given)
        found = search(workload, module)
        if not isinstance(found, list):
            continue
        program = tile_program(workload, module, found[0].mapping)
        assert program is not None
        assert dict(program.nbytes)["L1"] <= size
    assert program is not None


@pytest.mark.parametrize("scratch", [4096, 100])
def test_a_module_gets_the_scratch_that_it_asks_for(scratch):
    """What packing adds was taken off it: asked for 4,096 bytes, a kernel got 2,224."""
    workload = layer(24, 117)
    module = Array([1 << 16], {"weight": Blocked("K C k", K=32)}, scratch=scratch)
    program = tile_program(workload, module, search(workload, module)[0].mapping)
    assert program.scratch_bytes == -(-scratch // 16) * 16


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Blocked("K K"), "twice"),
        (lambda: Blocked("K C", K=16), "lacks K or k"),
        (lambda: Blocked("K C k"), "k counts elements of a block"),
        (lambda: Blocked("K ..."), "needs the bytes of a cell"),
        (lambda: Blocked("K", cell=4), "needs the bytes of a cell"),
        (lambda: Blocked("... K", cell=4), "stands at the end"),
        (lambda: Blocked("K C k", K=0), "a block of 0 elements"),
        (lambda: Blocked("K C k", K=16, ragged="ones"), "'zeros' or 'none'"),
        (lambda: Blocked("K k", K=16).on(layer(40).operand("weight")), "leaves an axis out"),
        (lambda: Blocked("K Q k", K=16).on(layer(40).operand("weight")), "no axis Q"),
        (lambda: Blocked("K C k", K=16, ragged="none").on(layer(40).operand("weight")), "no whole"),
    ],
)
def test_layouts_that_cannot_be_are_refused(make, said):
    with pytest.raises(TargetError, match=said):
        make()


class Packer(Array):
    """Whose `pack` is another."""

    change = staticmethod(lambda constants: constants)

    def pack(self, workload, constants):
        return self.change(super().pack(workload, constants))


def without(name):
    return lambda found: {k: v for k, v in found.items() if k != name}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("weight"), "leaves out weight: it gives bias, scale"),
        (lambda found: {**found, "bias": found["bias"].astype(np.int64)}, "it is int64"),
        (lambda found: {**found, "bias": [1, 2]}, "no numpy array"),
        (lambda found: {**found, "weight": found["weight"][:1]}, "its layout takes 240 bytes"),
        (lambda found: {**found, "bias": found["bias"].reshape(10, 4)}, "does not say how it lies"),
        (lambda found: None, "not arrays by operand name"),
    ],
)
def test_what_pack_gives_is_held_against_what_is_declared(change, said):
    workload = layer(40)
    module = Packer([1 << 16], {"weight": Blocked("K C k", K=16)})
    module.change = change
    mapping = search(workload, module)[0].mapping
    with pytest.raises(TargetError, match=said) as caught:
        packed_constants(workload, module, mapping, constants(workload, np.random.default_rng(0)))
    assert "Packer.pack() of a dense" in caught.value.what


def test_axes_are_walked_in_every_order():
    """Any order of names packs to the array that its own indices say."""
    workload = image(7, 6)
    weight = constants(workload, np.random.default_rng(2))["weight"]
    for order in ("K C FY FX k c", "FY K FX C c k", "C c K FY FX k"):
        packing = Blocked(order, K=4, C=2).on(workload.operand("weight"))
        packed = packing.pack(workload.operand("weight"), weight)
        names = order.split()
        for k, fy, fx, c in product(range(7), range(3), range(3), range(6)):
            place = {"K": k // 4, "k": k % 4, "C": c // 2, "c": c % 2, "FY": fy, "FX": fx}
            assert packed[tuple(place[name] for name in names)] == weight[k, fy, fx, c]


def test_a_memory_that_does_not_say_how_its_tiles_are_aligned():
    """Room for the bytes and not for their places: this ended in an internal error."""
    workload = layer(10)
    for size in range(150, 400):
        module = Array([size], {})
        module.memories = tuple(replace(m, alignment=1) for m in module.memories)
        found = search(workload, module)
        if isinstance(found, list):
            break
    with pytest.raises(TargetError, match="multiples of 16 bytes") as caught:
        tile_program(workload, module, found[0].mapping)
    assert caught.value.hint == "Memory('L1', ..., alignment=16)"
