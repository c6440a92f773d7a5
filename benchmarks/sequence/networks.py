"""Networks around recurrent layers, whole: digits read row by row, and a stack for top tagging.

Simulated from inputs to outputs: the array's layers with the core's copies and starts, and the
core's own layers as modelled. Accuracy is that of the emitted network, compiled and run here with
the array emulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rows import figure

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.choices import Floats
from match_aie.toolchain import Project

Row = dict[str, object]

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"

#: Images whose every layer is held to its reference, of all that are recognised.
CHECKED = 4


@dataclass(frozen=True)
class Network:
    """A network.

    Attributes:
        file: of the model in tests/data; None for the stack.
        steps: of a run.
        macs: multiply-accumulates of a run.
        what: a word about it.
        floats: what recurrent layers are asked to be.
    """

    file: str | None
    steps: int
    macs: int
    what: str
    floats: Floats = "bf16"


#: Top tagging: steps, inputs, units of both layers.
STACK = (20, 6, 20)

#: Multiply-accumulates of the digits' network: a GRU of 32 on 8 pixels, and 10 classes.
DIGITS_MACS = 8 * 3 * 32 * (8 + 32) + 10 * 32

CASES: dict[str, Network] = {
    "digits_gru_bf16": Network(
        "digits_gru.onnx", 8, DIGITS_MACS, "GRU of 32, dense head; float weights"
    ),
    "digits_gru_qdq": Network(
        "digits_gru_qdq.onnx",
        8,
        DIGITS_MACS,
        "the same in QDQ: int8 weights by rows, read as floats by the GRU",
    ),
    "digits_gru_int8": Network(
        "digits_gru_qdq.onnx",
        8,
        DIGITS_MACS,
        "the same with products of 8 bits",
        "int8",
    ),
    "top_tagging_2gru20": Network(
        None,
        STACK[0],
        STACK[0] * 3 * STACK[2] * (STACK[1] + 3 * STACK[2]) + STACK[2],
        "6 inputs, 2 GRUs of 20, a dense head",
    ),
}


def stack() -> onnx.ModelProto:
    """Two GRUs, a dense layer on the last state and a sigmoid; weights as frameworks begin."""
    steps, inputs, units = STACK
    rng, bound, rows = np.random.default_rng(0), units**-0.5, 3 * units
    shapes = {"d": (1, units), "e": (1,)}
    for at, width in enumerate((inputs, units)):
        layer = {"w": (1, rows, width), "r": (1, rows, units), "b": (1, 2 * rows)}
        shapes |= {f"{name}{at}": shape for name, shape in layer.items()}
    constants = [
        numpy_helper.from_array(rng.uniform(-bound, bound, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    constants += [numpy_helper.from_array(np.array([at], np.int64), f"axis{at}") for at in (0, 1)]
    options = {"hidden_size": units, "linear_before_reset": 1}
    nodes = [
        helper.make_node("GRU", ["x", "w0", "r0", "b0"], ["y0"], **options),
        helper.make_node("Squeeze", ["y0", "axis1"], ["states"]),
        helper.make_node("GRU", ["states", "w1", "r1", "b1"], ["", "last"], **options),
        helper.make_node("Squeeze", ["last", "axis0"], ["state"]),
        helper.make_node("Gemm", ["state", "d", "e"], ["score"], transB=1),
        helper.make_node("Sigmoid", ["score"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (steps, 1, inputs))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1))
    graph = helper.make_graph(nodes, "top_tagging", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def recognised(project: Project) -> float:
    """Share of the held-out images that the emitted network gets right.

    Raises:
        AssertionError: a layer of the first images is not its reference.
    """
    with np.load(DATA / "digits_rows.npz", allow_pickle=False) as data:
        images, labels = data["image"][:, :, None] / np.float32(16), data["label"]
    for image in images[:CHECKED]:
        assert project.run(image).matches_reference, "a layer is not its reference"
    runner = project.runner()
    right = 0
    for image, label in zip(images, labels, strict=True):
        runner.inputs["rows"][...] = image
        runner()
        right += int(runner.outputs["logits"].argmax() == label)
    return right / len(images)


def rows_of(name: str) -> list[Row]:
    """All figures of a network."""
    case = CASES[name]
    model = stack() if case.file is None else DATA / case.file
    net = match.compile(model, VersalAIEML(floats=case.floats), cache=False)
    chosen = net.program.schedule.chosen
    mine = [layer.workload.macs for layer in chosen if layer.module == "array"]
    whole = net.simulate().microseconds
    share = 100 * sum(mine) / case.macs
    note = f"{case.what}; a run of {case.steps} steps from inputs to outputs"
    rows = [
        figure(name, "run_us", whole, "us", "simulated", f"{note}; the core's layers modelled"),
        figure(name, "step_us", whole / case.steps, "us", "simulated", "the run by its steps"),
        figure(name, "layers_on_array", len(mine), "", "modelled"),
        figure(name, "macs_on_array_percent", share, "%", "modelled"),
    ]
    if case.file is None:
        return rows
    with TemporaryDirectory() as folder:
        value = 100 * recognised(net.write(Path(folder) / "net"))
    note = "360 held-out images, the emitted network with the array emulated"
    return [*rows, figure(name, "accuracy", value, "%", "measured", note)]
