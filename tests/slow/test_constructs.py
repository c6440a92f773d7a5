"""Constructs of networks as shipped on the CPU: emitted code and onnxruntime agree."""

import numpy as np
import onnxruntime as ort
import pytest

import match_aie as match
from tests.networks.constructs import CONSTRUCTS

NAMES = (
    *("positions cut by shape arithmetic", "anchors by shape arithmetic"),
    *("pad, split, concat, space to depth", "sort, gather, scatter"),
    *("resize, bilinear", "4-bit blocks, `MatMulNBits`", "QCDQ, 4 bits"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_equals_onnxruntime(name, tmp_path):
    construct = CONSTRUCTS[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(construct.make().SerializeToString())
    net = match.compile(path, "CPU", shapes=dict(construct.shapes), values=dict(construct.values))
    rng = np.random.default_rng(1)
    feeds = {port.name: rng.standard_normal(port.shape).astype(np.float32) for port in net.inputs}
    own = net.write(tmp_path / "net").run(feeds).outputs
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    want = ort.InferenceSession(path, options, ["CPUExecutionProvider"]).run(None, feeds)
    for got, wanted in zip(own.values(), want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
