"""Small networks as a quantiser writes them, compared with onnxruntime once normalised."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from match_aie.frontend import load, normalize
from tests.unit.frontend.test_normalize import dq, model_of, operators, parameters, q, run


class Net:
    """Nodes and constants of a network of int8 activations, its input `x`."""

    def __init__(self, shape, seed=41):
        self.nodes, self.shape, self.rng = [], shape, np.random.default_rng(seed)
        self.known = parameters("x", 0.05, 3)

    def node(self, operator, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def real(self, stored):
        name = f"r{len(self.nodes)}"
        self.nodes.append(dq(stored, name))
        return name

    def stored(self, value, scale=0.06, zero=-4, name=""):
        name = name or f"q{len(self.nodes)}"
        self.nodes.append(q(value, name))
        self.known |= parameters(name, scale, zero)
        return name

    def weight(self, *shape, axis=0, per_channel=True, zero=0):
        """An int8 constant behind a dequantize, a scale for each element of `axis` or one."""
        name = f"w{len(self.nodes)}"
        size = shape[axis] if per_channel else ()
        parts = {
            "": self.rng.integers(-128, 128, shape).astype(np.int8),
            "_s": self.rng.uniform(0.004, 0.01, size).astype(np.float32),
            "_z": np.full(size, zero, np.int8),
        }
        self.known |= {name + end: value for end, value in parts.items()}
        real = f"r{len(self.nodes)}"
        names = [name + end for end in parts]
        self.nodes.append(helper.make_node("DequantizeLinear", names, [real], axis=axis))
        return real

    def bias(self, weight, count, scale=0.05):
        """`count` int32 numbers, of the input's scale times those of the dequantized `weight`."""
        scales = self.known[f"w{weight[1:]}_s"]
        name, real = f"b{len(self.nodes)}", f"r{len(self.nodes)}"
        self.known[name] = self.rng.integers(-2000, 2000, count).astype(np.int32)
        self.known[f"{name}_s"] = np.float32(scale) * scales
        self.known[f"{name}_z"] = np.zeros(scales.shape, np.int32)
        self.nodes.append(
            helper.make_node("DequantizeLinear", [name, f"{name}_s", f"{name}_z"], [real], axis=0)
        )
        return real

    def normal(self, rank=3, **how):
        """The model, whose result has `rank` axes, and what it is normalised as `how` says."""
        self.nodes[-1].output[0] = "y"
        ports = [("x", TensorProto.INT8, self.shape)], [("y", TensorProto.INT8, rank)]
        model = model_of(self.nodes, *ports, self.known)
        return model, normalize(load(model), **how)

    def compared(self, rank=3, **how):
        """Operators once normalised; what it computes is what onnxruntime does."""
        model, normal = self.normal(rank, **how)
        x = self.rng.integers(-128, 128, self.shape).astype(np.int8)
        runtime = pytest.importorskip("onnxruntime")
        options = runtime.SessionOptions()
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        (want,) = session.run(None, {"x": x})
        (got,) = run(normal, x)
        assert got.shape == want.shape
        # Both add floats, each in its own order: a half may round to the other side.
        assert np.abs(got.astype(int) - want).max() <= 1
        assert np.count_nonzero(abs(want + 0.5) < 127) > want.size // 2
        return operators(normal)
