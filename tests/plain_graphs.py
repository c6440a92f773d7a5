"""Plain graphs for tests of matching and extraction, no TVM involved."""

import numpy as np

from match_aie.hardware.graph import Graph, Node, Value


class Builder:
    """Builds plain graphs in a line per node."""

    def __init__(self):
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}

    def input(self, name, shape, dtype="int8"):
        self.values[name] = Value(name, dtype, shape)
        return name

    def constant(self, array):
        array = np.asarray(array)
        name = f"c{len(self.values)}"
        self.values[name] = Value(name, array.dtype.name, array.shape, array)
        return name

    def op(self, operator, *arguments, shape, dtype="float32", **attributes):
        name = f"v{len(self.nodes)}"
        self.values[name] = Value(name, dtype, shape)
        self.nodes.append(Node(len(self.nodes), operator, arguments, attributes, name))
        return name

    def shape(self, name):
        return self.values[name].shape

    def dequantize(self, name, scale=0.5, zero=0, axis=0):
        scale = self.constant(np.asarray(scale, np.float32))
        zero = self.constant(np.asarray(zero, np.int32))
        return self.op("dequantize", name, scale, zero, shape=self.shape(name), axis=axis)

    def quantize(self, name, scale=0.25, zero=0, dtype="int8"):
        scale = self.constant(np.float32(scale))
        zero = self.constant(np.int32(zero))
        return self.op("quantize", name, scale, zero, shape=self.shape(name), dtype=dtype, axis=0)

    def matmul(self, x, weight, scale=0.125, axis=0):
        w = self.dequantize(self.constant(weight), scale, axis=axis)
        return self.op("matmul", x, w, shape=(*self.shape(x)[:-1], weight.shape[1]))

    def graph(self, *outputs):
        return Graph(tuple(self.nodes), dict(self.values), outputs)
