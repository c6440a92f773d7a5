"""GRU and LSTM of quantised inputs with products of 8 bits: emitted, run, executed, simulated."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.aie_programs import network_equals
from tests.cc.versal.test_recurrent import network
from tests.networks.recurrent import quantised_cells
from tests.shared import random_inputs

CELLS = (
    ("GRU", 20, {"linear_before_reset": 1}),
    ("GRU", 27, {"linear_before_reset": 0}),
    ("LSTM", 32, {}),
)


def chosen(net):
    return [layer for layer in net.program.schedule.chosen if layer.module == "array"]


@pytest.fixture(scope="module")
def net():
    return match.compile(quantised_cells(CELLS, 6, 30, zero=3), target=VersalAIEML(floats="int8"))


def test_all_layers_run_on_the_array(net):
    layers = chosen(net)
    assert [layer.workload.kind for layer in layers] == ["gru", "gru", "lstm"]
    assert {layer.workload.real.precision for layer in layers} == {"int8"}
    assert network_equals(net, np.random.default_rng(3)) == 3


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_emitted_network_equals_its_references(net, tmp_path):
    """Bit for bit, close to float32 as derived and to onnxruntime."""
    project = net.write(tmp_path / "net")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 3 * [True]
    if result.max_abs_vs_model:
        assert max(result.max_abs_vs_model.values()) <= 4  # steps of 1/64


def test_the_network_is_simulated(net):
    steps = net.simulate().steps
    assert len([step for step in steps if step.module == "array"]) == 3


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_many_inputs_equal_their_references(tmp_path):
    """Whose code is a loop over gates."""
    layers = (("GRU", 20, {"linear_before_reset": 1}),)
    target = VersalAIEML(floats="int8", modules=("array",))
    made = match.compile(quantised_cells(layers, 6, 200), target)
    (layer,) = chosen(made)
    assert layer.workload.real.precision == "int8"
    inputs = random_inputs(made.inputs, np.random.default_rng(1))
    assert made.write(tmp_path / "net").run(inputs, quick=True).matches_reference


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_unsigned_inputs_and_units_over_several_tiles(tmp_path):
    layers = (("GRU", 200, {"linear_before_reset": 1}), CELLS[1])
    made = match.compile(quantised_cells(layers, 19, 30, "uint8", 120), VersalAIEML(floats="int8"))
    assert {layer.workload.real.precision for layer in chosen(made)} == {"int8"}
    spread = [[loop.size for loop in layer.mapping.spatial] for layer in chosen(made)]
    assert spread == [[7, 16], [2, 1, 16]]
    inputs = random_inputs(made.inputs, np.random.default_rng(1))
    assert made.write(tmp_path / "net").run(inputs, quick=True).matches_reference


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_units_over_two_columns(tmp_path):
    layers = (("GRU", 250, {"linear_before_reset": 1}),)
    made = match.compile(quantised_cells(layers, 5, 8), VersalAIEML(floats="int8"))
    assert [layer.mapping.spatial[0].size for layer in chosen(made)] == [8]
    inputs = random_inputs(made.inputs, np.random.default_rng(1))
    assert made.write(tmp_path / "net").run(inputs, quick=True).matches_reference


def test_bfloat16_is_chosen_where_8_bits_are_not_asked_for():
    made = match.compile(quantised_cells(CELLS[:1], 4, 8), target=VersalAIEML(floats="bf16"))
    assert [layer.workload.real.precision for layer in chosen(made)] == ["bfloat16"]


def test_float_inputs_have_products_of_bfloat16():
    made = match.compile(network(CELLS[:1], 4, 8), target=VersalAIEML(floats="int8"))
    assert [layer.workload.real.precision for layer in chosen(made)] == ["bfloat16"]


def test_sums_that_are_too_large_stay_in_bfloat16():
    """Of 300 inputs that are far from their zero point."""
    model = quantised_cells(CELLS[:1], 4, 300, "uint8", 255)
    made = match.compile(model, target=VersalAIEML(floats="int8"))
    assert all(layer.workload.real.precision != "int8" for layer in chosen(made))
    assert "cores take less than" in str(made.assignment.considered)
