"""Kernels that walk rows as emitted: results bit for bit, operations as counted."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, COUNTERS, compile_cpp, random_matrix

from match_aie.codegen import render_template
from match_aie.targets.aie_ml.emulation import ARCH_MACRO
from match_aie.targets.aie_ml.kernels.lookup import (
    REPEATED,
    TableCall,
    TableSpec,
    duplicated,
    entries_of,
    table_values,
)
from match_aie.targets.aie_ml.kernels.norm import NormCall, NormSpec
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxCall, SoftmaxNumbers, SoftmaxSpec
from match_aie.targets.aie_ml.kernels.turned import TurnedCall, TurnedSpec
from match_aie.workload import (
    NormNumbers,
    Quantized,
    Tail,
    fixed_norm,
    fixed_softmax,
    full_range,
    norm_rows,
    quantised_norm,
    reference,
    rowwise,
)
from tests.kernel_counts import counts_of

TABLES = [
    TableCall(f"table_{a}_{y}_layer", "none.h", TableSpec(a, y), 1)
    for a in ("int8", "uint8")
    for y in ("int8", "uint8")
]
SOFTMAXES = [
    SoftmaxSpec("int8", "int8"),
    SoftmaxSpec("uint8", "uint8"),
    SoftmaxSpec("int8", "uint8"),
]
ENTRY = """
extern "C" void run_{f}(const void *x, const void *w, unsigned w_size, void *y, unsigned rows,
                    const int *n, std::uint64_t *counters) {{
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
    run({{from.data(), ab.data(), cd.data(), to.data(), rows{more}}});
    static_cast<void>(n);
    to.back(y);
    report(core.counters, counters);
}}
"""
NORM_ENTRY = """
extern "C" void run_{f}(const void *x, const void *multiplier, const void *bias, void *y,
                        unsigned groups, const int *n, std::uint64_t *counters) {{
    using namespace {f};
    aie_emulation::Core core;
    core.name = "{f}";
    core.rounding = aie_emulation::Rounding::conv_even;
    core.saturation = aie_emulation::Saturation::saturate;
    using X = std::remove_cvref_t<decltype(*Call::x)>;
    using Y = std::remove_cvref_t<decltype(*Call::y)>;
    const unsigned rows = static_cast<unsigned>(n[0]), width = static_cast<unsigned>(n[1]);
    Copy<const X> from(core, x, rows * width, "x");
    Copy<const int16> factors(core, multiplier, 2 * width, "multiplier");
    Copy<const int32> addends(core, bias, 4 * width, "bias");
    Copy<Y> to(core, nullptr, rows * width, "y");
    Copy<int32> sums(core, nullptr, groups * 2048, "sums");
    const aie_emulation::Running running(core);
    const Call call = {{from.data(), factors.data(), addends.data(), to.data(), sums.data(),
                       rows, width{more}}};
    groups == 1 ? run<1>(call) : run<2>(call);
    to.back(y);
    report(core.counters, counters);
}}
"""
TURNED_ENTRY = """
extern "C" void run_{f}(const void *x, const void *, unsigned, void *y, unsigned tiles, const int *,
                        std::uint64_t *counters) {{
    using namespace {f};
    aie_emulation::Core core;
    core.name = "{f}";
    using X = std::remove_cvref_t<decltype(*Call::x)>;
    Copy<const X> from(core, x, tiles * lanes, "x");
    Copy<X> to(core, nullptr, tiles * lanes, "y");
    const aie_emulation::Running running(core);
    run({{from.data(), to.data(), tiles}});
    to.back(y);
    report(core.counters, counters);
}}
"""
TURNED = [TurnedSpec("int8"), TurnedSpec("uint8")]
NORMS = [NormSpec("int8", "int8"), NormSpec("uint8", "int8"), NormSpec("int8", "uint8")]
TAIL = Tail(0, -128, 127, shift=12, bits=32)
RMS_NORMS = [replace(spec, rms=True) for spec in NORMS]


def readers():
    """Text of all kernels that read tables, with their entries."""
    text = '#include "driver.hpp"\n'
    sizes = "".join(f", static_cast<unsigned>(n[{at}])" for at in range(3))
    entries = [(call.spec, "32", "") for call in TABLES]
    entries += [
        (spec, "static_cast<unsigned>(n[0])", f"{sizes}, n[3], n[4], n[5]") for spec in SOFTMAXES
    ]
    for spec, width, more in entries:
        text += render_template(spec.template, k=spec).replace("#pragma once", "")
        text += ENTRY.format(f=spec.family, width=width, more=more)
    return text


@pytest.fixture(scope="module")
def second_library(tmp_path_factory):
    """Of XDNA2, whose tables repeat 256 bits."""
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    flags = "-shared", "-O1", "-fPIC", f"-D__AIE_ARCH__={ARCH_MACRO['XDNA2']}"
    folder = tmp_path_factory.mktemp("second")
    return ctypes.CDLL(str(compile_cpp(readers(), folder, "rows", extra=flags)))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    text = readers()
    for spec in (*NORMS, *RMS_NORMS):
        text += render_template(spec.template, k=spec).replace("#pragma once", "")
        more = "".join(f", n[{at}]" for at in range(2, 14 if spec.rms else 15))
        text += NORM_ENTRY.format(f=spec.family, more=more)
    for spec in TURNED:
        text += render_template(spec.template, k=spec).replace("#pragma once", "")
        text += TURNED_ENTRY.format(f=spec.family)
    return ctypes.CDLL(str(compile_cpp(text, tmp_path_factory.mktemp("rows"), "rows")))


def emitted(library, call, x, w, numbers=()):
    """What the kernel stores, and its counters."""
    n = np.array(numbers, np.int32)
    y, counters = np.zeros(x.size, call.spec.dtype), np.zeros(8, np.uint64)
    x, w, to, n, found = (a.ctypes.data_as(ctypes.c_void_p) for a in (x, w, y, n, counters))
    size = 4 * 512 if numbers else 2 * 512
    getattr(library, f"run_{call.spec.family}")(x, w, size, to, call.rows, n, found)
    return y, dict(zip(COUNTERS, (int(c) for c in counters), strict=True))


@pytest.mark.parametrize("call", TABLES, ids=lambda call: call.symbol)
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_tables_equal_numpy(library, call, rows) -> None:
    check_table(library, replace(call, rows=rows), np.random.default_rng(rows))


@pytest.mark.slow
def test_many_tables_equal_numpy(library) -> None:
    """300 of random sizes and entries: what a table holds is nothing to its kernel."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        call = replace(TABLES[seed % len(TABLES)], rows=int(rng.integers(1, 60)))
        check_table(library, call, rng)


