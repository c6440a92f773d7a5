"""Networks of the forms that packages ship: the CPU target against what runs them today.

    python benchmarks/models.py [--json FILE] [--only NAME ...] [--rounds N] [--window SECONDS]

All networks are generated, with published sizes and random weights. The other engine is
onnxruntime, for TensorFlow Lite files LiteRT (`ai-edge-litert`), each with one thread; calls of
both are interleaved in one run, as in `cpu.py`, so that what disturbs the machine disturbs both,
and the ratio of the fastest calls is kept. Peak memory is that of a process that loads numpy and
the network and runs it three times. Products are counted in the model as it is given.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from cpu import CLOCKS, Case, measure
from cpu_engines import litert, onnxruntime
from generated import ROOT, network
from machine import machine_row
from rows import figure, report

CASES = (
    *("mobilenetv2", "resnet18", "unet", "crnn_lstm", "vad_stream", "bilstm_tagger"),
    *("minilm6", "gpt_block", "fp16_tflite", "gru400", "nsnet2", "bert_tiny"),
    *("deberta_layers", "distilbert_stack", "albert_stack", "bert_base_stack"),
    *("mobilenetv2_u8", "resnet18_u8", "gpt_block_u8"),
)
TFLITE = ("fp16_tflite",)

#: What the process does whose peak memory is taken: (name of the engine, network, inputs).
CHILD = """
import sys
import numpy as np
engine, path, inputs = sys.argv[1:]
feeds = dict(np.load(inputs))
if engine == "match_aie":
    from match_aie.toolchain import load
    run = load(path).runner()
    for name, array in feeds.items():
        run.inputs[name][...] = array
else:
    import cpu_engines
    from pathlib import Path
    run = getattr(cpu_engines, engine)(Path(path), feeds)
for _ in range(3):
    run()
