"""Random quantised networks equal their references on every architecture, on any machine."""

import shutil

import pytest

from tests.arch_networks import ARCHS, check_network
from tests.thinned import thinned

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
#: In turns; seeds are of no other test.
QUICK = [(ARCHS[i % len(ARCHS)], 9000 + i) for i in range(20)]
MORE = [(arch, 9100 + 10 * i + more) for i, arch in enumerate(ARCHS) for more in range(10)]


@pytest.mark.parametrize(("arch", "seed"), QUICK)
def test_every_layer_equals_its_reference(arch, seed, tmp_path):
    holds(arch, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("arch", "seed"), thinned(MORE, 3, mark="long"))
def test_more_networks(arch, seed, tmp_path):
    holds(arch, seed, tmp_path)


def holds(arch, seed, folder):
    found = check_network(arch, seed, folder / "net")
    assert found.layers > 0
    assert found.mismatches == ()


@pytest.mark.parametrize("arch", ["x86-64-v3", "x86-64-v4+avx512vnni"])
def test_emulation_does_not_depend_on_this_machine(arch, tmp_path):
    found = check_network(arch, 9000, tmp_path / "net", emulated=True)
    assert found.emulated
    assert found.mismatches == ()