def check_table(library, call, rng) -> None:
    rows = call.rows
    table = random_matrix(rng, call.spec.dtype, 256)
    x = random_matrix(rng, call.spec.a, rows * call.width)
    w = dict(table_values(table))["w"]
    y, counters = emitted(library, call, x, w)
    np.testing.assert_array_equal(y, table[x.view(np.uint8)])
    np.testing.assert_array_equal(y, call.meaning((x,), w))
    assert counters == vars(counts_of(call.spec, rows))


def check_turned(library, spec, tiles, rng) -> None:
    call = TurnedCall("f", "none.h", spec, tiles)
    x = random_matrix(rng, spec.a, tiles * call.width)
    y, counters = emitted(library, call, x, np.zeros(1, np.int8))
    wanted = x.reshape(tiles, 8, 8).swapaxes(1, 2).reshape(-1)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(y, call.meaning((x,)))
    assert counters == vars(counts_of(spec, tiles))


@pytest.mark.parametrize("spec", TURNED, ids=lambda spec: spec.family)
@pytest.mark.parametrize("tiles", [1, 2, 9])
def test_transposes_equal_numpy(library, spec, tiles) -> None:
    check_turned(library, spec, tiles, np.random.default_rng(tiles))


@pytest.mark.slow
def test_many_transposes_equal_numpy(library) -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        check_turned(library, TURNED[seed % 2], int(rng.integers(1, 60)), rng)


def within_one(stored, steps) -> None:
    """Whether results are within one step of exact ones, which are clipped to the type."""
    info = np.iinfo(stored.dtype)
    assert np.abs(stored - np.clip(steps, info.min, info.max)).max() <= 1


