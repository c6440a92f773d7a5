"""What is read of a store's bytes changes none of them: compilers look into saturating packs.

gcc 12 computed the first half of 64 unsigned bytes wrong where nothing read the second half.
"""

import subprocess

import numpy as np
import pytest
from layer_harness import COMPILERS
from vector_harness import FLAGS, INCLUDE

from match_aie.targets.cpu.machine import executes, machine

ARCHS = [
    arch for arch in ("x86-64-v3", "x86-64-v4", "x86-64-v4+avx512vnni") if executes(machine(arch))
]
ZERO = 9

HEAD = """
#include <stdio.h>
#include <stdlib.h>
#include "ma_cpu.h"
#define N (4 * MA_LANES)
/* Inlined into its callers, as layers' functions are, and read in part. */
static inline void store4(uint8_t *y, const float *steps, int lo, int is_signed, int form)
{
    ma_f32 v[4];
    for (int i = 0; i < 4; ++i) {
        v[i] = ma_load_f32(steps + i * MA_LANES);
    }
    const float low = (float)(lo - 9), high = is_signed ? 118.0f : 246.0f;
    const int apart = form == MA_FOUR_PLACES ? MA_LANES : 2 * MA_LANES;
    ma_store_steps4(y, apart, v, low, high, 9, lo, is_signed, form);
}
static inline void store(uint8_t *y, const float *steps, int lo, int is_signed)
{
    store4(y, steps, lo, is_signed, MA_WOVEN);
}
static inline void row(uint8_t *y, const float *steps, int lo, int is_signed)
{
    store4(y, steps, lo, is_signed, MA_SIDE_BY_SIDE);
}
static inline void two(uint8_t *y, const float *steps, int lo, int is_signed)
{
    store4(y, steps, lo, is_signed, MA_TWO_PLACES);
}
static inline void four(uint8_t *y, const float *steps, int lo, int is_signed)
{
    store4(y, steps, lo, is_signed, MA_FOUR_PLACES);
}
static inline void store2(uint8_t *y, const float *steps, int lo, int is_signed)
{
    ma_store_steps2(y, y + MA_LANES, ma_load_f32(steps), ma_load_f32(steps + MA_LANES),
                    (float)(lo - 9), is_signed ? 118.0f : 246.0f, 9, lo, is_signed, MA_WOVEN);
}
"""

READ = """
__attribute__((noinline)) void {store}_{size}_{lo}_{signed}(uint8_t *to, const float *steps)
{{
    uint8_t y[{room}];
    {store}(y, steps, {bound}, {signed});
    memcpy(to, y, {size});
}}
"""


def c_text(parts):
    """A program: all of a store's bytes, then the parts, each from a function of its own."""
    text, calls = [HEAD], []
    for store, size, lo, is_signed in parts:
        names = {"store": store, "size": size, "lo": lo, "signed": is_signed}
        bound = (-128 if is_signed else 0) + lo
        text.append(READ.format(**names, room="N", bound=bound))
        calls.append(f"memset(to, 0, N);\n{store}_{size}_{lo}_{is_signed}(to, steps);")
        calls.append(f"fwrite(to, 1, {size}, stdout);")
    text += ["int main(void)\n{\nstatic float steps[N];\nstatic uint8_t to[N];"]
    text += ["if (fread(steps, sizeof *steps, N, stdin) != N) {\nreturn 1;\n}"]
    return "\n".join([*text, *calls, "return 0;\n}\n"])


@pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")
@pytest.mark.skipif(not ARCHS, reason="this machine has no AVX2")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_part_of_a_store_equals_that_part_of_the_whole(arch, compiler, tmp_path):
    lanes = machine(arch).lanes
    whole = {
        "store": 4 * lanes,
        "row": 4 * lanes,
        "two": 4 * lanes,
        "four": 4 * lanes,
        "store2": 2 * lanes,
    }
    parts = [
        (store, max(1, size // share), lo, is_signed)
        for store, size in whole.items()
        for is_signed in (0, 1)
        for lo in (0, 20)
        for share in (1, 2, 4, 8)
    ]
    source, program = tmp_path / "stores.c", tmp_path / "stores"
    source.write_text(c_text(parts))
    flags = [*FLAGS, *machine(arch).flags, "-O2", INCLUDE]
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
    steps = np.random.default_rng(3).uniform(-400, 400, 4 * lanes).astype(np.float32)
    done = subprocess.run([program], input=steps.tobytes(), capture_output=True, check=True)
    at, stored = 0, {}
    for store, size, lo, is_signed in parts:
        got = np.frombuffer(done.stdout[at : at + size], np.uint8)
        at += size
        expected = stored.setdefault((store, lo, is_signed), got)[:size]
        np.testing.assert_array_equal(got, expected, f"{store}, {size} bytes from {lo}")
    for (store, lo, is_signed), got in stored.items():
        least, most = (-128, 127) if is_signed else (0, 255)
        right = np.clip(np.rint(steps[: whole[store]]) + ZERO, least + lo, most).astype(np.int16)
        # Where vectors come in the order of weaving, bytes are the same ones in another order.
        order = np.sort if store.startswith("store") else np.asarray
        np.testing.assert_array_equal(order(got), order(right.astype(np.uint8)), store)
