"""ONNX's GRU and LSTM on the array: emitted, run, executed, simulated; what stays with the core."""

import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.aie_programs import network_equals
from tests.networks.recurrent import quantised_cells
from tests.shared import random_inputs

GATES = {"GRU": 3, "LSTM": 4}


def network(layers, steps, inputs, batch=1):
    """Recurrent layers in a row: (operator, units, attributes) each."""
    rng = np.random.default_rng(0)
    nodes, constants, last, width = [], [], "x", inputs

    def constant(name, shape):
        values = rng.uniform(-0.4, 0.4, shape).astype(np.float32)
        constants.append(numpy_helper.from_array(values, name))
        return name

    constants.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    for at, (operator, units, attributes) in enumerate(layers):
        rows = GATES[operator] * units
        names = [
            constant(f"{what}{at}", (1, *shape))
            for what, shape in (("w", (rows, width)), ("r", (rows, units)), ("b", (2 * rows,)))
        ]
        options = {"hidden_size": units, **attributes}
        nodes += [
            helper.make_node(operator, [last, *names], [f"all{at}"], **options),
            helper.make_node("Squeeze", [f"all{at}", "axis"], [f"y{at}"]),
        ]
        last, width = f"y{at}", units
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (steps, batch, inputs))
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, (steps, batch, width))
    graph = helper.make_graph(nodes, "net", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


CELLS = (
    ("GRU", 20, {"linear_before_reset": 1}),
    ("GRU", 9, {"linear_before_reset": 0}),
    ("LSTM", 17, {}),
)


def kinds(net):
    return [layer.workload.kind for layer in net.program.schedule.chosen if layer.module == "array"]


@pytest.fixture(scope="module")
def net():
    # Without the Arm core's layers: one is modelled cheaper than so few units on the array.
    target = VersalAIEML(floats="bf16", modules=("array",))
    return match.compile(network(CELLS, 6, 30), target=target)


def test_all_layers_run_on_the_array(net):
    assert kinds(net) == ["gru", "gru", "lstm"]


def test_executed_programs_equal_their_references(net):
    assert network_equals(net, np.random.default_rng(3)) == 3


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_emitted_network_equals_its_references(net, tmp_path):
    """Bit for bit, close to float32 as derived and to onnxruntime; and it is simulated."""
    project = net.write(tmp_path / "net")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 3 * [True]
    if result.max_abs_vs_model:
        assert 1e-5 < max(result.max_abs_vs_model.values()) < 0.05


def test_the_network_is_simulated(net):
    steps = net.simulate().steps
    assert len([step for step in steps if step.module == "array"]) == 3


@pytest.mark.parametrize(
    ("layer", "batch", "why"),
    [
        (("GRU", 8, {"linear_before_reset": 1}), 2, "2 sequences side by side"),
        (("GRU", 400, {"linear_before_reset": 1}), 1, "accumulators of a tile"),
        (("GRU", 8, {"linear_before_reset": 1, "clip": 2.0}), 1, "are clipped"),
    ],
)
def test_others_stay_with_the_core(layer, batch, why):
    made = match.compile(network([layer], 3, 8, batch), target=VersalAIEML(floats="bf16"))
    assert not kinds(made)
    assert why in str(made.assignment.considered)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_turned_layer_is_a_forward_one_between_turns(tmp_path):
    # Without the Arm core's layers, which are modelled cheaper than so few steps on the array.
    target = VersalAIEML(floats="bf16", modules=("array",))
    made = match.compile(network([("LSTM", 8, {"direction": "reverse"})], 3, 8), target=target)
    assert kinds(made) == ["lstm"]
    inputs = random_inputs(made.inputs, np.random.default_rng(1))
    result = made.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    if result.max_abs_vs_model:
        assert 1e-5 < max(result.max_abs_vs_model.values()) < 0.05


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_gru_of_64_units_fits_a_tile(tmp_path):
    """Its inputs' products are computed in two parts by the same code."""
    model = network([("GRU", 60, {"linear_before_reset": 0})], 19, 30)
    apart = match.compile(model, target=VersalAIEML(floats="bf16"))
    (layer,) = (each for each in apart.program.schedule.chosen if each.module == "array")
    target = VersalAIEML(floats="bf16", layers={layer.label: {"tiles": 1}})
    made = match.compile(model, target=target)
    assert kinds(made) == ["gru"]
    assert [loop.size for loop in made.program.schedule.chosen[0].mapping.spatial] == [16]
    inputs = random_inputs(made.inputs, np.random.default_rng(1))
    assert made.write(tmp_path / "net").run(inputs, quick=True).matches_reference


@pytest.fixture(scope="module")
def joined():
    """More units than a tile holds: memory tiles join those of seven."""
    layers = (("GRU", 200, {"linear_before_reset": 1}),)
    return match.compile(quantised_cells(layers, 6, 30), target=VersalAIEML(floats="int8"))


def test_units_are_spread_over_tiles(joined):
    assert kinds(joined) == ["gru"]
    assert [loop.size for loop in joined.program.schedule.chosen[0].mapping.spatial] == [7, 16]
    assert network_equals(joined, np.random.default_rng(3)) == 1
    (step,) = [step for step in joined.simulate().steps if step.module == "array"]
    assert step.cycles > 0


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_tiles_that_wait_for_each_other_equal_the_reference(joined, tmp_path):
    """Kernels and the memory tile between them run in a circle."""
    inputs = random_inputs(joined.inputs, np.random.default_rng(1))
    result = joined.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == [True]


@pytest.mark.parametrize("operator", ["GRU", "LSTM"])
@pytest.mark.parametrize(("what", "value"), [("b0", 3.4e38), ("b0", np.inf), ("r0", 1e38)])
def test_constants_that_may_overflow_stay_with_the_core(operator, what, value):
    """In bfloat16 all results would be NaN, where float32 saturates gates."""
    model = network([(operator, 8, {})], 3, 8)
    (found,) = (each for each in model.graph.initializer if each.name == what)
    values = numpy_helper.to_array(found).copy()
    values[0, :8] = value
    found.CopyFrom(numpy_helper.from_array(values, what))
    made = match.compile(model, target=VersalAIEML(floats="bf16"))
    assert not kinds(made)
    assert "may not be finite in bfloat16" in str(made.assignment.considered)


def test_recurrent_layers_stay_with_the_core_unless_asked():
    assert not kinds(match.compile(network(CELLS[:1], 3, 8), target=VersalAIEML()))
