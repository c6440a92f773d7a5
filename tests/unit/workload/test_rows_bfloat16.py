"""Rows in bfloat16: how far from float64, over every number where a function is a table."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import ModelError
from match_aie.workload import (
    RealTail,
    function,
    layer_norm,
    real_expected,
    real_pair,
    real_softmax,
    reference,
    refuses_rows_bfloat16,
    rms_norm,
    with_tables,
    within_bound,
)
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.functions_bfloat16 import FUNCTIONS, function_table, values_of
from match_aie.workload.real_reference import activate
from match_aie.workload.rows_bfloat16 import inverse, inverse_root, rows_bfloat16
from match_aie.workload.rows_bound import unit_in_last_place

ALL = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
KINDS = {
    "softmax": lambda rows, columns: real_softmax(rows=rows, columns=columns),
    "layer_norm": lambda rows, columns: layer_norm(rows=rows, columns=columns, epsilon=1e-5),
    "rms_norm": lambda rows, columns: rms_norm(rows=rows, columns=columns, epsilon=1e-6),
    "add": lambda rows, columns: real_pair("add", elements=rows * columns),
    "mul": lambda rows, columns: real_pair("mul", elements=rows * columns),
}


def layer(kind, rows, columns):
    """In bfloat16, and the constants that its kernel reads."""
    made = KINDS[kind](rows, columns)
    return with_tables(replace(made, real=replace(made.real, precision="bfloat16")))


def check(kind, shape, seed) -> float:
    """A random layer is as close as is asked; the share of that."""
    rng = np.random.default_rng(seed)
    workload, tables = layer(kind, *shape)
    scale, at = 10.0 ** rng.uniform(-2, 1), rng.normal(0, 10.0 ** rng.integers(-1, 3))
    inputs = [
        to_bfloat16((rng.standard_normal(o.shape) * scale + at).astype(np.float32))
        for o in workload.inputs
    ]
    constants = {
        o.name: rng.normal(o.name == "weight", 0.5, o.shape).astype(np.float32)
        for o in workload.constants
        if o.name not in tables
    }
    if "weight" in constants:
        constants["weight"] = to_bfloat16(constants["weight"])
    got = reference(workload, inputs, {**constants, **tables})
    np.testing.assert_array_equal(got, to_bfloat16(got))
    near = real_expected(workload, inputs, {**constants, **tables}, got)
    assert within_bound(workload, inputs, {**constants, **tables}, got).all()
    return float((np.abs(got - near.value) / near.error).max())


@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.integers(1, 9), columns=st.integers(1, 300), seed=st.integers(0, 1 << 30))
@settings(max_examples=30, deadline=None)
def test_rows_are_within_a_unit_in_the_last_place(kind, rows, columns, seed) -> None:
    assert check(kind, (rows, columns), seed) <= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_are_within_a_unit_in_the_last_place(kind) -> None:
    rng = np.random.default_rng(0)
    worst = max(
        check(kind, (int(rng.integers(1, 20)), int(rng.integers(1, 1500))), seed)
        for seed in range(300)
    )
    assert worst <= 0.8


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_the_nearest_numbers_over_all_of_them(name) -> None:
    """Half a unit in the last place; what float64 itself cancels in GELU's tails is told apart."""
    with np.errstate(all="ignore"):
        x, got = (values_of(each).astype(float) for each in (ALL, function_table(name)(ALL)))
        wanted = activate(x, RealTail(name))
        normal = np.isfinite(wanted) & (np.abs(x) >= 2.0**-126) & (np.abs(wanted) < 2.0**128)
        unit = unit_in_last_place(np.where(normal, wanted, 1.0))
        off = np.abs(got - wanted)
    slack = 2.0**-126 if name in ("reciprocal", "rsqrt") else 2.0**-134
    cancelled = 2.0**-50 if name in ("gelu", "gelu_tanh") else 0.0
    over = ~np.isfinite(got) & (np.abs(wanted) > 3.39e38)
    far = normal & ~over & ~(off <= 0.5001 * unit + slack + cancelled)
    assert not far.any(), (x[far][:5], got[far][:5], wanted[far][:5])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_keep_nan_and_end_as_they_should(name) -> None:
    table = function_table(name)
    nan = np.array([0x7FC0, 0x7F81, 0xFFC0], np.uint16)
    np.testing.assert_array_equal(table(nan), nan)
    ends = values_of(table(np.array([0x7F80, 0xFF80], np.uint16))).tolist()
    assert str(ends) == str(
        {
            "tanh": [1.0, -1.0],
            "sigmoid": [1.0, 0.0],
            "exp": [np.inf, 0.0],
            "reciprocal": [0.0, -0.0],
            "rsqrt": [0.0, np.nan],
        }.get(name, [np.inf, -0.0])
    )


def test_newtons_steps_reach_what_two_bfloat16_numbers_hold() -> None:
    x = np.geomspace(1e-20, 1e20, 4001).astype(np.float32)
    assert np.abs(inverse(x).astype(np.float64) * x - 1).max() < 2.0**-15
    assert np.abs(inverse_root(x).astype(np.float64) * np.sqrt(x.astype(float)) - 1).max() < 2**-15


def test_a_row_of_equal_elements_has_no_spread() -> None:
    workload, _ = layer("layer_norm", 1, 48)
    weight, bias = np.ones(48, np.float32), np.full(48, 0.25, np.float32)
    x = np.full((1, 48), 1000.0, np.float32)
    assert (reference(workload, [x], {"weight": weight, "bias": bias}) == 0.25).all()


def test_what_a_mask_hides_is_nothing() -> None:
    workload, tables = layer("softmax", 1, 20)
    x = np.zeros((1, 20), np.float32)
    x[0, 5:] = -np.inf
    got = reference(workload, [x], tables)
    assert (got[0, :5] == to_bfloat16(np.array([0.2], np.float32))).all()
    assert got[0, 5:].max() < 2.0**-80


@pytest.mark.parametrize("hidden", [-np.finfo(np.float32).max, -np.inf])
def test_a_row_that_a_mask_hides_has_equal_shares(hidden) -> None:
    """PyTorch's masks are the largest float, which is infinite in bfloat16."""
    workload, tables = layer("softmax", 2, 20)
    x = np.zeros((2, 20), np.float32)
    x[0] = hidden
    got = reference(workload, [x], tables)
    assert (got == to_bfloat16(np.array([1 / 20], np.float32))).all()
    assert within_bound(workload, [x], tables, got).all()


def test_others_have_no_such_meaning() -> None:
    relu = replace(function("relu", elements=3), real=RealTail("relu", precision="bfloat16"))
    assert "no table of relu" in refuses_rows_bfloat16(relu)
    with pytest.raises(ModelError, match="no table of relu"):
        rows_bfloat16(relu, {})
    assert "its sizes are given by a run" in refuses_rows_bfloat16(
        replace(real_softmax(rows=3, columns=4), run_time=("B",))
    )
