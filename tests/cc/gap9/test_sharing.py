"""How kernels divide their work among cores: the C, the simulator and the cost model alike."""

import ctypes
import subprocess

import numpy as np
import pytest
from cluster_harness import COMMON, RUNTIME
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cost_models.pulp_rows import Workers
from match_aie.targets.gap9.timing.workers import divide

SOURCE = """
#include "ma_kernel.h"
static int32_t core, cores;
int32_t ma_core(void) { return core; }
int32_t ma_cores(void) { return cores; }
void shares(int32_t of, int32_t units, int32_t blocks, int32_t unit, int32_t block, int32_t *out)
{
    cores = of;
    for (core = 0; core < cores; ++core, out += 4) {
        const struct ma_share found = ma_divide(units, blocks, unit, block);
        out[0] = found.units.first, out[1] = found.units.last;
        out[2] = found.blocks.first, out[3] = found.blocks.last;
    }
}
"""


@pytest.fixture(scope="module")
def shares(tmp_path_factory):
    """Of every core, (units, blocks) as (first, last) each."""
    folder = tmp_path_factory.mktemp("sharing")
    (folder / "shares.c").write_text(SOURCE)
    includes = [f"-I{path}" for path in (RUNTIME / "include", RUNTIME / "kernels", COMMON)]
    library = folder / "shares.so"
    command = ["cc", "-shared", "-fPIC", *includes, str(folder / "shares.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).shares

    def found(cores, *work):
        out = (ctypes.c_int32 * (4 * cores))()
        function(cores, *work, out)
        return [((a, b), (c, d)) for a, b, c, d in np.array(out).reshape(-1, 4).tolist()]

    return found


SIZES = st.integers(1, 70)


@given(st.integers(1, 8), SIZES, SIZES, st.integers(0, 400), st.integers(1, 400))
def test_c_simulator_and_model_divide_alike(shares, cores, units, blocks, unit, block):
    """Every unit's block is one core's; with seven cores, as beside NE16 on a cluster of eight."""
    work = (units, blocks, unit, block)
    found = shares(cores, *work)
    assert found == [(share.units, share.blocks) for share in divide(cores, *work)]
    most, wide = Workers(cores, 1).divided(*map(np.asarray, work))
    done = np.zeros((units, blocks), int)
    for (a, b), (c, d) in found:
        done[a:b, c:d] += 1
        assert b - a <= most
        assert d - c <= wide
    assert (done == 1).all()


def test_few_units_go_to_six_of_seven_cores(shares):
    """A row of five pixels, two by two, of sixteen blocks: a layer of DS-CNN."""
    found = shares(7, 3, 16, 16, 304)
    assert sum((b - a) * (d - c) > 0 for (a, b), (c, d) in found) == 6
    assert max((b - a) * (d - c) for (a, b), (c, d) in found) == 8
