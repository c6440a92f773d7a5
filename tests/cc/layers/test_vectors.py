"""Vector kernels equal the reference bit for bit on this machine, where it has the vectors."""

import subprocess

import pytest
import vector_cases
from layer_harness import COMPILERS
from vector_harness import (
    FASTEST,
    FLAGS,
    INCLUDE,
    QUICK,
    SANITIZERS,
    build,
    layer,
    run,
    small_cache,
)

from match_aie.targets.cpu.machine import executes, machine
from tests.thinned import thinned

ARCH = "x86-64-v3"
#: Beyond it; `test_instruction_sets.py` emulates them where this machine lacks them.
WIDER = ("x86-64-v3+avxvnni", "x86-64-v4", "x86-64-v4+avx512vnni")


def has_vectors():
    return executes(machine(ARCH))


def lacks(arch):
    """Skips where this machine does not execute `arch`."""
    return pytest.mark.skipif(not executes(machine(arch)), reason=f"this machine is no {arch}")


pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang"),
    pytest.mark.skipif(not has_vectors(), reason="this machine has no AVX2"),
]


@pytest.mark.parametrize(
    "compiler", [*COMPILERS[:1], *(pytest.param(c, marks=pytest.mark.slow) for c in COMPILERS[1:])]
)
def test_equals_reference(compiler, tmp_path):
    layers = [layer(w, ARCH, seed) for seed, w in enumerate(vector_cases.everything())]
    run(layers, build(layers, tmp_path, (compiler,)))


@pytest.mark.parametrize("arch", [pytest.param(a, marks=lacks(a)) for a in WIDER])
def test_wider_vectors(arch, tmp_path):
    found = [*vector_cases.products(), *vector_cases.summed(), *vector_cases.everything()[2::5]]
    layers = [layer(w, arch, seed) for seed, w in enumerate(found)]
    run(layers, build(layers, tmp_path, FASTEST, QUICK))


@pytest.mark.parametrize("nbytes", thinned([1500, 2000], 2))
def test_tiled(nbytes, tmp_path):
    """With a cache so small that most layers are blocked, the results are the same."""
    facts = small_cache(machine(ARCH), nbytes)
    found = [*vector_cases.products(), *vector_cases.channelwise(), *vector_cases.summed()]
    layers = [layer(w, facts, seed) for seed, w in enumerate(found)]
    assert sum(made.mapping.calls > 1 for made in layers) > 10
    run(layers, build(layers, tmp_path, FASTEST, QUICK))


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 8])
def test_no_undefined_behaviour(step, tmp_path):
    """Under the sanitizers, every operand in a heap block of its exact size."""
    facts = small_cache(machine(ARCH), 1500)
    found = list(enumerate(vector_cases.everything()))[::step]
    layers = [layer(w, facts, seed) for seed, w in found]
    run(layers, build(layers, tmp_path, COMPILERS[:1], *SANITIZERS))


@pytest.mark.parametrize("arch", [pytest.param(a, marks=lacks(a)) for a in WIDER[::2]])
def test_no_undefined_behaviour_in_products_of_two_tensors(arch, tmp_path):
    """Also where bytes are multiplied, and where only a few rows and matrices fit the cache."""
    found = [w for w in vector_cases.products() if w.kind == "matmul"]
    facts = [machine(arch), small_cache(machine(arch), 700)]
    layers = [layer(w, f, seed) for seed, w in enumerate(found) for f in facts]
    assert any(made.mapping.calls > 1 for made in layers)
    run(layers, build(layers, tmp_path, COMPILERS[:1], *SANITIZERS))


PLAIN = """
#include "ma_cpu.h"
int32_t dot(const uint8_t *x, const int8_t *w, int32_t n);
int32_t dot(const uint8_t *x, const int8_t *w, int32_t n)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < n; ++i) {
        sum += (x[i] - 128) * w[i];
    }
    return sum;
}
"""


@pytest.mark.parametrize("arch", ["x86-64-v3+avxvnni", "x86-64-v4+avx512vnni"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_plain_c_is_not_compiled_for_vnni(compiler, arch, tmp_path):
    """gcc 12 takes VPDPBUSD for this sum, with x as it is instead of x - 128."""
    source = tmp_path / "plain.c"
    source.write_text(PLAIN)
    flags = (*FLAGS, *machine(arch).flags, "-O3", INCLUDE)
    words = [compiler, *flags, "-S", "-o", "-", str(source)]
    made = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "vpmadd" in made or "vpmul" in made
    assert "vpdp" not in made
