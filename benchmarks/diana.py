"""Networks on DIANA: who runs each layer, its modelled and simulated cycles, and the emulation.

    python benchmarks/diana.py [--networks NAME ...] [--json FILE]

Networks are generated. They are run as they are, and some once more with every scale rounded to a
power of two, one for all of a sum, and zero points 0 ("power of two"): the same layers as the array
can run them. Nothing here is measured.
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
from onnx import numpy_helper

import match_aie as match
from match_aie.cli.simulating import simulation_text
from match_aie.compilation import Compilation
from match_aie.targets.diana import Diana
from match_aie.targets.diana.facts import FACTS

NETWORKS = {
    "ResNet8": "resnet8_u8.onnx",
    "DS-CNN": "dscnn_u8.onnx",
    "DAE": "dae_u8.onnx",
    "ResNet8 (TFLite)": "resnet8_i8.tflite",
    "DS-CNN (TFLite)": "dscnn_i8.tflite",
}

#: pJ of a cycle in which the digital array works: 16 x 16 products and sums, at its published peak
#: efficiency of 14 TOP/s/W with 8 bits (P. Houshmand et al., JSSC 58(1), 2023, abstract). Rows of
#: it that are not full are priced as full ones.
ARRAY_PICOJOULES = 2 * FACTS.lanes**2 / 14.0

#: Run with rounded scales too.
ROUNDED = ("ResNet8", "DS-CNN", "DAE")


def power_of_two(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with scales that are powers of two, one per tensor, and int8 with zero points 0."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    rounded = _rounded(graph, values)
    steps: dict[str, float] = {}
    biases = []
    for node in graph.node:
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            continue
        stored = values.get(node.input[0])
        if stored is not None and stored.dtype == np.int32:
            biases.append(node)
            continue
        steps[node.output[0]] = rounded[node.input[1]]
        _set_scale(graph, node, steps[node.output[0]], np.int8)
    for node in biases:
        (user,) = (user for user in graph.node if node.output[0] in user.input)
        _set_scale(graph, node, steps[user.input[0]] * steps[user.input[1]], np.int32)
    return changed


def _rounded(graph: onnx.GraphProto, values: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Name of a scale -> its power of two; one for what a sum reads and what it gives."""
    ends = {n.output[0]: n.input[1] for n in graph.node if n.op_type == "DequantizeLinear"}
    results = {n.input[0]: n.input[1] for n in graph.node if n.op_type == "QuantizeLinear"}
    found = {
        name: float(2.0 ** np.rint(np.log2(np.mean(values[name]))))
        for name in (*ends.values(), *results.values())
    }
    sums = [
        (*(ends[name] for name in node.input), results[node.output[0]])
        for node in graph.node
        if node.op_type == "Add"
    ]
    for _ in sums:  # a sum may read what another one gives
        for names in sums:
            found |= dict.fromkeys(names, max(found[name] for name in names))
    return found


def _set_scale(graph: onnx.GraphProto, node: onnx.NodeProto, step: float, dtype: type) -> None:
    """Give a (de)quantisation constants of its own."""
    scale, zero = f"{node.output[0]}.step", f"{node.output[0]}.zero"
    graph.initializer.append(numpy_helper.from_array(np.array(step, np.float32), scale))
    graph.initializer.append(numpy_helper.from_array(np.array(0, dtype), zero))
    del node.input[1:], node.attribute[:]
    node.input.extend([scale, zero])


def random_inputs(net: Compilation, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Standard normal floats, uniform integers."""
    found = {}
    for port in net.inputs:
        if port.dtype == "float32":
            found[port.name] = rng.standard_normal(port.shape).astype(np.float32)
        else:
            info = np.iinfo(port.dtype)
            values = rng.integers(info.min, info.max + 1, port.shape)
            found[port.name] = values.astype(port.dtype)
    return found


def network_rows(case: str, net: Compilation, inside: Compilation) -> Iterator[dict[str, Any]]:
    """Prints the network's table, and gives its sums.

    Args:
        case: of the rows.
        net: with float inputs and outputs.
        inside: with integer ones.
    """
    run = net.simulate(record=True)
    print(f"\n{case}\n{simulation_text(run)}")
    with tempfile.TemporaryDirectory() as folder:
        result = net.write(Path(folder) / "net").run(random_inputs(net, np.random.default_rng(0)))
    print(f"emulation  {'equals' if result.matches_reference else 'DIFFERS FROM'} the reference")
    predicted = sum(step.predicted for step in run.steps)
    array = [step for step in run.steps if step.simulated]
    within = inside.simulate(record=False)
    note = f"{len(array)} of {len(run.steps)} steps on the array, the others modelled"
    for metric, value, unit, provenance in (
        ("simulated_ms", run.microseconds / 1e3, "ms", "simulated" if array else "modelled"),
        ("integer_ms", within.microseconds / 1e3, "ms", "simulated" if array else "modelled"),
        ("predicted_ms", predicted / run.frequency_hz * 1e3, "ms", "modelled"),
        ("array_cycles", sum(step.cycles for step in array), "cycles", "simulated"),
        ("array_predicted_cycles", sum(step.predicted for step in array), "cycles", "modelled"),
        ("matches_reference", float(result.matches_reference), "", "measured"),
    ):
        yield {
            **{"case": case, "metric": metric, "value": round(value, 4), "unit": unit},
            **{"provenance": provenance, "note": note},
        }
    busy = run.utilisation().get("digital", 0.0) * run.cycles
    yield {
        **{"case": case, "metric": "energy_uj", "value": round(busy * ARRAY_PICOJOULES / 1e6, 4)},
        **{"unit": "uJ", "provenance": "modelled"},
        "note": "the array's busy cycles at its published peak; no core, DMA, L2, leakage",
    }


def compiled(model: Any) -> tuple[Compilation, Compilation]:
    """With the model's own inputs and outputs, and with integer ones."""
    whole, inside = (match.compile(model, target=Diana(), integer_io=io) for io in (False, True))
    return whole, inside


def main() -> None:
    """Print the tables, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # an assumed batch of 1
    rows = [machine_row()]
    for case in arguments.networks:
        path = NETWORKS[case]
        rows += network_rows(case, *compiled(network(path)))
        if case in ROUNDED:
            rounded = power_of_two(onnx.load(network(path)))
            rows += network_rows(f"{case}, power of two", *compiled(rounded))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
