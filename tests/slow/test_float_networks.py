"""Float networks on the CPU's modules: onnxruntime's outputs, and nothing heavy left over."""

import numpy as np
import onnxruntime as ort
import pytest

from match_aie.targets.cpu import CPU
from tests.closeness import same_meaning
from tests.shared import compiled, model_file, random_inputs

pytestmark = pytest.mark.slow

NAMES = (
    "bert_attn_s8",
    "bert_enc_s8",
    "bert_enc_s128",
    "mixer_s16_block",
    "gru400",
    "nsnet2",
    "nsnet2_step",
    "resnet8",
)
#: What the fallback may keep: what moves or pools elements, and a GRU's gates spelled out.
HEAVY = ("matmul", "conv2d", "softmax", "layer_norm", "erf", "GRU")
#: A dense layer of 64 by 10: where vectors are long, the cheapest cover leaves it to the fallback.
LIGHT = {"resnet8": {"matmul, add"}}


@pytest.mark.parametrize("name", NAMES)
def test_close_to_onnxruntime(name, tmp_path):
    path = model_file(f"{name}.onnx")
    net = compiled(path)
    if CPU().machine.lanes > 1 and CPU().machine.name != "portable":
        functions = {function.operators for function in net.program.schedule.functions}
        left = " ".join(functions - LIGHT.get(name, set()))
        assert not any(word in left for word in HEAVY), left
    feeds = random_inputs(net.inputs, np.random.default_rng(4))
    result = net.write(tmp_path / "net").run(feeds)
    assert result.matches_reference, result.mismatches
    assert all(close.bound_used <= 1 for close in result.floats)
    session = ort.InferenceSession(str(path))
    names = [o.name for o in session.get_outputs()]
    theirs = dict(zip(names, session.run(names, feeds), strict=True))
    assert set(result.outputs) == set(theirs)
    for key, value in theirs.items():
        assert result.outputs[key].shape == value.shape
        assert same_meaning(result.outputs[key], value).all()
