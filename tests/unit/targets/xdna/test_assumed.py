"""Programs at half and double of all times that are assumed: they end, and are not out of order."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate import Beyond
from match_aie.targets.aie_ml.simulate.layer import simulate_program
from tests.xdna_programs import chain, image

FACTORS = (0.0, 0.5, 1.0, 2.0)

PROGRAMS = {
    "dense, npu1": lambda: chain(64, (64, 64), np.int8, "npu1", 2).program,
    "dense, npu2": lambda: chain(64, (64, 64), np.int8, "npu2", 2).program,
    "dense, 16 bits": lambda: chain(32, (32, 48, 32), np.int16, "npu1", 2).program,
    "convolution": lambda: image("conv", 32),
    "depthwise": lambda: image("depthwise", 24),
    "maximum": lambda: image("max", 20),
    "sum": lambda: image("add", 20),
}


def run(program, factor):
    """Of the array and of what lies around it."""
    memory = round(factor * Beyond().memory_cycles)
    beyond = replace(Beyond(), memory_cycles=memory)
    assumed = Assumed().scaled(factor)
    return simulate_program(program, device(program.device), assumed=assumed, beyond=beyond)


@pytest.mark.parametrize("name", PROGRAMS)
def test_times_follow_what_is_assumed(name):
    """No lock is waited for in vain; longer times make no run shorter, twice of them at most two.

    Copies that meet in a bank may change places, so that a few cycles are allowed.
    """
    found = [run(PROGRAMS[name](), factor) for factor in FACTORS]
    for attribute in ("latency", "interval"):
        none, half, whole, double = (getattr(one, attribute) for one in found)
        assert 0 < none <= 1.02 * half <= 1.02**2 * whole <= 1.02**3 * double
        assert double <= 2.04 * whole
        assert whole <= 2.04 * half
    assert len({one.macs for one in found}) == 1
