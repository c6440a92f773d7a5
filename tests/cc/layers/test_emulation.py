"""Emulated intrinsics compute what their manuals say: equal to numpy, and to this processor's own.

Both are called on random lanes and on extremes: by the emulation everywhere, and by the compiler's
own header where this machine has the instruction.
"""

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from layer_harness import COMPILERS, FLAGS

import match_aie.targets.cpu as cpu
from match_aie.targets.cpu.machine import executes, machine
from tests import emulation

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")
TRIES = 100
HEADERS = Path(cpu.__file__).resolve().parent / "runtime" / "include"


def widened(low, high):
    return lambda a: a[: len(a) if high is None else high].astype(low)


def by_lane(a, n):
    """The 128-bit lanes of a, `n` elements each."""
    return a.reshape(-1, n)


def packed(dtype, n):
    info = np.iinfo(dtype)

    def pack(a, b):
        both = np.concatenate([by_lane(a, n), by_lane(b, n)], axis=1)
        return np.clip(both.astype(np.int64), info.min, info.max).astype(dtype).reshape(-1)

    return pack


def unpacked(upper, n=8):
    def unpack(a, b):
        half = n // 2
        halves = [by_lane(v, n)[:, half * upper : half * upper + half] for v in (a, b)]
        return np.stack(halves, axis=2).reshape(-1)

    return unpack


def dotted(acc, b, c):
    """Modulo 2^32."""
    group = len(b) // len(acc)
    products = (b.astype(np.int64) * c.astype(np.int64)).reshape(-1, group)
    return (acc.astype(np.int64) + products.sum(axis=1)).astype(np.uint32).view(np.int32)


def rounded(a):
    inside = (a >= -(2.0**31)) & (a < 2.0**31)
    whole = np.rint(np.where(inside, a, 0).astype(np.float64)).astype(np.int32)
    return np.where(inside, whole, np.int32(-(2**31)))


def fused(a, b, c):
    """Exactly one rounding: products of float32 are exact in long double, sums nearly always."""
    assert np.finfo(np.longdouble).nmant >= 63
    return (a.astype(np.longdouble) * b + c).astype(np.float32)


def larger(a, b):
    return np.where(a > b, a, b)


def smaller(a, b):
    return np.where(a < b, a, b)


def shifted(by):
    """Words up by so many bits, down where negative; 0 beyond a word."""
    return lambda a: a << np.uint16(by) if by >= 0 else a >> np.uint16(-by)


def shuffled(a, b):
    """Of every 16 bytes; 0 where the top bit of an index is set."""
    found = np.take_along_axis(by_lane(a, 16), (by_lane(b, 16) & 15).astype(np.int64), axis=1)
    return np.where(by_lane(b, 16) & 128, 0, found).astype(np.uint8).reshape(-1)


def chosen(mask):
    """Lanes of b where a bit of `mask` is set."""
    return lambda a, b: np.where([mask >> i & 1 for i in range(len(a))], b, a)


def entries(*given):
    """Of a table of 64 bytes; beyond it what the first of five operands has, or 0."""
    before, table, at = given[:-5], np.concatenate(given[-5:-1]), given[-1]
    beyond = before[0] if before else np.zeros_like(at)
    return np.where(at < 64, table[at & 63], beyond)


def saturated(a, b):
    return np.clip(a.astype(np.int32) + b, -(2**15), 2**15 - 1).astype(np.int16)


