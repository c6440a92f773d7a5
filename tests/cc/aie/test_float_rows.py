"""Kernels of rows in bfloat16 as emitted: results bit for bit, operations as counted."""

import ctypes

import numpy as np
import pytest
from aie_harness import COMPILERS, COUNTERS, compile_cpp

from match_aie.codegen import render_template
from match_aie.targets.aie_ml.kernels.floats import (
    FloatFunctionCall,
    FloatFunctionSpec,
    FloatNormCall,
    FloatNormSpec,
    FloatPairCall,
    FloatPairSpec,
    FloatSoftmaxCall,
    FloatSoftmaxSpec,
)
from match_aie.targets.aie_ml.kernels.lookup import duplicated
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.functions_bfloat16 import FUNCTIONS, patterns, values_of
from match_aie.workload.rows_bfloat16 import POWERS
from tests.kernel_counts import counts_of

pytestmark = pytest.mark.skipif("g++" not in COMPILERS, reason="not installed: g++")

#: Arguments of a kernel's `Call` in their order, out of buffers that are mapped for it, by family.
ENTRY = """
extern "C" void run_{f}(const void *const *from, const std::uint64_t *bytes, void *y,
                        unsigned rows, unsigned width, const float *real, const int *n,
                        std::uint64_t *counters) {{
    using namespace {f};
    aie_emulation::Core core;
    core.name = "{f}";
    core.rounding = aie_emulation::Rounding::conv_even;
    core.saturation = aie_emulation::Saturation::saturate;
    Copy<const bfloat16> x(core, from[0], bytes[0], "x");
    Copy<const {second}> second(core, from[1], bytes[1], "second");
    Copy<const {third}> third(core, from[2], bytes[2], "third");
    Copy<bfloat16> to(core, nullptr, bytes[0], "y");
    const aie_emulation::Running running(core);
    static_cast<void>(n), static_cast<void>(real), static_cast<void>(width);
    run({{{call}}});
    to.back(y);
    report(core.counters, counters);
}}
"""
ROWS = "to.data(), rows, width"
TABLE = "x.data(), second.data(), third.data(), to.data(), rows"
SHORT = "static_cast<int16>({})"
BOUNDS = ", ".join(f"static_cast<int16>(n[{at}])" for at in (1, 2, 3))

SPECS = {
    FloatSoftmaxSpec(): ("int32", "int32", f"{TABLE}, width, real[0]"),
    FloatNormSpec(): (
        "bfloat16",
        "float",
        f"x.data(), second.data(), third.data(), {ROWS}, static_cast<unsigned>(n[0]), "
        "real[0], real[1]",
    ),
    FloatNormSpec(rms=True): (
        "bfloat16",
        "float",
        f"x.data(), second.data(), {ROWS}, real[0], real[1]",
    ),
    FloatPairSpec("add"): ("bfloat16", "float", "x.data(), second.data(), to.data(), rows"),
    FloatPairSpec("mul"): ("bfloat16", "float", "x.data(), second.data(), to.data(), rows"),
} | {
    FloatFunctionSpec.of(name): (
        "int16",
        "int16",
        f"{TABLE}, static_cast<unsigned>(n[0])"
        + ("" if FloatFunctionSpec.of(name).exponents else f", {BOUNDS}"),
    )
    for name in FUNCTIONS
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    text = '#include "driver.hpp"\n'
    for spec, (second, third, call) in SPECS.items():
        text += render_template(spec.template, k=spec).replace("#pragma once", "")
        text += ENTRY.format(f=spec.family, second=second, third=third, call=call)
    return ctypes.CDLL(str(compile_cpp(text, tmp_path_factory.mktemp("floats"), "floats")))


def emitted(library, call, arrays, width, real=(0, 0), n=(0,)):
    """Patterns that the kernel stores, and its counters."""
    arrays = [*arrays, np.zeros(32, np.float32)][:3]
    arrays = [np.ascontiguousarray(array) for array in arrays]
    y, counters = np.zeros(arrays[0].shape, np.uint16), np.zeros(8, np.uint64)
    from_ = (ctypes.c_void_p * 3)(*(a.ctypes.data for a in arrays))
    sizes = np.array([a.nbytes for a in arrays], np.uint64)
    real, n = np.array(real, np.float32), np.array(n, np.int32)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (sizes, y, real, n, counters)]
    run = getattr(library, f"run_{call.spec.family}")
    run(from_, pointers[0], pointers[1], call.rows, width, *pointers[2:])
    return y, dict(zip(COUNTERS, (int(c) for c in counters), strict=True))


def random_rows(rng, shape):
    """Numbers of some scale, around 0 or far from it, one row of equal ones."""
    at = rng.normal(0, 10.0 ** rng.integers(-1, 3))
    x = (rng.standard_normal(shape) * 10.0 ** rng.uniform(-2, 1) + at).astype(np.float32)
    x[0] = x[0, 0]
    return patterns(x)


