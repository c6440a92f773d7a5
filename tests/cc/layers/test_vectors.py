"""Vector kernels equal the reference bit for bit on this machine, where it has the vectors."""

import pytest
import vector_cases
from layer_harness import COMPILERS
from vector_harness import SANITIZERS, build, layer, run, small_cache

from match_aie.targets.cpu.machine import machine, native

ARCH = "x86-64-v3"


def has_vectors():
    here = native()
    return here.family == "x86-64" and here.vector_bytes >= 32


pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang"),
    pytest.mark.skipif(not has_vectors(), reason="this machine has no AVX2"),
]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_equals_reference(compiler, tmp_path):
    layers = [layer(w, ARCH, seed) for seed, w in enumerate(vector_cases.everything())]
    run(layers, build(layers, tmp_path, (compiler,)))


@pytest.mark.parametrize("nbytes", [1500, 2000])
def test_tiled(nbytes, tmp_path):
    """With a cache so small that most layers are blocked, the results are the same."""
    facts = small_cache(machine(ARCH), nbytes)
    found = [*vector_cases.products(), *vector_cases.channelwise()]
    layers = [layer(w, facts, seed) for seed, w in enumerate(found)]
    assert sum(made.mapping.calls > 1 for made in layers) > 10
    run(layers, build(layers, tmp_path, COMPILERS[:1], "-O1"))


def test_no_undefined_behaviour(tmp_path):
    """Under the sanitizers, every operand in a heap block of its exact size."""
    facts = small_cache(machine(ARCH), 1500)
    layers = [layer(w, facts, seed) for seed, w in enumerate(vector_cases.everything())]
    run(layers, build(layers, tmp_path, COMPILERS[:1], *SANITIZERS))
