"""Emitted code is right with every compiler: vector kernels, networks, fallback functions."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "cc" / "layers"), str(HERE.parent / "unit" / "workload")]

import vector_cases  # noqa: E402
from vector_harness import build, filtered, layer, run  # noqa: E402

from match_aie.targets.cpu.machine import executes, machine  # noqa: E402
from tests.arch_networks import ARCHS, check_network  # noqa: E402
from tests.compilers import every_compiler  # noqa: E402

pytestmark = pytest.mark.slow
#: What runs here without emulation; the widest is the last one.
HERE_TOO = [arch for arch in ARCHS if executes(machine(arch))]


@every_compiler
def test_vector_kernels(compiler, tmp_path):
    """At the flags of projects, for the widest vectors of this machine."""
    arch = HERE_TOO[-1]
    if machine(arch).lanes == 1 or arch == "portable":
        pytest.skip("this machine has no vectors that emitted code uses")
    layers = [layer(w, arch, seed) for seed, w in enumerate(vector_cases.everything())]
    for seed, w in enumerate(vector_cases.filtered()):
        layers += filtered(w, arch, seed)[seed % 2 :][:1]
    run(layers, build(layers, tmp_path, (compiler,), "-O3"))


@every_compiler
def test_networks(compiler, tmp_path):
    """Random ones, for every architecture that this machine executes."""
    for at, arch in enumerate(HERE_TOO):
        for seed in (9300 + 2 * at, 9301 + 2 * at):
            found = check_network(arch, seed, tmp_path / f"{at}_{seed}", compiler=compiler)
            assert found.layers > 0
            assert found.mismatches == ()
