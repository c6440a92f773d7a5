"""Workloads of every kind as hypothesis strategies, and arrays to feed them.

Shared by the tests of the reference, of the codec and of emitted code, which find it on `sys.path`.
"""

import numpy as np
from hypothesis import strategies as st

from match_aie.workload import (
    ITEMSIZE,
    Quantized,
    Tail,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    matmul,
    pool2d,
    rowwise,
    with_fixed_tail,
)
from match_aie.workload.reference import softmax_table

BYTES = st.sampled_from(["int8", "uint8"])
#: Powers of two make exact halves, where rounding is decided.
SCALES = st.one_of(
    st.sampled_from([2.0**-e for e in range(2, 9)]),
    st.floats(2.0**-9, 0.25, width=32),
)


@st.composite
def quantized(draw, dtypes=BYTES):
    dtype = draw(dtypes)
    info = np.iinfo(dtype)
    edges = st.sampled_from([int(info.min), 0, int(info.max)])
    zero_point = draw(st.one_of(edges, st.integers(int(info.min), int(info.max))))
    return Quantized(dtype, draw(SCALES), zero_point)


@st.composite
def tails(draw, y):
    whole = full_range(y.dtype, y.zero_point)
    if draw(st.booleans()):
        return whole
    lo = draw(st.integers(whole.lo, whole.hi))
    return Tail(y.zero_point, lo, draw(st.integers(lo, whole.hi)))


@st.composite
def requantised(draw, channels):
    """(output, tail, number of scales) of a kind that sums products."""
    if draw(st.integers(0, 4)) == 0:
        return Quantized("int32"), None, 0
    y = draw(quantized())
    return y, draw(tails(y)), draw(st.sampled_from([1, channels]))


@st.composite
def windows(draw, filter_shape, most_padding=2):
    """A window and an image shape on which it gives at least one position."""
    stride = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    dilation = draw(st.tuples(st.integers(1, 2), st.integers(1, 3)))
    padding = draw(st.tuples(*[st.integers(0, most_padding)] * 4))
    top, left, bottom, right = padding
    reach = [(f - 1) * d + 1 for f, d in zip(filter_shape, dilation, strict=True)]
    needed = (max(1, reach[0] - top - bottom), max(1, reach[1] - left - right))
    image = (needed[0] + draw(st.integers(0, 4)), needed[1] + draw(st.integers(0, 4)))
    return Window(stride, dilation, padding), image


@st.composite
def conv2ds(draw):
    filter_shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    window, image = draw(windows(filter_shape))
    groups, c, k = draw(
        st.one_of(
            st.tuples(st.just(1), st.sampled_from([1, 2, 3, 8, 17]), st.sampled_from([1, 2, 5])),
            st.tuples(st.sampled_from([2, 3, 9, 65]), st.just(1), st.sampled_from([1, 1, 2])),
            st.tuples(st.integers(2, 3), st.integers(2, 3), st.integers(1, 3)),
        )
    )
    y, tail, scales = draw(requantised(groups * k))
    return conv2d(
        draw(quantized()),
        y,
        shape=(draw(st.integers(1, 2)), *image, groups * c),
        weight_shape=(groups * k, *filter_shape, c),
        groups=groups,
        window=window,
        weight_dtype=draw(st.sampled_from(["int8", "int8", "int16"])),
        tail=tail,
        scales=scales,
    )


@st.composite
def denses(draw):
    outputs = draw(st.sampled_from([1, 2, 10]))
    y, tail, scales = draw(requantised(outputs))
    return dense(
        draw(quantized()),
        y,
        rows=draw(st.integers(1, 3)),
        inputs=draw(st.sampled_from([1, 7, 16, 65])),
        outputs=outputs,
        weight_dtype=draw(st.sampled_from(["int8", "int16"])),
        tail=tail,
        scales=scales,
    )


@st.composite
def matmuls(draw):
    y, tail, _ = draw(requantised(1))
    sizes = {name: draw(st.integers(1, 5)) for name in ("batch", "rows", "inner")}
    columns = draw(st.sampled_from([1, 6, 65]))
    return matmul(draw(quantized()), draw(quantized()), y, **sizes, columns=columns, tail=tail)


@st.composite
def elementwises(draw):
    y = draw(quantized())
    out = draw(st.tuples(*[st.integers(1, 4)] * 4))
    keep = st.tuples(*[st.sampled_from([True, True, False])] * 4)
    shape, shape1 = (
        tuple(size if kept else 1 for size, kept in zip(out, draw(keep), strict=True))
        for _ in range(2)
    )
    full = tuple(max(pair) for pair in zip(shape, shape1, strict=True))
    return elementwise(
        draw(st.sampled_from(["add", "mul"])),
        draw(quantized()),
        draw(quantized()),
        y,
        shape=shape,
        shape1=shape1,
        out=full,
        tail=draw(tails(y)),
    )


@st.composite
def pools(draw):
    filter_shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    kind = draw(st.sampled_from(["avg_pool2d", "max_pool2d"]))
    # No padding, or less than the filter is wide: no window lies in padding alone.
    window, image = draw(windows(filter_shape, draw(st.sampled_from([0, min(filter_shape) - 1]))))
    dilation = (1, 1) if any(window.padding) else window.dilation
    window = Window(window.stride, dilation, window.padding, draw(st.booleans()))
    x = draw(quantized())
    away = kind == "avg_pool2d" and draw(st.booleans())
    y = x if away or kind == "max_pool2d" else draw(quantized())
    tail = draw(tails(y))
    if away:
        tail = Tail(tail.zero_point, tail.lo, tail.hi, "half_away")
    shape = (draw(st.integers(1, 2)), *image, draw(st.sampled_from([1, 3, 16, 65])))
    return pool2d(kind, x, y, shape=shape, filter_shape=filter_shape, window=window, tail=tail)


