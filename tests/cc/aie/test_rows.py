"""Kernels that walk rows as emitted: results bit for bit, operations as counted."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, COUNTERS, compile_cpp, random_matrix

from match_aie.codegen import render_template
from match_aie.targets.aie_ml.kernels.lookup import TableCall, TableSpec, duplicated, table_values

TABLES = [
    TableCall(f"table_{a}_{y}_layer", "none.h", TableSpec(a, y))
    for a in ("int8", "uint8")
    for y in ("int8", "uint8")
]
ENTRY = """
extern "C" void {f}(const void *x, const void *w, unsigned w_size, void *y, unsigned rows,
                    std::uint64_t *counters) {{
    using namespace {f};
    aie_emulation::Core core;
    core.name = "{f}";
    core.rounding = aie_emulation::Rounding::conv_even;
    core.saturation = aie_emulation::Saturation::saturate;
    using X = std::remove_cvref_t<decltype(*Call::x)>;
    using Y = std::remove_cvref_t<decltype(*Call::y)>;
    using W = std::remove_cvref_t<decltype(*Call::ab)>;
    Copy<const X> from(core, x, rows * {width} * sizeof(X), "x");
    Copy<const W> ab(core, w, w_size, "ab"), cd(core, w, w_size, "cd");
    Copy<Y> to(core, nullptr, rows * {width} * sizeof(Y), "y");
    const aie_emulation::Running running(core);
    run({{from.data(), ab.data(), cd.data(), to.data(), rows}});
    to.back(y);
    report(core.counters, counters);
}}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    text = '#include "driver.hpp"\n'
    for call in TABLES:
        body = render_template(call.spec.template, k=call.spec)
        text += body.replace("#pragma once", "").replace(call.spec.family, call.symbol)
        text += ENTRY.replace('extern "C" void {f}', 'extern "C" void run_{f}').format(
            f=call.symbol, width=call.width
        )
    return ctypes.CDLL(str(compile_cpp(text, tmp_path_factory.mktemp("rows"), "rows")))


def emitted(library, call, x, w):
    """What the kernel stores, and its counters."""
    rows = x.size // call.width
    y, counters = np.zeros(x.size, call.spec.dtype), np.zeros(8, np.uint64)
    data = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, w, y, counters)]
    run = getattr(library, f"run_{call.symbol}")
    run(data[0], data[1], w.nbytes, data[2], rows, data[3])
    return y, dict(zip(COUNTERS, (int(c) for c in counters), strict=True))


@pytest.mark.parametrize("call", TABLES, ids=lambda call: call.symbol)
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_tables_equal_numpy(library, call, rows) -> None:
    rng = np.random.default_rng(rows)
    call = replace(call, rows=rows)
    table = random_matrix(rng, call.spec.dtype, 256)
    x = random_matrix(rng, call.spec.a, rows * call.width)
    w = dict(table_values(table))["w"]
    y, counters = emitted(library, call, x, w)
    np.testing.assert_array_equal(y, table[x.view(np.uint8)])
    np.testing.assert_array_equal(y, call.meaning((x,), w))
    assert counters == vars(call.spec.counts(rows))


def test_a_table_has_every_128_bits_twice() -> None:
    # The vendor's own example has eight values of 32 bits.
    values = np.arange(8, dtype=np.int32)
    assert duplicated(values).tolist() == [*range(4), *range(4), *range(4, 8), *range(4, 8)]