def check_softmax(library, spec, shape, rng, repeated=REPEATED) -> None:
    (rows, columns), zero = shape, int(rng.integers(0, 60)) - 128 * (spec.dtype == "int8")
    x, y = Quantized(spec.a, float(rng.uniform(0.01, 0.3)), 5), Quantized(spec.dtype, 1 / 256, zero)
    tail = full_range(spec.dtype, zero)
    made = fixed_softmax(rowwise("softmax", x, y, rows=rows, columns=columns, tail=tail))
    numbers = SoftmaxNumbers(int(made.constants["multiplier"][0]), made.workload.tail)
    call = SoftmaxCall("f", "none.h", spec, rows, columns, numbers, repeated=repeated)
    values = random_matrix(rng, spec.a, rows * columns).reshape(rows, columns)
    filled = np.full((rows, call.width), np.iinfo(spec.a).min, spec.a)
    filled[:, :columns] = values
    w = duplicated(made.constants["table"], repeated)
    tail = made.workload.tail
    words = (call.width, repeated // 4, columns, numbers.multiplier, tail.shift, tail.zero_point)
    y, counters = emitted(library, call, filled, w, words)
    wanted = reference(made.workload, [values], made.constants)
    np.testing.assert_array_equal(y.reshape(rows, -1)[:, :columns], wanted)
    real = np.exp((values - values.max(axis=1, keepdims=True).astype(np.float64)) * x.scale)
    within_one(wanted, real / real.sum(axis=1, keepdims=True) * 256 + zero)
    stored = call.meaning((filled.reshape(-1),), w).reshape(rows, -1)
    np.testing.assert_array_equal(stored[:, :columns], wanted)
    assert counters == vars(counts_of(spec, rows * call.width // 32))


def norm_rows_of(spec, shape, rng):
    """Random rows, and rows of which all or all but one element are equal."""
    x = random_matrix(rng, spec.a, shape[0] * shape[1]).reshape(shape)
    x[0] = np.iinfo(spec.a).min
    if shape[0] > 1:
        x[1], x[1, -1] = 3, 4
    return x


def check_norm(library, spec, shape, rng) -> None:
    (rows, columns), zero = shape, int(rng.integers(0, 100))
    x, y = Quantized(spec.a, float(rng.uniform(0.01, 0.3)), 5), Quantized(spec.dtype, 0.03, zero)
    tail = full_range(spec.dtype, zero)
    kind = "rms_norm" if spec.rms else "layer_norm"
    layer = quantised_norm(x, y, rows=rows, columns=columns, epsilon=1e-5, tail=tail, kind=kind)
    weight, bias = (rng.normal(at, 0.3, columns).astype(np.float32) for at in (1, 0))
    made = fixed_norm(layer, {"weight": weight} | ({} if spec.rms else {"bias": bias}))
    tail = made.workload.tail
    call = NormCall("f", "none.h", spec, rows, columns, NormNumbers.of(made.workload), tail)
    values = norm_rows_of(spec, shape, rng)
    more = (0, call.width - columns)
    factors = np.pad(made.constants["multiplier"].astype(np.int16), more)
    addends = np.pad(made.constants["offset"], more)
    filled = np.ascontiguousarray(np.pad(values, ((0, 0), more)))
    stored = emitted_norm(library, call, filled, factors, addends)
    wanted = reference(made.workload, [values], made.constants)
    np.testing.assert_array_equal(stored[:, :columns], wanted)
    real = (values.astype(np.float64) - x.zero_point) * x.scale
    if not spec.rms:
        real -= real.mean(axis=1, keepdims=True)
    real /= np.sqrt((real**2).mean(axis=1, keepdims=True) + 1e-5)
    within_one(wanted, (real * weight + (0 if spec.rms else bias)) / 0.03 + zero)
    meant = call.meaning((filled.reshape(-1),), factors, addends).reshape(rows, -1)
    np.testing.assert_array_equal(meant[:, :columns], wanted)


#: The most elements that a row may have.
LONG = 1 << 14


@pytest.mark.parametrize("spec", [*NORMS, *RMS_NORMS], ids=lambda spec: spec.family)
@pytest.mark.parametrize("columns", [1, 2, 3, 32, 97, 255, 256, LONG])
@pytest.mark.parametrize("epsilon", [0, 1, 96637, (1 << 52) - 1])
def test_norms_of_all_variances_equal_numpy(library, spec, columns, epsilon) -> None:
    """Rows of the least and the largest variance, sum and mean; numbers beyond one vector."""
    info, rng = np.iinfo(spec.a), np.random.default_rng(columns)
    centre = int(rng.choice([info.min, info.max, 3])) if spec.rms else None
    rows = 5 if columns == LONG else 39
    tail = Tail(0, 0, 255, shift=12, bits=32) if spec.dtype == "uint8" else TAIL
    call = NormCall("f", "none.h", spec, rows, columns, NormNumbers(epsilon, centre), tail)
    x = random_matrix(rng, spec.a, rows * columns).reshape(rows, columns)
    x[0], x[1], x[2], x[2, ::2] = info.min, info.max, info.min, info.max
    x[3], x[3, -1] = info.max, info.max - 1
    x[4, 1:] = x[4, 0]
    filled = np.zeros((rows, call.width), spec.a)
    filled[:, :columns] = x
    factors = rng.integers(-(1 << 15), 1 << 15, call.width).astype(np.int16)
    addends = rng.integers(-(1 << 26), 1 << 26, call.width).astype(np.int32)
    stored = emitted_norm(library, call, filled, factors, addends)
    wanted = norm_rows(x, factors[:columns], addends[:columns], call.numbers, tail)
    np.testing.assert_array_equal(stored[:, :columns], wanted)


def emitted_norm(library, call, filled, factors, addends):
    """What the kernel stores; its operations are as counted."""
    stored, counters = np.zeros(filled.shape, call.spec.dtype), np.zeros(8, np.uint64)
    assert all(-(1 << 31) <= value < 1 << 31 for _, value in call.fields)
    n = np.array([value for _, value in call.fields], np.int32)
    given, to = (filled, factors, addends, stored), (n, counters)
    first, last = ([a.ctypes.data_as(ctypes.c_void_p) for a in each] for each in (given, to))
    getattr(library, f"run_{call.spec.family}")(*first, call.groups, *last)
    counted = dict(zip(COUNTERS, (int(c) for c in counters), strict=True))
    assert counted == vars(counts_of(call))
    return stored


def test_a_table_has_every_128_bits_twice() -> None:
    # The vendor's own example has eight values of 32 bits.
    values = np.arange(8, dtype=np.int32)
    assert duplicated(values).tolist() == [*range(4), *range(4), *range(4, 8), *range(4, 8)]


@pytest.mark.parametrize("repeated", [16, 32])
@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_a_tables_entries_are_found_again(repeated, dtype) -> None:
    """Both copies of whatever is repeated; 256 bits are XDNA2's (mlir-aie, pull request 2189)."""
    table = np.random.default_rng(0).integers(-(1 << 15), 1 << 15, 256).astype(dtype)
    made = duplicated(table, repeated)
    pairs = made.reshape(-1, 2, repeated // table.itemsize)
    np.testing.assert_array_equal(pairs[:, 0], pairs[:, 1])
    np.testing.assert_array_equal(entries_of(made, repeated), table)
    assert not np.array_equal(entries_of(made, 48 - repeated), table)


KINDS = {
    "softmax": (check_softmax, SOFTMAXES),
    "layer norm": (check_norm, NORMS),
    "rms norm": (check_norm, RMS_NORMS),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", range(3))
@pytest.mark.parametrize("shape", [(1, 1), (3, 31), (2, 64), (4, 200)])
def test_rows_equal_numpy(library, kind, spec, shape) -> None:
    check, specs = KINDS[kind]
    check(library, specs[spec], shape, np.random.default_rng(shape[1]))


@pytest.mark.parametrize("shape", [(1, 1), (3, 31), (2, 64), (4, 200)])
@pytest.mark.parametrize("seed", range(6))
def test_softmaxes_of_the_second_generation_equal_numpy(second_library, shape, seed) -> None:
    """What lies behind a row's elements is read where it is repeated."""
    check_softmax(second_library, SOFTMAXES[seed % 3], shape, np.random.default_rng(seed), 32)


@pytest.mark.parametrize("call", TABLES, ids=lambda call: call.symbol)
def test_tables_of_the_second_generation_equal_numpy(second_library, call) -> None:
    rng = np.random.default_rng(1)
    table, x = random_matrix(rng, call.spec.dtype, 256), random_matrix(rng, call.spec.a, 7 * 32)
    w = duplicated(table.astype(np.int16), 32)
    y, _ = emitted(second_library, replace(call, rows=7, repeated=32), x, w)
    np.testing.assert_array_equal(y, table[x.view(np.uint8)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_equal_numpy(library, kind) -> None:
    check, specs = KINDS[kind]
    for seed in range(300):
        rng = np.random.default_rng(seed)
        check(library, specs[seed % 3], (int(rng.integers(1, 70)), int(rng.integers(1, 300))), rng)
