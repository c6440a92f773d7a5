"""Operators beside dense layers in every tiling that their kernels accept, bit for bit.

Convolutions in every place of a cascade, depthwise convolutions, average and maximum pools,
products and sums of two activations: one library, random shapes, rounding and epilogues.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from aie_harness import (
    COMPILERS,
    CORE,
    DEVICE,
    PAIRS,
    border_biases,
    build_kernels,
    call_on,
    random_matrix,
    random_numbers,
)
from test_lanes import ADD, POOL, check_max_pool, check_sum, entry, pointer
from test_window import from_flat, gathered, plain, sized, walk_of

from match_aie.codegen import render_template
from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.lanes import AddSpec, MaxPoolSpec
from match_aie.targets.aie_ml.kernels.layout import pack_w, untiled
from match_aie.targets.aie_ml.kernels.numeric import ROUNDING_MODES, wrap
from match_aie.targets.aie_ml.kernels.reference import requantised
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES, KernelSpec, Requantise
from match_aie.targets.aie_ml.kernels.window import Geometry, offsets, origins, pack_filter
from tests.kernel_counts import kernel_counts
from tests.kernel_reference import block_shapes, dense_sums, pack_image, pack_x, unpack_y

INTEGERS = [pair for pair, out in PAIRS.items() if out != "bfloat16"]
POSITIONS = ("only", "first", "middle", "last")
#: 1, primes, and one off a multiple of every tile size.
CHANNELS = (1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 33)
EXTENTS = (1, 2, 3, 5, 7, 8, 9, 11, 13, 15, 16, 17)
POWERS = (1, 2, 4, 8, 16, 32, 64)
#: Lanes (m, n) that a register file holds twice: rows of 4 to 16, 16 in all; fewer of 64 bits.
LANES_64 = {(1, 16), (2, 8), (2, 16), (4, 4), (4, 8), (4, 16), (8, 4), (8, 8), (16, 4)}
LANES_32 = LANES_64 | {(8, 16), (16, 8), (32, 4)}
LANE_BLOCKS = ((4, 1), (2, 2), (2, 1), (1, 2), (1, 1))
BORDER_ZERO = 101
#: Products of a call at most, padding included: the emulation computes them one by one.
MOST_PRODUCTS = 300_000

SUMS = """
extern "C" void {f}(const void *a, const void *b, void *row_sums, void *bias,
                    const std::uint64_t *bytes, const int *n) {{
    using namespace {f}_names;
    using A = std::remove_cvref_t<decltype(*Call::a)>;
    using B = std::remove_cvref_t<decltype(*Call::b)>;
    aie_emulation::Core core;
    core.name = "{f}";
    Copy<const A> left(core, a, bytes[0], "a");
    Copy<const B> right(core, b, bytes[1], "b");
    Copy<int32> rows(core, nullptr, bytes[2], "row_sums");
    Copy<int32> columns(core, nullptr, bytes[3], "bias");
    const unsigned m_blocks = n[3], k_steps = n[4], n_blocks = n[5];
    const aie_emulation::Running running(core);
    run({{left.data(), right.data(), rows.data(), columns.data(), n[0], n[1], n[2], m_blocks,
         k_steps, n_blocks}});
    rows.back(row_sums);
    columns.back(bias);
}}
"""


def epilogue(rng, floating=False, biased=True):
    """One of the forms that store 8 or 16 bits, or 32-bit sums; floats as they are or short."""
    if floating:
        return Requantise("none", str(rng.choice(["bfloat16", "float32"])))
    zero, dtype = int(rng.integers(-9, 10)), str(rng.choice(["int8", "uint8", "int16"]))
    forms = (
        Requantise("shift", dtype, zero_point=zero if biased else 0),
        Requantise("tensor", dtype, zero_point=zero),
        Requantise("channel", dtype, zero_point=zero, lo=-60, hi=100),
        Requantise("tensor", dtype, addend="channel"),
        Requantise("channel", dtype, addend="tensor"),
        Requantise("none", "int32"),
    )
    return forms[rng.integers(len(forms))]


def first_accepted(made, blocks, refused, key):
    """The kernel of the first block that the device takes, at most one; else `refused` says why."""
    for block in blocks:
        try:
            spec = made(*block)
            check_kernel(spec, DEVICE)
        except TargetError as error:
            refused[key] = str(error)
        else:
            refused.pop(key, None)
            return [spec]
    return []


def convolutions(rng, refused):
    """A kernel for every dtype pair, tiling and place in the cascade."""
    for a, b in PAIRS:
        for tiling in CORE.tilings_of(a, b):
            for position in POSITIONS:
                bias, end = position in ("only", "first"), epilogue(rng, a == "bfloat16")
                more = {
                    "bias": bias,
                    "border_bias": bias and a != "bfloat16" and bool(rng.integers(2)),
                    "relu": bool(rng.integers(2)),
                }

                def made(rows, columns, a=a, b=b, t=tiling, end=end, position=position, more=more):
                    sizes = rows, columns, t.m * rows, t.k * 9, t.n * columns
                    return KernelSpec(a, b, t, *sizes, end, position, gathered=True, **more)

                blocks = block_shapes(a, b, tiling, CORE)
                yield from first_accepted(made, blocks, refused, ("mmul", a, b, tiling, position))


def lane_kernels(rng, refused):
    """Depthwise convolutions and average pools: every dtype pair and shape of lanes."""
    tilings = [Tiling(m, 1, n, native=False) for m in POWERS for n in POWERS]
    for operation in ("multiply", "sum"):
        for a, b in INTEGERS:
            for tiling in tilings:
                weighted = operation == "multiply"
                end = epilogue(rng, biased=weighted)
                more = {"bias": weighted, "border_bias": weighted and bool(rng.integers(2))}

                def made(rows, columns, a=a, b=b, t=tiling, end=end, op=operation, more=more):
                    sizes = rows, columns, t.m * rows, 9, t.n * columns
                    return KernelSpec(a, b, t, *sizes, end, operation=op, gathered=True, **more)

                key = operation, a, b, tiling, "only"
                yield from first_accepted(made, LANE_BLOCKS, refused, key)


def products(rng, refused):
    """Products of two activations: every integer pair and tiling."""
    for a, b in INTEGERS:
        for tiling in CORE.tilings_of(a, b):
            end = epilogue(rng)

            def made(rows, columns, a=a, b=b, t=tiling, end=end):
                sizes = rows, columns, t.m * rows, t.k * 9, t.n * columns
                return KernelSpec(a, b, t, *sizes, end, row_bias=True)

            blocks = block_shapes(a, b, tiling, CORE)
            yield from first_accepted(made, blocks, refused, ("product", a, b, tiling, "only"))


def max_pools():
    """Every element type and shape of a tile that is a vector; blocks of floats are of products."""
    for dtype in sorted(C_TYPES.keys() - {"bfp16"}):
        for m in POWERS:
            for n in POWERS:
                try:
                    yield MaxPoolSpec(dtype, m, n, rows=3 if m < 8 else 2)
                except TargetError:
                    assert m * n * BYTES[dtype] not in (16, 32, 64)  # bytes of a vector


def sums_of_two():
    """Every pair of types, with and without clips."""
    types, clips = ("int8", "uint8", "int16"), (False, True)
    return [AddSpec(a, y, lo, hi) for a in types for y in types for lo in clips for hi in clips]


def random_window(rng, spec):
    """A window with at least the steps that the family unrolls, and no more products than said."""
    apart = spec.operation != "mmul"
    while True:
        filter_ = tuple(int(f) for f in rng.integers(1, 6, 2))
        stride, dilation = (tuple(int(v) for v in rng.integers(1, top, 2)) for top in (4, 3))
        ends = (*filter_, *filter_) if spec.weighted else (1, 1, 1, 1)
        padding = tuple(int(rng.integers(0, min(3, end))) for end in ends)
        channels, outputs = (int(size) for size in rng.choice(CHANNELS, 2))
        extent = (int(size) for size in rng.choice(EXTENTS, 2))
        try:
            shape = (channels, *extent, channels if apart else outputs)
            g = Geometry(*shape, filter_, stride, dilation, padding)
        except TargetError:
            continue
        made = sized(spec, g)
        enough = made.k_steps >= spec.drain_steps + spec.refill_steps
        if enough and made.m * made.k * made.n <= MOST_PRODUCTS:
            return g


def window_sums(spec, g, x, w, arrays, numbers):
    """What the kernel's sums must be, [OH, OW, outputs]."""
    walk = walk_of(spec, g)
    if spec.floating:
        matrix = untiled(arrays["w"], (spec.k, spec.n), spec.tiling.k, spec.tiling.n)
        read = gathered(arrays["x"], spec, arrays["origins"], arrays["offsets"])
        return from_flat(dense_sums(spec, read, matrix, numbers), walk)
    start = 0 if numbers.bias is None else numbers.bias[: g.outputs]
    if spec.receives:
        start = from_flat(numbers.received, walk)
    zero = BORDER_ZERO if spec.border_bias else 0
    return wrap(plain(x, w, g, zero, walk.apart) + start, spec.lane_bits)


