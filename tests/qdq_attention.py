"""QDQ networks of attention, as quantisers write them."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class AttentionNet:
    """One attention of int8 tensors [batch, heads, rows, width]; values are quantised everywhere.

    Args:
        shape: batch, heads, queries, keys, elements of a key and of a value.
        points: zero points of q, k, v, scores, output.
        scaled: "" for none, or the operator between product and softmax.
        step: of scaled scores; by default that of the scores times the factor.
        wide: how much larger queries are than otherwise.
        reads: step and point with which "scores" or "weights" are read, where those are not the
            ones with which they were stored.
    """

    def __init__(
        self, shape, points=(3, -5, 7, 4, -3), scaled="Div", step=None, reads=None, wide=1.0
    ) -> None:
        self.nodes, self.known, reads = [], [], reads or {}
        batch, heads, queries, keys, size, values = shape
        lead = [batch, heads]
        shapes = {
            "q": [*lead, queries, size],
            "k": [*lead, size, keys],
            "v": [*lead, keys, values],
        }
        steps = {"q": 0.01 * wide, "k": 0.012, "v": 0.03}
        q, k, v = (
            self.node("DequantizeLinear", [name, *self.pair(steps[name], point)])
            for name, point in zip(steps, points[:3], strict=True)
        )
        root = np.float32(np.sqrt(size))
        scores = self.node("MatMul", [q, k])
        scores = self.quantised(scores, 0.16, points[3], reads.get("scores"))
        if scaled:
            factor = root if scaled == "Div" else np.float32(1) / root
            step = np.float32(0.16) / root if step is None else step
            scores = self.node(scaled, [scores, self.const(factor)])
            scores = self.quantised(scores, step, points[3])
        weights = self.node("Softmax", [scores], axis=-1)
        weights = self.quantised(weights, 1 / 256, -128, reads.get("weights"))
        real = self.node("MatMul", [weights, v])
        self.nodes.append(
            helper.make_node("QuantizeLinear", [real, *self.pair(0.02, points[4])], ["y"])
        )
        self.inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT8, shape)
            for name, shape in shapes.items()
        ]
        self.output = helper.make_tensor_value_info("y", TensorProto.INT8, [*lead, queries, values])

    def const(self, value):
        """A constant's name."""
        name = f"c{len(self.known)}"
        self.known.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def pair(self, step, point):
        """Names of a scale and a zero point."""
        return self.const(np.float32(step)), self.const(np.int8(point))

    def node(self, operator, inputs, **attributes):
        """The result's name."""
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def quantised(self, real, step, point, read=None):
        """Through 8 bits and back, with the same parameters or with those of `read`."""
        stored = self.node("QuantizeLinear", [real, *self.pair(step, point)])
        return self.node("DequantizeLinear", [stored, *self.pair(*(read or (step, point)))])

    def model(self):
        """As ONNX."""
        graph = helper.make_graph(self.nodes, "attention", self.inputs, [self.output], self.known)
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)
