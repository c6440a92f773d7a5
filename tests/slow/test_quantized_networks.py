"""Quantised networks on the CPU: emitted code, reference, onnxruntime and LiteRT agree."""

from collections import defaultdict

import numpy as np
import pytest

from tests.onnx_boundaries import Exposed, walk
from tests.shared import (
    ALL_FILES,
    ONNX_FILES,
    TINY,
    TRAINED,
    U8,
    compiled,
    model_file,
    random_inputs,
    recorded,
)

pytestmark = pytest.mark.slow
SAMPLES = 20


@pytest.mark.parametrize("file", ALL_FILES)
def test_emitted_code_equals_the_reference_bit_for_bit(file, tmp_path):
    net = compiled(model_file(file))
    project = net.write(tmp_path / "net")
    rng = np.random.default_rng(1)
    for _ in range(SAMPLES):
        result = project.run(random_inputs(net.inputs, rng))
        assert result.mismatches == ()
        assert result.matches_reference
        assert result.layers_checked == len(net.program.schedule.layers)


@pytest.mark.parametrize("file", ONNX_FILES)
def test_layers_fed_onnxruntimes_own_tensors(file):
    """At most 1 LSB apart; equal in 99.9 % of a layer's elements, of a pool's in 99 %."""
    path = model_file(file)
    net = compiled(path, arithmetic="model")
    exposed = Exposed(path, optimise=False)
    rng = np.random.default_rng(2)
    different: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(SAMPLES):
        feeds = random_inputs(net.inputs, rng)
        for found in walk(net, feeds, exposed.run(feeds), forced=True):
            assert found.steps.max() <= 1, found.layer
            different[found.layer, found.kind].append(float((found.steps > 0).mean()))
    compared = {kind for _, kind in different}
    assert compared & {"conv2d", "dense"}
    for (layer, kind), fractions in different.items():
        limit = 0.01 if kind == "avg_pool2d" else 0.001
        if kind in ("conv2d", "dense", "add", "avg_pool2d"):
            assert np.mean(fractions) <= limit, (layer, kind)


@pytest.mark.parametrize("name", U8)
def test_whole_networks_equal_default_onnxruntime(name):
    """Bit-equal at every boundary before the softmax, which is within 1 LSB.

    onnxruntime's optimised sums have an arithmetic of their own, a step from the model in one of
    some ten thousand elements: the network with sums is fed onnxruntime's own tensors.
    """
    path = model_file(f"{name}.onnx")
    net = compiled(path)
    exposed = Exposed(path, optimise=True)
    rng = np.random.default_rng(3)
    for _ in range(SAMPLES):
        feeds = random_inputs(net.inputs, rng)
        sums = name == "resnet8_u8"
        found = list(walk(net, feeds, exposed.run(feeds), forced=sums))
        assert len(found) >= 10
        for compared in found:
            limit = 1 if compared.kind in ("softmax", "add") else 0
            assert compared.steps.max() <= limit, compared.layer
            if compared.kind == "add":
                assert (compared.steps > 0).mean() <= 0.001, compared.layer


@pytest.mark.parametrize("name", TINY)
def test_tflite_equals_every_recorded_sample(name, tmp_path):
    """XNNPACK's bit for bit; a generated network's twin adds floats, in an order of its own."""
    steps = 0 if name in TRAINED else 1
    net = compiled(model_file(f"{name}.tflite"))
    project = net.write(tmp_path / "net")
    given = recorded(name)
    assert len(given.inputs) >= 4
    for sample, expected in zip(given.inputs, given.outputs, strict=True):
        result = project.run(sample.reshape(net.inputs[0].shape))
        assert result.matches_reference
        (got,) = result.outputs.values()
        apart = got.reshape(expected.shape).astype(np.int32) - expected.astype(np.int32)
        assert np.abs(apart).max() <= steps
