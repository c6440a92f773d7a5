"""What C compilers make of emitted code at full optimisation, against TVM's LLVM code of it."""

import shutil
from functools import cache

import numpy as np
import pytest
from harness import evaluate, module_of, run
from tvm import relax
from tvm.relax import op

from match_aie.fallback import lower, printing, scalars
from tests.fallback_cases import expressions
from tests.thinned import thinned, turns

RNG = np.random.default_rng(0)
FULL = ("-O3", "-march=native")
SEEDS = 3
LARGEST_SAMPLER = 30_000  # characters; spelled out for every tap there were 100,000
MANY_SEEDS = 8
#: What distributions call the compilers they have.
COMPILERS = ("gcc", *(f"gcc-{n}" for n in range(11, 17)), *(f"clang-{n}" for n in range(14, 23)))


def _normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("seed", thinned(range(SEEDS), 3))
def test_random_expressions(seed):
    body, arrays = expressions(seed)
    evaluate(body, *arrays, reference=True, flags=FULL)


@cache
def lowered(seed):
    """(remainder, inputs, references that its functions were compared with) for all compilers."""
    body, arrays = expressions(seed)
    module = module_of(body, *((a.shape, str(a.dtype)) for a in arrays))
    return lower(module, prefix="net", labels={}), arrays, {}


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_random_expressions_in_every_compiler(compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"not installed: {compiler}")
    for seed in range(100, 100 + MANY_SEEDS):
        remainder, arrays, compiled = lowered(seed)
        flags = ("-O2" if seed % 4 == 3 else "-O3", "-march=native")
        options = {"compiler": compiler, "flags": flags}
        run(remainder, arrays, reference=True, compiled=compiled, **options)


def test_a_slope_for_every_element():
    """gcc 12 masks the load of a slope wrongly with AVX-512."""
    x, slope = _normal(1, 2, 3, 4), _normal(1, 2, 3, 4)

    def body(emit, x, slope):
        below = emit(op.astype(emit(op.less(x, relax.const(0.0))), "int64"))
        negative = emit(op.greater(below, relax.const(0, "int64")))
        return emit(op.where(negative, emit(op.multiply(x, slope)), x))

    (got,) = evaluate(body, x, slope, reference=True, flags=FULL)
    np.testing.assert_array_equal(got, np.where(x < 0, x * slope, x))


@pytest.mark.parametrize("rows", [20, 36, 52])
def test_joined_pairs(rows):
    """gcc 12 masks the loads of both operands wrongly with AVX2."""
    first, second = _normal(4, rows, 2), _normal(4, rows, 2)

    def body(emit, a, b):
        joined = emit(op.concat([emit(op.negative(a)), emit(op.negative(b))], 1))
        return emit(op.add(joined, relax.const(1.0)))

    (got,) = evaluate(body, first, second, reference=True, flags=FULL)
    np.testing.assert_array_equal(got, 1 - np.concatenate([first, second], 1))


@pytest.mark.parametrize("inner", [1, 2, 3, 4])
def test_padded_pairs(inner):
    """The same with a constant for the other operand."""
    x = _normal(1, 36, inner)
    (got,) = evaluate(
        lambda emit, v: emit(op.nn.pad(emit(op.negative(v)), [0, 0, 36, 0, 0, 0], "constant", 0.0)),
        x, reference=True, flags=FULL,
    )  # fmt: skip
    np.testing.assert_array_equal(got, np.pad(-x, ((0, 0), (36, 0), (0, 0))))


def _text(body, *shapes) -> str:
    module = module_of(body, *((shape, "float32") for shape in shapes))
    return "".join(f.source for f in lower(module, prefix="net", labels={}).functions)


def test_no_load_depends_on_a_condition():
    """Neither a widened comparison nor a load behind a question mark."""

    def body(emit, x, y):
        below = emit(op.astype(emit(op.less(x, relax.const(0.0))), "int64"))
        negative = emit(op.greater(below, relax.const(0, "int64")))
        chosen = emit(op.where(negative, emit(op.multiply(x, y)), x))
        joined = emit(op.concat([emit(op.negative(x)), y], 1))
        return [chosen, emit(op.nn.pad(joined, [0, 0, 1, 1, 1, 1], "constant", 7.0))]

    text = _text(body, (2, 6, 4), (2, 6, 4))
    behind = [line.partition("?")[2] for line in text.splitlines()]
    assert not any("[" in part for part in behind)
    assert "int64_t" not in text.replace("const int64_t", "")


def test_operands_are_copied_by_loops_of_their_own():
    text = _text(
        lambda emit, x, y: emit(op.concat([emit(op.negative(x)), y], 2)), (3, 5, 8), (3, 5, 24)
    )
    assert "?" not in text
    assert text.count("in_0[") == text.count("memcpy(") == 1
    assert "in_1[" not in text


