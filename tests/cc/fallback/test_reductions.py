"""Sums, pools, normalisations and products of the emitted C against numpy."""

import re

import numpy as np
import pytest
from harness import evaluate, module_of, run
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.relax import op

from match_aie.fallback import lower

RNG = np.random.default_rng(0)


def _normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("flags", [("-O1",), ("-O3",)])
def test_reductions_of_floats(flags):
    x = _normal(3, 5, 17)
    names = ("sum", "mean", "max", "min", "prod", "variance", "std")
    axes = (None, [2], [1], [0, 2], [-1, -2])
    got = evaluate(
        lambda emit, v: [emit(getattr(op, n)(v, a)) for n in names for a in axes], x, flags=flags
    )
    wide = x.astype(np.float64)
    for (name, axis), value in zip([(n, a) for n in names for a in axes], got, strict=True):
        function = {"variance": np.var}.get(name) or getattr(np, name)
        wanted = function(wide, axis=None if axis is None else tuple(axis))
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5, err_msg=f"{name} {axis}")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integer_reductions_do_not_overflow_on_the_way(dtype):
    info = np.iinfo(dtype)
    x = np.full((2, 300), min(info.max, 2**50), dtype)
    x[1] = RNG.integers(max(info.min, -(2**40)), min(info.max, 2**40), 300)
    total, mean, largest, smallest = evaluate(
        lambda emit, v: [emit(getattr(op, n)(v, [1])) for n in ("sum", "mean", "max", "min")], x
    )
    np.testing.assert_array_equal(total, x.sum(1, dtype="int64").astype(dtype))  # wraps once
    np.testing.assert_array_equal(largest, x.max(1))
    np.testing.assert_array_equal(smallest, x.min(1))
    exact = [sum(int(v) for v in row) for row in x]
    wanted = [abs(t) // 300 * (1 if t >= 0 else -1) for t in exact]
    np.testing.assert_array_equal(mean, np.array(wanted))


def test_reductions_of_truth_values():
    x = np.array([[True, False, False], [False, False, False], [True, True, True]])
    largest, smallest = evaluate(lambda emit, v: [emit(op.max(v, [1])), emit(op.min(v, [1]))], x)
    np.testing.assert_array_equal(largest, x.any(1))
    np.testing.assert_array_equal(smallest, x.all(1))


def test_extrema_of_infinities():
    x = np.array([[-np.inf, -np.inf], [np.inf, np.inf]], np.float32)
    largest, smallest = evaluate(lambda emit, v: [emit(op.max(v, [1])), emit(op.min(v, [1]))], x)
    np.testing.assert_array_equal(largest, [-np.inf, np.inf])
    np.testing.assert_array_equal(smallest, [-np.inf, np.inf])


def test_argmax_takes_the_first_of_equals():
    x = np.array([[1, 3, 3, 2], [0, 0, 0, 0], [-5, -9, -5, -6]], np.float32)
    first, least = evaluate(lambda emit, v: [emit(op.argmax(v, 1)), emit(op.argmin(v, 1))], x)
    np.testing.assert_array_equal(first, x.argmax(1))
    np.testing.assert_array_equal(least, x.argmin(1))
    low = np.full((2, 3), -np.inf, np.float32)
    (first,) = evaluate(lambda emit, v: emit(op.argmax(v, 1)), low)
    np.testing.assert_array_equal(first, [0, 0])


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.integers(1, 3), max_size=2), st.integers(1, 19), st.integers(1, 40),
    st.integers(1, 45), st.booleans(),
)  # fmt: skip
def test_matmul_of_any_shape(batch, m, k, n, relu):
    a, b = _normal(*batch, m, k), _normal(k, n)
    bias = _normal(n)

    def body(emit, x, y, z):
        value = emit(op.add(emit(op.matmul(x, y)), z))
        return emit(op.nn.relu(value)) if relu else value

    (got,) = evaluate(body, a, b, bias)
    wanted = a.astype(np.float64) @ b + bias
    np.testing.assert_allclose(got, np.maximum(wanted, 0) if relu else wanted, 1e-4, 1e-4)


def _conv_reference(x, w, stride, pad, dilation, groups):
    n, _, h, width = x.shape
    k, cg, fy, fx = w.shape
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    oy = (h + 2 * pad - dilation * (fy - 1) - 1) // stride + 1
    ox = (width + 2 * pad - dilation * (fx - 1) - 1) // stride + 1
    out = np.zeros((n, k, oy, ox))
    for f in range(k):
        first = f // (k // groups) * cg
        for y in range(fy):
            for z in range(fx):
                window = padded[:, first : first + cg, y * dilation :, z * dilation :]
                window = window[:, :, : stride * oy : stride, : stride * ox : stride]
                out[:, f] += np.einsum("nchw,c->nhw", window, w[f, :, y, z].astype(np.float64))
    return out


