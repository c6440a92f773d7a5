"""Which devices the Versal target takes."""

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import TargetError
from match_aie.targets.aie_ml.known import devices
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove
from tests import integer_graphs as ig


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("npu1", r"npu1 is no Versal device: its array \(XDNA1\)"),
        ("npu2", r"npu2 is no Versal device: its array \(XDNA2\)"),
        ("vek999", "no AI Engine device 'vek999'"),
    ],
)
def test_other_devices_are_refused_by_name(name, why):
    with pytest.raises(TargetError, match=why):
        VersalAIEML(name)


def test_no_other_device_is_taken():
    taken = []
    for name in devices():
        try:
            VersalAIEML(name)
        except TargetError:
            continue
        taken.append(name)
    assert taken == ["vek280", "vek385", "vck190"]


@pytest.mark.parametrize("memory", ["ddr", "plio"])
@pytest.mark.parametrize("name", ["vek280", "vek385", "vck190"])
def test_the_same_network_runs_on_every_device_that_is_taken(name, memory):
    """One argument: compiled, executed with random data, and simulated."""
    target = VersalAIEML(name, modules=("array",), memory=memory)
    net = match.compile(ig.dense_row(16, (64, 128, 64)), target=target)
    layers = net.program.schedule.chosen
    assert [layer.module for layer in layers] == ["array", "array"]
    assert prove(layers, name, np.random.default_rng(1)) > 0
    assert net.simulate(record=False).microseconds > 0
