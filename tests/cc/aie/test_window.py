"""Convolutions, depthwise convolutions and average pools against a plain numpy convolution."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, border_biases, build_kernels, call_on, compile_cpp, random_matrix

from match_aie.codegen import render_template
from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.layout import untiled
from match_aie.targets.aie_ml.kernels.numeric import ROUNDING_MODES, to_bfloat16
from match_aie.targets.aie_ml.kernels.reference import requantised
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.targets.aie_ml.kernels.window import Geometry, Walk, offsets, origins, pack_filter
from tests.kernel_counts import kernel_counts
from tests.kernel_reference import Numbers, dense_sums, pack_image, unpack_image

CORE = device("vek280").architecture.core
I8 = Tiling(4, 8, 8, native=True)
LANES = Tiling(4, 1, 8, native=False)
CHANNEL = Requantise("channel", "uint8", zero_point=7)


def kernel(a, tiling, block, requantise, operation="mmul", border=False, taps=9, **more):
    """A kernel of the family; `sized` gives it the sizes of a geometry."""
    rows, columns = block
    return KernelSpec(
        a,
        a if a == "bfloat16" or (a == "int16" and operation != "mmul") else "int8",
        tiling,
        rows,
        columns,
        tiling.m * rows,
        tiling.k * taps,
        tiling.n * columns,
        requantise,
        operation=operation,
        gathered=True,
        border_bias=border,
        **more,
    )


KERNELS = {
    "conv u8": kernel("uint8", I8, (2, 2), CHANNEL, border=True, relu=True),
    "conv i8": kernel("int8", I8, (2, 2), Requantise("shift", "int8")),
    "conv i16": kernel("int16", Tiling(4, 4, 8, native=True), (2, 2), Requantise("shift", "int16")),
    "depthwise u8": kernel("uint8", LANES, (4, 1), CHANNEL, "multiply", border=True, relu=True),
    "depthwise i8": kernel("int8", LANES, (2, 2), Requantise("tensor", "int8"), "multiply"),
    "depthwise i16": kernel(
        "int16", Tiling(4, 1, 4, native=False), (4, 1), Requantise("shift", "int16"), "multiply"
    ),
    "average": kernel("uint8", LANES, (2, 1), Requantise("tensor", "uint8"), "sum", bias=False),
}
FLOATS = kernel("bfloat16", Tiling(4, 8, 4, native=True), (2, 2), Requantise("none", "bfloat16"))
GEOMETRIES = {
    "3x3": ((3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    "3x3 stride 2": ((3, 3), (2, 2), (1, 1), (0, 0, 1, 1)),
    "5x3 dilated": ((5, 3), (1, 2), (1, 2), (2, 2, 2, 2)),
    "2x5 stride 3": ((2, 5), (3, 3), (1, 1), (0, 2, 0, 2)),
    "4x4 no padding": ((4, 4), (2, 1), (1, 1), (0, 0, 0, 0)),
}
SIZES = ((1, 5, 6, 3), (8, 7, 7, 16), (13, 9, 11, 17), (24, 6, 5, 8))


def walk_of(spec, g):
    return Walk(g, spec.tiling, spec.rows, spec.columns, apart=spec.operation != "mmul")


def sized(spec, g):
    walk = walk_of(spec, g)
    return replace(spec, m=walk.m, k=walk.k, n=walk.n)


def plain(x, w, g, x_zero_point, apart):
    """Sums [OH, OW, N] of a padded convolution, x [H, W, C], w [N, FY, FX, C or 1]."""
    top, left, bottom, right = g.padding
    centred = np.pad(x.astype(np.int64) - x_zero_point, ((top, bottom), (left, right), (0, 0)))
    sums = np.zeros((g.out_height, g.out_width, g.outputs), dtype=np.int64)
    for fy in range(g.filter[0]):
        for fx in range(g.filter[1]):
            y0, x0 = fy * g.dilation[0], fx * g.dilation[1]
            part = centred[
                y0 : y0 + (g.out_height - 1) * g.stride[0] + 1 : g.stride[0],
                x0 : x0 + (g.out_width - 1) * g.stride[1] + 1 : g.stride[1],
            ]
            taps = w[:, fy, fx, :].astype(np.int64)
            sums += part * taps[:, 0] if apart else part @ taps.T
    return sums


def check_window(library, spec, g, rng) -> None:
    walk = walk_of(spec, g)
    apart = walk.apart
    x = random_matrix(rng, spec.a, (g.height, g.width, g.channels))
    w = random_matrix(rng, spec.b, (g.outputs, *g.filter, 1 if apart else g.channels))
    if not spec.weighted:
        w = np.ones_like(w)
    zero_point = 101 if spec.border_bias else 0
    spread = np.sqrt(g.filter[0] * g.filter[1] * (1 if apart else g.channels)) * (
        np.iinfo(spec.a).max * (np.iinfo(spec.b).max if spec.weighted else 1) / 3
    )
    shift = max(0, round(np.log2(spread)) - 6)
    form = spec.requantise.form
    if form != "shift":
        shift += 15
    multiplier = {"channel": rng.integers(1 << 14, 1 << 15, g.outputs), "tensor": 20000}.get(form)
    bias = rng.integers(-(1 << 14), 1 << 14, g.outputs)
    arrays = {"x": pack_image(x, walk), "origins": origins(walk), "offsets": offsets(walk)}
    if spec.weighted:
        arrays["w"] = pack_filter(w, walk)
    numbers = Numbers(shift, multiplier, bias=bias if spec.bias else None)
    if spec.border_bias:
        arrays["bias"], arrays["bias_of"] = border_biases(bias, w, zero_point, walk)
    tile = spec.tiling.m * spec.tiling.n
    steps = (tile, spec.m * spec.tiling.n, walk.block_pitch)
    outcome = call_on(library, spec, arrays, numbers, *steps)
    sums = plain(x, w, g, zero_point, apart) + (bias if spec.bias else 0)
    wanted = requantised(spec, sums, numbers)
    np.testing.assert_array_equal(unpack_image(outcome.stored, walk), wanted)
    assert outcome.counters == vars(kernel_counts(spec, CORE))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    return build_kernels([*KERNELS.values(), FLOATS], tmp_path_factory.mktemp("window"))


def fitting(spec, taps, size):
    """The geometry, at least as many steps as the family walks; None where it has no place."""
    filter_, stride, dilation, padding = taps
    channels, height, width, outputs = size
    apart = spec.operation != "mmul"
    if not spec.weighted:
        padding = (0, 0, 0, 0)
    try:
        shape = (channels, height, width, channels if apart else outputs)
        g = Geometry(*shape, filter_, stride, dilation, padding)
    except TargetError:
        return None
    return g if sized(spec, g).k_steps >= spec.drain_steps + spec.refill_steps else None


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("taps", GEOMETRIES)
def test_windows_equal_numpy(library, name, taps) -> None:
    rng = np.random.default_rng(len(name) + len(taps))
    sizes = [fitting(KERNELS[name], GEOMETRIES[taps], size) for size in SIZES]
    found = [g for g in sizes if g]
    assert len(found) >= 2
    for g in found:
        check_window(library, sized(KERNELS[name], g), g, rng)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("rounding", ROUNDING_MODES)
def test_rounding_modes_of_windows(library, name, rounding) -> None:
    spec = KERNELS[name]
    spec = replace(spec, requantise=replace(spec.requantise, rounding=rounding))
    g = fitting(spec, GEOMETRIES["3x3"], SIZES[2])
    check_window(library, sized(spec, g), g, np.random.default_rng(11))


@pytest.mark.parametrize("taps", GEOMETRIES)
@pytest.mark.parametrize("whole", [True, False])
def test_windows_of_bfloat16_equal_numpy(library, taps, whole) -> None:
    """Whole numbers, whose sums are exact in any order; others in the order of the steps."""
    rng = np.random.default_rng(len(taps))
    for size in SIZES:
        g = fitting(FLOATS, GEOMETRIES[taps], size)
        if g is None:
            continue
        spec, walk = sized(FLOATS, g), walk_of(FLOATS, g)
        shapes = ((g.height, g.width, g.channels), (g.outputs, *g.filter, g.channels), g.outputs)
        draw = (lambda s: rng.integers(-8, 8, s)) if whole else rng.standard_normal
        x, w, bias = (draw(shape).astype(np.float32) for shape in shapes)
        flat = pack_image(to_bfloat16(x, "conv_even"), walk)
        tables = {"origins": origins(walk), "offsets": offsets(walk)}
        arrays = {"x": flat, "w": pack_filter(to_bfloat16(w, "conv_even"), walk), **tables}
        tile = spec.tiling.m * spec.tiling.n
        steps = (tile, spec.m * spec.tiling.n, walk.block_pitch)
        outcome = call_on(library, spec, arrays, Numbers(bias=bias), *steps)
        stored = unpack_image(outcome.stored, walk)
        if whole:
            wanted = to_bfloat16(plain(x, w, g, 0, apart=False) + bias, "conv_even")
        else:
            matrix = untiled(arrays["w"], (spec.k, spec.n), spec.tiling.k, spec.tiling.n)
            numbers = Numbers(bias=np.pad(bias, (0, spec.n - g.outputs)))
            sums = dense_sums(spec, gathered(flat, spec, **tables), matrix, numbers)
            wanted = from_flat(requantised(spec, sums, numbers), walk)
        np.testing.assert_array_equal(stored, wanted)
        assert outcome.counters == vars(kernel_counts(spec, CORE))


def gathered(flat, spec, origins, offsets):
    """x [M, K] as the kernel reads it."""
    t = spec.tiling
    lanes = np.arange(t.m)[:, None] * t.k + np.arange(t.k)
    at = origins[:, None, None, None] + offsets[:, None, None] + lanes
    return flat[at.transpose(0, 2, 1, 3).reshape(spec.m, spec.k)]


def from_flat(y, walk):
    """y [M, N] as an image."""
    blocks = y.reshape(walk.m, -1, walk.tiling.n).transpose(1, 0, 2)
    return unpack_image(np.ascontiguousarray(blocks).reshape(-1), walk)


def test_channels_cut_over_a_cascade(tmp_path) -> None:
    """The first tile convolves some channels, the last the others and requantises."""
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    rng = np.random.default_rng(21)
    halves = [Geometry(c, 7, 9, 20, *GEOMETRIES["3x3"]) for c in (8, 16)]
    first = sized(replace(KERNELS["conv i8"], position="first"), halves[0])
    last = sized(replace(KERNELS["conv i8"], position="last", bias=False, relu=True), halves[1])
    library = build_kernels((first, last), tmp_path)
    x = [random_matrix(rng, "int8", (g.height, g.width, g.channels)) for g in halves]
    w = [random_matrix(rng, "int8", (g.outputs, *g.filter, g.channels)) for g in halves]
    bias, received, sums = rng.integers(-9999, 9999, 20), None, 0
    for spec, g, image, weights in zip((first, last), halves, x, w, strict=True):
        walk = walk_of(spec, g)
        arrays = {"x": pack_image(image, walk), "w": pack_filter(weights, walk)}
        tables = {"origins": origins(walk), "offsets": offsets(walk)}
        numbers = Numbers(11, bias=bias if spec.bias else None, received=received)
        tile = spec.tiling.m * spec.tiling.n
        outcome = call_on(library, spec, arrays | tables, numbers, tile, spec.m * spec.tiling.n)
        received = outcome.passed
        sums = sums + plain(image, weights, g, 0, apart=False)
    wanted = requantised(last, sums + bias, Numbers(11))
    np.testing.assert_array_equal(unpack_image(outcome.stored, walk), wanted)


def test_one_by_one_and_global_pool(tmp_path) -> None:
    """A 1x1 convolution has few steps; a global pool a window as large as the image."""
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    pointwise = Geometry(24, 5, 7, 16)
    pool = Geometry(20, 6, 6, 20, filter=(6, 6))
    one = sized(kernel("int8", I8, (2, 2), Requantise("shift", "int8"), taps=3), pointwise)
    whole = sized(replace(KERNELS["average"], rows=1, m=4), pool)
    library = build_kernels((one, whole), tmp_path)
    rng = np.random.default_rng(9)
    check_window(library, one, pointwise, rng)
    check_window(library, whole, pool, rng)


LAYER = """
extern "C" void run(const void *x, const void *const *parameters, void *y) {{
    aie_emulation::Core core;
    core.name = "layer";
    Copy<const {x_type}> in(core, x, {x_size} * sizeof({x_type}), "x");
    {copies}
    Copy<{y_type}> out(core, nullptr, {y_size} * sizeof({y_type}), "y");
    const aie_emulation::Running running(core);
    adf::input_buffer<{x_type}> in_buffer(in.data(), {x_size});
    adf::output_buffer<{y_type}> out_buffer(out.data(), {y_size});
    layer(in_buffer, {passed}, out_buffer);
    out.back(y);
}}
"""


def layer_library(call, x_size, folder):
    """Kernel and layer function as one translation unit, with an entry for ctypes."""
    spec = call.spec
    types = {"x_type": spec.c_type(spec.a), "y_type": spec.c_type(spec.requantise.dtype)}
    copies, passed = [], []
    for number, p in enumerate(call.parameters):
        size = f"{p.size} * sizeof({p.c_type})"
        copies.append(f'Copy<const {p.c_type}> {p.name}(core, parameters[{number}], {size}, "");')
        passed.append(f"*reinterpret_cast<const {p.c_type}(*)[{p.size}]>({p.name}.data())")
    entry = LAYER.format(
        **types,
        x_size=x_size,
        y_size=spec.m * spec.n,
        copies="\n".join(copies),
        passed=", ".join(passed),
    )
    (folder / f"{spec.family}.hpp").write_text(render_template(spec.template, k=spec))
    (folder / "driver_only.h").write_text("#pragma once\n")
    layer = render_template("aie/layer.cpp.mako", call=call)
    text = f'#include "driver.hpp"\n{layer}\n{entry}'
    return ctypes.CDLL(str(compile_cpp(text, folder, "layer")))


def test_a_layer_function_with_its_tables(tmp_path) -> None:
    """What a graph makes a kernel of: tables beside the code, parameters in their order."""
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    rng = np.random.default_rng(11)
    g = Geometry(5, 9, 10, 12, *GEOMETRIES["3x3 stride 2"])
    spec = sized(KERNELS["conv u8"], g)
    walk = walk_of(spec, g)
    x = random_matrix(rng, "uint8", (g.height, g.width, g.channels))
    w = random_matrix(rng, "int8", (g.outputs, *g.filter, g.channels))
    bias, multiplier = rng.integers(-9999, 9999, g.outputs), rng.integers(9999, 32767, g.outputs)
    biases, bias_of = border_biases(bias, w, 77, walk)
    call = LayerCall(
        "layer",
        "driver_only.h",
        spec,
        shift=26,
        bias_size=len(biases),
        origins=tuple(origins(walk).tolist()),
        offsets=tuple(offsets(walk).tolist()),
        bias_of=tuple(bias_of.tolist()),
        image=True,
    )
    packed = pack_image(x, walk)
    library = layer_library(call, packed.size, tmp_path)
    factors = np.pad(multiplier, (0, spec.n - g.outputs)).astype(np.int32)
    arrays = [pack_filter(w, walk), biases, factors]
    assert [p.size for p in call.parameters] == [array.size for array in arrays]
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    y = np.zeros(spec.m * spec.n, np.uint8)
    library.run(packed.ctypes.data_as(ctypes.c_void_p), pointers, y.ctypes.data_as(ctypes.c_void_p))
    sums = plain(x, w, g, 77, apart=False) + bias
    wanted = requantised(spec, sums, Numbers(26, multiplier))
    np.testing.assert_array_equal(unpack_image(y, walk), wanted)


def test_a_window_larger_than_the_image_is_refused() -> None:
    with pytest.raises(TargetError, match="no place on the image"):
        Geometry(8, 2, 2, 8, filter=(3, 3))


def test_tiles_that_are_no_vectors_are_refused() -> None:
    """An image keeps neighbouring channels apart; rows of lanes are whole vectors of biases."""
    with pytest.raises(TargetError, match="keeps those of neighbouring channels apart"):
        kernel("int8", Tiling(1, 16, 8, native=False), (2, 2), Requantise("shift", "int8"))
    for m, n in ((1, 8), (2, 4), (4, 32), (8, 2)):
        with pytest.raises(TargetError, match="lanes are no vectors"):
            kernel("int8", Tiling(m, 1, n, native=False), (2, 2), CHANNEL, "multiply")
