"""GAP9's cluster with and without Xpulp: what an option changes, and what it may not."""

import warnings

import numpy as np
import pytest

import match_aie as match
from match_aie.cost_models.pulp_counts import PLAIN
from match_aie.cost_models.pulp_nn import PulpNN
from match_aie.cost_models.pulp_plain import kernel_of, parts, plain_cycles
from match_aie.errors import TargetError
from match_aie.hardware import Operation, load_target
from match_aie.hardware.core import TensorType
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.cluster.module import Cluster
from match_aie.targets.gap9.timing.cluster import call_cycles
from match_aie.testing.case import Case, network
from match_aie.testing.zoo import separable
from match_aie.workload import Window
from tests.unit.targets.gap9_layers import LAYERS, conv, half, lengths, random_ranges, whole

#: Layers whose kernels were counted in plain rv32imc: neither 16-bit inputs nor products of half
#: precision.
COUNTED = [name for name in LAYERS if not name.startswith(("half ", "float16 ", "bfloat16 "))]


@pytest.mark.parametrize("name", COUNTED)
def test_a_layer_takes_longer_without_xpulp(name):
    layer = LAYERS[name]
    plain = call_cycles(layer, whole(layer), "rv32imc")
    assert plain > call_cycles(layer, whole(layer), "xpulp")


@pytest.mark.parametrize("name", COUNTED)
def test_everything_that_a_kernel_does_was_counted(name):
    """Of every part that a layer has more than a few of, there is a count or the fit has none."""
    layer = LAYERS[name]
    tile = {d: np.asarray(1) for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")}
    done = parts(layer, tile | lengths(whole(layer)))
    assert set(PLAIN[kernel_of(layer)]) <= set(done)
    assert any(done[name] > 0 for name in PLAIN[kernel_of(layer)])


@pytest.mark.parametrize("name", COUNTED)
def test_tiles_of_a_layer_take_no_less_in_all(name):
    """Half of the work is not less than half of the cycles."""
    layer = LAYERS[name]
    rng = np.random.default_rng(3)
    everything = float(plain_cycles(layer, lengths(whole(layer))))
    for _ in range(8):
        tile = lengths(random_ranges(layer, rng))
        calls = np.prod([-(-size // int(tile[dim])) for dim, size in layer.dims])
        assert calls * float(plain_cycles(layer, tile)) > 0.9 * everything


@pytest.mark.parametrize("outputs", [30, 64])
def test_a_single_pixel_takes_about_half_of_two(outputs):
    """Convolutions compute two pixels at a time, where there are two."""
    one, two = (conv(1, columns, 64, outputs, (1, 1), Window()) for columns in (1, 2))
    single, both = (float(plain_cycles(layer, lengths(whole(layer)))) for layer in (one, two))
    assert 0.45 * both < single < both


def test_the_search_and_the_simulator_have_the_same_counts():
    layer = LAYERS["conv_few"]
    model = PulpNN(instruction_set="rv32imc")
    kernel = model.unit_cycles(layer, lengths(whole(layer)))
    assert kernel == pytest.approx(call_cycles(layer, whole(layer), "rv32imc"))


def test_the_option_reaches_the_search_and_the_manifest():
    chip = GAP9(instruction_set="rv32imc")
    again = load_target("GAP9", chip.options())
    assert again.options() == chip.options()
    (cluster,) = (module for module in again.modules() if isinstance(module, Cluster))
    assert cluster.cost_model(LAYERS["conv"]).instruction_set == "rv32imc"


def test_without_xpulp_the_control_core_has_no_float_unit():
    """On GVSoC a softmax of ten floats takes it 70,702 cycles in plain rv32imc: by calls."""
    tensor = TensorType("float32", (1, 10))
    softmax = Operation("nn.softmax", (tensor,), tensor)
    soft, hard = (
        GAP9(instruction_set=name).fallback_cost(softmax) for name in ("rv32imc", "xpulp")
    )
    assert hard == pytest.approx(50 + 120 + 10 * (119 + 2 * 14))
    assert soft == pytest.approx(50 + 120 + 10 * (2573 + 8 * 14))


def test_without_xpulp_a_classifier_has_its_softmax_on_the_cluster():
    """Its integers take 4,000 cycles there on GVSoC, and the way over the core's floats 79,000."""
    classifier = network([Case("separable", separable, single=False)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(classifier, GAP9(instruction_set="rv32imc"), integer_io=True)
    *_, last = net.program.schedule.steps
    assert last.layer is not None
    assert (last.layer.workload.kind, last.layer.module) == ("softmax", "cluster")
    assert last.layer.workload.fixed_point


def test_no_other_instruction_set_is_known():
    with pytest.raises(TargetError, match="instruction_set 'rv64gc'"):
        GAP9(instruction_set="rv64gc")


def test_kernels_that_were_not_counted_are_refused_without_xpulp():
    layer = half(conv(12, 12, 22, 30))
    said = Cluster(instruction_set="rv32imc").convert(layer, {})
    assert isinstance(said, str)
    assert "16-bit inputs was not counted for plain rv32imc" in said
