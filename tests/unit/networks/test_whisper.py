"""Whisper's encoder as the project's own script writes it."""

from dataclasses import replace

import numpy as np
import onnx
import pytest

from tests.networks.whisper import WHISPER_BASE, Sizes, whisper_encoder

SMALL = Sizes(bands=8, frames=24, width=32, heads=2, inner=64, layers=1)


def run(model, x):
    """What onnxruntime makes of it, unoptimised."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=providers)
    return session.run(None, {"x": x})[0]


def test_published_sizes() -> None:
    """Of one layer of them, with what stands before and behind it."""
    model = whisper_encoder(replace(WHISPER_BASE, layers=1))
    onnx.checker.check_model(model)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("Conv") == 2
    assert kinds.count("Softmax") == 1
    assert kinds.count("LayerNormalization") == 3
    (ported,) = model.graph.input
    assert [d.dim_value for d in ported.type.tensor_type.shape.dim] == [1, 80, 1, 3000]
    (made,) = model.graph.output
    assert [d.dim_value for d in made.type.tensor_type.shape.dim] == [1500, 512]


@pytest.mark.parametrize("convolutions", [True, False])
def test_eight_bits_are_near_the_float_network(convolutions) -> None:
    sizes = replace(SMALL, convolutions=convolutions)
    shape = (1, 8, 1, 48) if convolutions else (24, 32)
    x = np.random.default_rng(0).integers(-60, 60, shape).astype(np.int8)
    whole, real = run(whisper_encoder(sizes), x), run(whisper_encoder(sizes, real=True), x)
    assert whole.dtype == np.int8
    assert np.corrcoef(whole.reshape(-1), real.reshape(-1))[0, 1] > 0.95
