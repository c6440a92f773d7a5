"""Sums behind a converter: the stated formula, and its bound over all inputs that reach it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.workload import (
    Converter,
    Quantized,
    Tail,
    Window,
    Workload,
    conv2d,
    dense,
    reference,
    to_converter,
)

HOW = Converter(63, 6, 16)
X = Quantized("int8", 0.1, 0)


def constants(workload, rng, scale):
    channels = workload.output.shape[-1]
    return {
        "weight": rng.integers(-1, 2, workload.operand("weight").shape).astype(np.int8),
        "bias": rng.integers(-300, 301, channels).astype(np.int32),
        "scale": (scale * rng.uniform(0.5, 1.5, channels)).astype(np.float32),
    }


def rows(inputs, outputs, zero=0, relu=False, batch=40):
    tail = Tail(zero, 0 if relu else -63, 63)
    y = Quantized("int8", 0.1, zero)
    return dense(X, y, rows=batch, inputs=inputs, outputs=outputs, scales=outputs, tail=tail)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 300), st.integers(1, 9), st.floats(1e-3, 0.5), st.booleans(), st.integers(0, 99)
)
def test_within_its_bound(inputs, outputs, scale, relu, seed):
    """Random and extreme inputs: what is stored is within the bound, rounded up."""
    rng = np.random.default_rng(seed)
    workload = rows(inputs, outputs, int(rng.integers(-5, 6)), relu)
    known = constants(workload, rng, scale)
    made = to_converter(workload, known, HOW)
    if isinstance(made, str):
        assert "leave 16 bits" in made
        return
    x = rng.integers(-63, 64, (40, inputs))
    signs = np.sign(known["weight"].astype(int))
    x[:outputs], x[10 : 10 + outputs] = 63 * signs, -63 * signs
    x = x.astype(np.int8)
    model = reference(workload, [x], known).astype(int)
    ours = reference(made.workload, [x], made.constants).astype(int)
    assert np.abs(model - ours).max() <= np.floor(made.error_lsb) + 1


def test_the_formula():
    """Element by element in whole numbers, padding and strides included."""
    rng = np.random.default_rng(3)
    workload = conv2d(
        X,
        X,
        shape=(1, 7, 6, 5),
        weight_shape=(4, 3, 3, 5),
        window=Window((2, 2), padding=(1, 0, 0, 1)),
        scales=4,
        tail=Tail(0, -63, 63),
    )
    known = constants(workload, rng, 0.05)
    made = to_converter(workload, known, HOW)
    x = rng.integers(-63, 64, (1, 7, 6, 5)).astype(np.int8)
    y = reference(made.workload, [x], made.constants)
    gain = int(made.workload.parameter("gain"))
    assert gain > 1
    padded = np.pad(x.astype(int), ((0, 0), (1, 0), (0, 1), (0, 0)))
    for row, column, k in np.ndindex(y.shape[1:]):
        window = padded[0, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
        acc = int((window * known["weight"][k].astype(int)).sum())
        q = min(max(acc // gain, -32), 31)
        t = q * int(made.constants["multiplier"][k]) + int(made.constants["offset"][k])
        assert -(2**15) <= t < 2**15
        assert y[0, row, column, k] == min(max(t >> made.workload.tail.shift, -63), 63)


def test_few_products_are_exact_but_for_halves():
    """Sums that fit 6 bits are converted one to one."""
    rng = np.random.default_rng(4)
    workload = rows(1, 3)
    known = constants(workload, rng, 0.3)
    known["bias"][:] = 0
    narrow = Converter(31, 6, 16)
    made = to_converter(workload, known, narrow)
    assert made.workload.parameter("gain") == 1
    assert made.error_lsb < 0.1


def test_what_is_refused():
    rng = np.random.default_rng(5)
    workload = rows(8, 4)
    known = constants(workload, rng, 0.1)
    wide = {**known, "weight": known["weight"] * 2}
    assert "not all -1, 0 or 1" in to_converter(workload, wide, HOW)
    far = {**known, "bias": known["bias"] + 10**6}
    assert "leave 16 bits" in to_converter(workload, far, HOW)
    assert isinstance(workload, Workload)


@pytest.mark.parametrize("channels", [1, 7, 130])
def test_packing(channels):
    """A bit of two planes for every weight, words with the first column highest."""
    from match_aie.targets.diana.analog import pack_numbers, pack_ternary

    rng = np.random.default_rng(channels)
    weight = rng.integers(-1, 2, (channels, 3, 3, 5)).astype(np.int8)
    packed = pack_ternary(weight).view(np.uint8).reshape(-1, 288, 2, 4, 4)[..., ::-1]
    bits = np.unpackbits(np.ascontiguousarray(packed), axis=-1).reshape(len(packed), 288, 2, 128)
    found = bits[:, :, 0].astype(int) - bits[:, :, 1]
    flat = found.transpose(0, 2, 1).reshape(-1, 288)
    assert np.array_equal(flat[:channels, :45], weight.reshape(channels, -1))
    assert not flat[channels:].any()
    assert not flat[:, 45:].any()
    numbers = rng.integers(-(2**15), 2**15, channels).astype(np.int32)
    words = pack_numbers(numbers).view("<i4").reshape(-1)
    assert np.array_equal(words[:channels], numbers)