@st.composite
def softmaxes(draw):
    y = draw(quantized())
    rows, columns = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 10, 33]))
    tail = draw(tails(y))
    return rowwise("softmax", draw(quantized()), y, rows=rows, columns=columns, tail=tail)


@st.composite
def converts(draw):
    rows, columns = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 10, 33]))
    stored = st.sampled_from(["int8", "uint8", "int16", "uint16"])
    if draw(st.booleans()):
        y = draw(quantized(stored))
        tail = draw(tails(y))
        x = Quantized("float32")
        return rowwise("quantize", x, y, rows=rows, columns=columns, tail=tail)
    x = draw(quantized(st.one_of(stored, st.just("int32"))))
    y = Quantized("float32")
    return rowwise("dequantize", x, y, rows=rows, columns=columns, tail=None)


ROUNDINGS = st.sampled_from(["floor", "half_up", "half_even", "half_away"])


@st.composite
def fixed_points(draw):
    """A workload of any kind with a fixed-point tail; every operand that may be absent may be."""
    base = draw(
        st.one_of(
            conv2ds(), denses(), matmuls(), elementwises(),
            pools().filter(lambda w: w.kind == "avg_pool2d"),
        )
    )  # fmt: skip
    channels = base.output.shape[-1]
    dtype = base.output.dtype
    zero_point = draw(st.sampled_from([0, 0, 3, 128]))
    if dtype == "int32":
        lo, hi = -(2**31), 2**31 - 1
    else:
        whole = full_range(dtype, 0)
        lo = draw(st.sampled_from([whole.lo, 0, 5]))
        hi = draw(st.sampled_from([whole.hi, 100]))
    bits = draw(st.sampled_from([32, 32, 48, 64]))
    tail = Tail(zero_point, lo, hi, draw(ROUNDINGS), draw(st.integers(0, min(bits - 1, 20))), bits)
    sizes = st.sampled_from([0, 1, channels])
    return with_fixed_tail(
        base,
        tail,
        multiplier=draw(st.sampled_from([0, 2])) if base.kind == "add" else draw(sizes),
        offset=draw(sizes),
        bias=draw(st.booleans()),
        raw=draw(st.booleans()),
    )


def workloads():
    return st.one_of(
        conv2ds(), denses(), matmuls(), elementwises(), pools(), softmaxes(), converts()
    )


def arrays(workload, seed):
    """(inputs, constants) for `workload`, with extremes and values that round at a half."""
    rng = np.random.default_rng(seed)
    inputs = [_activation(rng, operand, workload) for operand in workload.inputs]
    terms = workload.sizes["C"] * workload.sizes["FY"] * workload.sizes["FX"]
    constants = {}
    for operand in workload.constants:
        if operand.name == "x1" or operand.name.startswith("residual"):
            value = _activation(rng, operand, workload)
        elif operand.dtype == "float32" and operand.name in ("weight", "bias"):
            value = rng.normal(float(operand.name == "weight"), 0.3, operand.shape)
        elif workload.kind == "table":
            value = _activation(rng, operand, workload)
        elif operand.name == "weight":
            low, high = (-128, 127) if operand.dtype == "int8" else (-255, 255)
            value = rng.integers(low, high, operand.shape, endpoint=True)
        elif operand.name == "bias":
            value = rng.integers(-(2**13), 2**13, operand.shape)
        elif operand.name == "scale":
            # Spread the sums over about the output's range; halves of the scales are dyadic.
            wide = rng.uniform(0.5, 2, operand.shape) / (np.sqrt(terms) * 70)
            dyadic = 2.0 ** np.round(np.log2(wide))
            value = np.where(rng.random(operand.shape) < 0.5, wide, dyadic)
        elif operand.name == "multiplier":
            value = rng.integers(-3, 2 ** rng.integers(2, 12), operand.shape)
        elif operand.name == "offset":
            value = rng.integers(-(2**20), 2**20, operand.shape)
        else:
            value = softmax_table(workload.operand("x").scale)
        constants[operand.name] = value.astype(operand.dtype)
    return inputs, constants


def _activation(rng, operand, workload):
    if operand.dtype == "float32":
        scale = workload.output.scale
        value = rng.normal(0, 60 * scale, operand.shape)
        halves = (np.round(value / scale) + 0.5) * scale
        value = np.where(rng.random(operand.shape) < 0.5, value, halves)
        odd = rng.choice(np.array([np.inf, -np.inf, np.nan, -0.0, 3e38, 1e-45]), operand.shape)
        return np.where(rng.random(operand.shape) < 0.1, odd, value).astype(np.float32)
    info = np.iinfo(operand.dtype)
    value = rng.integers(info.min, info.max, operand.shape, dtype=operand.dtype, endpoint=True)
    if ITEMSIZE[operand.dtype] == 1 and rng.random() < 0.3:
        return np.full(operand.shape, rng.choice([info.min, info.max]), operand.dtype)
    return value
