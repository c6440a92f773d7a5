"""Sums of two activations, maximum pools, products of two activations with zero points."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, COUNTERS, ROUNDING, SATURATION, compile_cpp, random_matrix

from match_aie.codegen import render_template
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.kernels.lanes import (
    AddNumbers,
    AddSpec,
    MaxPoolSpec,
    add_reference,
)
from match_aie.targets.aie_ml.kernels.layout import pack_w
from match_aie.targets.aie_ml.kernels.multiplied import (
    MultipliedNumbers,
    MultipliedSpec,
    multiplied_reference,
)
from match_aie.targets.aie_ml.kernels.numeric import ROUNDING_MODES, from_bfloat16
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.reference import requantised
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.targets.aie_ml.kernels.window import Geometry, Walk, offsets, origins
from tests.kernel_counts import counts_of, kernel_counts
from tests.kernel_reference import Numbers, pack_image, pack_x, unpack_image, unpack_y

CORE = device("vek280").architecture.core
SUMS = (
    AddSpec("int8", "int8"),
    AddSpec("uint8", "uint8", lo=True, hi=True),
    AddSpec("int16", "int16", lo=True),
    AddSpec("uint8", "int8"),
)
MULTIPLIED = (
    MultipliedSpec("int8", "int8"),
    MultipliedSpec("uint8", "uint8", lo=True, hi=True),
    MultipliedSpec("uint8", "int8", hi=True),
    MultipliedSpec("int8", "uint8"),
)
POOLS = (MaxPoolSpec("uint8"), MaxPoolSpec("int8", rows=3), MaxPoolSpec("int16", m=4, n=4, rows=2))
PRODUCT = KernelSpec(
    "uint8",
    "int8",
    Tiling(4, 8, 8, native=True),
    2,
    2,
    8,
    64,
    16,
    Requantise("tensor", "uint8", zero_point=13),
    row_bias=True,
)

ADD = """
extern "C" void {f}(const void *a, const void *b, void *y, unsigned vectors, const int *n,
                    std::uint64_t *counters) {{
    using namespace {f}_names;
    aie_emulation::Core core;
    core.name = "{f}";
    const unsigned count = vectors * {f}_names::lanes;
    using A = std::remove_cvref_t<decltype(*Call::a)>;
    Copy<const A> left(core, a, count * sizeof(A), "a"), right(core, b, count * sizeof(A), "b");
    using Y = std::remove_cvref_t<decltype(*Call::y)>;
    Copy<Y> out(core, nullptr, count * sizeof(Y), "y");
    core.rounding = static_cast<aie_emulation::Rounding>(n[4]);
    core.saturation = static_cast<aie_emulation::Saturation>(n[5]);
    const aie_emulation::Running running(core);
    run({{left.data(), right.data(), out.data(), n[0], n[1], n[2], n[3], {more} vectors}});
    out.back(y);
    report(core.counters, counters);
}}
"""
POOL = """
extern "C" void {f}(const void *x, std::uint64_t x_bytes, const int *origins, unsigned tiles,
                    const int *offsets, unsigned taps, void *y, unsigned x_n_step,
                    unsigned blocks, std::uint64_t *counters) {{
    using namespace {f}_names;
    aie_emulation::Core core;
    core.name = "{f}";
    using T = std::remove_cvref_t<decltype(*Call::y)>;
    Copy<const T> in(core, x, x_bytes, "x");
    Copy<const int> first(core, origins, tiles * 4, "origins");
    Copy<const int> next(core, offsets, taps * 4, "offsets");
    Copy<T> out(core, nullptr, blocks * tiles * lanes * sizeof(T), "y");
    const aie_emulation::Running running(core);
    run({{in.data(), first.data(), next.data(), out.data(), x_n_step, tiles * lanes,
         tiles / {rows}, taps, blocks}});
    out.back(y);
    report(core.counters, counters);
}}
"""
LAYER = """
extern "C" void product(const void *a, const void *b, void *y, const int *sizes) {{
    aie_emulation::Core core;
    core.name = "product";
    core.stack_bytes += {stack};
    Copy<const {a}> left(core, a, sizes[0], "a");
    Copy<const int8> right(core, b, sizes[1], "b");
    Copy<{y}> out(core, nullptr, sizes[2], "y");
    const aie_emulation::Running running(core);
    adf::input_buffer<{a}> left_buffer(left.data(), sizes[0]);
    adf::input_buffer<int8> right_buffer(right.data(), sizes[1]);
    adf::output_buffer<{y}> out_buffer(out.data(), sizes[2]);
    layer(left_buffer, right_buffer, out_buffer);
    out.back(y);
}}
"""


def entry(spec, text, **words):
    """The kernel in a namespace of its own, and a C function of its family's name."""
    body = render_template(spec.template, k=spec).replace(
        f"namespace {spec.family}", f"namespace {spec.family}_names"
    )
    return body.replace("#pragma once", "") + text.format(f=spec.family, **words)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    text = '#include "driver.hpp"\n'
    for spec in SUMS:
        text += entry(spec, ADD, more="n[6]," * spec.lo + "n[7]," * spec.hi)
    for spec in MULTIPLIED:
        text += entry(spec, ADD, more="n[8]," + "n[6]," * spec.lo + "n[7]," * spec.hi)
    for spec in POOLS:
        text += entry(spec, POOL, rows=spec.rows)
    return ctypes.CDLL(str(compile_cpp(text, tmp_path_factory.mktemp("lanes"), "lanes")))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def counted(counters):
    return dict(zip(COUNTERS, (int(c) for c in counters), strict=True))


