"""Roofs that modules state, held against sums by hand and against published figures."""

import pytest

from match_aie.errors import TargetError
from match_aie.hardware import Priced, Roof, facet
from match_aie.targets.aie_ml.known import device
from match_aie.targets.cpu.machine import machine
from match_aie.targets.cpu.module import CPUModule
from match_aie.targets.cpu.roof import roof
from match_aie.targets.gap9.cluster.kernels import is_real
from match_aie.targets.gap9.cluster.module import Cluster
from match_aie.targets.gap9.ne16.module import Ne16
from match_aie.targets.versal.module import AieArray
from match_aie.workload import real_dense
from tests.unit.targets.gap9_layers import LAYERS

CONV = LAYERS["conv"]  # uint8, 16x16x64 to as many, filter 3x3


def test_what_a_roof_cannot_be():
    with pytest.raises(TargetError, match="macs_per_cycle is 0"):
        Roof(0, 1, "L2", 1, "a paper")
    with pytest.raises(TargetError, match="nbytes is nan"):
        Roof(1, 1, "L2", float("nan"), "a paper")
    with pytest.raises(TargetError, match="without a source"):
        Roof(1, 1, "L2", 1, "")


def test_who_states_none():
    assert facet(CPUModule(), Priced).roof(CONV) is None


@pytest.mark.parametrize(("layer", "peak"), [("conv", 162), ("point", 144), ("depthwise", 10.125)])
def test_ne16_does_what_its_array_does(layer, peak):
    """9 outputs x 9 taps x 16 channels in 8 cycles; 9 x 16 in one; 9 x 9 in 8."""
    stated = Ne16().roof(LAYERS[layer])
    assert (stated.macs_per_cycle, stated.bytes_per_cycle) == (peak, 8)


def test_the_cluster_states_none_of_floats():
    """Nothing published says what its FPUs do."""
    assert Cluster().roof(LAYERS["real dense"]) is None


INTEGERS = [name for name, one in LAYERS.items() if one.macs and not is_real(one)]


@pytest.mark.parametrize("layer", INTEGERS)
def test_no_tile_is_priced_above_the_cluster_s_roof(layer):
    workload, module = LAYERS[layer], Cluster()
    cycles = module.cost_model(workload).kernel_cycles(workload, dict(workload.dims))
    assert workload.macs / float(cycles) < module.roof(workload).macs_per_cycle == 32


def test_bytes_are_those_of_all_operands():
    # 16x16x64 in, as many out, 64 x 3x3x64 weights; a float32 scale and a bias a channel.
    assert Cluster().roof(CONV).nbytes == 2 * 16 * 16 * 64 + 64 * 9 * 64 + 64 * (4 + 4)


def test_the_array_has_the_vendor_s_peak():
    """194.56 TOPS of int8 (VE2802), two operations a multiply-accumulate; 24 DMA channels in."""
    array, stated = device("vek280"), AieArray("vek280", 8).roof(CONV)
    assert 2e-3 * stated.macs_per_cycle * array.clock_ghz == pytest.approx(194.56)
    assert (stated.memory, stated.bytes_per_cycle) == ("DDR", 24 * 4)
    assert stated.nbytes == 16 * 16 * 64  # weights are there before


def test_a_processor_by_its_facts():
    """Cortex-A76: two SDOT of 16 products, two FMLA of 4; 64 KiB, 512 KiB, 2 MiB, memory."""
    facts = machine("aarch64")
    assert roof(facts, CONV).macs_per_cycle == 2 * 16
    assert roof(facts, CONV).memory == "L2 cache"
    small, large = (real_dense(rows=1, inputs=n, outputs=n) for n in (64, 2048))
    assert roof(facts, small).macs_per_cycle == 2 * 4
    assert [roof(facts, one).memory for one in (small, large)] == ["L1 cache", "main memory"]
    assert roof(facts, large).bytes_per_cycle == 4
