"""Vectorised exp, tanh, sigmoid and erf: errors in ULP as ma_cpu_float.h states them."""

import ctypes
import math

import numpy as np
import pytest
from real_harness import COMPILERS, MACHINES, build

from match_aie.workload import RealTail
from match_aie.workload.real_reference import activate

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

#: (stated error in ULP, arguments between).
STATED = {
    "exp": (1, -87.3, 88.7),
    "tanh": (2, -12.0, 12.0),
    "sigmoid": (3, -87.0, 30.0),
    "erf": (3, -6.0, 6.0),
}
#: Within the tolerance of layers; their cancellation has no relative error.
COMPOSED = ("gelu", "gelu_tanh", "silu")
EXACT = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "erf": lambda x: np.array([math.erf(v) for v in x]),
}


@pytest.fixture(scope="module", params=MACHINES)
def functions(request, tmp_path_factory):
    names = [*STATED, *COMPOSED]
    text = '#include "ma_cpu_float.h"\n' + "\n".join(
        f"void v_{n}(const float *x, float *y, int32_t count);\n"
        f"void v_{n}(const float *x, float *y, int32_t count)\n{{\n"
        "    for (int32_t i = 0; i < count; i += MA_LANES)\n"
        f"        ma_store(y + i, ma_{n}(ma_load(x + i)));\n"
        "}"
        for n in names
    )
    folder = tmp_path_factory.mktemp("functions")
    facts = MACHINES[request.param]
    library = ctypes.CDLL(build(text, folder, COMPILERS[0], facts, "-O2", "-shared", "-fPIC"))

    def call(name, x):
        y = np.empty_like(x)
        library[f"v_{name}"](ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), x.size)
        return y

    return call


def arguments(low, high):
    """Evenly spaced, and close to 0 in every binade."""
    tiny = np.logspace(-30, 0, 1 << 13)
    even = np.linspace(low, high, 1 << 15)
    signed = tiny * np.where(np.arange(tiny.size) % 2, 1, -1)
    return np.concatenate([even, signed]).astype(np.float32)


@pytest.mark.parametrize("name", STATED)
def test_error_is_as_stated(functions, name):
    ulps, low, high = STATED[name]
    x = arguments(low, high)
    exact = EXACT[name](x.astype(np.float64))
    unit = np.spacing(np.maximum(np.abs(exact), np.finfo(np.float32).tiny).astype(np.float32))
    error = np.abs(functions(name, x) - exact) / unit
    assert error.max() <= ulps, x[error.argmax()]


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_functions(functions, name):
    x = arguments(-9.0, 9.0)
    exact = activate(x.astype(np.float64), RealTail(name))
    np.testing.assert_allclose(functions(name, x), exact, rtol=2e-6, atol=1e-6)


def test_special_values(functions):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 200.0, -200.0, 88.8, -110.0] * 2, np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(functions("exp", x), np.exp(x).astype(np.float32))
    for name in ("tanh", "erf"):
        expected = np.where(np.isnan(x), np.nan, np.sign(x)).astype(np.float32)
        np.testing.assert_array_equal(functions(name, x), expected)
    assert np.isnan(functions("sigmoid", x)[0])
