"""Single layers on VersalAIEML: simulated, predicted, and what the Arm core would take (modelled).

    python benchmarks/versal_layers.py [--quick] [--json FILE]

Dense int8 layers and products of two activations (uint8 by int8, zero points), each as a network's
own graph, the Arm core's copies and call included. Then outputs of whole networks, emitted, built
and run in emulation, against onnxruntime's on random inputs: that is measured. `--quick` takes the
small ones of each.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from generated import network
from machine import machine_row
from onnx import TensorProto, helper, numpy_helper
from versal import mlp, row

import match_aie as match
from match_aie.demo import digits_model
from match_aie.targets.versal import VersalAIEML
from tests.shared import random_inputs

#: Rows, reduction, columns.
DENSE = (
    *((1, 512, 4096), (64, 512, 4096), (512, 512, 4096), (1, 4096, 512), (512, 4096, 512)),
    *((1, 1024, 1024), (64, 1024, 1024), (512, 1024, 1024), (1, 2048, 2048), (512, 2048, 2048)),
    *((1, 4096, 4096), (64, 4096, 4096), (512, 4096, 4096)),
)
#: Batch, rows, reduction, columns.
PRODUCTS = (
    *((2, 13, 20, 11), (1, 64, 64, 64), (4, 64, 128, 64)),
    *((1, 256, 64, 256), (8, 128, 64, 128)),
)
#: Random inputs of a network that is compared with onnxruntime.
INPUTS = 2


def product(batch: int, rows: int, depth: int, columns: int) -> onnx.ModelProto:
    """A MatMul of uint8 activations by int8 ones, to int8, with zero points."""
    constants: list[onnx.TensorProto] = []

    def scale(step: float, zero: np.generic) -> list[str]:
        names = [f"c{len(constants)}", f"c{len(constants) + 1}"]
        for name, value in zip(names, (np.float32(step), zero), strict=True):
            constants.append(numpy_helper.from_array(np.asarray(value), name))
        return names

    result = scale(0.01 * depth**0.5, np.int8(-3))
    nodes = [
        helper.make_node("DequantizeLinear", ["a", *scale(0.02, np.uint8(117))], ["af"]),
        helper.make_node("DequantizeLinear", ["b", *scale(0.01, np.int8(5))], ["bf"]),
        helper.make_node("MatMul", ["af", "bf"], ["yf"], "product"),
        helper.make_node("QuantizeLinear", ["yf", *result], ["y"]),
    ]
    kinds = {
        "a": (TensorProto.UINT8, (batch, rows, depth)),
        "b": (TensorProto.INT8, (batch, depth, columns)),
        "y": (TensorProto.INT8, (batch, rows, columns)),
    }
    ports = [helper.make_tensor_value_info(name, *kind) for name, kind in kinds.items()]
    graph = helper.make_graph(nodes, "product", ports[:2], ports[2:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def dense_rows(rows: int, depth: int, columns: int) -> Iterator[dict[str, Any]]:
    """One dense layer."""
    case = f"{rows} x {depth} x {columns}"
    model = mlp(1, depth, rows, columns)
    run = match.compile(model, VersalAIEML(modules=("array",))).simulate(record=False)
    (step,) = (step for step in run.steps if step.simulated)
    yield row(case, "dense_simulated_us", run.microseconds, "us", "simulated", "one layer")
    error = 100 * (step.predicted / step.cycles - 1)
    yield row(case, "array_prediction_error", error, "%", "simulated", "array's part")
    yield row(case, "arm_us", on_arm(model), "us", "modelled", "Arm core alone")


def product_rows(shape: tuple[int, int, int, int]) -> Iterator[dict[str, Any]]:
    """One product of two activations."""
    case = ", ".join(str(size) for size in shape)
    run = match.compile(product(*shape), VersalAIEML(modules=("array",))).simulate(record=False)
    predicted = sum(step.predicted for step in run.steps) / run.frequency_hz * 1e6
    yield row(case, "product_predicted_us", predicted, "us", "modelled", "one layer")
    yield row(case, "product_simulated_us", run.microseconds, "us", "simulated", "one layer")
    yield row(case, "arm_us", on_arm(product(*shape)), "us", "modelled", "Arm core alone")


def on_arm(model: onnx.ModelProto) -> float:
    """Modelled microseconds of a network on the Arm core alone."""
    net = match.compile(model, VersalAIEML(modules=("arm",)))
    return net.simulate(record=False).microseconds


def difference_rows(case: str, model: object) -> Iterator[dict[str, Any]]:
    """A network's outputs in emulation against onnxruntime's."""
    net = match.compile(model, VersalAIEML())
    layers = [layer.module for layer in net.program.schedule.layers]
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        project = net.write(Path(folder) / "net")
        for seed in range(INPUTS):
            result = project.run(random_inputs(net.inputs, np.random.default_rng(seed)))
            if not result.matches_reference:
                raise SystemExit(f"{case}: emulation differs from the reference")
            worst = max(worst, *result.max_lsb_vs_model.values())
    note = f"{layers.count('array')} of {len(layers)}; {INPUTS} random inputs"
    yield row(case, "max_lsb_vs_model", worst, "LSB", "measured", note)


def networks() -> Mapping[str, object]:
    """What is compared with onnxruntime."""
    return {
        "one dense layer, powers of two": network("dense_1l_i8.onnx"),
        "three dense layers, powers of two": network("mlp_3l_i8.onnx"),
        "int16 by int8, powers of two": network("mlp_i16xi8.onnx"),
        "digits (demo)": digits_model(),
        "7 dense layers 512x512, batch 1": mlp(rows=1),
        "ResNet8": network("resnet8_u8.onnx"),
        "MobileNetV1 0.25": network("mobilenetv1_025_u8.onnx"),
    }


def main() -> None:
    """Print a line a row, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # an assumed batch of 1
    rows = [machine_row()]

    def add(found: Iterator[dict[str, Any]]) -> None:
        for entry in found:
            rows.append(entry)
            value = f"{entry['value']:12.2f} {entry['unit']}"
            print(f"{entry['case']:36} {entry['metric']:24} {value} {entry['note']}", flush=True)

    for shape in DENSE[:1] if options.quick else DENSE:
        add(dense_rows(*shape))
    for sizes in PRODUCTS[:2] if options.quick else PRODUCTS:
        add(product_rows(sizes))
    compared = networks()
    for name in list(compared)[:2] if options.quick else compared:
        add(difference_rows(name, compared[name]))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
