"""Softmax in integers: within a step of the rounded float64 result, for every kind of row."""

import numpy as np
import pytest

from match_aie.workload import Quantized, fixed_softmax, full_range, reference, rowwise
from match_aie.workload.reference import softmax_table


def layer(columns, *, step=0.05, out=1 / 256, dtype="int8", zero=-128, rows=1):
    x, y = Quantized("int8", step, 4), Quantized(dtype, out, zero)
    tail = full_range(dtype, zero)
    return rowwise("softmax", x, y, rows=rows, columns=columns, tail=tail)


def exact(workload, x):
    """The rounded float64 result."""
    y = workload.output
    real = x.astype(np.float64) * np.float64(np.float32(workload.operand("x").scale))
    e = np.exp(real - real.max(axis=-1, keepdims=True))
    steps = np.rint(e / e.sum(axis=-1, keepdims=True) / np.float64(np.float32(y.scale)))
    info = np.iinfo(y.dtype)
    return np.clip(steps + y.zero_point, info.min, info.max)


def hard_rows(columns, rng):
    """Equal elements; one far above all others, by every distance; random ones."""
    rows = [np.full(columns, -7), np.arange(columns) % 256 - 128]
    for distance in range(1, 256):
        row = np.full(columns, 127 - distance)
        row[distance % columns] = 127
        rows.append(row)
    return np.array([*rows, *rng.integers(-128, 128, (100, columns))]).astype(np.int8)


#: Bits of products, and rounding: of the array, and of GAP9's cluster.
FORMS = [(64, "half_even"), (64, "half_up"), (32, "half_up")]


@pytest.mark.parametrize("columns", [1, 2, 31, 32, 33, 128, 197, 1000])
@pytest.mark.parametrize("step", [0.003, 0.05, 0.1, 0.7])
@pytest.mark.parametrize("out", [(1 / 256, "int8", -128), (1 / 255, "uint8", 0), (0.02, "int8", 3)])
def test_every_row_is_within_a_step(columns, step, out) -> None:
    scale, dtype, zero = out
    x = hard_rows(columns, np.random.default_rng(columns))
    workload = layer(columns, step=step, out=scale, dtype=dtype, zero=zero, rows=len(x))
    model = reference(workload, [x], {"table": softmax_table(step)}).astype(int)
    for bits, rounding in FORMS:
        made = fixed_softmax(workload, bits, rounding)
        if bits == 32 and isinstance(made, str):
            assert columns == 1000
            continue
        assert made.error_lsb < 1
        y = reference(made.workload, [x], made.constants).astype(int)
        assert np.abs(y - exact(workload, x)).max() <= 1
        assert np.abs(y - model).max() <= 1
        assert np.mean(y == model) > 0.98


@pytest.mark.parametrize("columns", [1, 7, 64, 197])
@pytest.mark.parametrize("step", [0.003, 0.1, 0.7])
def test_products_of_32_bits_stay_below_2_to_the_31(columns, step) -> None:
    """Of the greatest exponential with the greatest factor, that of a row's least sum."""
    made = fixed_softmax(layer(columns, step=step, out=1 / 257), 32, "half_up")
    table, tail = made.constants["table"].astype(np.int64), made.workload.tail
    assert table.max() == 1 << 16
    assert (1 << 16) * (2**15 - 1) < 2**31
    least = (1 << 16) + (columns - 1) * int(table[255])
    assert tail.shift + least.bit_length() >= 17
    assert ((2**29 - 1) // 2**14) * int(made.constants["multiplier"][0]) >> 15 < 2**15


def test_rows_that_integers_do_not_hold_are_refused() -> None:
    assert "too fine" in fixed_softmax(layer(6000))
    assert "too fine" in fixed_softmax(layer(10, out=2.0**-15, zero=0))
    assert "too fine" in fixed_softmax(layer(10, out=2.0**-14))
