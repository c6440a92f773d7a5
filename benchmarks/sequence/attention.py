"""Attention of several heads as one layer of the array, out of a QDQ model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rows import figure

import match_aie as match
from match_aie.hardware import ChosenLayer
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.simulate import run_layer, simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import stretches

VEK280 = device("vek280")

#: Steps of queries, keys, values, scores and results; of the scaled scores and weights below.
STEPS = (0.02, 0.02, 0.02, 0.5, 0.02)


@dataclass(frozen=True)
class Case:
    """Heads of attention, batch 1.

    Attributes:
        heads: of the layer.
        rows: queries, and keys.
        size: elements of a head.
        points: zero points of queries, keys, values, scores, weights, results.
        weight: step of weights; with values and results in one step, 1/128 is a shift.
    """

    heads: int
    rows: int
    size: int
    points: tuple[int, int, int, int, int, int] = (0,) * 6
    weight: float = 1 / 128


CASES = {
    "attention_12x64": Case(12, 128, 64),
    "attention_12x64_any_scale": Case(12, 128, 64, weight=1 / 127),
    "attention_12x64_zero_points": Case(12, 128, 64, (3, -5, 7, 4, -128, -3), 1 / 256),
}


def network(case: Case) -> onnx.ModelProto:
    """Products, scaled scores, softmax and the tensors between them in 8 bits."""
    nodes: list[onnx.NodeProto] = []
    known: list[onnx.TensorProto] = []

    def const(value: object) -> str:
        known.append(numpy_helper.from_array(np.asarray(value), f"c{len(known)}"))
        return str(known[-1].name)

    def node(operator: str, *inputs: str, **more: int) -> str:
        nodes.append(helper.make_node(operator, inputs, [f"t{len(nodes)}"], **more))
        return f"t{len(nodes) - 1}"

    def pair(step: float, point: int) -> tuple[str, str]:
        return const(np.float32(step)), const(np.int8(point))

    def stored(real: str, step: float, point: int) -> str:
        return node("QuantizeLinear", real, *pair(step, point))

    def through(real: str, step: float, point: int) -> str:
        return node("DequantizeLinear", stored(real, step, point), *pair(step, point))

    p, root = case.points, np.float32(np.sqrt(case.size))
    q, k, v = (
        node("DequantizeLinear", name, *pair(step, point))
        for name, step, point in zip("qkv", STEPS, p, strict=False)
    )
    scores = through(node("MatMul", q, k), STEPS[3], p[3])
    scaled = through(node("Div", scores, const(root)), np.float32(STEPS[3]) / root, p[3])
    weights = through(node("Softmax", scaled, axis=-1), case.weight, p[4])
    y = stored(node("MatMul", weights, v), STEPS[4], p[5])
    lead = [1, case.heads]
    shapes = {"q": [case.rows, case.size], "k": [case.size, case.rows], "v": [case.rows, case.size]}
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT8, [*lead, *shape])
        for name, shape in shapes.items()
    ]
    output = helper.make_tensor_value_info(y, TensorProto.INT8, [*lead, case.rows, case.size])
    graph = helper.make_graph(nodes, "attention", inputs, [output], known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def exact(case: Case, tensors: Mapping[str, np.ndarray], *, stored: bool) -> np.ndarray:
    """The layer in float64 in steps of its result; one group's ways in.

    Args:
        case: the layer.
        tensors: by way in.
        stored: whether scores and weights are rounded to their 8 bits, as the model says.
    """
    p, root = case.points, np.float32(np.sqrt(case.size))
    q, k, v = (
        (tensors[f"{name}_0"].astype(np.float64) - point) * np.float32(step)
        for name, step, point in zip(("x", "x1", "x2"), STEPS, p, strict=False)
    )
    scores = q @ k
    if stored:
        scores = (np.clip(np.rint(scores / STEPS[3]) + p[3], -128, 127) - p[3]) * STEPS[3]
    e = np.exp((scores - scores.max(axis=-1, keepdims=True)) / root)
    weights = e / e.sum(axis=-1, keepdims=True)
    if stored:
        steps = np.clip(np.rint(weights / case.weight) + p[4], -128, 127)
        weights = (steps - p[4]) * case.weight
    steps = weights @ v / np.float32(STEPS[4]) + p[5]
    return np.asarray(np.clip(steps, -128, 127))


def executed(case: Case, layer: ChosenLayer) -> tuple[ArrayProgram, dict[bool, float]]:
    """The layer's program, and how far two runs of it are from `exact`, by its `stored`.

    Raises:
        AssertionError: a result is not the reference's, or shows nothing.
    """
    runs = [next(stretches([layer], VEK280.name, np.random.default_rng(seed))) for seed in (1, 2)]
    program = runs[0].program
    done = execute(program, VEK280, [run.tensors for run in runs])
    errors = {True: 0.0, False: 0.0}
    for number, run in enumerate(runs):
        wanted = run.results[0][1]
        found = done.tensor(wanted, run=number)
        np.testing.assert_array_equal(found, wanted)
        assert np.unique(wanted).size > 20, "results too much alike to show anything"
        for stored, so_far in errors.items():
            apart = np.abs(found - exact(case, run.tensors, stored=stored)).max()
            errors[stored] = max(so_far, float(apart))
    return program, errors


def rows_of(name: str) -> list[dict[str, object]]:
    """All figures of a case.

    Raises:
        AssertionError: it is not one layer of the array, or a result is not the reference's.
    """
    case = CASES[name]
    target = VersalAIEML(columns_per_layer=1, modules=("array",))
    net = match.compile(network(case), target, cache=False)
    (layer,) = net.program.schedule.chosen
    assert layer.workload.kind == "attention"
    program, errors = executed(case, layer)
    tiles, macs = len(program.cores), layer.workload.macs
    result = simulate_program(program, VEK280)
    alone = run_layer(program, VEK280).cycles
    note = f"{case.heads} heads of {case.size}, {case.rows} tokens, no zero points; "
    note += "weights of 1/128 by values in steps of the results"
    if case.weight != 1 / 128:
        note = "as before, weights in steps of no power of two"
    if any(case.points):
        note = "as before, every tensor with a zero point"

    def share(cycles: float) -> float:
        return 100 * macs / cycles / (tiles * VEK280.architecture.core.macs_of("int8", "int8"))

    def us(cycles: float) -> float:
        return cycles / VEK280.clock_ghz / 1000

    tops = 2 * macs / us(result.interval) / 1e6
    rows = [
        figure(name, "executed", 1, "", "measured", "two runs equal to the reference"),
        figure(name, "simulated_tops", tops, "TOPS", "simulated", f"repeated runs; {note}"),
        figure(name, "simulated_us", us(result.interval), "us", "simulated", "repeated runs"),
        figure(name, "first_result_us", us(alone), "us", "simulated", "a single run"),
        figure(name, "tiles", tiles, "", "modelled", f"of {VEK280.core_tiles}"),
        figure(name, "share_of_peak", share(result.interval), "%", "simulated", "of these tiles"),
        figure(name, "macs_on_array_percent", 100, "%", "modelled"),
        figure(name, "max_error", errors[True], "LSB", "measured", "beside the model in float64"),
        figure(
            name,
            "max_error_of_8_bits",
            errors[False],
            "LSB",
            "measured",
            "beside float64 that keeps scores and weights",
        ),
    ]
    for factor, which in ((0.5, "half"), (2.0, "double")):
        cycles = simulate_program(program, VEK280, assumed=Assumed().scaled(factor)).interval
        note = f"assumed times of the array at {which}"
        rows.append(figure(name, f"share_of_peak_{which}", share(cycles), "%", "simulated", note))
    return rows
