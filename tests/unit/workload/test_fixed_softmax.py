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


@pytest.mark.parametrize("columns", [1, 2, 31, 32, 33, 128, 197, 1000])
@pytest.mark.parametrize("step", [0.003, 0.05, 0.1, 0.7])
@pytest.mark.parametrize("out", [(1 / 256, "int8", -128), (1 / 255, "uint8", 0), (0.02, "int8", 3)])
def test_every_row_is_within_a_step(columns, step, out) -> None:
    scale, dtype, zero = out
    x = hard_rows(columns, np.random.default_rng(columns))
    workload = layer(columns, step=step, out=scale, dtype=dtype, zero=zero, rows=len(x))
    made = fixed_softmax(workload)
    assert made.error_lsb < 1
    y = reference(made.workload, [x], made.constants).astype(int)
    assert np.abs(y - exact(workload, x)).max() <= 1
    model = reference(workload, [x], {"table": softmax_table(step)}).astype(int)
    assert np.abs(y - model).max() <= 1
    assert np.mean(y == model) > 0.98


def test_rows_that_integers_do_not_hold_are_refused() -> None:
    assert "too fine" in fixed_softmax(layer(6000))
    assert "too fine" in fixed_softmax(layer(10, out=2.0**-15, zero=0))
    assert "too fine" in fixed_softmax(layer(10, out=2.0**-14))
