"""Networks for AIE4ML 0.2.1, made as ONNX models and emitted by it. Runs where that is installed.

`networks.py emit NAME FOLDER` writes model.onnx, inputs.npz and the project; `networks.py collect
FOLDER` reads what the project's ports wrote and saves it as outputs.npy: the model's output.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save_model, shape_inference

NHWC_TO_NCHW, NCHW_TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


class Net:
    """A quantised model: every tensor symmetric, with a scale that is a power of two."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs = [], [], []
        self.feeds = {}

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, kind, inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def steps(self, tag, fraction, dtype):
        scale = self.constant(f"{tag}_scale", np.array(2.0**-fraction, np.float32))
        return scale, self.constant(f"{tag}_zero", np.array(0, dtype))

    def quantised(self, x, fraction, dtype="int8"):
        """`x` rounded to steps of 2**-fraction, and back to floats."""
        scale, zero = self.steps(f"q{len(self.nodes)}", fraction, dtype)
        return self.node(
            "DequantizeLinear", [self.node("QuantizeLinear", [x, scale, zero]), scale, zero]
        )

    def input(self, shape, fraction=4, dtype="int8", most=None):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        limit = np.iinfo(dtype).max if most is None else most
        whole = self.rng.integers(-limit, limit + 1, shape)
        self.feeds[name] = (whole * 2.0**-fraction).astype(np.float32)
        return self.quantised(name, fraction, dtype)

    def parameter(self, values, fraction, dtype="int8"):
        tag = f"p{len(self.constants)}"
        scale, zero = self.steps(tag, fraction, dtype)
        return self.node(
            "DequantizeLinear", [self.constant(tag, values.astype(dtype)), scale, zero]
        )

    def some(self, shape, most):
        return self.rng.integers(-most, most + 1, shape)

    def dense(
        self, x, inputs, outputs, bias=True, relu=True, at=(4, 6, 3), dtype="int8", weights="int8"
    ):
        """Fractional bits `at` of x, the weights and the result."""
        most = np.iinfo(weights).max
        w = self.parameter(self.some((inputs, outputs), most), at[1], weights)
        operands = [x, w]
        if bias:
            operands.append(self.parameter(self.some((outputs,), 4000), at[0] + at[1], "int32"))
        y = self.node("Gemm", operands)
        return self.quantised(self.node("Relu", [y]) if relu else y, at[2], dtype)

    def conv(self, x, inputs, outputs, window, relu=True, at=(4, 6, 3), **attributes):
        groups = attributes.get("group", 1)
        w = self.parameter(self.some((outputs, inputs // groups, *window), 127), at[1])
        b = self.parameter(self.some((outputs,), 4000), at[0] + at[1], "int32")
        y = self.node("Conv", [x, w, b], **attributes)
        return self.quantised(self.node("Relu", [y]) if relu else y, at[2])

    def image(self, rows, columns, channels, fraction=4):
        return self.node(
            "Transpose", [self.input((1, rows, columns, channels), fraction)], perm=NHWC_TO_NCHW
        )

    def channels_last(self, x):
        return self.node("Transpose", [x], perm=NCHW_TO_NHWC)

    def model(self, y):
        output = helper.make_tensor_value_info(y, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "network", self.inputs, [output], self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        made = shape_inference.infer_shapes(made, strict_mode=True)
        checker.check_model(made)
        return made


SAME = {"pads": [1, 1, 1, 1]}


def dense(net):
    return net.dense(net.input((16, 64)), 64, 64, at=(4, 6, 1))


def mixed(net):
    x = net.dense(net.input((16, 64), 8, "int16", most=2000), 64, 64, at=(8, 6, 6), dtype="int16")
    return net.dense(x, 64, 32, at=(6, 6, -3))


def int16(net):
    return net.dense(
        net.input((16, 32), 8, "int16", most=500),
        32,
        32,
        at=(8, 12, 8),
        dtype="int16",
        weights="int16",
    )


def seven(net):
    x = net.input((16, 512))
    for _ in range(7):
        x = net.dense(x, 512, 512, at=(4, 8, 4))
    return x


def vector(net):
    return net.dense(net.input((1, 128)), 128, 64, at=(4, 6, 1))


def product(net):
    y = net.node("MatMul", [net.input((16, 64)), net.input((64, 32))])
    return net.quantised(y, 0)


def conv(net):
    return net.channels_last(net.conv(net.image(16, 16, 16), 16, 16, (3, 3), at=(4, 6, 0), **SAME))


def pointwise(net):
    return net.channels_last(net.conv(net.image(16, 16, 32), 32, 16, (1, 1), at=(4, 6, 0)))


def strided(net):
    y = net.conv(net.image(16, 16, 16), 16, 32, (3, 3), at=(4, 6, 0), strides=[2, 2], **SAME)
    return net.channels_last(y)


def folded(net):
    """Few channels: the window's taps become channels."""
    return net.channels_last(
        net.conv(net.image(16, 16, 1), 1, 16, (5, 5), at=(4, 6, 1), pads=[2, 2, 2, 2])
    )


def depthwise(net):
    """Behind a pointwise layer, as in MobileNet, and on one tile: products channel by channel."""
    x = net.conv(net.image(16, 16, 16), 16, 16, (1, 1), at=(4, 6, 1))
    return net.channels_last(net.conv(x, 16, 16, (3, 3), at=(1, 6, -1), group=16, **SAME))


def pooled(net):
    y = net.conv(net.image(16, 16, 8), 8, 16, (3, 3), at=(4, 6, 0), **SAME)
    return net.channels_last(net.node("MaxPool", [y], kernel_shape=[2, 2], strides=[2, 2]))


def residual(net):
    x = net.dense(net.input((16, 64)), 64, 64, at=(4, 6, 1))
    a = net.dense(x, 64, 64, at=(1, 6, -2), relu=False)
    b = net.dense(x, 64, 64, at=(1, 6, -2), relu=False)
    return net.quantised(net.node("Relu", [net.node("Add", [a, b])]), -2)


def banded(net):
    """Bands of rows that hand their neighbours what these read beyond their own."""
    x = net.conv(net.image(16, 16, 8), 8, 8, (3, 3), at=(4, 6, 1), **SAME)
    return net.channels_last(net.conv(x, 8, 8, (3, 3), at=(1, 6, -2), **SAME))


def layer_norm(net):
    x = net.input((16, 64), 4)
    gamma = net.parameter(net.rng.integers(20, 90, 64), 6, "int16")
    beta = net.parameter(net.some((64,), 30), 6, "int16")
    return net.quantised(
        net.node("LayerNormalization", [x, gamma, beta], axis=-1, epsilon=2.0**-8), 5
    )


def softmax(net):
    return net.quantised(net.node("Softmax", [net.input((16, 64), 4)], axis=-1), 8, "uint8")


STREAMS = {"ports": {"inputs": "stream", "outputs": "stream"}}
BANDS = {"parallelism": {"contract": "outer", "cas_num": 2, "cas_length": 1}}


def chains(number, length):
    return {"parallelism": {"contract": "inner", "cas_num": number, "cas_length": length}}


#: Each network, with what its layers are told, in their order; nothing where AIE4ML decides.
NETWORKS = {
    "dense": (dense, ()),
    "mixed": (mixed, (chains(1, 2), chains(1, 1))),
    "int16": (int16, ()),
    "seven": (seven, (chains(8, 4),) * 7),
    "vector": (vector, ()),
    "streamed_dense": (dense, (STREAMS,)),
    "product": (product, ()),
    "conv": (conv, ()),
    "pointwise": (pointwise, ()),
    "strided": (strided, ()),
    "folded": (folded, ()),
    "depthwise": (depthwise, (chains(1, 1), chains(1, 1))),
    "pooled": (pooled, ()),
    "streamed_conv": (conv, (STREAMS,)),
    "banded": (banded, (BANDS, BANDS)),
    "residual": (residual, (*(chains(1, 2),) * 3, {})),
    "layer_norm": (layer_norm, ()),
    "softmax": (softmax, ()),
}

#: Operators that become layers.
LAYERS = ("Gemm", "MatMul", "Conv", "Add", "LayerNormalization", "Softmax")


def emit(name, folder):
    from aie4ml.frontends.onnx import from_onnx

    make, told = NETWORKS[name]
    net = Net(sum(name.encode()))
    model = net.model(make(net))
    layers = [node.name for node in net.nodes if node.op_type in LAYERS]
    directives = {layer: each for layer, each in zip(layers, told, strict=bool(told)) if each}
    save_model(model, folder / "model.onnx")
    np.savez(folder / "inputs.npz", **net.feeds)
    config = {
        "Part": "xilinx_vek280_base",
        "AIEConfig": {"Iterations": 1},
        "LayerDirectives": directives,
    }
    project = from_onnx(
        str(folder / "model.onnx"), config, output_dir=folder / "project", project_name=name
    )
    project.write()
    layout = project.write_inputs(net.feeds)
    (folder / "layout.pickle").write_bytes(pickle.dumps(layout))


def collect(folder):
    from aie4ml.simulation import collect_outputs, dequantize_outputs

    layout = pickle.loads((folder / "layout.pickle").read_bytes())
    results = dequantize_outputs(layout, collect_outputs(folder / "project", "x86", layout))
    np.save(folder / "outputs.npy", next(iter(results.values())))


if __name__ == "__main__":
    if sys.argv[1] == "emit":
        emit(sys.argv[2], Path(sys.argv[3]))
    else:
        collect(Path(sys.argv[2]))