@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.integers(6, 15),
    st.integers(1, 3), st.integers(1, 2), st.integers(0, 2), st.integers(1, 2),
    st.sampled_from(["float32", "int8"]),
)  # fmt: skip
def test_conv2d_of_any_shape(groups, channels, filters, size, kernel, stride, pad, dilation, dtype):
    x = RNG.integers(-128, 128, (1, groups * channels, size, size + 3))
    w = RNG.integers(-128, 128, (groups * filters, channels, kernel, kernel))
    options = dict(strides=stride, padding=pad, dilation=dilation, groups=groups)
    out = "int32" if dtype == "int8" else None
    (got,) = evaluate(
        lambda emit, a, b: emit(op.nn.conv2d(a, b, **options, out_dtype=out)),
        x.astype(dtype), w.astype(dtype),
    )  # fmt: skip
    np.testing.assert_array_equal(got, _conv_reference(x, w, stride, pad, dilation, groups))


def test_softmax_and_its_logarithm():
    x = _normal(4, 3, 33) * 20
    x[0, 0] = 1e30
    got = evaluate(
        lambda emit, v: [
            emit(op.nn.softmax(v, -1)), emit(op.nn.softmax(v, 1)), emit(op.nn.log_softmax(v, -1)),
        ],
        x,
    )  # fmt: skip
    wide = x.astype(np.float64)
    for value, axis in zip(got[:2], (-1, 1), strict=True):
        e = np.exp(wide - wide.max(axis, keepdims=True))
        np.testing.assert_allclose(value, e / e.sum(axis, keepdims=True), 1e-5, 1e-7)
    shifted = wide - wide.max(-1, keepdims=True)
    wanted = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    np.testing.assert_allclose(got[2], wanted, 1e-5, 1e-5)


def test_normalisations():
    x, gamma, beta = _normal(2, 6, 5, 4) * 3 + 2, _normal(4), _normal(4)
    scale, shift = _normal(6), _normal(6)
    got = evaluate(
        lambda emit, v, g, b, s, t: [
            emit(op.nn.layer_norm(v, g, b, axes=[-1], epsilon=1e-5)),
            emit(op.nn.rms_norm(v, g, axes=[-1], epsilon=1e-5)),
            emit(op.nn.group_norm(v, s, t, 3, 1, [2, 3], epsilon=1e-5)),
            emit(op.nn.instance_norm(v, s, t, channel_axis=1, axes=[2, 3], epsilon=1e-5)),
        ],
        x, gamma, beta, scale, shift,
    )  # fmt: skip
    wide = x.astype(np.float64)

    def norm(value, axes):
        mean = value.mean(axes, keepdims=True)
        return (value - mean) / np.sqrt(value.var(axes, keepdims=True) + 1e-5)

    channel = (slice(None), None, None)
    grouped = norm(wide.reshape(2, 3, 2, 5, 4), (2, 3, 4)).reshape(x.shape)
    wanted = [
        norm(wide, (-1,)) * gamma + beta,
        wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * gamma,
        grouped * scale[channel] + shift[channel],
        norm(wide, (2, 3)) * scale[channel] + shift[channel],
    ]
    for value, reference in zip(got, wanted, strict=True):
        np.testing.assert_allclose(value, reference, 1e-4, 1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_nan_stays_wherever_it_stands(axis):
    """As ONNX's reference evaluator and numpy have it; onnxruntime keeps the first only."""
    x = _normal(21, 20)
    x[np.arange(20), np.arange(20)] = np.nan
    image = x.reshape(1, 1, *x.shape)
    most, least, pooled = evaluate(
        lambda emit, v, i: [
            emit(op.max(v, axis)),
            emit(op.min(v, axis)),
            emit(op.nn.max_pool2d(i, (3, 2))),
        ],
        x,
        image,
    )
    np.testing.assert_array_equal(most, x.max(axis))
    np.testing.assert_array_equal(least, x.min(axis))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 2), (2, 3))
    np.testing.assert_array_equal(pooled, windows.max((4, 5)))


@pytest.mark.parametrize("include", [False, True])
def test_pools(include):
    x = _normal(1, 3, 9, 8)
    largest, average = evaluate(
        lambda emit, v: [
            emit(op.nn.max_pool2d(v, (3, 2), (2, 2), (1, 1))),
            emit(op.nn.avg_pool2d(v, (3, 2), (2, 2), (1, 1), count_include_pad=include)),
        ],
        x,
    )
    windows = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(windows, (3, 2), (2, 3))[:, :, ::2, ::2]
    np.testing.assert_array_equal(largest, np.nanmax(windows, (4, 5)))
    total = np.nansum(windows.astype(np.float64), (4, 5))
    count = 6 if include else (~np.isnan(windows)).sum((4, 5))
    np.testing.assert_allclose(average, total / count, 1e-5, 1e-6)


def test_average_pool_of_bytes_accumulates_wide():
    x = RNG.integers(-128, 128, (1, 2, 8, 8)).astype(np.int8)
    x[0, 0] = 127
    (got,) = evaluate(lambda emit, v: emit(op.nn.avg_pool2d(v, (4, 4), (4, 4))), x)
    sums = x.astype(np.int32).reshape(1, 2, 2, 4, 2, 4).sum((3, 5))
    np.testing.assert_array_equal(got, np.trunc(sums / 16).astype(np.int8))


