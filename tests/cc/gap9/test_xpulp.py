"""The emulation of Xpulp's builtins is exact, and is all that the kernels' chip paths need."""

import ctypes
import re
import subprocess

import numpy as np
import pytest
from cluster_harness import COMPILERS, FLAGS, HERE, RUNTIME, XPULP

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

#: One word of four lanes in, one out; ma_simd.h's own functions beside the builtins.
SOURCE = """
#include "ma_simd.h"
#ifdef __pulp__
uint32_t addn_r(uint32_t a, uint32_t b, uint32_t shift)
{ return (uint32_t)__builtin_pulp_addN_r((int)a, (int)b, (int)shift); }
uint32_t clipu_r(uint32_t a, uint32_t b) { return __builtin_pulp_clipu_r((int)a, (int)b); }
uint32_t sdotsp4(uint32_t a, uint32_t b, uint32_t c)
{ return (uint32_t)__builtin_pulp_sdotsp4((ma_v4s)a, (ma_v4s)b, (int)c); }
uint32_t sdotusp4(uint32_t a, uint32_t b, uint32_t c)
{ return (uint32_t)__builtin_pulp_sdotusp4((ma_v4u)a, (ma_v4s)b, (int)c); }
uint32_t dotsp4(uint32_t a, uint32_t b)
{ return (uint32_t)__builtin_pulp_dotsp4((ma_v4s)a, (ma_v4s)b); }
uint32_t dotusp4(uint32_t a, uint32_t b)
{ return (uint32_t)__builtin_pulp_dotusp4((ma_v4u)a, (ma_v4s)b); }
uint32_t mac(uint32_t a, uint32_t b, uint32_t c)
{ return (uint32_t)__builtin_pulp_mac((int)a, (int)b, (int)c); }
uint32_t sdotsp2(uint32_t a, uint32_t b, uint32_t c)
{ return (uint32_t)__builtin_pulp_sdotsp2((ma_v2s)a, (ma_v2s)b, (int)c); }
uint32_t max4(uint32_t a, uint32_t b)
{ return (uint32_t)__builtin_pulp_max4((ma_v4s)a, (ma_v4s)b); }
uint32_t maxu4(uint32_t a, uint32_t b)
{ return (uint32_t)__builtin_pulp_maxu4((ma_v4u)a, (ma_v4u)b); }
uint32_t min4(uint32_t a, uint32_t b)
{ return (uint32_t)__builtin_pulp_min4((ma_v4s)a, (ma_v4s)b); }
uint32_t minu4(uint32_t a, uint32_t b)
{ return (uint32_t)__builtin_pulp_minu4((ma_v4u)a, (ma_v4u)b); }
#endif
int takes_xpulp(void) { return MA_XPULP; }
uint32_t pack(int a, int b, int c, int d) { return ma_pack4(a, b, c, d); }
int add_shift(int a, int b, int shift) { return ma_add_shift(a, b, shift); }
int multiply_add(int a, int b, int sum) { return ma_multiply_add(a, b, sum); }
void split(uint32_t word, int is_signed, int32_t *to) { ma_lanes(word, is_signed, to); }
int clip(int value, int most) { return ma_clip_from_zero(value, most); }
int dot(uint32_t a, uint32_t b, int acc, int is_signed) { return ma_dot4(a, b, acc, is_signed); }
int dot2(uint32_t a, uint32_t b, int acc) { return ma_dot2(a, b, acc); }
uint32_t most(uint32_t a, uint32_t b, int is_signed) { return ma_max4(a, b, is_signed); }
uint32_t least(uint32_t a, uint32_t b, int is_signed) { return ma_min4(a, b, is_signed); }
void transpose(uint32_t *word) { ma_transpose4(word); }
void interleave(uint32_t *word) { ma_interleave3(word); }
uint32_t load(const char *from) { return ma_load4(from); }
void store(char *to, uint32_t word) { ma_store4(to, word); }
"""