status = open("/proc/self/status").read()
print(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
"""


def feeds_of(ports: Any) -> dict[str, np.ndarray]:
    """Random inputs; word numbers stay within the smallest vocabulary, masks keep all words."""
    rng = np.random.default_rng(1)
    found = {}
    for port in ports:
        if port.dtype == "int64":
            masks = "mask" in port.name
            found[port.name] = rng.integers(1, 2 if masks else 10_000, port.shape)
        elif port.dtype == "int8":
            found[port.name] = rng.integers(-128, 128, port.shape).astype(np.int8)
        else:
            found[port.name] = rng.standard_normal(port.shape).astype(np.float32)
    return found


def products(path: Path) -> int:
    """Products in the convolutions, matrices and recurrent layers of an ONNX network."""
    import onnx

    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    graph = model.graph
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for port in (*graph.value_info, *graph.input, *graph.output):
        shapes[port.name] = tuple(d.dim_value for d in port.type.tensor_type.shape.dim)
    return sum(_products(node, shapes) for node in graph.node)


def _products(node: Any, shapes: Mapping[str, tuple[int, ...]]) -> int:
    if node.op_type == "Conv":
        return math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
    if node.op_type == "ConvTranspose":
        return math.prod(shapes[node.input[0]]) * math.prod(shapes[node.input[1]][1:])
    if node.op_type in ("MatMul", "Gemm", "MatMulInteger"):
        return math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
    if node.op_type == "MatMulNBits":  # whose results inference does not know
        (wide,) = (a.i for a in node.attribute if a.name == "N")
        return math.prod(shapes[node.input[0]]) * int(wide)
    if node.op_type in ("GRU", "LSTM", "RNN", "DynamicQuantizeLSTM"):
        steps, rows, _ = shapes[node.input[0]]
        each = (math.prod(shapes[name]) for name in node.input[1:3])
        return int(steps * rows * sum(each))
    return 0


def tflite_products(path: Path) -> int:
    """The same of the convolutions, dense layers and LSTMs of a TensorFlow Lite network."""
    import tflite

    model = tflite.Model.GetRootAs(path.read_bytes(), 0)
    graph, total = model.Subgraphs(0), 0
    convolution, depthwise, dense, lstm = (
        getattr(tflite.BuiltinOperator, name)
        for name in (
            *("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"),
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
        )
    )
    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        code = model.OperatorCodes(operator.OpcodeIndex()).BuiltinCode()
        if code == lstm:
            steps = graph.Tensors(operator.Inputs(0)).ShapeAsNumpy()[:-1]
            weights = [graph.Tensors(operator.Inputs(at)) for at in range(1, 9)]
            each = sum(math.prod(int(n) for n in w.ShapeAsNumpy()) for w in weights)
            total += math.prod(int(n) for n in steps) * each
        if code not in (convolution, depthwise, dense):
            continue
        weight = graph.Tensors(operator.Inputs(1)).ShapeAsNumpy()
        result = graph.Tensors(operator.Outputs(0)).ShapeAsNumpy()
        each = weight[1:3] if code == depthwise else weight[1:]
        total += math.prod(int(n) for n in result) * math.prod(int(n) for n in each)
    return total


def peak_bytes(engine: str, path: Path, feeds: Mapping[str, np.ndarray]) -> int:
    """Bytes that a process of its own has had at most."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder, "inputs.npz")
        np.savez(inputs, **feeds)
        here = str(Path(__file__).resolve().parent)
        start = f"import sys; sys.path[:0] = [{here!r}, {str(ROOT)!r}]\n"
        words = [sys.executable, "-c", start + CHILD, engine, str(path), str(inputs)]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return 1024 * int(said.split()[-1])


def far(own: Mapping[str, np.ndarray], other: list[np.ndarray]) -> float:
    """The largest difference of an output's element, by the output's largest magnitude."""
    pairs = zip(own.values(), other, strict=True)
    return max(
        float(np.abs(np.float64(a) - b).max() / max(np.abs(np.float64(b)).max(), 1e-30))
        for a, b in pairs
    )


def case_rows(name: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """Compile, compare, time one network."""
    import match_aie as match

    lite = name in TFLITE
    path = network(f"{name}.tflite" if lite else f"{name}.onnx")
    engine, other = ("litert", litert) if lite else ("onnxruntime", onnxruntime)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(path, "CPU")
    seconds = time.perf_counter() - began
    folder = Path(tempfile.mkdtemp(prefix="match_aie_bench_"), "net")
    project, feeds = net.write(folder), feeds_of(net.inputs)
    runner, there = project.runner(), other(path, feeds)
    for port, array in feeds.items():
        runner.inputs[port][...] = array
    case = Case(name, tflite_products(path) if lite else products(path))
    case.engines = {"match_aie": runner, engine: there}
    case.seconds = {key: [] for key in case.engines}
    runner()
    error = far(runner.outputs, there())
    measure(case, options.rounds, options.window, CLOCKS[options.clock])
    inside = sum(layer.workload.macs for layer in net.program.schedule.layers)
    note = (
        f"{engine}, fastest of {len(case.seconds['match_aie'])} and "
        f"{len(case.seconds[engine])} interleaved calls, 1 thread, {options.clock} time"
    )
    peak = peak_bytes("match_aie", folder, feeds), peak_bytes(engine, path, feeds)
    return [
        figure(name, "speedup_vs_reference", case.best(engine) / case.best("match_aie"), "x",
               "measured", note),
        figure(name, "milliseconds", 1e3 * case.best("match_aie"), "ms", "measured"),
        figure(name, "milliseconds_reference", 1e3 * case.best(engine), "ms", "measured", engine),
        {**figure(name, "max_relative_error", 0.0, "", "measured", "of the largest magnitude"),
         "value": float(f"{error:.2e}")},
        figure(name, "macs_in_modules_percent", min(100.0, 100 * inside / max(case.macs, 1)), "%",
               "computed", f"{case.macs:,} products"),
        figure(name, "peak_memory_ratio", peak[0] / peak[1], "x", "measured",
               f"{peak[0] / 1e6:.0f} MB to {peak[1] / 1e6:.0f} MB, processes with numpy"),
        figure(name, "compile_seconds", seconds, "s", "measured"),
    ]  # fmt: skip


def main() -> None:
    """Print the rows, and write them; a case that fails says so and is left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=CASES)
    parser.add_argument("--clock", default="wall", choices=list(CLOCKS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=0.2, help="seconds per engine and round")
    options = parser.parse_args()
    rows: list[dict[str, object]] = [machine_row()]
    for name in options.only:
        if name in TFLITE and find_spec("ai_edge_litert") is None:
            print(f"{name}: left out, ai-edge-litert is not installed", flush=True)
            continue
        added = case_rows(name, options)
        rows += added
        print(json.dumps(added), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    report(rows, options.json)


if __name__ == "__main__":
    main()