def first_channels(numbers, count):
    """`numbers` of the channels that exist."""
    cut = {
        name: value[:count]
        for name in ("multiplier", "addend", "bias")
        if isinstance(value := getattr(numbers, name), np.ndarray)
    }
    return replace(numbers, **cut)


def check_window(library, spec, g, rng) -> None:
    spec = with_rounding(sized(spec, g), rng)
    walk = walk_of(spec, g)
    x = random_matrix(rng, spec.a, (g.height, g.width, g.channels))
    w = random_matrix(rng, spec.b, (g.outputs, *g.filter, 1 if walk.apart else g.channels))
    arrays = {"x": pack_image(x, walk), "origins": origins(walk), "offsets": offsets(walk)}
    numbers = random_numbers(rng, spec)
    if spec.weighted:
        arrays["w"] = pack_filter(w, walk)
    else:
        w = np.ones_like(w)
        numbers = replace(numbers, shift=max(0, numbers.shift - np.iinfo(spec.b).bits + 2))
    if spec.border_bias:
        starts = border_biases(numbers.bias[: g.outputs], w, BORDER_ZERO, walk)
        arrays["bias"], arrays["bias_of"] = starts
    tile = spec.tiling.m * spec.tiling.n
    steps = (tile, spec.m * spec.tiling.n, walk.block_pitch)
    outcome = call_on(library, spec, arrays, numbers, *steps)
    wanted = window_sums(spec, g, x, w, arrays, numbers)
    if spec.stores:
        wanted = requantised(spec, wanted, first_channels(numbers, g.outputs))
        flat = outcome.stored.reshape(-1, spec.m, spec.tiling.n).transpose(1, 0, 2)
        got = from_flat(flat.reshape(spec.m, spec.n), walk)
    else:
        got = from_flat(outcome.passed, walk)
    np.testing.assert_array_equal(got, wanted, err_msg=f"{spec.family} {g}")
    assert outcome.counters == vars(kernel_counts(spec, CORE))