def library(folder, compiler, flags):
    source = folder / "simd.c"
    source.write_text(SOURCE)
    out = folder / f"{compiler}{len(flags)}.so"
    include = f"-I{RUNTIME / 'include'}"
    command = [compiler, *FLAGS, *flags, include, "-shared", "-fPIC", str(source), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = ctypes.CDLL(str(out))
    names = ("addn_r", "clipu_r", "dotsp4", "dotusp4", "mac", "sdotsp4", "sdotusp4", "sdotsp2")
    names += ("max4", "maxu4", "min4", "minu4")
    for name in names:
        if flags:
            getattr(found, name).restype = ctypes.c_uint32
    for name in ("pack", "most", "least", "load"):
        getattr(found, name).restype = ctypes.c_uint32
    return found


@pytest.fixture(scope="module", params=COMPILERS)
def both(request, tmp_path_factory):
    """ma_simd.h with the emulated builtins, and in portable C."""
    folder = tmp_path_factory.mktemp("xpulp")
    return library(folder, request.param, XPULP), library(folder, request.param, ())


def words(count=400):
    """Random words, and all pairs of lanes at their ends."""
    rng = np.random.default_rng(5)
    ends = np.array([0, 0x7F, 0x80, 0xFF, 0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0x80000000])
    return [int(w) for w in np.concatenate([ends, rng.integers(0, 2**32, count)])]


def lanes(word, kind):
    return np.array([word], np.uint32).view(kind).astype(np.int64)


def test_builtins_are_what_the_manual_says(both):
    """Against numpy, lane by lane."""
    chip, found = both[0], words()
    for a, b, c in zip(found, reversed(found), found[1:] + found[:1], strict=True):
        s, t, u, v = lanes(a, np.int8), lanes(b, np.int8), lanes(a, np.uint8), lanes(b, np.uint8)
        assert chip.sdotsp4(a, b, c) == (c + int(s @ t)) % 2**32
        assert chip.sdotusp4(a, b, c) == (c + int(u @ t)) % 2**32
        assert chip.dotsp4(a, b) == int(s @ t) % 2**32
        assert chip.dotusp4(a, b) == int(u @ t) % 2**32
        assert chip.mac(a, b, c) == (c + a * b) % 2**32
        pair = int(lanes(a, np.int16) @ lanes(b, np.int16))
        assert chip.sdotsp2(a, b, c) == (c + pair) % 2**32
        for name, wanted in (
            ("max4", np.maximum(s, t)), ("min4", np.minimum(s, t)),
            ("maxu4", np.maximum(u, v)), ("minu4", np.minimum(u, v)),
        ):  # fmt: skip
            assert getattr(chip, name)(a, b) == wanted.astype(np.uint8).view(np.uint32)[0]
        signed, bound = int(np.int32(np.uint32(a))), b & 0x7FFFFFFF
        total = np.uint32((a + b) % 2**32).astype(np.int32)
        assert chip.addn_r(a, b, c) == int((total >> (c & 31)).astype(np.uint32))
        assert chip.clipu_r(a, b) == (0 if signed <= 0 else min(signed, bound))


def test_chip_and_portable_words_are_the_same(both):
    """Every function of ma_simd.h, in both forms."""
    chip, plain = both
    found, rng = words(), np.random.default_rng(6)
    for a, b in zip(found, reversed(found), strict=True):
        number, most = int(np.int32(np.uint32(a))), b % 256
        assert chip.pack(a, b, a >> 8, b >> 8) == plain.pack(a, b, a >> 8, b >> 8)
        assert chip.clip(number, most) == plain.clip(number, most)
        other, shift = int(np.int32(np.uint32(b))), b >> 27
        assert chip.add_shift(number, other, shift) == plain.add_shift(number, other, shift)
        product = chip.multiply_add(number, other, shift)
        assert product == plain.multiply_add(number, other, shift)
        assert product % 2**32 == (shift + a * b) % 2**32
        assert chip.dot2(a, b, number) == plain.dot2(a, b, number)
        for is_signed in (0, 1):
            assert chip.dot(a, b, number, is_signed) == plain.dot(a, b, number, is_signed)
            for simd in both:
                numbers = np.zeros(4, np.int32)
                simd.split(a, is_signed, numbers.ctypes.data_as(ctypes.c_void_p))
                wanted = lanes(a, np.int8 if is_signed else np.uint8)
                np.testing.assert_array_equal(numbers, wanted)
            assert chip.most(a, b, is_signed) == plain.most(a, b, is_signed)
            assert chip.least(a, b, is_signed) == plain.least(a, b, is_signed)
    matrix = rng.integers(0, 256, (4, 4)).astype(np.uint8)
    for simd in both:
        turned = matrix.copy()
        simd.transpose(turned.ctypes.data_as(ctypes.c_void_p))
        np.testing.assert_array_equal(turned, matrix.T)
        planes = matrix[:3].copy()
        simd.interleave(planes.ctypes.data_as(ctypes.c_void_p))
        np.testing.assert_array_equal(planes.reshape(4, 3), matrix[:3].T)
    for offset in range(4):
        text = ctypes.create_string_buffer(b"abcdefgh")
        assert chip.load(ctypes.byref(text, offset)) == plain.load(ctypes.byref(text, offset))
        chip.store(ctypes.byref(text, offset), 0x44434241)
        assert text.raw[offset : offset + 4] == b"ABCD"


def test_compilers_with_xpulp_are_known_by_their_names(both, tmp_path):
    """`__pulp__` and `__gap9__` are what they define; nothing else chooses the chip's paths."""
    assert [simd.takes_xpulp() for simd in both] == [1, 0]
    source = tmp_path / "names.c"
    source.write_text('#include "ma_simd.h"\n#if !MA_XPULP\n#error "portable"\n#endif\n')
    for name, status in (("-D__pulp__", 0), ("-D__gap9__", 0), ("-D__riscv", 1)):
        include = f"-I{RUNTIME / 'include'}"
        done = subprocess.run(
            [COMPILERS[0], name, include, "-E", str(source)], capture_output=True, check=False
        )
        assert done.returncode == status, done.stderr


def test_every_builtin_of_the_runtime_is_emulated():
    text = "".join(p.read_text() for p in RUNTIME.rglob("*.[ch]"))
    used = set(re.findall(r"__builtin_pulp_\w+(?=\()", text)) - {"__builtin_pulp_sdotsp4"}
    known = set(re.findall(r"#define (__builtin_pulp_\w+)", (HERE / "xpulp.h").read_text()))
    assert known == used | {"__builtin_pulp_sdotsp4"}
