"""Programs on Ryzen AI processors, for tests of their text."""

from dataclasses import replace

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.cut_plan import cut_plans, plan_cut
from match_aie.targets.aie_ml.graph.running_cuts import RunningCuts
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.executing import stretches
from match_aie.targets.xdna import XDNA
from match_aie.workload import function, real_pair
from match_aie.workload.real import layer_norm, real_softmax
from tests.aie_attention import (
    drawn_floats,
    float_attention,
    long_attention,
    running_attention,
    wrapping_floats,
)
from tests.aie_layers import constants_of, random_inputs, random_layer, random_product
from tests.networks.power_of_two import dense_chain
from tests.networks.quantised import signed
from tests.qdq import Nodes


def chain(rows, widths, dtype, name="npu1", columns=None):
    """The one graph of a chain of dense layers, with tensors and results."""
    target = XDNA(name, columns_per_layer=columns, modules=("array",))
    net = match.compile(dense_chain(rows, widths, dtype), target=target, selection="match")
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert len(mine) == len(widths) - 1
    (made,) = stretches(mine, name, np.random.default_rng(0))
    return made


def pixel(name, classes=1):
    """A network whose images end as one pixel: a convolution, the mean of its result, a classifier.

    Its convolution goes on by more than there is: by three rows of three, and two columns of one.

    Args:
        name: of the device.
        classes: numbers of the result.

    Returns:
        The compiled network, and the graphs of its layers with tensors and results.
    """
    rng = np.random.default_rng(0)
    net = Nodes()
    shapes = {"conv": (8, 8, 1, 1), "dense": (8, classes)}
    conv, dense = (
        net.const((rng.standard_normal(shape) / 3).astype(np.float32)) for shape in shapes.values()
    )
    last = net.node("Conv", ["x", conv], strides=[3, 2])
    last = net.node("Flatten", [net.node("GlobalAveragePool", [last])])
    last = net.node("MatMul", [last, dense])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 8, 3, 1))
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, (1, classes))
    graph = helper.make_graph(net.nodes, "net", [x], [y], net.constants)
    opset = [helper.make_opsetid("", 17)]
    model = signed(helper.make_model(graph, opset_imports=opset, ir_version=9))
    compiled = match.compile(model, target=XDNA(name, modules=("array",)), selection="match")
    mine = [layer for layer in compiled.program.schedule.chosen if layer.module == "array"]
    kinds = [layer.workload.kind for layer in mine]
    assert kinds == ["conv2d", "avg_pool2d", "dense"], kinds
    return compiled, list(stretches(mine, name, rng))


def turned_dense():
    """A dense layer in 8 bits on npu2 whose weights stay in the tiles, and that takes turns.

    Its graph, with tensors and results.
    """
    rng = np.random.default_rng(0)
    net = Nodes()
    weight = net.const((rng.standard_normal((32, 72)) / 6).astype(np.float32))
    last = net.node("Gemm", ["x", weight, net.const(rng.standard_normal(72).astype(np.float32))])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (32, 32))
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, (32, 72))
    graph = helper.make_graph(net.nodes, "net", [x], [y], net.constants)
    opset = [helper.make_opsetid("", 17)]
    model = signed(helper.make_model(graph, opset_imports=opset, ir_version=9))
    target = XDNA("npu2", columns_per_layer=1, modules=("array",))
    mine = match.compile(model, target=target, selection="match").program.schedule.chosen
    (made,) = stretches([layer for layer in mine if layer.module == "array"], "npu2", rng)
    (function,) = {core.function for core in made.program.cores}
    assert not function.streamed
    assert function.k_tiles > 1
    return made


