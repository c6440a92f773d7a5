"""Networks on VersalAIEML: predicted and simulated cycles of every layer, and what assumptions do.

    python benchmarks/versal.py [--networks NAME ...] [--json FILE]

The networks are generated, but the trained digits. Layers on the array are simulated
from the chip's memory back to it, one after the other; what runs on the Arm core is modelled.
"on the array" leaves the Arm core only what the array cannot run. Nothing here is measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import generated
import numpy as np
import onnx
from machine import machine_row
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.cli.simulating import simulation_text
from match_aie.compilation import Compilation
from match_aie.demo import digits_model
from match_aie.simulating import steps
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.simulate import ArrayNetworkSimulator, Beyond
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove
from match_aie.toolchain.record import parse

FILES = {"ResNet8": "resnet8_u8.onnx", "MobileNet": "mobilenetv1_025_u8.onnx"}
#: One dense layer of so many rows, whose weights are streamed.
LARGE = {"4096x4096, batch 1": 1, "4096x4096, batch 512": 512}
NETWORKS = ("digits", "MLP", *LARGE, *FILES)


def mlp(
    layers: int = 7, width: int = 512, rows: int = 512, columns: int | None = None
) -> onnx.ModelProto:
    """int8 dense layers with bias and ReLU, every scale a power of two.

    Args:
        layers: how many.
        width: of the input, and of every layer's output where `columns` does not say.
        rows: of the input.
        columns: of every layer's output; with one layer only.
    """
    return dense_network((width, *(columns or width,) * layers), rows)


def dense_network(widths: Sequence[int], rows: int, step: int = -10) -> onnx.ModelProto:
    """The same with an input of so many columns, then those of every layer's output.

    Weights have the scale 2^`step`: where layers are many and narrow, results of the last one
    depend on the input only if each of them makes up for what ReLU takes away.
    """
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []

    def const(value: object) -> str:
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(operator: str, *inputs: str) -> str:
        nodes.append(helper.make_node(operator, inputs, [f"n{len(nodes)}"], name=f"n{len(nodes)}"))
        return str(nodes[-1].output[0])

    def scale(exponent: int, dtype: type = np.int8) -> tuple[str, str]:
        return const(np.float32(2.0**exponent)), const(dtype(0))

    last = node("DequantizeLinear", "x", *scale(-4))
    stored = "x"
    for width, columns in pairwise(widths):
        weight = rng.integers(-128, 128, (width, columns)).astype(np.int8)
        bias = rng.integers(-(2**12), 2**12, columns).astype(np.int32)
        product = node("MatMul", last, node("DequantizeLinear", const(weight), *scale(step)))
        added = node("DequantizeLinear", const(bias), *scale(step - 4, np.int32))
        stored = node("QuantizeLinear", node("Relu", node("Add", product, added)), *scale(-4))
        last = node("DequantizeLinear", stored, *scale(-4))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.INT8, (rows, wide))
        for name, wide in (("x", widths[0]), (stored, widths[-1]))
    ]
    graph = helper.make_graph(nodes[:-1], "mlp", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def compiled(network: str, modules: tuple[str, ...]) -> Compilation:
    """The network for the target."""
    target = VersalAIEML(modules=modules)
    if network == "digits":
        return match.compile(digits_model(), target=target)
    if network in LARGE:
        return match.compile(mlp(1, 4096, LARGE[network]), target=target)
    if network == "MLP":
        return match.compile(mlp(), target=target)
    return match.compile(generated.network(FILES[network]), target=target)


def row(
    case: str, metric: str, value: float, unit: str, provenance: str, note: str
) -> dict[str, Any]:
    """One row of the JSON."""
    return {
        "case": case,
        "metric": metric,
        "value": value,
        "unit": unit,
        "provenance": provenance,
        "note": note,
    }


def measure(case: str, net: Compilation) -> Iterator[dict[str, Any]]:
    """Rows of one network, whose programs are executed before they are simulated."""
    layers = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    equal = prove(layers, "vek280", np.random.default_rng(1)) if layers else 0
    note = "results of executed programs, equal to their references bit for bit"
    yield row(case, "executed", equal, "tensors", "measured", note)
    run = net.simulate(record=False)
    predicted = sum(step.predicted for step in run.steps)
    array = [step for step in run.steps if step.simulated]
    share = sum(step.cycles for step in array) / run.cycles
    yield row(case, "simulated_us", run.microseconds, "us", "simulated", "Arm core's part modelled")
    yield row(case, "predicted_cycles", predicted, "cycles", "modelled", "of the Arm core's clock")
    yield row(case, "simulated_cycles", run.cycles, "cycles", "simulated", "of the same clock")
    yield row(case, "array_layers", len(array), "layers", "modelled", "chosen by selection")
    yield row(case, "array_share", 100 * share, "%", "simulated", "of the time, in array layers")
    if array:
        errors = [abs(step.predicted / step.cycles - 1) for step in array]
        mean = 100 * float(np.mean(errors))
        yield row(case, "mean_prediction_error", mean, "%", "simulated", "of array layers")
        worst = 100 * max(errors)
        yield row(case, "max_prediction_error", worst, "%", "simulated", "of array layers")
    for step in array:
        yield row(case, "layer_cycles", step.cycles, "cycles", "simulated", step.label)
        yield row(case, "layer_predicted", step.predicted, "cycles", "modelled", step.label)
    yield from varied(case, net)


def run_clock(net: Compilation) -> float:
    """Hertz that simulated cycles count."""
    return net.simulate(record=False).frequency_hz


def varied(case: str, net: Compilation) -> Iterator[dict[str, Any]]:
    """The whole network with assumed times and rates at half and at double."""
    target = net.target
    if not isinstance(target, VersalAIEML):
        return
    record = parse(json.loads(net.sources()["match_aie.json"]), Path(net.symbol))
    base = Beyond()
    for factor in (0.5, 2.0):
        beyond = Beyond(
            base.memory_gbps / factor,
            round(base.memory_cycles * factor),
            base.call_ns * factor,
            base.copied_per_ns / factor,
            base.updated_per_ns / factor,
        )
        simulator = ArrayNetworkSimulator(
            device(target.device),
            run_clock(net),
            target.stretches,
            Assumed().scaled(factor),
            beyond,
        )
        run = simulator.run(steps(record, target), record=False)
        note = f"every assumed time x {factor:g}, every assumed rate / {factor:g}"
        yield row(case, "simulated_us_varied", run.microseconds, "us", "simulated", note)


def main() -> None:
    """Print tables, and write the rows where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = [machine_row()]
    for network in arguments.networks:
        for modules in (("array", "arm"), ("array",)):
            case = network if "arm" in modules else f"{network}, on the array"
            net = compiled(network, modules)
            print(f"\n{case}\n{simulation_text(net.simulate(record=False))}")
            rows += measure(case, net)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
