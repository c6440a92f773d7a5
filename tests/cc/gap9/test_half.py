"""Floats of 16 bits: the instructions' emulation, portable C and numpy are the same."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from cluster_harness import COMMON, COMPILERS, FLAGS, RUNTIME, XPULP

from match_aie.workload import BFLOAT16
from match_aie.workload.short_floats import fused_float16, to_float16
from tests.riscv import GCC, ISAS

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

SOURCE = """
#include "ma_bfloat.h"
int takes_instructions(void) { return MA_FVEC; }
void widen(const uint16_t *from, float *to, int n)
{ for (int i = 0; i < n; ++i) { to[i] = ma_half_first(from[i]); } }
void second(const uint16_t *from, float *to, int n)
{ for (int i = 0; i < n; ++i) { to[i] = ma_half_second((uint32_t)from[i] << 16 | 0x1234u); } }
void narrow(const float *from, uint16_t *to, int n)
{ for (int i = 0; i < n; ++i) { to[i] = ma_half_of(from[i]); } }
void pair(const float *a, const float *b, uint32_t *to, int n)
{ for (int i = 0; i < n; ++i) { to[i] = ma_half_pair(a[i], b[i]); } }
void fused(const uint32_t *x, const uint32_t *w, uint32_t *sum, int n)
{ for (int i = 0; i < n; ++i) { sum[i] = ma_half_fused2(x[i], w[i], sum[i]); } }
void bfloat_widen(const uint16_t *from, float *to, int n)
{ for (int i = 0; i < n; ++i) { to[i] = ma_bfloat_first(from[i]); } }
void bfloat_second(const uint16_t *from, float *to, int n)
{ for (int i = 0; i < n; ++i) { to[i] = ma_bfloat_second((uint32_t)from[i] << 16 | 0x1234u); } }
void bfloat_narrow(const float *from, uint16_t *to, int n)
{ for (int i = 0; i < n; ++i) { to[i] = ma_bfloat_of(from[i]); } }
void bfloat_pair(const float *a, const float *b, uint32_t *to, int n)
{ for (int i = 0; i < n; ++i) { to[i] = ma_bfloat_pair(a[i], b[i]); } }
void bfloat_fused(const uint32_t *x, const uint32_t *w, uint32_t *sum, int n)
{ for (int i = 0; i < n; ++i) { sum[i] = ma_bfloat_fused2(x[i], w[i], sum[i]); } }
"""

EVERY = np.arange(1 << 16).astype(np.uint16)


def library(folder, compiler, flags):
    source, out = folder / "half.c", folder / f"{compiler}{len(flags)}.so"
    source.write_text(SOURCE)
    include = f"-I{RUNTIME / 'include'}"
    command = [compiler, *FLAGS, *flags, include, "-shared", "-fPIC", str(source), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(out))


@pytest.fixture(scope="module", params=COMPILERS)
def both(request, tmp_path_factory):
    """As on the chip, with an emulation of its instructions; and portable."""
    folder = tmp_path_factory.mktemp("half")
    return [library(folder, request.param, flags) for flags in (XPULP, ())]


def call(function, *arrays):
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
    function(*pointers, arrays[0].size)
    return arrays[-1]


def floats():
    """Everything near a rounding: halves, what lies between two of them, and a bit beside."""
    half = EVERY.view(np.float16).astype(np.float32)
    half = half[np.isfinite(half)]
    middle = (half + np.nextafter(half.astype(np.float16), np.float16(np.inf))) / np.float32(2)
    beside = [np.nextafter(middle, np.float32(side)) for side in (-np.inf, np.inf)]
    rng = np.random.default_rng(1)
    some = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    return np.concatenate([half, middle, *beside, some]).astype(np.float32)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_conversions_are_numpys(both):
    values = floats()
    nan = np.isnan(values)
    narrow = np.where(nan, np.uint16(0x7E00), values.astype(np.float16).view(np.uint16))
    wide = EVERY.view(np.float16).astype(np.float32).view(np.uint32)
    wide = np.where(np.isnan(EVERY.view(np.float16)), np.uint32(0x7FC00000), wide)
    for half in both:
        np.testing.assert_array_equal(
            call(half.narrow, values, np.zeros(values.size, np.uint16)), narrow
        )
        pairs = call(half.pair, values, values[::-1].copy(), np.zeros(values.size, np.uint32))
        np.testing.assert_array_equal(pairs, narrow | narrow[::-1].astype(np.uint32) << 16)
        for function in (half.widen, half.second):
            found = call(function, EVERY, np.zeros(EVERY.size, np.float32))
            np.testing.assert_array_equal(found.view(np.uint32), wide)


def operands():
    """Factors and sums of every kind: random bits, near cancellation, ties, subnormal results."""
    rng, n = np.random.default_rng(2), 100_000
    x, w, total = (rng.integers(0, 1 << 32, n, dtype=np.uint32) for _ in range(3))
    halves = [a.view(np.uint16).view(np.float16).astype(np.float32) for a in (x, w)]
    with np.errstate(all="ignore"):
        less = (-(halves[0] * halves[1])).astype(np.float16).view(np.uint16).view(np.uint32)
    small = [rng.integers(0, 0x3000, 2 * n).astype(np.uint16).view(np.uint32) for _ in range(3)]
    return [
        np.concatenate(parts)
        for parts in ((x, x, small[0]), (w, w, small[1]), (total, less, small[2]))
    ]


def test_a_fused_multiply_add_is_rounded_once(both):
    """Exact integers of the emulation, and float32 with an odd last bit of C and of numpy."""
    x, w, total = operands()
    exact, portable = (call(half.fused, x, w, total.copy()) for half in both)
    np.testing.assert_array_equal(exact, portable)
    as_float = [
        to_float16(a.view(np.uint16).view(np.float16).astype(np.float32)) for a in (x, w, total)
    ]
    got = fused_float16(*as_float).astype(np.float16).view(np.uint16)
    got = np.where(np.isnan(got.view(np.float16)), np.uint16(0x7E00), got)
    np.testing.assert_array_equal(got, exact.view(np.uint16))


def bfloats(bits):
    """Of pairs in words: both, as float32."""
    return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def bfloat_floats():
    """Everything near a rounding: numbers, what lies between two of them, and a bit beside."""
    number = (EVERY.astype(np.uint32) << 16)[:, None]
    some = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    near = number + np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    return np.concatenate([near.reshape(-1), some]).view(np.float32)


def test_conversions_to_bfloat16(both):
    values = bfloat_floats()
    narrow = np.where(np.isnan(values), np.uint16(0x7FC0), BFLOAT16.bits(values))
    wide = EVERY.astype(np.uint32) << 16
    for half in both:
        found = call(half.bfloat_narrow, values, np.zeros(values.size, np.uint16))
        np.testing.assert_array_equal(found, narrow)
        zeros = np.zeros(values.size, np.uint32)
        pairs = call(half.bfloat_pair, values, values[::-1].copy(), zeros)
        np.testing.assert_array_equal(pairs, narrow | narrow[::-1].astype(np.uint32) << 16)
        for function in (half.bfloat_widen, half.bfloat_second):
            found = call(function, EVERY, np.zeros(EVERY.size, np.float32))
            np.testing.assert_array_equal(found.view(np.uint32), wide)


def bfloat_operands():
    """Random bits; sums that cancel, but for their last bits; ties; subnormal and huge results."""
    rng, n = np.random.default_rng(2), 100_000
    x, w, total = (rng.integers(0, 1 << 32, n, dtype=np.uint32) for _ in range(3))
    with np.errstate(all="ignore"):
        less = -(bfloats(x) * bfloats(w))
        ties = (bfloats(x) * 2.0 ** rng.integers(-12, 12, 2 * n)).astype(np.float32)
    small = [rng.integers(0, 0x2400, 2 * n).astype(np.uint16) for _ in range(3)]
    # Products near the least number, beside sums of zero and of a few steps.
    least = [rng.integers(0x1D00, 0x2200, 2 * n).astype(np.uint16) for _ in range(2)]
    few = (
        rng.integers(0, 4, 2 * n).astype(np.uint16)
        | rng.integers(0, 2, 2 * n).astype(np.uint16) << 15
    )
    huge = [rng.integers(0x5E00, 0x6200, 2 * n).astype(np.uint16) for _ in range(2)]
    below = rng.integers(0xFE00, 0xFF80, 2 * n).astype(np.uint16)
    one = np.full(2 * n, 0x3F80, np.uint16)
    xs = (x, x, small[0], least[0], huge[0], x)
    ws = (w, w, small[1], least[1], huge[1], one)
    sums = (total, BFLOAT16.bits(less), small[2], few, below, BFLOAT16.bits(ties))
    return [np.concatenate([part.view(np.uint32) for part in parts]) for parts in (xs, ws, sums)]


def test_a_fused_multiply_add_of_bfloat16_is_rounded_once(both):
    """Exact integers of the emulation, and doubles with an odd last bit of C and of numpy."""
    x, w, total = bfloat_operands()
    exact, portable = (call(half.bfloat_fused, x, w, total.copy()) for half in both)
    np.testing.assert_array_equal(exact, portable)
    got = BFLOAT16.fused(*(bfloats(bits) for bits in (x, w, total)))
    got = np.where(np.isnan(got), np.uint16(0x7FC0), BFLOAT16.bits(got))
    np.testing.assert_array_equal(got, exact.view(np.uint16))


def test_the_chips_compiler_is_known_by_its_name(both, tmp_path):
    assert [half.takes_instructions() for half in both] == [1, 0]
    source = tmp_path / "names.c"
    source.write_text('#include "ma_half.h"\n#if !MA_FVEC\n#error "portable"\n#endif\n')
    for name, status in (("-D__pulp__", 1), ("-D__gap9__", 0), ("-D__riscv", 1)):
        include = f"-I{RUNTIME / 'include'}"
        done = subprocess.run(
            [COMPILERS[0], name, include, "-E", str(source)], capture_output=True, check=False
        )
        assert done.returncode == status, done.stderr


@pytest.mark.skipif(not shutil.which(GCC), reason=f"no {GCC}")
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("vectors", [0, 1])
def test_the_kernel_compiles_for_riscv(isa, vectors, tmp_path):
    """With the chip's instructions by name, two products each; and without any of them."""
    includes = [f"-I{path}" for path in (RUNTIME / "include", RUNTIME / "kernels", COMMON)]
    command = [GCC, *ISAS[isa], "-specs=picolibc.specs", "-std=c11", "-O3", "-DMA_CHIP", *includes]
    command += ["-Wall", "-Wextra", "-Werror", f"-DMA_FVEC={vectors}", "-S"]
    out = tmp_path / "half.s"
    subprocess.run([*command, str(RUNTIME / "kernels" / "ma_half.c"), "-o", str(out)], check=True)
    names = ("vfmac.h", "vfcpka.h.s", "fcvt.h.s", "fcvt.s.h")
    names += ("vfmac.ah", "vfcpka.ah.s", "fcvt.ah.s")
    found = {name for name in names if re.search(rf"\t{re.escape(name)} ", out.read_text())}
    assert found == (set(names) if vectors else set())
