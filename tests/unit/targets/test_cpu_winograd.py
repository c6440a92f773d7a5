"""Minimal filtering: the identity in integers, its bounds, and where the cost model takes it."""

import numpy as np
import pytest

from match_aie.cost_models.winograd import best_winograd
from match_aie.hardware import Mapping
from match_aie.mapping import search
from match_aie.targets.cpu.machine import machine, with_caches
from match_aie.targets.cpu.module import Int8Module
from match_aie.targets.cpu.winograd import (
    FILTERS,
    ONES,
    largest,
    pack_winograd,
    refuses,
    refuses_constants,
)
from match_aie.targets.cpu.winograd_module import Winograd2Module, Winograd4Module
from match_aie.workload import Quantized, Window, conv2d, full_range

U8, S8 = Quantized("uint8", 0.1, 9), Quantized("int8", 0.1, -3)
SAME = Window(padding=(1, 1, 1, 1))


def conv(size=16, channels=32, outputs=32, f=(3, 3), window=SAME, groups=1, **more):
    return conv2d(
        U8, S8, shape=(1, size, size, channels),
        weight_shape=(outputs, *f, channels // groups), groups=groups, tail=full_range("int8", -3),
        window=window, scales=1, **more,
    )  # fmt: skip


def matrices(m):
    made = FILTERS[m]
    return [np.asarray(matrix) for matrix in (made.data, made.weight, made.sums)]


@pytest.mark.parametrize("m", FILTERS)
def test_the_identity_holds_in_integers(m):
    rng = np.random.default_rng(m)
    data, weight, sums = matrices(m)
    d, g = rng.integers(-255, 256, (m + 2, m + 2)), rng.integers(-128, 128, (3, 3))
    products = (data @ d @ data.T) * (weight @ g @ weight.T)
    expected = [[(d[i : i + 3, j : j + 3] * g).sum() for j in range(m)] for i in range(m)]
    assert np.array_equal(sums @ products @ sums.T, FILTERS[m].scale ** 2 * np.array(expected))


@pytest.mark.parametrize("m", FILTERS)
def test_what_is_multiplied_fits_16_bits(m):
    made = FILTERS[m]
    assert largest(made.data, 0, 255) < 2**15
    assert largest(made.data, -128, 127) < 2**15
    assert largest(made.weight, -128, 127) < 2**15
    assert largest(made.weight, -128, 127) > 128


@pytest.mark.parametrize("m", FILTERS)
def test_one_point_goes_into_every_sum_once(m):
    assert (matrices(m)[2][:, ONES] == 1).all()


@pytest.mark.parametrize("m", FILTERS)
def test_powers_of_two_and_odd_factors(m):
    made = FILTERS[m]
    odd = made.scale**2 >> made.shift
    assert odd % 2
    assert odd << made.shift == made.scale**2
    inverse = {2: 1, 4: 0x38E38E39}[m]
    assert odd * inverse % 2**32 == 1


@pytest.mark.parametrize("arch", ["x86-64-v3", "aarch64", "rv64gcv_zvl512b"])
@pytest.mark.parametrize("module", [Winograd2Module, Winograd4Module])
def test_packed_weights_give_the_same_sums(arch, module):
    """The kernel's arithmetic in numpy, modulo 2^32, on one tile of raw data."""
    facts, rng = machine(arch), np.random.default_rng(5)
    w, made = conv(4, 33, 9), module(facts)
    kernel = made.kernel(w, None)
    weight = rng.integers(-128, 128, (9, 3, 3, 33)).astype(np.int8)
    bias = rng.integers(-999, 999, 9).astype(np.int32)
    constants = {"weight": weight, "bias": bias, "scale": np.full(1, 0.5, np.float32)}
    packed = pack_winograd(kernel, w, constants)
    m, (data, _, sums) = made.outputs, matrices(made.outputs)
    d = rng.integers(0, 256, (m + 2, m + 2, 33))
    seen = np.einsum("ir,js,rsc->ijc", data, data, d).reshape(kernel.tile.points, 33)
    seen = np.pad(seen, ((0, 0), (0, kernel.channels - 33)))
    got, at = [], 0
    for panel in [kernel.panel] * kernel.panels + ([kernel.last] if kernel.last else []):
        wide = panel.vectors * facts.lanes
        size = kernel.tile.points * kernel.channels * wide
        part = packed["weight"][at : at + size].astype(np.int64)
        at += size
        part = part.reshape(kernel.tile.points, -1, wide, kernel.group)
        steps = seen.reshape(kernel.tile.points, -1, 1, kernel.group)
        got.append((part * steps).sum(axis=(1, 3)))
    assert at == packed["weight"].size
    products = np.concatenate(got, axis=1)
    products[(m + 2) * ONES + ONES] += packed["bias"]
    total = np.einsum("ai,bj,ijk->abk", sums, sums, products.reshape(m + 2, m + 2, -1))
    expected = [
        np.einsum("rsc,krsc->k", d[a : a + 3, b : b + 3] - 9, weight.astype(int)) + bias
        for a in range(m) for b in range(m)
    ]  # fmt: skip
    wanted = FILTERS[m].scale ** 2 * np.array(expected).reshape(m, m, 9)
    assert np.array_equal((total[..., :9] - wanted) % 2**32, np.zeros_like(wanted))
    assert np.array_equal(packed["scale"][:9], np.full(9, 2.0 ** -(kernel.shift + 1), np.float32))


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        (conv(f=(1, 3)), "the filter is 1x3"),
        (conv(window=Window((2, 1), (1, 1), (1, 1, 1, 1))), "steps of (2, 1)"),
        (conv(window=Window((1, 1), (1, 2), (1, 1, 1, 1))), "dilation (1, 2)"),
        (conv(groups=2), "2 groups"),
        (conv(weight_dtype="int16"), "wider than 8 bits"),
        (conv(channels=15), "15 input channels do not fill a vector of 16"),
        (conv(channels=16), None),
    ],
)
def test_what_is_refused(workload, reason):
    said = refuses(machine("x86-64-v3"), workload)
    assert said == reason or reason in said


