"""Which devices the Versal target takes."""

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.logic import slower, word_cycles
from match_aie.targets.aie_ml.facts_reader import read_facts
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import WORD_BYTES
from match_aie.targets.aie_ml.known import device, devices
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove
from match_aie.targets.versal.module import Place, layer_cost
from match_aie.workload import Quantized, conv2d, full_range
from tests import integer_graphs as ig
from tests.aie_layers import constants_of


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


def test_a_device_may_be_written_in_capitals():
    """As data sheets write it; what the target says of itself is one word all the same."""
    target = VersalAIEML(device="VEK280")
    assert target.options() == VersalAIEML(device="vek280").options()
    assert device("VEK280") is device("vek280")


def test_a_hint_names_the_word_that_is_meant():
    with pytest.raises(TargetError, match=r"memory 'PLIO'\n.*did you mean plio\? one of ddr"):
        VersalAIEML(memory="PLIO")
    with pytest.raises(TargetError, match=r"'vek28'\n.*did you mean vek280"):
        VersalAIEML(device="vek28")


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


@pytest.mark.parametrize("name", ["vek280", "vek385", "vck190"])
def test_a_stream_of_logic_is_as_wide_as_switches_are(name):
    """No DMA of an interface tile is on its way: the switches' width is that of cores' channels."""
    array, core = device(name), device(name).architecture.core
    facts = read_facts().part("architectures").part(array.architecture.name)
    assert facts.part("stream_switch").integer("width_bits") == 8 * core.dma.bytes_per_cycle
    assert word_cycles(array) == max(slower(array), WORD_BYTES / core.dma.bytes_per_cycle)


@pytest.mark.parametrize(("name", "times"), [("vek280", 1), ("vek385", 2)])
def test_an_image_comes_from_memory_at_the_rate_of_interface_tiles(name, times):
    """On AIE-MLv2 all other DMAs are twice as fast, so that another layer hands it on in half."""
    q = Quantized("int8", 0.1, 0)
    big = conv2d(
        q, q, shape=(1, 16, 16, 8), weight_shape=(8, 3, 3, 8), tail=full_range("int8", 0), scales=1
    )
    layer = in_fixed_point(big, constants_of(big, np.random.default_rng(0))).workload
    plan = plan_cut(layer, name, 1)
    enter, _ = plan.legs
    assert enter == 16 * 16 * 8 / 4
    alone, behind = (
        layer_cost(plan, layer, device(name), place).parts[0][1]
        for place in (Place(), Place(held=frozenset(o.name for o in layer.inputs)))
    )
    begins = Assumed().descriptor + 3 * device(name).architecture.hop_cycles  # of three switches
    assert alone - behind == enter - enter / times - begins + plan.requests[0]