def filled(x, width, value):
    whole = np.full((len(x), width), value, np.uint16)
    whole[:, : x.shape[1]] = x
    return whole


def check_softmax(library, shape, rng) -> None:
    call = FloatSoftmaxCall("f", "none.h", FloatSoftmaxSpec(), *shape)
    x = random_rows(rng, shape)
    x[-1, 0] = 0xFF80  # a mask's minus infinity
    whole, table = filled(x, call.width, 0xFF80), duplicated(POWERS.view(np.int32))
    if shape[1] == 1:
        whole[-1, 0] = 0x3F80
    y, counters = emitted(library, call, (whole, table, table), call.width, (call.beside, 0))
    wanted = call.meaning((whole.reshape(-1),)).reshape(whole.shape)
    np.testing.assert_array_equal(y[:, : shape[1]], wanted[:, : shape[1]])
    assert counters == vars(counts_of(call.spec, whole.size // 16, shape[0]))


def check_norm(library, shape, rng, rms) -> None:
    call = FloatNormCall("f", "none.h", FloatNormSpec(rms), *shape, 1e-5)
    x, more = random_rows(rng, shape), (0, call.width - shape[1])
    whole = filled(x, call.width, 0)
    weight = np.pad(patterns(rng.normal(1, 0.5, shape[1])), more)
    bias = np.pad(rng.normal(0, 1, shape[1]).astype(np.float32), more)
    last = shape[1] - call.width + 16
    given = (whole, weight, bias)
    y, counters = emitted(library, call, given, call.width, (call.share, call.added), (last,))
    wanted = call.meaning((whole.reshape(-1),), weight, bias).reshape(whole.shape)
    np.testing.assert_array_equal(y[:, : shape[1]], wanted[:, : shape[1]])
    assert counters == vars(counts_of(call.spec, whole.size // 16, shape[0]))


def check_pair(library, shape, rng, operator) -> None:
    call = FloatPairCall("f", "none.h", FloatPairSpec(operator), None, shape[0] * shape[1])
    a, b = (random_rows(rng, (1, call.rows * 16)).reshape(-1) for _ in range(2))
    y, counters = emitted(library, call, (a, b), 0)
    np.testing.assert_array_equal(y, call.meaning((a, b)))
    assert counters == vars(counts_of(call.spec, call.rows))


def check_function(library, x, name) -> None:
    call = FloatFunctionCall("f", "none.h", FloatFunctionSpec.of(name), x.size // 32, name)
    table = call.table
    padded = np.pad(table.entries, (0, -len(table.entries) % 8))
    both = duplicated(padded)
    assert both.size == call.parameters[0].size
    n = [len(table.entries)]
    if not call.spec.exponents:
        n += [table.low, table.high, table.deep]
    y, counters = emitted(library, call, (x, both, both), 0, n=n)
    np.testing.assert_array_equal(y, call.meaning((x,)))
    assert counters == vars(counts_of(call.spec, call.rows))


KINDS = {
    "softmax": check_softmax,
    "layer norm": lambda *given: check_norm(*given, False),
    "rms norm": lambda *given: check_norm(*given, True),
    "add": lambda *given: check_pair(*given, "add"),
    "mul": lambda *given: check_pair(*given, "mul"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 15), (2, 16), (4, 200)])
def test_rows_equal_numpy(library, kind, shape) -> None:
    KINDS[kind](library, shape, np.random.default_rng(shape[1]))


@pytest.mark.parametrize("columns", [1, 3, 16, 40])
def test_softmaxes_of_rows_that_masks_hide_are_equal_shares(library, columns) -> None:
    """As minus infinity, and as the largest numbers; plus infinity has none."""
    call = FloatSoftmaxCall("f", "none.h", FloatSoftmaxSpec(), 4, columns)
    x = np.repeat(np.array([0xFF80, 0xFF7F, 0x7F7F, 0x7F80], np.uint16), columns).reshape(4, -1)
    whole, table = filled(x, call.width, 0xFF80), duplicated(POWERS.view(np.int32))
    y, _ = emitted(library, call, (whole, table, table), call.width, (call.beside, 0))
    wanted = call.meaning((whole.reshape(-1),)).reshape(whole.shape)
    found, shares = (values_of(each[:, :columns]) for each in (y, wanted))
    np.testing.assert_array_equal(found, shares)
    assert (shares[:3] == to_bfloat16(np.array([1 / columns], np.float32))).all()
    assert np.isnan(shares[3]).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_equal_numpy(library, kind) -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        KINDS[kind](library, (int(rng.integers(1, 9)), int(rng.integers(1, 400))), rng)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_equal_numpy_on_all_numbers(library, name) -> None:
    check_function(library, np.arange(1 << 16, dtype=np.uint32).astype(np.uint16), name)


@pytest.mark.slow
def test_many_functions_equal_numpy(library) -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 1 << 16, 32 * int(rng.integers(1, 200))).astype(np.uint16)
        check_function(library, x, FUNCTIONS[seed % len(FUNCTIONS)])
