"""The vector code of every architecture equals the reference bit for bit, on any machine.

Only the instructions are emulated, lane by lane in plain C (`tests/emulation`): what is compiled is
the code of that architecture, with its layouts, offsets, packing and blocking. What this machine
executes, `test_vectors.py` runs natively. All shapes, both compilers and QEMU are slow tests.
"""

import pytest
import vector_cases
from layer_harness import COMPILERS
from vector_harness import FASTEST, QUICK, build, emulated, filtered, layer, run, small_cache

from match_aie.targets.cpu.machine import executes, machine, with_caches

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

#: Every way of summing products and every length of vectors.
ARCHS = (
    "x86-64-v3+avxvnni",
    "x86-64-v4",
    "x86-64-v4+avx512vnni",
    "aarch64",
    "cortex-a72",
    "rv64gcv",
    "rv64gcv_zvl512b",
)


@pytest.mark.parametrize("arch", ARCHS)
def test_equals_reference(arch, tmp_path):
    """All products, whole and some of them in tiles; of the other layers every sixth.

    Of products that this machine executes, which `test_vectors.py` does, every third.
    """
    facts, first = emulated(arch), ARCHS.index(arch)
    tiled = small_cache(facts, 1000)
    products = list(vector_cases.products())
    others = [w for w in vector_cases.everything() if w not in products]
    whole = products[::3] if executes(machine(arch)) else products
    layers = [layer(w, facts, seed) for seed, w in enumerate([*whole, *others[first::6]])]
    layers += [layer(w, tiled, seed) for seed, w in enumerate(products[first % 3 :: 3])]
    asking = with_caches(facts, {2: 4000})  # weights come from beyond, and are asked for ahead
    for seed, w in enumerate(list(vector_cases.filtered())[first::6]):
        layers += filtered(w, facts, seed) + filtered(w, asking, seed)
    assert sum(made.mapping.calls > 1 for made in layers) > 1
    assert {made.workload.kind for made in layers} >= {"conv2d", "dense", "matmul"}
    run(layers, build(layers, tmp_path, FASTEST, QUICK))
