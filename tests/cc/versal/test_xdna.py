"""A network for a Ryzen AI processor: emitted, built with the emulation, run; and its text."""

import numpy as np
import pytest

import match_aie as match
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