def float_dense():
    """A dense layer of float32 tensors, with bias and ReLU."""
    rng = np.random.default_rng(0)
    net = Nodes()
    weight = net.const((rng.standard_normal((64, 48)) / 8).astype(np.float32))
    bias = net.const(rng.standard_normal(48).astype(np.float32))
    last = net.node("Relu", [net.node("Gemm", ["x", weight, bias])])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (32, 64))
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, (32, 48))
    graph = helper.make_graph(net.nodes, "net", [x], [y], net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def image(kind, seed, name="npu1"):
    """The program of a random image layer; None where it has none."""
    rng = np.random.default_rng(seed)
    workload = random_layer(rng, kind)
    fixed = None if workload is None else in_fixed_point(workload, constants_of(workload, rng))
    if fixed is None or isinstance(fixed, str):
        return None
    plans = cut_plans(fixed.workload, name, 2)
    if isinstance(plans, Infeasible):
        return None
    program = lay_out(plans[-1].graph("layer", fixed.workload, fixed.constants), device(name))
    return None if isinstance(program, Infeasible) else program


def product(seed):
    """The program of a random product of activations on npu1, and two runs' tensors."""
    workload, constants = random_product(seed)
    plans = cut_plans(workload, "npu1", 2)
    assert not isinstance(plans, Infeasible)
    program = lay_out(plans[-1].graph("layer", workload, constants), device("npu1"))
    assert not isinstance(program, Infeasible)
    return program, [random_inputs(workload, np.random.default_rng(n)) for n in (1, 2)]


def parts(seed, name="npu1"):
    """The program of attention whose keys and values go by, and two runs' tensors."""
    made = in_fixed_point(*long_attention(seed, heads=2, sizes=(40, 260, 64)))
    workload = made.workload
    plan = plan_cut(workload, name, 4)
    assert not isinstance(plan, Infeasible)
    program = lay_out(plan.graph("layer", workload, made.constants), device(name))
    assert not isinstance(program, Infeasible)
    return program, [random_inputs(workload, np.random.default_rng(n)) for n in (1, 2)]


def running_parts(seed, name="npu1"):
    """Likewise with a running softmax: keys that end within a tile; scores that are all equal."""
    layer = running_attention(seed, heads=1, sizes=(20, 400 - seed, 64), wide=0.2)
    made = in_fixed_point(*layer)
    workload = made.workload
    plan = plan_cut(workload, name, 4)
    assert not isinstance(plan, Infeasible)
    program = lay_out(plan.graph("layer", workload, made.constants), device(name))
    assert not isinstance(program, Infeasible)
    return program, runs_of(workload)


def running_strips(rows):
    """Likewise of blocks of so many rows, which say how many are handled at a time."""
    made = in_fixed_point(*running_attention(rows, heads=1, sizes=(rows + 5, 260, 64), wide=0.2))
    workload, kind = made.workload, RunningCuts(made.workload, device("npu1"))
    cut = next(cut for cut in kind.all(1) if cut.columns == cut.high == 1)
    priced = kind.price(replace(cut, block=rows, pieces=rows // 16))
    assert isinstance(priced, tuple), priced
    program = lay_out(kind.graph(priced[0], 1, "layer", workload, made.constants), device("npu1"))
    assert not isinstance(program, Infeasible)
    return program, runs_of(workload)


def runs_of(workload):
    """Two runs of attention, one of them of scores that are all equal."""
    runs = [random_inputs(workload, np.random.default_rng(n)) for n in (1, 2)]
    runs[0] |= {"x": runs[0]["x"] * 0, "x2": np.full_like(runs[0]["x2"], -128)}
    return runs


def float_parts(seed, name="npu1", *, unshifted=False, blocks=False):
    """Likewise in bfloat16; on npu2 of as many elements as lanes take, or in `blocks`.

    Of blocks a third run has scores of which no softmax is left.
    """
    sizes = (20, 70, 16) if name == "npu1" else (70, 77, 64)
    workload, constants = float_attention(
        seed, heads=2, sizes=sizes, unshifted=unshifted, blocks=blocks
    )
    plan = plan_cut(workload, name, 4)
    assert not isinstance(plan, Infeasible), plan
    program = lay_out(plan.graph("layer", workload, constants), device(name))
    assert not isinstance(program, Infeasible)
    runs = [drawn_floats(workload, np.random.default_rng(n)) for n in (1, 2)]
    return program, [*runs, *([wrapping_floats(workload, np.random.default_rng(3))] * blocks)]


def random_tensors(program, rng):
    """Integers of every operand that an image layer's ways bring."""
    found = {}
    for way in program.ways:
        part = way.outside.part
        if way.channel.direction == "mm2s" and part.operand not in found:
            limits = np.iinfo(way.outside.dtype)
            numbers = rng.integers(limits.min, limits.max + 1, part.tensor)
            found[part.operand] = numbers.astype(way.outside.dtype)
    return found


def rows():
    """A dense layer, a layer norm, a softmax."""
    rng = np.random.default_rng(0)
    net = Nodes()
    steps = {"x": 0.02, "w": 0.01, "y": 0.03, "n": 0.03, "s": 1 / 256}
    pairs = {
        name: [net.const(np.float32(step)), net.const(np.int8(-128 if name == "s" else 2))]
        for name, step in steps.items()
    }
    pairs["w"][1] = net.const(np.int8(0))
    weight = net.const(rng.integers(-127, 128, (40, 42)).astype(np.int8))
    weight = net.node("DequantizeLinear", [weight, *pairs["w"]])
    last = net.node("DequantizeLinear", ["x", *pairs["x"]])
    last = net.node("MatMul", [last, weight])
    last = net.node(
        "DequantizeLinear", [net.node("QuantizeLinear", [last, *pairs["y"]]), *pairs["y"]]
    )
    scale, bias = (net.const(rng.normal(at, 0.2, 42).astype(np.float32)) for at in (1, 0))
    last = net.node("LayerNormalization", [last, scale, bias], axis=-1, epsilon=1e-5)
    last = net.node(
        "DequantizeLinear", [net.node("QuantizeLinear", [last, *pairs["n"]]), *pairs["n"]]
    )
    last = net.node("Softmax", [last], axis=-1)
    last = net.node("QuantizeLinear", [last, *pairs["s"]])
    x = helper.make_tensor_value_info("x", TensorProto.INT8, (12, 40))
    y = helper.make_tensor_value_info(last, TensorProto.INT8, (12, 42))
    graph = helper.make_graph(net.nodes, "net", [x], [y], net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def gru():
    """Six steps, the last of them in a group that is not whole."""
    rng = np.random.default_rng(0)
    shapes = {"w": (1, 60, 30), "r": (1, 60, 20), "b": (1, 120)}
    constants = [
        numpy_helper.from_array(rng.uniform(-0.4, 0.4, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    constants.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    node = helper.make_node("GRU", ["x", *shapes], ["all"], hidden_size=20, linear_before_reset=0)
    nodes = [node, helper.make_node("Squeeze", ["all", "axis"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (6, 1, 30))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (6, 1, 20))
    graph = helper.make_graph(nodes, "net", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def convolution():
    """An image with an odd number of channels and a border: gathered by the host."""
    rng = np.random.default_rng(0)
    net = Nodes()
    x_pair = [net.const(np.float32(0.02)), net.const(np.int8(3))]
    y_pair = [net.const(np.float32(0.05)), net.const(np.int8(-4))]
    w_pair = [net.const(np.float32(0.01)), net.const(np.int8(0))]
    weight = net.const(rng.integers(-127, 128, (8, 3, 3, 3)).astype(np.int8))
    weight = net.node("DequantizeLinear", [weight, *w_pair])
    image = net.node("DequantizeLinear", ["x", *x_pair])
    last = net.node("Conv", [image, weight], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    last = net.node("QuantizeLinear", [last, *y_pair])
    x = helper.make_tensor_value_info("x", TensorProto.INT8, (1, 3, 9, 10))
    y = helper.make_tensor_value_info(last, TensorProto.INT8, (1, 8, 9, 10))
    graph = helper.make_graph(net.nodes, "net", [x], [y], net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def float_rows(kind, name):
    """Rows in bfloat16, of a length that fills no vector."""
    rng = np.random.default_rng(7)
    sizes = {"rows": 6, "columns": 70}
    made = {
        "softmax": lambda: real_softmax(**sizes),
        "layer_norm": lambda: layer_norm(**sizes, epsilon=1e-5),
        "add": lambda: real_pair("add", elements=350),
        "gelu": lambda: function("gelu", elements=350),
        "reciprocal": lambda: function("reciprocal", elements=350),
    }[kind]()
    constants = {o.name: rng.normal(1, 0.5, o.shape).astype(np.float32) for o in made.constants}
    found = in_fixed_point(made, constants)
    plan = plan_cut(found.workload, name, 1)
    assert not isinstance(plan, Infeasible), plan
    program = lay_out(plan.graph("layer", found.workload, found.constants), device(name))
    assert not isinstance(program, Infeasible), program
    return program, [drawn_floats(found.workload, np.random.default_rng(n)) for n in (1, 2)]
