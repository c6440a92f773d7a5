"""Networks on NE16, emitted, built and run: every layer equals its reference bit for bit."""

import numpy as np
import pytest
from ne16_networks import Chain, every_kind

import match_aie as match
from tests.ne16_target import Ne16Chip


def run(model, target, folder, seed=0):
    net = match.compile(model, target=target)
    used = [layer.module for layer in net.layers]
    project = net.write(folder)
    x = np.random.default_rng(seed).uniform(0, 13, net.inputs[0].shape).astype(np.float32)
    return used, project.run(x)


@pytest.mark.parametrize("l1_bytes", [120_000, 8_192])
def test_every_kind_of_layer(tmp_path, l1_bytes):
    used, result = run(every_kind().model(), Ne16Chip(l1_bytes), tmp_path / "net")
    assert used.count("ne16") >= 7
    assert result.matches_reference