#: name -> (types of the operands' lanes, their bytes, what numpy computes, text of the call).
CALLS = {
    "_mm256_and_si256": ("i8 i8", (32, 32), np.bitwise_and),
    "_mm256_castsi256_si128": ("i8", (32,), lambda a: a[:16]),
    "_mm512_castsi512_si256": ("i8", (64,), lambda a: a[:32]),
    "_mm512_extracti64x4_epi64": ("i8", (64,), lambda a: a[32:], "{}(a, 1)"),
    "_mm256_extracti128_si256": ("i8", (32,), lambda a: a[16:], "{}(a, 1)"),
    "_mm_cvtsi128_si64": ("i64", (16,), lambda a: a[:1]),
    "_mm_extract_epi64": ("i64", (16,), lambda a: a[1:], "{}(a, 1)"),
    "_mm_shuffle_epi32": ("i32", (16,), lambda a: a[[0, 2, 1, 3]], "{}(a, 0xd8)"),
    "_mm256_cvtepi8_epi32": ("i8", (16,), widened(np.int32, 8)),
    "_mm256_cvtepu8_epi32": ("u8", (16,), widened(np.int32, 8)),
    "_mm256_cvtepi16_epi32": ("i16", (16,), widened(np.int32, None)),
    "_mm256_cvtepu16_epi32": ("u16", (16,), widened(np.int32, None)),
    "_mm256_cvtepi8_epi16": ("i8", (16,), widened(np.int16, None)),
    "_mm256_cvtepu8_epi16": ("u8", (16,), widened(np.int16, None)),
    "_mm512_cvtepi8_epi32": ("i8", (16,), widened(np.int32, None)),
    "_mm512_cvtepu8_epi32": ("u8", (16,), widened(np.int32, None)),
    "_mm512_cvtepi16_epi32": ("i16", (32,), widened(np.int32, None)),
    "_mm512_cvtepu16_epi32": ("u16", (32,), widened(np.int32, None)),
    "_mm512_cvtepi8_epi16": ("i8", (32,), widened(np.int16, None)),
    "_mm512_cvtepu8_epi16": ("u8", (32,), widened(np.int16, None)),
    "_mm512_cvtepi32_epi8": ("i32", (64,), widened(np.int8, None)),
    "_mm512_cvtepi16_epi8": ("i16", (64,), widened(np.int8, None)),
    "_mm256_cvtps_epi32": ("f32", (32,), rounded),
    "_mm512_cvtps_epi32": ("f32", (64,), rounded),
    "_mm256_round_ps": ("r32", (32,), np.rint, "{}(a, 8)"),
    "_mm512_roundscale_ps": ("r32", (64,), np.rint, "{}(a, 8)"),
    "_mm_packus_epi32": ("i32 i32", (16, 16), packed(np.uint16, 4)),
    "_mm_packs_epi16": ("i16 i16", (16, 16), packed(np.int8, 8)),
    "_mm_packus_epi16": ("i16 i16", (16, 16), packed(np.uint8, 8)),
    "_mm256_packs_epi32": ("i32 i32", (32, 32), packed(np.int16, 4)),
    "_mm512_packs_epi32": ("i32 i32", (64, 64), packed(np.int16, 4)),
    "_mm256_packs_epi16": ("i16 i16", (32, 32), packed(np.int8, 8)),
    "_mm256_packus_epi16": ("i16 i16", (32, 32), packed(np.uint8, 8)),
    "_mm512_packs_epi16": ("i16 i16", (64, 64), packed(np.int8, 8)),
    "_mm512_packus_epi16": ("i16 i16", (64, 64), packed(np.uint8, 8)),
    "_mm256_unpacklo_epi16": ("i16 i16", (32, 32), unpacked(0)),
    "_mm256_unpackhi_epi16": ("i16 i16", (32, 32), unpacked(1)),
    "_mm512_unpacklo_epi16": ("i16 i16", (64, 64), unpacked(0)),
    "_mm512_unpackhi_epi16": ("i16 i16", (64, 64), unpacked(1)),
    "_mm_unpacklo_epi8": ("i8 i8", (16, 16), unpacked(0, 16)),
    "_mm_unpackhi_epi8": ("i8 i8", (16, 16), unpacked(1, 16)),
    "_mm256_unpacklo_epi8": ("i8 i8", (32, 32), unpacked(0, 16)),
    "_mm256_unpackhi_epi8": ("i8 i8", (32, 32), unpacked(1, 16)),
    "_mm512_unpacklo_epi8": ("i8 i8", (64, 64), unpacked(0, 16)),
    "_mm512_unpackhi_epi8": ("i8 i8", (64, 64), unpacked(1, 16)),
    "_mm256_max_ps": ("f32 f32", (32, 32), larger),
    "_mm256_min_ps": ("f32 f32", (32, 32), smaller),
    "_mm512_max_ps": ("f32 f32", (64, 64), larger),
    "_mm512_min_ps": ("f32 f32", (64, 64), smaller),
    "_mm_max_epi8": ("i8 i8", (16, 16), np.maximum),
    "_mm_max_epu8": ("u8 u8", (16, 16), np.maximum),
    "_mm256_max_epi8": ("i8 i8", (32, 32), np.maximum),
    "_mm256_max_epu8": ("u8 u8", (32, 32), np.maximum),
    "_mm512_max_epi8": ("i8 i8", (64, 64), np.maximum),
    "_mm512_max_epu8": ("u8 u8", (64, 64), np.maximum),
    "_mm256_adds_epi16": ("i16 i16", (32, 32), saturated),
    "_mm512_adds_epi16": ("i16 i16", (64, 64), saturated),
    "_mm256_fmadd_ps": ("r32 r32 r32", (32, 32, 32), fused),
    "_mm512_fmadd_ps": ("r32 r32 r32", (64, 64, 64), fused),
    "_mm512_and_si512": ("i8 i8", (64, 64), np.bitwise_and),
    "_mm256_broadcastsi128_si256": ("i8", (16,), lambda a: np.tile(a, 2)),
    "_mm256_slli_epi16": ("u16", (32,), shifted(3), "{}(a, 3)"),
    "_mm512_slli_epi16": ("u16", (64,), shifted(3), "{}(a, 3)"),
    "_mm512_srli_epi16": ("u16", (64,), shifted(-8), "{}(a, 8)"),
    "_mm512_srlv_epi16": (
        "u16 u16",
        (64, 64),
        lambda a, b: np.where(b > 15, 0, a >> np.minimum(b, 15)).astype(np.uint16),
    ),
    "_mm256_shuffle_epi8": ("u8 u8", (32, 32), shuffled),
    "_mm256_blendv_epi8": ("i8 i8 i8", (32, 32, 32), lambda a, b, c: np.where(c < 0, b, a)),
    "_mm256_permutevar8x32_epi32": ("i32 i32", (32, 32), lambda a, b: a[b & 7]),
    "_mm512_permutexvar_epi32": ("i32 i32", (64, 64), lambda a, b: b[a & 15]),
    "_mm512_permutex2var_epi32": (
        "i32 i32 i32",
        (64, 64, 64),
        lambda a, b, c: np.concatenate([a, c])[b & 31],
    ),
    "_mm512_permutex2var_epi16": (
        "u16 u16 u16",
        (64, 64, 64),
        lambda a, b, c: np.concatenate([a, c])[b & 63],
    ),
    "_mm512_test_epi16_mask": (
        "u16 u16",
        (64, 64),
        lambda a, b: np.packbits((a & b) != 0, bitorder="little"),
    ),
    "_mm512_mask_blend_epi16": (
        "u16 u16",
        (64, 64),
        chosen(0x8F35A6C1),
        "{}(0x8f35a6c1u, a, b)",
    ),
    "_mm512_mask_loadu_ps": ("f32 f32", (64, 64), chosen(0xA6C1), "{}(a, 0xa6c1u, &b)"),
    "_mm512_mask_storeu_ps": (
        "f32 f32",
        (64, 64),
        chosen(0x6C1A),
        "({{ {}(&a, 0x6c1au, b); a; }})",
    ),
    "_mm512_mask_blend_epi8": (
        "u8 u8",
        (64, 64),
        chosen(0x8F35A6C11AC6A53F),
        "{}(0x8f35a6c11ac6a53fu, a, b)",
    ),
    "_mm256_madd_epi16": ("i16 i16", (32, 32), lambda a, b: dotted(np.zeros(8), a, b)),
    "_mm512_madd_epi16": ("i16 i16", (64, 64), lambda a, b: dotted(np.zeros(16), a, b)),
    "_mm256_dpwssd_avx_epi32": ("i32 i16 i16", (32, 32, 32), dotted),
    "_mm512_dpwssd_epi32": ("i32 i16 i16", (64, 64, 64), dotted),
    "_mm256_dpbusd_avx_epi32": ("i32 u8 i8", (32, 32, 32), dotted),
    "_mm512_dpbusd_epi32": ("i32 u8 i8", (64, 64, 64), dotted),
    "vqtbl4q_u8": (
        "u8 u8 u8 u8 u8",
        (16,) * 5,
        entries,
        "{}((uint8x16x4_t){{{{a, b, c, d}}}}, e)",
    ),
    "vqtbx4q_u8": (
        "u8 u8 u8 u8 u8 u8",
        (16,) * 6,
        entries,
        "{}(a, (uint8x16x4_t){{{{b, c, d, e}}}}, f)",
    ),
    "vdotq_s32": ("i32 i8 i8", (16, 16, 16), dotted),
    "vrndnq_f32": ("r32", (16,), np.rint),
    "vfmaq_f32": ("r32 r32 r32", (16, 16, 16), lambda a, b, c: fused(b, c, a)),
}
#: Loads, stores and one value in all lanes.
MOVES = re.compile(r"_mm\d*_(loadu|storeu|loadl|storel|set1)_")
NEON = {"i32": "int32x4_t", "i8": "int8x16_t", "u8": "uint8x16_t", "r32": "float32x4_t"}


