"""Float32 networks on GAP9's cluster, where they are asked for."""

import numpy as np
import pytest

import match_aie as match
from match_aie.cli.guard import run
from match_aie.errors import TargetError
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.cluster.module import SHORT
from match_aie.testing import ZOO, check_target
from match_aie.workload import short_float
from tests.networks.exported import exported_cnn
from tests.networks.graph import Graph
from tests.shared import random_inputs


def kinds(net):
    return [(layer.module, layer.workload.kind) for layer in net.program.schedule.layers]


def steps_as_predicted(net):
    """Every layer of the cluster is simulated, and takes what its cost model says, to a tenth."""
    steps = [step for step in net.simulate(record=False).steps if step.module == "cluster"]
    assert steps
    for step in steps:
        assert step.simulated
        assert step.cycles == pytest.approx(step.predicted, rel=0.1), step.label


def test_a_residual_network(tmp_path):
    """Every element of every layer is within its bound, and the layers are simulated."""
    net = match.compile(exported_cnn(16, 8), GAP9(floats="float32"))
    assert {kind for _, kind in kinds(net)} >= {"conv2d", "max_pool2d"}
    assert {module for module, _ in kinds(net)} == {"cluster"}
    result = net.write(tmp_path / "net").run(
        random_inputs(net.inputs, np.random.default_rng(0)), quick=True
    )
    assert result.matches_reference
    assert all(0 <= close.bound_used <= 1 for close in result.floats)
    assert max(close.bound_used for close in result.floats) > 0
    steps_as_predicted(net)


@pytest.mark.parametrize("floats", SHORT)
def test_products_of_16_bits(floats, tmp_path):
    """Bit for bit, within a bound of the float32 layers, and simulated by their own kernel."""
    net = match.compile(exported_cnn(16, 8), GAP9(floats=floats))
    layers = [layer.workload for layer in net.program.schedule.layers]
    shorts = [layer for layer in layers if short_float(layer) == SHORT[floats]]
    assert {workload.kind for workload in shorts} >= {"conv2d"}
    inputs = random_inputs(net.inputs, np.random.default_rng(0))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    assert 0 < max(close.bound_used for close in result.floats) <= 1
    steps_as_predicted(net)


@pytest.mark.parametrize("floats", SHORT)
def test_tensors_between_products_of_16_bits_are_stored_so(floats, tmp_path):
    """Also through a reshape; what others read stays, and what the network's callers see."""
    graph = Graph(7)
    x = graph.add("Conv", "x", graph.normal(8, 3, 3, 3, deviation=0.2))
    x = graph.add("Relu", graph.add("Conv", x, graph.normal(6, 8, 1, 1, deviation=0.3)))
    x = graph.add("Flatten", x)
    both = graph.add("MatMul", x, graph.normal(96, 10, deviation=0.1))
    y = graph.add("Mul", graph.add("Sigmoid", both), both)
    net = match.compile(graph.model("net", {"x": (1, 3, 6, 6)}, {y: (1, 10)}), GAP9(floats=floats))
    types = [
        tuple(o.dtype for o in (layer.workload.operand("x"), layer.workload.output))
        for layer in net.program.schedule.layers
        if short_float(layer.workload) is not None
    ]
    stored = SHORT[floats].dtype
    assert types == [("float32", stored), (stored, stored), (stored, "float32")]
    result = net.write(tmp_path / "net").run(
        random_inputs(net.inputs, np.random.default_rng(0)), quick=True
    )
    assert result.matches_reference


def test_overflow_is_told(tmp_path, capsys):
    """Numbers beyond half precision are infinite, far from float32: a run says so."""
    net = match.compile(exported_cnn(16, 8), GAP9(floats="fp16"))
    inputs = random_inputs(net.inputs, np.random.default_rng(0))
    large = {name: value * np.float32(1e6) for name, value in inputs.items()}
    result = net.write(tmp_path / "net").run(large, quick=True)
    assert not result.matches_reference
    np.savez(tmp_path / "large.npz", **large)
    command = ["run", str(tmp_path / "net"), "--inputs", str(tmp_path / "large.npz")]
    assert run(command) == 4
    said = capsys.readouterr().err
    assert "numbers beyond 65,504 become infinite there" in said
    assert "please report" not in said


@pytest.mark.parametrize("weight", [-70000.0, np.nan])
def test_a_layer_with_weights_beyond_half_precision_stays_in_float32(weight, tmp_path):
    graph, rng = Graph(5), np.random.default_rng(5)
    values = rng.standard_normal((257, 33)).astype(np.float32)
    values[3, 2] = weight
    y = graph.add("MatMul", "x", graph.constant(values))
    net = match.compile(graph.model("net", {"x": (3, 257)}, {y: (3, 33)}), GAP9(floats="fp16"))
    assert kinds(net) == [("cluster", "dense")]
    (layer,) = net.program.schedule.layers
    assert layer.workload.real.precision == "float32"
    x = rng.standard_normal((3, 257)).astype(np.float32)
    assert net.write(tmp_path / "net").run(x, quick=True).matches_reference


@pytest.mark.parametrize("floats", SHORT)
def test_cores_without_floats_of_16_bits_are_refused(floats):
    with pytest.raises(TargetError, match=f"{floats} with cores of rv32imc"):
        GAP9(floats=floats, instruction_set="rv32imc")


def test_numbers_that_only_bfloat16_has(tmp_path):
    """Inputs beyond 65,504, as in the test before."""
    net = match.compile(exported_cnn(16, 8), GAP9(floats="bf16"))
    inputs = random_inputs(net.inputs, np.random.default_rng(0))
    large = {name: value * np.float32(1e6) for name, value in inputs.items()}
    assert net.write(tmp_path / "net").run(large, quick=True).matches_reference


def test_the_zoo_is_held_to_what_16_bits_may_lose():
    cases = [case for case in ZOO if case.name == "dense float"]
    found = check_target(GAP9(floats="bf16"), cases=cases, part=True)
    assert found.passed, str(found)
    assert all(row.max_abs > 1e-3 for row in found.rows)


def test_by_default_floats_are_the_control_cores():
    assert kinds(match.compile(exported_cnn(16, 8), GAP9())) == []
