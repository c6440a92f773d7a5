"""Layer norm in integers: within a step of the rounded float64 result, for every kind of row."""

import numpy as np
import pytest

from match_aie.workload import Quantized, fixed_norm, full_range, quantised_norm, reference


def layer(columns, *, step=0.05, out=0.03, dtype="int8", rows=1):
    x, y = Quantized(dtype, step, 4), Quantized("int8", out, -3)
    tail = full_range("int8", -3)
    return quantised_norm(
        x, y, rows=rows, columns=columns, epsilon=1e-5, tail=tail, kind="layer_norm"
    )


def numbers(columns, rng):
    weight, bias = rng.normal(1, 0.3, columns), rng.normal(0, 0.5, columns)
    return {"weight": weight.astype(np.float32), "bias": bias.astype(np.float32)}


def exact(workload, x, constants):
    """What float64 gives, in steps of the output, and neither rounded nor clipped."""
    operand, y = workload.operand("x"), workload.output
    real = (x.astype(np.float64) - operand.zero_point) * np.float64(np.float32(operand.scale))
    centred = real - real.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True) + 1e-5
    result = centred / np.sqrt(variance) * constants["weight"] + constants["bias"]
    return result / np.float64(np.float32(y.scale)) + y.zero_point


def hard_rows(columns, dtype, rng):
    """Equal elements; all but one equal; two values; few steps; Gaussians; random ones."""
    info = np.iinfo(dtype)
    rows = [np.full(columns, 7), np.full(columns, info.min), np.full(columns, info.max)]
    for other in (6, 8, info.min, info.max):
        rows.append(np.full(columns, 7))
        rows[-1][columns // 2] = other
    rows.append(np.where(np.arange(columns) < columns // 2, info.min, info.max))
    rows += [*rng.integers(100, 103, (20, columns))]
    rows += [
        *np.rint(rng.normal(20, 6, (40, columns))),
        *rng.integers(info.min, info.max + 1, (40, columns)),
    ]
    return np.clip(np.array(rows), info.min, info.max).astype(dtype)


@pytest.mark.parametrize("columns", [1, 2, 3, 31, 32, 64, 192, 768])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("step", [0.007, 0.05])
def test_every_row_is_within_a_step(columns, dtype, step) -> None:
    rng = np.random.default_rng(columns)
    x, constants = hard_rows(columns, dtype, rng), numbers(columns, rng)
    workload = layer(columns, step=step, dtype=dtype, rows=len(x))
    made = fixed_norm(workload, constants)
    assert made.error_lsb < 1
    y = reference(made.workload, [x], made.constants).astype(int)
    wanted = exact(workload, x, constants)
    assert np.abs(y - np.clip(np.rint(wanted), -128, 127)).max() <= 1
    inside = (wanted > -126) & (wanted < 125)
    assert np.abs(y - wanted)[inside].max(initial=0) <= 0.5 + made.error_lsb
    model = reference(workload, [x], constants).astype(int)
    assert np.abs(y - model).max() <= 1
    assert np.mean(y == model) > 0.9


def test_rows_that_integers_do_not_hold_are_refused() -> None:
    rng = np.random.default_rng(0)
    assert "too fine" in fixed_norm(layer(8000), numbers(8000, rng))
    assert "too fine" in fixed_norm(layer(64, out=0.0001), numbers(64, rng))


@pytest.mark.parametrize("name", ["weight", "bias"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_numbers_that_are_not_finite_are_refused(name, value) -> None:
    constants = numbers(64, np.random.default_rng(0))
    constants[name][3] = value
    assert "not finite" in fixed_norm(layer(64), constants)
