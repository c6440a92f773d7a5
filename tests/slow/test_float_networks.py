"""Float networks through the fallback: within 1e-4 of onnxruntime."""

import numpy as np
import onnxruntime as ort
import pytest

from tests.shared import compiled, generator, random_inputs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name", ["bert_enc_s8", "bert_enc_s128", "mixer_s16_block", "nsnet2", "nsnet2_step"]
)
def test_largest_difference_from_onnxruntime(name, tmp_path):
    path = tmp_path / f"{name}.onnx"
    generator().MODELS[name](str(path))
    net = compiled(path)
    project = net.write(tmp_path / "net")
    feeds = random_inputs(net.inputs, np.random.default_rng(4))
    ours = project.run(feeds, check=False).outputs
    session = ort.InferenceSession(str(path))
    names = [o.name for o in session.get_outputs()]
    theirs = dict(zip(names, session.run(names, feeds), strict=True))
    assert set(ours) == set(theirs)
    for key, value in theirs.items():
        assert ours[key].shape == value.shape
        assert np.abs(ours[key] - value).max() <= 1e-4