def needed(name):
    """The architecture that has the instruction."""
    if name.startswith("v"):
        return "aarch64"
    wide = name.startswith("_mm512")
    vnni = "_dp" in name
    if wide:
        return "x86-64-v4+avx512vnni" if vnni else "x86-64-v4"
    return "x86-64-v3+avxvnni" if vnni else "x86-64-v3"


def c_type(name, kind, nbytes):
    if name.startswith("v"):
        return NEON[kind]
    return f"__m{8 * nbytes}" + ("" if kind in ("f32", "r32") else "i")


def c_text(names):
    header = "arm_neon.h" if names[0].startswith("v") else "immintrin.h"
    lines = [f"#include <{header}>", "#include <string.h>"]
    for name in names:
        kinds, sizes, _, *form = CALLS[name]
        lines.append(f"void t{name}(const void *const *p, void *to);")
        lines.append(f"void t{name}(const void *const *p, void *to)\n{{")
        given = "abcdef"[: len(sizes)]
        for i, (kind, nbytes) in enumerate(zip(kinds.split(), sizes, strict=True)):
            lines.append(f"{c_type(name, kind, nbytes)} {given[i]};")
            lines.append(f"memcpy(&{given[i]}, p[{i}], sizeof {given[i]});")
        call = form[0].format(name) if form else f"{name}({', '.join(given)})"
        lines.append(f"const __typeof__({call}) r = {call};\nmemcpy(to, &r, sizeof r);\n}}")
    return "\n".join(lines)