#: Sums of the last axis that go side by side: of a whole axis, of a part, of rows; one alone.
ROWS = {(5, 8, 33): 8, (2, 30, 17): 6, (24, 9): 8, (3, 1, 40): 1, (7, 500): 7, (3, 8, 700): 1}
ROWS |= {(6, 8, 8): 1, (300, 3): 1}  # short ones stay as they are


@pytest.mark.parametrize("shape", ROWS, ids=str)
def test_sums_of_rows_go_side_by_side_with_what_they_are_made_into(shape):
    """Centred rows: an addition waits for none before it, and sums are in the order of the row."""
    x = _normal(*shape)

    def centred(emit, v):
        y = emit(op.subtract(v, emit(op.mean(v, [-1], keepdims=True))))
        return [y, emit(op.sum(y, [-1])), emit(op.max(y, [-1], keepdims=True))]

    remainder = lower(module_of(centred, (x.shape, "float32")), prefix="net", labels={})
    mean = next(f.source for f in remainder.functions if "mean" in f.symbol)
    found = {int(n) + 1 for n in re.findall(r"t_\d+\[(\d+)\] = t_\d+\[\1\] \+", mean)}
    assert max(found) == ROWS[shape], mean
    got, total, most = run(remainder, [x])
    middle = np.cumsum(x, axis=-1, dtype=np.float32)[..., -1:] / np.float32(shape[-1])
    np.testing.assert_array_equal(got, x - middle)
    np.testing.assert_array_equal(total, np.cumsum(got, axis=-1, dtype=np.float32)[..., -1])
    np.testing.assert_array_equal(most, got.max(-1, keepdims=True))


def test_a_products_scale_of_one_element_leaves_it_in_tiles():
    """Steps of dynamic quantisation: two scales are multiplied, once; sums stay a tile's."""
    a, b = (RNG.integers(-9, 9, shape).astype(np.int32) for shape in ((8, 64), (64, 32)))
    scales, bias = (_normal(1), _normal(1)), _normal(32)

    def scaled(emit, a, b, one, other, bias):
        total = emit(op.astype(emit(op.matmul(a, b)), "float32"))
        y = emit(op.multiply(total, emit(op.multiply(one, other))))
        return emit(op.nn.relu(emit(op.add(y, bias))))

    arrays = (a, b, *scales, bias)
    shapes = [(each.shape, str(each.dtype)) for each in arrays]
    remainder = lower(module_of(scaled, *shapes), prefix="net", labels={})
    (source,) = (f.source for f in remainder.functions if "matmul" in f.symbol)
    assert "in_2[0] * in_3[0]" in source
    assert re.findall(r" t_\d+\[(\d+)\];", source) == ["128"], source  # four rows of 32
    (got,) = run(remainder, arrays)
    wanted = (a @ b).astype(np.float32) * (scales[0] * scales[1]) + bias
    np.testing.assert_array_equal(got, np.maximum(wanted, 0))


@pytest.mark.parametrize("shape", [(5, 7, 9), (8, 64), (1, 3, 2, 11), (40,), (1, 1)], ids=str)
def test_the_largest_of_all_is_found_as_if_in_order(shape):
    """By rows, side by side: of zeros of either sign the last one, and a NaN stays."""
    zeros = np.where(RNG.random(shape) < 0.5, np.float32(-0.0), np.float32(0.0))
    missing, x = _normal(*shape), _normal(*shape)
    missing.reshape(-1)[-1 - missing.size // 2] = np.nan
    for kind in ("max", "min"):
        over = getattr(op, kind)
        zero, none, best = evaluate(
            lambda emit, *v, over=over: [emit(over(each)) for each in v], zeros, missing, x
        )
        np.testing.assert_array_equal(np.signbit(zero), np.signbit(zeros.reshape(-1)[-1]))
        assert np.isnan(none)
        np.testing.assert_array_equal(best, getattr(np, kind)(x))


@pytest.mark.parametrize(
    ("shape", "stored"),
    [
        ((40, 25), True),
        ((2, 20, 3, 24), True),
        ((5000, 3), False),  # as much memory as a third of the tensor, and slower
        ((5000, 24), False),
        ((1000,), False),
        ((), False),
    ],
    ids=str,
)
@pytest.mark.parametrize("alike", [False, True])
def test_rows_of_a_whole_tensor_are_kept_where_they_are_long_and_few(shape, stored, alike):
    """Where functions have to be the same for all sizes, they are never kept."""
    x = np.asarray(_normal(*shape), np.float32)
    module = module_of(lambda emit, v: emit(op.max(v)), (shape, "float32"))
    remainder = lower(module, prefix="net", labels={}, alike=alike)
    source = "".join(function.source for function in remainder.functions)
    spaces = [4 * int(n) for n in re.findall(r"float t_\d+\[(\d+)\];", source)]
    spaces += [space.nbytes for each in remainder.calls for space in each.workspaces]
    rows = 4 * int(np.prod(shape[:-1]))
    assert (max(spaces, default=0) >= max(rows, 64)) == (stored and not alike)
    (got,) = run(remainder, [x])
    np.testing.assert_array_equal(got, x.max())