@pytest.mark.parametrize("widths", [(0, 8), (4, 4)])
def test_padding_after_a_blocked_pool_is_written(widths):
    x = _normal(1, 16, 16, 8)

    def body(emit, v):
        pooled = emit(op.nn.max_pool2d(v, (2, 2), (2, 2), layout="NHWC"))
        return emit(op.nn.pad(pooled, [0, 0, 0, 0, 0, 0, *widths], "constant", 0.0))

    (got,) = evaluate(body, x, reference=True, flags=FULL)
    pooled = x.reshape(1, 8, 2, 8, 2, 8).max((2, 4))
    np.testing.assert_array_equal(got, np.pad(pooled, ((0, 0), (0, 0), (0, 0), widths)))


@pytest.mark.parametrize("kind", ["maximum", "minimum"])
def test_a_scalar_operand_at_run_time(kind):
    x, bound = _normal(2, 6), _normal()

    def body(emit, v, b):
        total = emit(op.sum(v, [0]))
        return [emit(getattr(op, kind)(total, b)), emit(getattr(op, kind)(b, total))]

    got = evaluate(body, x, bound, reference=True, flags=FULL)
    for value in got:
        np.testing.assert_allclose(value, getattr(np, kind)(x.sum(0), bound), rtol=1e-6)


def test_a_convolution_bounded_by_a_scalar():
    x, weight = _normal(1, 3, 12), _normal(4, 3, 3)
    (got,) = evaluate(
        lambda emit, v, w: emit(op.maximum(emit(op.nn.conv1d(v, w)), relax.const(np.float32(0.1)))),
        x, weight, reference=True, flags=FULL,
    )  # fmt: skip
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=2)
    wanted = np.maximum(np.einsum("nclk,ock->nol", windows, weight), np.float32(0.1))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def _cubic(image, grid, align, padding):
    """GridSample with cubic interpolation as ONNX defines it: image [N,C,H,W], grid [N,H,W,2]."""
    taps, weights = [], []
    for axis, size in enumerate(image.shape[:1:-1]):
        place = (
            (grid[..., axis] + 1) / 2 * (size - 1)
            if align
            else (grid[..., axis] + 1) * size / 2 - 0.5
        )
        at = np.floor(place)[..., None] + np.arange(-1, 3)
        distance = np.abs(place[..., None] - at)
        near = (1.25 * distance - 2.25) * distance**2 + 1
        far = -0.75 * (distance**3 - 5 * distance**2 + 8 * distance - 4)
        weight = np.where(distance <= 1, near, far)
        if padding == "zeros":
            weight = np.where((at >= 0) & (at < size), weight, 0)
        if padding == "reflection":
            start, span = (0, size - 1) if align else (-0.5, size)
            turn, rest = np.divmod(np.abs(at - start), span)
            at = np.where(turn % 2 == 0, rest, span - rest) + start
        taps.append(np.clip(at, 0, size - 1).astype(int))
        weights.append(weight)
    (x, y), (wx, wy) = taps, weights
    n = np.arange(len(image)).reshape(-1, 1, 1, 1, 1)
    pixels = image[n, :, y[..., :, None], x[..., None, :]]
    return np.einsum("nhwijc,nhwi,nhwj->nchw", pixels, wy, wx)


@pytest.mark.parametrize(
    ("padding", "align"), turns(["zeros", "border", "reflection"], [False, True])
)
def test_cubic_samples(align, padding):
    image = _normal(2, 2, 5, 4)
    grid = RNG.uniform(-1.8, 1.8, (2, 3, 2, 2)).astype(np.float32)

    def body(emit, v, g):
        turned = emit(op.permute_dims(g, [0, 3, 1, 2]))
        return emit(op.image.grid_sample(v, turned, "bicubic", "NCHW", padding, align))

    (got,) = evaluate(body, image, grid, reference=not align)
    wanted = _cubic(image.astype(np.float64), grid.astype(np.float64), align, padding)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    assert len(_text(body, image.shape, grid.shape)) < LARGEST_SAMPLER


def test_layer_norm_in_double_precision():
    x, gamma, beta = (_normal(*shape).astype(np.float64) for shape in ((3, 8), (8,), (8,)))
    (got,) = evaluate(lambda emit, *a: emit(op.nn.layer_norm(*a, [-1], 1e-5)), x, gamma, beta)
    centred = x - x.mean(1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * gamma + beta
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("turns", [scalars.TURNS, "0"])
@pytest.mark.parametrize(
    ("shape", "axes", "dtype"),
    [
        ((64, 3, 24), (1, 2, 0), np.uint8),
        ((32, 40), (1, 0), np.int8),
        ((24, 2, 3, 48), (3, 1, 2, 0), np.uint8),
    ],
)
def test_turned_planes(shape, axes, dtype, turns, monkeypatch):
    """In registers of 64 bits, and where a processor has none."""
    for module in (printing, scalars):
        monkeypatch.setattr(module, "TURNS", turns)
    x = RNG.integers(0, 256, shape).astype(np.uint8).view(dtype)
    (got,) = evaluate(lambda emit, v: emit(op.permute_dims(v, axes)), x, reference=True, flags=FULL)
    np.testing.assert_array_equal(got, x.transpose(axes))