def with_rounding(spec, rng):
    mode = str(rng.choice(ROUNDING_MODES))
    return replace(spec, requantise=replace(spec.requantise, rounding=mode))


def sums_entry(spec):
    """The operand sums of a product in a namespace of their own, and a C function."""
    name = spec.sums_family
    text = render_template("aie/operand_sums.hpp.mako", k=spec).replace("#pragma once", "")
    return text.replace(f"namespace {name}", f"namespace {name}_names") + SUMS.format(f=name)


def check_product(library, spec, shape, rng) -> None:
    """Both operands have zero points; what pads them is 0, which means nothing."""
    (m, k, n), t = shape, spec.tiling
    steps = (t.m * spec.rows, t.k, t.n * spec.columns)
    least = (m, max(k, t.k * (spec.drain_steps + spec.refill_steps)), n)
    whole = (-(-size // step) * step for size, step in zip(least, steps, strict=True))
    spec = with_rounding(replace(spec, **dict(zip("mkn", whole, strict=True))), rng)
    a, b = random_matrix(rng, spec.a, (m, k)), random_matrix(rng, spec.b, (k, n))
    a_zero, b_zero = (int(zero) for zero in rng.integers(-128, 128, 2))
    arrays = {
        "x": pack_x(a, spec),
        "w": pack_w(b, spec),
        "row_sums": np.zeros(spec.m * t.n, np.int32),
        "bias": np.zeros(spec.n, np.int32),
    }
    sizes = np.array([array.nbytes for array in arrays.values()], np.uint64)
    words = (a_zero, b_zero, k * a_zero * b_zero, spec.blocks[0], spec.k_steps, spec.blocks[1])
    pointers = [pointer(array) for array in (*arrays.values(), sizes, np.array(words, np.int32))]
    getattr(library, spec.sums_family)(*pointers)
    numbers = replace(random_numbers(rng, spec), bias=None)
    outcome = call_on(library, spec, arrays, numbers, spec.n * t.m)
    sums = (a.astype(np.int64) - a_zero) @ (b.astype(np.int64) - b_zero)
    wanted = requantised(spec, wrap(sums, spec.lane_bits), first_channels(numbers, n))
    got = unpack_y(outcome.stored, spec)[:m, :n]
    np.testing.assert_array_equal(got, wanted, err_msg=f"{spec.family} {shape}")
    assert outcome.counters == vars(kernel_counts(spec, CORE))


def random_pool(rng):
    """Window, stride and image (channels, height, width) of a maximum pool."""
    filter_, stride = (tuple(int(v) for v in rng.integers(1, top, 2)) for top in (5, 4))
    channels, *extent = (int(rng.choice(sizes)) for sizes in (CHANNELS, EXTENTS, EXTENTS))
    height, width = (max(e, f) for e, f in zip(extent, filter_, strict=True))
    return filter_, stride, (channels, height, width)


def check_refusals(refused):
    """Every tiling without a kernel, by name: no other one is left out."""
    matrix = {key: why for key, why in refused.items() if key[0] not in ("multiply", "sum")}
    for (operation, a, b, tiling, position), why in matrix.items():
        # A row of 8 bytes is no vector, and an image has no neighbour to store with it.
        assert (operation, b, tiling.m, tiling.n) == ("mmul", "int8", 1, 8), (a, why)
        assert position in ("only", "last")
        assert "too short to store" in why
    for operation in ("multiply", "sum"):
        for a, b in INTEGERS:
            lost = {(t.m, t.n) for o, *pair, t, _ in refused if (o, *pair) == (operation, a, b)}
            # Loads that are not aligned have 1,024 bits at most: 64 lanes of 16 bits.
            taken = LANES_64 if "int16" in (a, b) else LANES_32
            assert lost == {(m, n) for m in POWERS for n in POWERS} - taken
    return len(matrix)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [1, 2, 3])
def test_every_operator_in_every_tiling(tmp_path, draw) -> None:
    """Every draw gives every kernel another epilogue, other shapes and other rounding."""
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    rng, refused = np.random.default_rng(draw), {}
    windows = [*convolutions(rng, refused), *lane_kernels(rng, refused)]
    multiplied, pools, added = list(products(rng, refused)), list(max_pools()), sums_of_two()
    tilings = sum(len(CORE.tilings_of(*pair)) for pair in PAIRS)
    wide = 2 * sum("int16" in pair for pair in INTEGERS)
    lanes = (2 * len(INTEGERS) - wide) * len(LANES_32) + wide * len(LANES_64)
    assert len(windows) == len(POSITIONS) * tilings + lanes - check_refusals(refused)
    assert len(multiplied) == sum(len(CORE.tilings_of(*pair)) for pair in INTEGERS)
    more = [sums_entry(spec) for spec in multiplied]
    more += [entry(spec, ADD, more="n[6]," * spec.lo + "n[7]," * spec.hi) for spec in added]
    more += [entry(spec, POOL, rows=spec.rows) for spec in pools]
    specs = [*windows, *multiplied]
    library = build_kernels(specs, tmp_path, flags=("-O0",), more="\n".join(more))
    shapes = set()
    for spec in windows:
        for g in (random_window(rng, spec), random_window(rng, spec), random_window(rng, spec)):
            check_window(library, spec, g, rng)
            shapes.add((spec.operation, g))
    for spec in multiplied * 3:
        shape = tuple(int(size) for size in rng.choice(CHANNELS, 3))
        check_product(library, spec, shape, rng)
        shapes.add(("product", shape))
    for spec in pools * 3:
        window = random_pool(rng)
        check_max_pool(library, spec, window, rng)
        shapes.add(("max", window))
    for spec, rounding in itertools.product(added, ROUNDING_MODES):
        vectors = int(rng.choice(CHANNELS))
        check_sum(library, spec, rounding, vectors, rng)
        shapes.add(("add", vectors))
    assert len(shapes) >= 900
