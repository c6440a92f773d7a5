"""Networks on NE16, emitted, built and run: every layer equals its reference bit for bit."""

import numpy as np
import pytest
from ne16_networks import Chain, every_kind, padded_with

import match_aie as match
from tests.ne16_target import Ne16Chip


def run(model, target, folder, seed=0):
    net = match.compile(model, target=target)
    used = [step.layer.module for step in net.program.schedule.steps if step.layer]
    project = net.write(folder)
    x = np.random.default_rng(seed).uniform(0, 13, net.inputs[0].shape).astype(np.float32)
    return used, project.run(x, quick=True)


@pytest.mark.parametrize(
    "l1_bytes",
    [12_000, *(pytest.param(size, marks=pytest.mark.slow) for size in (92_160, 32_000, 8_192))],
)
def test_every_kind_of_layer(tmp_path, l1_bytes):
    used, result = run(every_kind().model(), Ne16Chip(l1_bytes), tmp_path / "net")
    assert used == ["ne16"] * 7
    assert result.matches_reference


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 5])
def test_dense(tmp_path, rows):
    model = Chain((rows, 250)).dense(130).dense(70).model()
    used, result = run(model, Ne16Chip(16_384), tmp_path / "net")
    assert used == ["ne16", "ne16"]
    assert result.matches_reference


@pytest.mark.slow
@pytest.mark.parametrize("l1_bytes", [92_160, 6_000])
@pytest.mark.parametrize(
    ("pads", "stride"), [((1, 1, 1, 1), 1), ((0, 0, 1, 1), 2), ((1, 0, 0, 1), 1), ((1,) * 4, 2)]
)
def test_padding_that_means_something(tmp_path, pads, stride, l1_bytes):
    model = padded_with(126, pads, stride).model()
    used, result = run(model, Ne16Chip(l1_bytes), tmp_path / "net")
    assert used == ["ne16"]
    assert result.matches_reference
