"""A network for a Ryzen AI processor: emitted, built with the emulation, run; and its text."""

import numpy as np
import pytest
from versal_networks import Attending, Layer

import match_aie as match
from match_aie.targets.aie_ml.known import devices
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.xdna import XDNA
from tests.networks.power_of_two import dense_chain
from tests.shared import random_inputs


@pytest.mark.slow
def test_a_chain_runs_beside_the_processor(tmp_path):
    model = dense_chain(16, (32, 32, 16), np.int8)
    target = XDNA(columns_per_layer=1, modules=("array",))
    net = match.compile(model, target=target, selection="match")
    project = net.write(tmp_path / "net")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(0)))
    assert result.matches_reference
    assert result.layers_checked == 2
    (found,) = (tmp_path / "net" / "mlir").glob("*.mlir")
    written = found.read_text()
    assert "aie.device(npu1) {" in written
    assert written.count("aie.core(") >= 2
    assert "No text" not in written


@pytest.mark.parametrize(
    ("name", "number"), [("vek280", None), ("npu1", None), ("npu2", 21), ("vek385", 22)]
)
def test_the_emulation_is_of_the_array_s_generation(name, number):
    """Which shapes of products there are, and how tables lie in memory, depend on it."""
    target = XDNA(name) if name.startswith("npu") else VersalAIEML(name)
    told = [flag for flag in target.build_profile().cxx_flags if "__AIE_ARCH__" in flag]
    assert name in devices()
    assert told == ([f"-D__AIE_ARCH__={number}"] if number else [])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["npu1", "npu2"])
def test_tables_run_beside_the_processor(tmp_path, name):
    """A GELU and a softmax, rows of which are no whole vectors."""
    model = Attending(3, 16).dense(Layer(21)).gelu().dense(Layer(13)).softmax().model()
    target = XDNA(name, columns_per_layer=1, modules=("array",))
    net = match.compile(model, target=target, selection="match")
    project = net.write(tmp_path / "net")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(0)), quick=True)
    assert result.matches_reference
    assert result.layers_checked == 4