@pytest.mark.parametrize("spec", SUMS, ids=lambda spec: spec.family)
@pytest.mark.parametrize("rounding", ROUNDING_MODES)
@pytest.mark.parametrize("vectors", [1, 2, 7])
def test_sums_equal_numpy(library, spec, rounding, vectors) -> None:
    check_sum(library, spec, rounding, vectors, np.random.default_rng(vectors))


def check_sum(library, spec, rounding, vectors, rng) -> None:
    count = vectors * spec.lanes
    a, b = random_matrix(rng, spec.a, count), random_matrix(rng, spec.a, count)
    info = np.iinfo(spec.dtype)
    factors = (int(f) for f in rng.integers(1 << 13, 1 << 15, 2))
    lo, hi = info.min // 2 + 10, info.max // 2 + 10
    numbers = AddNumbers(*factors, -7 << 15, 15, rounding, "saturate", lo, hi)
    y, counters = np.zeros(count, spec.dtype), np.zeros(8, np.uint64)
    words = np.array(
        [
            numbers.a_factor,
            numbers.b_factor,
            numbers.offset,
            numbers.shift,
            ROUNDING[rounding],
            SATURATION["saturate"],
            lo,
            hi,
        ],
        np.int32,
    )
    arrays = (pointer(a), pointer(b), pointer(y))
    getattr(library, spec.family)(*arrays, vectors, pointer(words), pointer(counters))
    np.testing.assert_array_equal(y, add_reference(spec, a, b, numbers))
    assert counted(counters) == vars(counts_of(spec, vectors))


@pytest.mark.parametrize("spec", MULTIPLIED, ids=lambda spec: spec.family)
@pytest.mark.parametrize("vectors", [1, 2, 7])
def test_products_of_elements_equal_numpy(library, spec, vectors) -> None:
    check_multiplied(library, spec, "conv_even", vectors, np.random.default_rng(vectors))


@pytest.mark.slow
def test_many_products_of_elements_equal_numpy(library) -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        rounding = ROUNDING_MODES[int(rng.integers(len(ROUNDING_MODES)))]
        spec = MULTIPLIED[seed % len(MULTIPLIED)]
        check_multiplied(library, spec, rounding, int(rng.integers(1, 40)), rng)


def check_multiplied(library, spec, rounding, vectors, rng) -> None:
    count = vectors * spec.lanes
    a, b = random_matrix(rng, spec.a, count), random_matrix(rng, spec.a, count)
    least = np.iinfo(spec.a).min
    points = (int(rng.integers(least, least + 256)) for _ in range(2))
    info = np.iinfo(spec.dtype)
    lo, hi = info.min // 2 + 10, info.max // 2 + 10
    multiplier, shift = int(rng.integers(1 << 14, 1 << 15)), int(rng.integers(16, 24))
    numbers = MultipliedNumbers(*points, multiplier, 9 << shift, shift, rounding, lo, hi)
    y, counters = np.zeros(count, spec.dtype), np.zeros(8, np.uint64)
    modes = ROUNDING[rounding], SATURATION["saturate"]
    words = np.array(
        [numbers.a_zero, numbers.b_zero, multiplier, numbers.offset, *modes, lo, hi, shift],
        np.int32,
    )
    arrays = (pointer(a), pointer(b), pointer(y))
    getattr(library, spec.family)(*arrays, vectors, pointer(words), pointer(counters))
    np.testing.assert_array_equal(y, multiplied_reference(spec, a, b, numbers))
    assert counted(counters) == vars(counts_of(spec, vectors))