def lanes(rng, kind, nbytes):
    """Random, with extremes; floats with halves, infinities and NaN, `r32` without the last two."""
    if kind[1:] == "32" and kind[0] in "fr":
        value = (rng.normal(0, 100, nbytes // 4) * 2.0 ** rng.integers(-3, 28)).astype(np.float32)
        value = np.where(rng.random(value.shape) < 0.3, np.rint(value) + np.float32(0.5), value)
        if kind[0] == "r":
            return value.astype(np.float32)
        odd = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 2.0**31, -(2.0**31)], np.float32)
        return np.where(rng.random(value.shape) < 0.3, rng.choice(odd, value.shape), value).astype(
            np.float32
        )
    dtype = np.dtype({"i": "int", "u": "uint"}[kind[0]] + kind[1:])
    info = np.iinfo(dtype)
    value = rng.integers(info.min, info.max, nbytes // dtype.itemsize, dtype, endpoint=True)
    edge = rng.choice(np.array([info.min, info.max], dtype), value.shape)
    return np.where(rng.random(value.shape) < 0.4, edge, value)


def compare(library, names):
    rng = np.random.default_rng(7)
    for name in names:
        kinds, sizes, numpys, *_ = CALLS[name]
        for _ in range(TRIES):
            pairs = zip(kinds.split(), sizes, strict=True)
            given = [lanes(rng, kind, nbytes) for kind, nbytes in pairs]
            with np.errstate(invalid="ignore"):
                expected = numpys(*given)
            got = np.zeros_like(expected)
            pointers = (ctypes.c_void_p * len(given))(*(array.ctypes.data for array in given))
            library[f"t{name}"](pointers, ctypes.c_void_p(got.ctypes.data))
            np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8), name)


def library(names, folder, compiler, *flags):
    source, out = folder / "calls.c", folder / "calls.so"
    source.write_text(c_text(names))
    words = [
        compiler,
        *FLAGS,
        *flags,
        "-O1",
        "-shared",
        "-fPIC",
        str(source),
        "-o",
        str(out),
        "-lm",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(out)


@pytest.mark.parametrize(("arch", "begin"), [("x86-64-v4+avx512vnni", "_mm"), ("aarch64", "v")])
def test_plain_c_equals_numpy(arch, begin, tmp_path):
    names = [name for name in CALLS if name.startswith(begin)]
    flags = emulation.flags(machine(arch))
    compare(library(names, tmp_path, COMPILERS[0], *flags), names)


@pytest.mark.parametrize("arch", sorted({needed(name) for name in CALLS}))
def test_this_processor_computes_the_same(arch, tmp_path):
    facts = machine(arch)
    if not executes(facts):
        pytest.skip(f"this machine is no {arch}")
    names = [name for name in CALLS if needed(name) == arch]
    vnni = {"x86-64-v3+avxvnni": ["-mavxvnni"], "x86-64-v4+avx512vnni": ["-mavx512vnni"]}
    compare(library(names, tmp_path, COMPILERS[0], *facts.flags, *vnni.get(arch, ())), names)


def test_every_intrinsic_is_called():
    """All that headers call is emulated and compared, and nothing else."""
    found = set()
    for path in sorted(HEADERS.glob("*.h")):
        found |= set(re.findall(r"\b(?:_mm\w*?_\w+|v\w+q_\w+)(?=\()", path.read_text()))
    assert {name for name in found if not MOVES.match(name)} == set(CALLS)
