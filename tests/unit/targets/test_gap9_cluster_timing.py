from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.errors import TargetError
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.facts import facts
from match_aie.targets.gap9.timing.cluster import call_cycles, core_cycles
from match_aie.targets.gap9.timing.network import Gap9Timing
from match_aie.targets.gap9.timing.workers import BARRIER, FORK, contended, divide
from match_aie.workload import Window
from tests.unit.targets.gap9_layers import LAYERS, conv, depthwise, whole

CLUSTER = facts().cluster


def macs_per_cycle(workload):
    return workload.macs / call_cycles(workload, whole(workload))


def test_inner_loop_is_that_of_pulp_nn():
    """6 loads and 8 dot products for 32 products; contention costs some of the 18.3 per cycle."""
    instructions = CLUSTER.inner_loads + CLUSTER.inner_dot_products
    bound = facts().cores.workers * CLUSTER.inner_macs / instructions
    assert bound == pytest.approx(18.29, abs=0.01)
    loop = contended(instructions, CLUSTER.inner_loads)
    assert 0.95 * bound < facts().cores.workers * CLUSTER.inner_macs / loop < bound


def test_best_convolution_is_near_the_published_best():
    """PULP-NN reports 15.5 MAC/cycle; the layer it was measured on is not known here."""
    best = macs_per_cycle(conv(16, 16, 64, 64))
    assert best == pytest.approx(CLUSTER.best_macs_per_cycle, rel=0.1)


@pytest.mark.parametrize("name", LAYERS)
def test_no_layer_beats_the_dot_product(name):
    assert macs_per_cycle(LAYERS[name]) < CLUSTER.peak_macs_per_cycle


@given(st.integers(1, 70), st.integers(1, 40), st.integers(0, 500), st.integers(1, 500))
def test_shares_cover_everything_once(units, blocks, per_unit, per_block):
    seen = np.zeros((units, blocks), int)
    for share in divide(8, units, blocks, per_unit, per_block):
        seen[slice(*share.units), slice(*share.blocks)] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("name", LAYERS)
def test_every_core_is_counted(name):
    cores = core_cycles(LAYERS[name], whole(LAYERS[name]), 8)
    run = call_cycles(LAYERS[name], whole(LAYERS[name]))
    assert len(cores) == facts().cores.workers
    assert min(cores) > 0
    assert max(cores) < run < max(cores) + 100


def test_padding_is_cheaper_than_image():
    """A window half in the padding copies less than one inside, rows outside are filled once."""
    layer = conv(16, 16, 64, 4, (5, 5), Window(padding=(2, 2, 2, 2)))
    inner = dict(whole(layer)) | {"OY": (4, 1), "OX": (4, 8)}
    border = dict(whole(layer)) | {"OY": (0, 1), "OX": (4, 8)}
    assert call_cycles(layer, border) < call_cycles(layer, inner)


def test_two_rows_of_a_depthwise_layer_share_their_columns():
    """Stride 1 and three filter rows: less than twice the cycles of one row."""
    layer = depthwise(24, 24, 32)
    one = dict(whole(layer)) | {"OY": (4, 1)}
    two = dict(whole(layer)) | {"OY": (4, 2)}
    assert call_cycles(layer, two) < 1.7 * call_cycles(layer, one)


def test_remainders_cost_what_whole_blocks_do_not_have():
    """Five output channels take longer than four, and less than eight."""
    four, five, eight = (call_cycles(w, whole(w)) for w in (
        conv(8, 8, 16, 4), conv(8, 8, 16, 5), conv(8, 8, 16, 8)
    ))  # fmt: skip
    assert four < five < eight


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_seven_cores_take_longer_than_eight(name):
    layer = LAYERS[name]
    eight, seven = (core_cycles(layer, whole(layer), cores) for cores in (8, 7))
    assert (len(eight), len(seven)) == (8, 7)
    assert max(seven) >= max(eight)
    assert sum(seven) == pytest.approx(sum(eight), rel=0.25)
    assert call_cycles(layer, whole(layer), cores=7) == pytest.approx(max(seven) + FORK + BARRIER)
    assert call_cycles(layer, whole(layer), cores=8) == call_cycles(layer, whole(layer))


@pytest.mark.parametrize(("cores", "beside"), [(9, 8), (8, 7)])
def test_a_controller_that_is_a_worker_does_not_compute_beside_ne16(cores, beside):
    layer = LAYERS["conv"]
    timing = Gap9Timing(260e6, cores=cores)
    visit = SimpleNamespace(ranges=whole(layer))
    alone, shared = (
        timing.kernel("cluster", layer, visit),
        timing.kernel_beside("cluster", layer, visit),
    )
    assert alone == Gap9Timing(260e6).kernel("cluster", layer, visit)
    assert shared.jobs[0].run == call_cycles(layer, whole(layer), cores=beside)
    assert GAP9(cores=cores).simulator()._timing.cores == cores


def test_no_other_number_of_cores_is_known():
    with pytest.raises(TargetError, match="7 cores"):
        GAP9(cores=7)