def test_sums_and_scales_without_room_are_refused():
    w = conv(channels=300, outputs=2)
    constants = {
        "weight": np.full((2, 3, 3, 300), 100, np.int8),
        "bias": np.zeros(2, np.int32),
        "scale": np.full(1, 0.01, np.float32),
    }
    module = Winograd4Module(machine("x86-64-v3"))
    assert "66420000 does not fit 32 bits" in module.convert(w, constants)
    assert refuses_constants(2, w, constants) is None
    constants["weight"] //= 4
    assert module.convert(w, constants).error_lsb == 0
    tiny = constants | {"scale": np.full(1, 1e-44, np.float32)}
    assert "so small" in refuses_constants(4, w, tiny)


def cycles(module, w):
    return search(w, module)[0].cost.cycles


@pytest.mark.parametrize(
    ("arch", "w", "best"),
    [
        ("x86-64-v3", conv(32, 16, 16), Winograd4Module),
        ("x86-64-v3", conv(8, 64, 64), Winograd4Module),
        ("x86-64-v3", conv(8, 64, 64, window=Window()), Winograd2Module),
        ("x86-64-v3", conv(2, 64, 64), Int8Module),  # whose filter sees no more than F(2x2) has
        ("x86-64-v3", conv(1, 64, 64), Int8Module),
        ("aarch64", conv(8, 64, 64), Int8Module),
        ("x86-64-v3+avxvnni", conv(32, 16, 16), Int8Module),
    ],
)
def test_the_cheaper_way_is_taken(arch, w, best):
    """Fewer products win where an instruction makes two of them, rarely where it makes four."""
    modules = (Int8Module, Winograd2Module, Winograd4Module)
    found = {module: cycles(module(machine(arch)), w) for module in modules}
    assert min(found, key=found.get) is best, found


def test_scratch_holds_one_block():
    module = Winograd4Module(machine("x86-64-v3"))
    large, small = conv(224, 64, 64), conv(112, 64, 64)
    assert 0 < module.scratch_bytes(small) <= module.scratch_bytes(large)
    assert module.scratch_bytes(large) < large.operand("x").nbytes / 4


def test_weights_from_beyond_the_second_cache_are_asked_for_ahead():
    """By tiles of the point before, so that they together ask for all of the next one's."""
    facts = machine("x86-64-v4+avx512vnni")
    module = Winograd4Module(facts)
    kernel = module.kernel(conv(14, 256, 256), Mapping((), ()))
    point = 2 * kernel.channels * kernel.panel.columns
    calls = -(-kernel.tile.block // kernel.tile.registers.rows)
    assert kernel.fetch is not None
    assert kernel.fetch.share * calls >= point > kernel.fetch.share * (calls - 1)
    assert kernel.fetch.last + kernel.fetch.share == point
    assert module.kernel(conv(8, 16, 16), Mapping((), ())).fetch is None


def test_what_is_asked_for_ahead_costs_what_the_products_do_not_hide():
    """A second cache that holds the weights saves no more than they take beyond the products."""
    layer, facts = conv(7, 512, 512), machine("x86-64-v4+avx512vnni")
    large = with_caches(facts, {2: 1 << 26})
    far, near = (
        dict(best_winograd(each, "madd", 2, 4, layer).cost(layer, Mapping((), ())).parts)
        for each in (facts, large)
    )
    slow = 2 * 36 * 512 * 512 / facts.memory_bytes_per_cycle
    assert near["memory"] < far["memory"] < slow
