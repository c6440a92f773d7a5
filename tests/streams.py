"""Small networks that keep something from one call to the next."""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from tests.networks.tflite_file import Step, Stored, flatbuffer

NONE = np.zeros(0, np.float32)
SCALE = np.array([0.5], np.float32)


@dataclass(frozen=True)
class Kept:
    """A variable of two rows of int8, whose first value is a number; None for no first value."""

    name: str
    first: int | None
    reads: int = 1
    assigns: int = 1
    first_rows: int = 2
    first_type: str = "int8"


def _stored(name, shape, content=None):
    return Stored(name, shape, "int8", SCALE, 0, 0, content)


def _numbers(name, values):
    content = np.array(values, np.int32)
    return Stored(name, content.shape, "int32", NONE, 0, 0, content)


def delay_line(kept, called=True):
    """int8 x [1, 1, 3] -> y [1, 3, 3], a TFLite file: `x` behind the rows of the last variable.

    Every variable, [1, 2, 3], is shifted by a row: the first takes `x`, others their neighbour's
    oldest row.

    Args:
        kept: the variables, in the order in which they are read.
        called: whether an operator asks for the first values.
    """
    cuts = {"begin": (0, 1, 0), "end": (1, 3, 3), "top": (1, 1, 3), "start": (0, 0, 0)}
    tensors = [_stored("x", (1, 1, 3)), *(_numbers(n, v) for n, v in cuts.items())]
    tensors.append(_numbers("steps", (1, 1, 1)))
    steps = [Step("CALL_ONCE", (), "", "CallOnceOptions", {"InitSubgraphIndex": 1})] * called
    first_tensors, first_steps, row = [], [], "x"
    for one in kept:
        handle = Stored(f"{one.name} handle", (), "resource", NONE)
        names = [f"{one.name} read" + "!" * at for at in range(one.reads)]
        opened = Step("VAR_HANDLE", (), handle.name, "VarHandleOptions", {"SharedName": one.name})
        tensors += [handle, *(_stored(name, (1, 2, 3)) for name in names)]
        tensors += [_stored(f"{one.name} all", (1, 3, 3)), _stored(f"{one.name} next", (1, 2, 3))]
        tensors.append(_stored(f"{one.name} oldest", (1, 1, 3)))
        steps += [opened, *(Step("READ_VARIABLE", (handle.name,), name) for name in names)]
        joined = (names[0], row)
        steps.append(
            Step("CONCATENATION", joined, f"{one.name} all", "ConcatenationOptions", {"Axis": 1})
        )
        for result, cut in (("next", ("begin", "end")), ("oldest", ("start", "top"))):
            operands = (f"{one.name} all", *cut, "steps")
            steps.append(
                Step("STRIDED_SLICE", operands, f"{one.name} {result}", "StridedSliceOptions")
            )
        steps += [Step("ASSIGN_VARIABLE", (handle.name, f"{one.name} next"), "")] * one.assigns
        row = f"{one.name} oldest"
        if one.first is not None:
            value = np.full((1, one.first_rows, 3), one.first, one.first_type)
            stored = Stored(f"{one.name} first", value.shape, one.first_type, SCALE, 0, 0, value)
            first_tensors += [handle, stored]
            first_steps += [
                opened,
                Step("ASSIGN_VARIABLE", (handle.name, f"{one.name} first"), ""),
            ]
    tensors.append(_stored("y", (1, 3, 3)))
    fields = {"FusedActivationFunction": 0}
    last = f"{kept[-1].name} all"
    tensors.append(_stored("zero", (1, 3, 3), np.zeros((1, 3, 3), np.int8)))
    steps.append(Step("ADD", (last, "zero"), "y", "AddOptions", fields))
    return flatbuffer(tensors, steps, "x", "y", [(first_tensors, first_steps)])


def delayed(first, rows):
    """What `delay_line` gives for `rows` [N, 3] in turn: [N, 1, 3, 3] (numpy)."""
    held = [np.full((2, 3), value, np.int8) for value in first]
    found = []
    for row in rows:
        for at, old in enumerate(held):
            every = np.concatenate([old, row[None]])
            held[at], row = every[1:], every[0]
        found.append(every[None])
    return np.array(found)


def running_sum():
    """float32 x, h [1, 4] -> y = x + h / 2, and `wide` [1, 8], an ONNX model."""

    def port(name, width):
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, width])

    half = helper.make_tensor("half", onnx.TensorProto.FLOAT, [1], [0.5])
    nodes = [
        helper.make_node("Mul", ["h", "half"], ["part"]),
        helper.make_node("Add", ["x", "part"], ["y"]),
        helper.make_node("Concat", ["x", "h"], ["wide"], axis=1),
    ]
    graph = helper.make_graph(
        nodes, "sums", [port("x", 4), port("h", 4)], [port("y", 4), port("wide", 8)], [half]
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