@pytest.mark.slow
def test_many_sums_equal_numpy(library) -> None:
    """300 of random sizes, all element types and roundings."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        rounding = ROUNDING_MODES[int(rng.integers(len(ROUNDING_MODES)))]
        check_sum(library, SUMS[seed % len(SUMS)], rounding, int(rng.integers(1, 40)), rng)


@pytest.mark.parametrize("spec", POOLS, ids=lambda spec: spec.family)
@pytest.mark.parametrize(
    "window",
    [((2, 2), (2, 2), (8, 6, 10)), ((3, 3), (1, 1), (5, 7, 9)), ((3, 2), (2, 3), (17, 9, 11))],
)
def test_max_pools_equal_numpy(library, spec, window) -> None:
    check_max_pool(library, spec, window, np.random.default_rng(window[2][1]))


def pool_elements(rng, spec, shape):
    if spec.dtype == "float32":
        return rng.standard_normal(shape).astype(np.float32)
    return random_matrix(rng, spec.dtype, shape)


def check_max_pool(library, spec, window, rng) -> None:
    filter_, stride, (channels, height, width) = window
    g = Geometry(channels, height, width, channels, filter_, stride)
    walk = Walk(g, Tiling(spec.m, 1, spec.n, native=False), spec.rows, apart=True)
    x = pool_elements(rng, spec, (height, width, channels))
    packed = pack_image(x, walk)
    first, next_ = origins(walk), offsets(walk)
    blocks = walk.shape[0]
    y, counters = np.zeros(walk.m * walk.n, x.dtype), np.zeros(8, np.uint64)
    image = (pointer(packed), ctypes.c_uint64(packed.nbytes), pointer(first), len(first))
    taps = (pointer(next_), len(next_), pointer(y), walk.block_pitch, blocks)
    getattr(library, spec.family)(*image, *taps, pointer(counters))
    read = from_bfloat16 if spec.dtype == "bfloat16" else np.asarray
    windows = np.lib.stride_tricks.sliding_window_view(read(x), filter_, (0, 1))
    wanted = windows[:: stride[0], :: stride[1]].max(axis=(3, 4))
    np.testing.assert_array_equal(read(unpack_image(y, walk)), wanted)
    groups = len(first) // spec.rows
    assert counted(counters) == vars(counts_of(spec, blocks, groups, walk.taps))


@pytest.mark.parametrize(
    ("a_type", "shape"),
    [
        ("uint8", (21, 59, 37)),
        pytest.param("int8", (1, 61, 1), marks=pytest.mark.slow),
        pytest.param("uint8", (67, 97, 15), marks=pytest.mark.slow),
        pytest.param("int8", (33, 128, 65), marks=pytest.mark.slow),
    ],
)
def test_product_of_two_activations(tmp_path, a_type, shape) -> None:
    """Both operands have zero points; K is padded with zeros, which mean nothing."""
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    m, k, n = shape
    rng = np.random.default_rng(k)
    whole = {"m": -(-m // 8) * 8, "k": -(-k // 8) * 8, "n": -(-n // 16) * 16}
    spec = replace(PRODUCT, a=a_type, **whole)
    a_zero, b_zero, shift, multiplier = 130 if a_type == "uint8" else 23, -11, 28, 20000
    text = layer_text(spec, shift, multiplier, a_zero, b_zero, constant=k * a_zero * b_zero)
    library = ctypes.CDLL(str(compile_cpp(text, tmp_path, "product")))
    a, b = random_matrix(rng, a_type, (m, k)), random_matrix(rng, "int8", (k, n))
    packed = pack_x(a, spec), pack_w(b, spec), np.zeros(spec.m * spec.n, np.uint8)
    sizes = np.array([array.nbytes for array in packed], np.int32)
    library.product(*map(pointer, packed), pointer(sizes))
    sums = (a.astype(np.int64) - a_zero) @ (b.astype(np.int64) - b_zero)
    wanted = requantised(spec, sums, Numbers(shift, multiplier))
    np.testing.assert_array_equal(unpack_y(packed[2], spec)[:m, :n], wanted)


def layer_text(spec, shift, multiplier, a_zero, b_zero, constant):
    """Kernel, operand sums and layer as one translation unit, with an entry for ctypes."""
    call = ProductCall(
        "layer",
        "",
        spec,
        shift,
        multiplier,
        a_zero=a_zero,
        b_zero=b_zero,
        constant=constant,
    )
    layer = render_template(call.template, call=call)
    parts = [
        render_template(spec.template, k=spec),
        render_template("aie/operand_sums.hpp.mako", k=spec),
        "\n".join(line for line in layer.splitlines() if not line.startswith("#include")),
    ]
    text = '#include "driver.hpp"\n' + "\n".join(parts).replace("#pragma once", "")
    return text + LAYER.format(a=spec.a, y="uint8", stack=call.stack_bytes)


def test_row_addends_are_counted() -> None:
    """A tile of addends, four words, for every accumulator beside its bias."""
    plain = kernel_counts(replace(PRODUCT, row_bias=False), CORE).load
    assert kernel_counts(PRODUCT, CORE).load - plain == PRODUCT.accumulators * 4
