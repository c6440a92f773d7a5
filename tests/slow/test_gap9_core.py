"""Fallback C on an emulated RISC-V core: right results, and the counts that its costs rest on."""

from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import match_aie as match
from match_aie.hardware import ChipCosts, MatchTarget, Operation
from match_aie.hardware.core import TensorType
from match_aie.targets.gap9.core import DIVISION, ControlCore
from tests import riscv
from tests.shared import model_file

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(riscv.missing() is not None, reason=str(riscv.missing())),
]

FLOAT, BYTE = TensorProto.FLOAT, TensorProto.UINT8
SIZES = (256, 1024)


class ControlCoreOnly(MatchTarget, ChipCosts):
    """No module: everything is the fallback's."""

    name = "control core"

    def modules(self):
        return []


def model(operator, x, out, *constants, to=FLOAT, **attributes):
    """One ONNX operator on an input like `x`, as a model."""
    held = [onnx.numpy_helper.from_array(np.asarray(c), f"c{i}") for i, c in enumerate(constants)]
    node = helper.make_node(operator, ["x", *(c.name for c in held)], ["y"], **attributes)
    ports = (
        [helper.make_tensor_value_info("x", BYTE if x.dtype == np.uint8 else FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", to, out)],
    )
    graph = helper.make_graph([node], "g", *ports, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def operators(n):
    """name -> (model, input, the operation that it is) on about n elements."""
    rng = np.random.default_rng(n)
    real = lambda *shape: rng.normal(0, 1, shape).astype(np.float32)  # noqa: E731
    x, channels = np.abs(real(1, n)) + np.float32(0.1), n // 64
    parameters = np.float32(0.02), np.uint8(128)
    image, plane = real(1, channels, 8, 8), [1, channels, 4, 4]
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    stored = rng.integers(0, 255, (1, n)).astype(np.uint8)
    tall, wide = real(1, 8, n // 8), real(1, 64)
    found = {
        "quantize": (model("QuantizeLinear", x, x.shape, *parameters, to=BYTE), x),
        "dequantize": (model("DequantizeLinear", stored, x.shape, *parameters), stored),
        "divide": (model("Div", x, x.shape, real(1, n)), x),
        "nn.softmax": (model("Softmax", x, x.shape, axis=-1), x),
        "add": (model("Add", x, x.shape, real(1, n)), x),
        "permute_dims": (model("Transpose", tall, [1, n // 8, 8], perm=[0, 2, 1]), tall),
        "matmul": (model("MatMul", wide, [1, channels], real(64, channels)), wide),
        "nn.avg_pool2d": (model("AveragePool", image, plane, **pool), image),
        "nn.max_pool2d": (model("MaxPool", image, plane, **pool), image),
        "mean": (model("GlobalAveragePool", image, [1, channels, 1, 1]), image),
    }
    named = {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sigmoid": "Sigmoid", "tanh": "Tanh"}
    named |= {"erf": "Erf", "nn.relu": "Relu"}
    return found | {name: (model(op, x, x.shape), x) for name, op in named.items()}


def counted(made, x, isa, folder, *, rtol=0.0):
    """A run in the emulated core; its outputs are those of the host's build."""
    project = match.compile(made, target=ControlCoreOnly()).write(folder)
    expected = [np.asarray(v) for v in project.run(x).outputs.values()]
    (main,) = (folder / "src").glob("*_main.c")
    core = riscv.Core(riscv.build(folder, main.name.removesuffix("_main.c"), isa))
    run = core.run([x], [np.zeros_like(e) for e in expected])
    for got, want in zip(run.outputs, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol)
    return run, sum(e.size for e in expected)


def operation(name, x, outputs):
    """What the cost model sees of a measured operator."""
    window = {"pool_size": (2, 2)} if "pool2d" in name else {}
    inputs = [TensorType("float32", x.shape)]
    if name == "matmul":
        inputs.append(TensorType("float32", (x.shape[-1], outputs), constant=True))
    return Operation(name, tuple(inputs), TensorType("float32", (1, outputs)), window)


@pytest.mark.parametrize("isa", riscv.ISAS)
@pytest.mark.parametrize("name", sorted(operators(64)))
def test_cost_is_the_count(name, isa, tmp_path):
    """Per element, from two sizes, within 15 %: what the table of `targets/gap9/core.py` says."""
    modelled, measured = [], []
    for n in SIZES:
        made, x = operators(n)[name]
        # libm's functions differ from the host's in the last bits.
        run, outputs = counted(made, x, isa, tmp_path / str(n), rtol=1e-5)
        measured.append(run.instructions + DIVISION * run.divisions)
        modelled.append(ControlCore(isa=isa).cycles(operation(name, x, outputs)))
    (model_step,), (count_step,) = ([b - a for a, b in pairwise(v)] for v in (modelled, measured))
    assert model_step == pytest.approx(count_step, rel=0.15)


@pytest.mark.parametrize("isa", riscv.ISAS)
def test_network_on_the_control_core(isa, tmp_path):
    """The autoencoder wholly in fallback C: outputs bit for bit, and the model near the count."""
    target = ControlCoreOnly()
    target.core = ControlCore(isa=isa)
    path = model_file("dae_u8.onnx")
    x = np.random.default_rng(5).random((1, 640)).astype(np.float32)
    run, _ = counted(path, x, isa, tmp_path / "dae")
    modelled = match.compile(path, target=target).assignment.cost.total
    # Fused operators share loads and stores, which the model counts once each.
    assert 0.8 < modelled / (run.instructions + DIVISION * run.divisions) < 1.5
