"""Layers of rows whose tensors are stored as bfloat16."""

import numpy as np
import pytest

from match_aie.workload import (
    function,
    is_narrow,
    layer_norm,
    narrow,
    narrow_table,
    real_expected,
    real_pair,
    real_pool2d,
    real_softmax,
)
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.functions_bfloat16 import patterns, values_of
from match_aie.workload.real_reference import MEANING
from match_aie.workload.running import wrong

EVERY = values_of(np.arange(1 << 16, dtype=np.uint16))


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "silu", "tanh", "sigmoid"])
def test_a_table_has_the_nearest_number_of_all(name):
    layer = narrow(function(name, elements=EVERY.size))
    finite = np.isfinite(EVERY)
    got = values_of(narrow_table(layer))
    with np.errstate(all="ignore"):
        exact = MEANING["function"](layer, {"x": EVERY})
        apart = np.abs(got - exact)[finite]
    # Half of the distance of bfloat16 numbers: those of 8 bits, from the least normal one on.
    half = np.maximum(np.abs(exact[finite]), 2.0**-126) * 2.0**-8
    # The reference of GELU cancels where it is next to nothing.
    assert (apart <= half + 1e-15 * np.minimum(np.abs(EVERY[finite]), 20)).all()
    near = real_expected(layer, [EVERY], {"table": narrow_table(layer)}, got)
    with np.errstate(invalid="ignore"):
        assert not wrong(got, near)[finite].any()


def test_sums_are_rounded_once():
    rng = np.random.default_rng(1)
    x, y = (to_bfloat16(rng.standard_normal((1, 300)).astype(np.float32)) for _ in range(2))
    layer = narrow(real_pair("add", elements=300))
    expected = real_expected(layer, [x, y], {}, x)
    assert not wrong(to_bfloat16(x + y), expected).any()
    # One unit in the last place further off, where the sum is not next to another number already.
    further = values_of(patterns(x + y) + np.uint16(2))
    assert wrong(further, expected).all()


def test_what_no_number_holds_is_infinite():
    largest = np.full((1, 4), 3.3e38, np.float32)
    x = to_bfloat16(largest)
    layer = narrow(real_pair("add", elements=4))
    with np.errstate(over="ignore"):
        assert not wrong(to_bfloat16(x + x), real_expected(layer, [x, x], {}, x)).any()


def test_what_is_nearer_to_the_largest_number_is_not_infinite():
    """A sum just below half a step beyond it; at half a step the even one is infinity."""
    largest = (2.0 - 2.0**-7) * 2.0**127
    x = np.full((1, 2), largest, np.float32)
    y = np.array([[(2.0 - 2.0**-7) * 2.0**118, 2.0**119]], np.float32)
    expected = real_expected(narrow(real_pair("add", elements=2)), [x, y], {}, x)
    assert expected.value[0, 0] < np.inf == expected.value[0, 1]
    with np.errstate(over="ignore"):
        assert not wrong(to_bfloat16(x + y), expected).any()


def test_constants_stay_and_others_have_no_such_form():
    norm = narrow(layer_norm(rows=2, columns=5, epsilon=1e-5))
    assert {o.name: o.dtype for o in norm.operands} == {
        "x": "bfloat16", "weight": "float32", "bias": "float32", "y": "bfloat16"
    }  # fmt: skip
    assert is_narrow(norm)
    assert not is_narrow(real_softmax(rows=1, columns=3))
    pool = real_pool2d("max_pool2d", shape=(1, 3, 3, 1), filter_shape=(2, 2))
    with pytest.raises(ValueError, match="of a max_pool2d are not stored as bfloat16"):
        narrow(pool)
