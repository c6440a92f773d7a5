"""One model through the compiler, judged by its layers' references and by onnxruntime.

onnxruntime runs unoptimised, so that it computes what the model says. Two sound float32 programs
still differ, and a network may magnify that: where the plain bound does not hold, the model is run
again with every intermediate value perturbed by a few roundings (Monte Carlo arithmetic), and a
difference counts only beyond what such runs differ by. A tie of a quantisation, a comparison or a
`TopK` that falls to the other side shows in them as well.
"""

from __future__ import annotations

import os
import tempfile
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Float outputs: of the element, and of the output's root mean square.
RELATIVE = 1e-4
#: Relative size of a perturbation: a few roundings of float32, as a sum in another order has.
NOISE = 2.0**-21
#: Perturbed runs, and how many times their largest deviation is allowed.
RUNS, SLACK = 8, 4.0
REAL = TensorProto.FLOAT


@dataclass(frozen=True)
class Verdict:
    """What became of a model: `status` is passed, refused, wrong, crashed or hung.

    Attributes:
        status: as above.
        detail: why, in one line.
        kind: what stays the same while a failing model is cut down.
        widened: whether onnxruntime's own perturbed runs had to be asked for the bound.
    """

    status: str
    detail: str = ""
    kind: str = ""
    widened: bool = False


def session(model: onnx.ModelProto):
    """The model in onnxruntime, unoptimised, on one thread."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def expected(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What onnxruntime computes without optimisation, by output name."""
    there = session(model)
    names = [output.name for output in there.get_outputs()]
    wanted = {i.name: feeds[i.name] for i in there.get_inputs()}
    return dict(zip(names, there.run(names, wanted), strict=True))


def feeds_of(model: onnx.ModelProto, seed: int) -> dict[str, np.ndarray]:
    """Random inputs by name: standard normal floats, uniform 8-bit integers, small others."""
    rng = np.random.default_rng([seed, 5])
    held = {c.name for c in model.graph.initializer}
    feeds = {}
    for port in model.graph.input:
        if port.name in held:
            continue
        kind = port.type.tensor_type
        shape = tuple(d.dim_value for d in kind.shape.dim)
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if np.issubdtype(dtype, np.floating):
            feeds[port.name] = np.asarray(rng.standard_normal(shape), dtype)
        elif dtype == np.bool_:
            feeds[port.name] = np.asarray(rng.random(shape) < 0.5)
        elif dtype.itemsize == 1:
            info = np.iinfo(dtype)
            feeds[port.name] = np.asarray(rng.integers(info.min, info.max + 1, shape), dtype)
        else:
            feeds[port.name] = np.asarray(rng.integers(0, 3, shape), dtype)
    return feeds


def judge(
    model: onnx.ModelProto,
    target: str,
    seed: int = 0,
    *,
    compiler: tuple[str, ...] | None = None,
    cache: bool | str = False,
) -> Verdict:
    """Compile, build, run, compare.

    Args:
        model: self-contained.
        target: name of an installed target.
        seed: of the inputs.
        compiler: C compiler's command; the project's own where None.
        cache: of mapping searches.
    """
    import match_aie as match
    from match_aie.errors import InternalError, MatchError, MismatchError, TargetError

    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="fuzz_") as scratch:
        warnings.simplefilter("ignore")
        try:
            net = match.compile(model, target, name="net", cache=cache)
        except (InternalError, MismatchError, TargetError) as error:  # own targets, own mistakes
            return Verdict("crashed", one_line(error), type(error).__name__)
        except MatchError as error:
            return Verdict("refused", one_line(error), type(error).__name__)
        except Exception as error:  # noqa: BLE001  whatever else comes is what is looked for
            return Verdict("crashed", *untyped(error))
        feeds = feeds_of(model, seed)
        try:
            project = net.write(Path(scratch, "net"))
            result = project.run({p.name: feeds[p.name] for p in net.inputs}, compiler=compiler)
        except MatchError as error:
            return Verdict("crashed", one_line(error), f"run {type(error).__name__}")
        except Exception as error:  # noqa: BLE001  the same
            return Verdict("crashed", *untyped(error))
    return compared(model, net, feeds, result)


def one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


def untyped(error: Exception) -> tuple[str, str]:
    """Text of an error that should have been typed, and the place that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "match_aie" in f.filename or "/targets/" in f.filename]
    last = (own or list(frames))[-1]
    place = f"{os.path.basename(last.filename)}:{last.name}"
    return f"{one_line(error)} at {place}:{last.lineno}", f"{type(error).__name__} {place}"


def compared(model: onnx.ModelProto, net, feeds, result) -> Verdict:
    """The verdict on a run: layers first, bit for bit; then the model's outputs."""
    for layer in result.mismatches:
        return Verdict("wrong", f"layer {layer}"[:300], "layer differs from its reference")
    for gap in result.deviations:
        if gap.max_lsb > np.floor(gap.error_lsb) + 1:
            return Verdict("wrong", f"deviation {gap}"[:300], "deviation beyond its bound")
    try:
        wanted = expected(model, feeds)
    except Exception as error:  # noqa: BLE001  onnxruntime's errors have no base of their own
        return Verdict("refused", f"onnxruntime: {one_line(error)}", "onnxruntime")
    if undefined(model, feeds):
        return Verdict("refused", "the model has no finite meaning", "undefined")
    own_steps = bool(result.deviations)
    steps = {name: step_of(model, name) for name in wanted}
    failing = [n for n in wanted if outside(result.outputs[n], wanted[n], steps[n], 0.0)]
    if not failing:
        return Verdict("passed")
    spread = perturbed(model, feeds, wanted, own_steps)
    for name in failing:
        said = outside(result.outputs[name], wanted[name], steps[name], spread[name])
        if said:
            return Verdict("wrong", f"output {name}: {said}", "output differs from onnxruntime")
    return Verdict("passed", widened=True)


def undefined(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> bool:
    """Whether some float value is not finite, or no integer holds one that becomes an integer.

    False where onnxruntime takes the model and not the one that also gives its inner values.
    """
    known = intermediate_shapes(model)
    floats = (TensorProto.FLOAT, TensorProto.DOUBLE)
    inner = onnx.ModelProto()
    inner.CopyFrom(model)
    present = {o.name for o in inner.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name not in present and known.get(name, (0,))[0] in floats:
                inner.graph.output.append(helper.make_tensor_value_info(name, *known[name]))
    cast = {n.input[0] for n in model.graph.node if n.op_type == "Cast"}
    try:
        values = expected(inner, feeds)
    except Exception:  # noqa: BLE001  onnxruntime's errors have no base of their own
        return False
    for name, array in values.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return True
        if array.dtype.kind == "f" and name in cast and np.abs(array).max(initial=0) > 2**31:
            return True
    return False


def step_of(model: onnx.ModelProto, output: str) -> float:
    """Real value of one integer step of an output; 0 for a float one."""
    nodes = [n for n in model.graph.node if output in n.output]
    if not nodes or nodes[0].op_type != "DequantizeLinear":
        return 0.0
    scales = [c for c in model.graph.initializer if c.name == nodes[0].input[1]]
    return float(numpy_helper.to_array(scales[0]).max()) if scales else 0.0


def outside(ours: np.ndarray, wanted: np.ndarray, step: float, spread) -> str:
    """What is wrong with an output, or an empty string.

    Args:
        ours: of the emitted code.
        wanted: onnxruntime's.
        step: of a quantised output, in real numbers; 0 for a float one.
        spread: what perturbed runs of the model differ by, per element.
    """
    if ours.shape != wanted.shape or ours.dtype != wanted.dtype:
        return f"{ours.dtype}{list(ours.shape)} for {wanted.dtype}{list(wanted.shape)}"
    a, b = ours.astype(np.float64), wanted.astype(np.float64)
    finite = b[np.isfinite(b)]
    mean = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    if wanted.dtype.kind in "iu" and wanted.dtype.itemsize == 1:
        bound = np.full(b.shape, 1.0)
    elif wanted.dtype.kind in "iub":
        bound = np.zeros(b.shape)
    elif step:
        bound = np.full(b.shape, 1.01 * step)
    else:
        bound = RELATIVE * np.maximum(np.abs(b), mean) + 1e-7
    with np.errstate(invalid="ignore"):
        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        bad = ~(gap <= bound + SLACK * np.asarray(spread))
    if not bad.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(bad)[0]) if bad.ndim else ()
    return (
        f"{int(bad.sum())} of {bad.size} elements, first {list(first)}: {a[first]:.7g} for "
        f"{b[first]:.7g}, allowed {np.broadcast_to(bound + SLACK * spread, b.shape)[first]:.3g}"
    )


def perturbed(
    model: onnx.ModelProto, feeds, wanted: Mapping[str, np.ndarray], steps: bool
) -> dict[str, np.ndarray]:
    """Largest deviation of perturbed runs per element; infinite where one is not finite.

    Args:
        model: as it was compiled.
        feeds: its inputs.
        wanted: its unperturbed outputs.
        steps: whether quantised values may be one step off too (a target's own arithmetic).
    """
    found = {name: np.zeros(array.shape) for name, array in wanted.items()}
    shapes = intermediate_shapes(model)
    for run in range(RUNS):
        again = expected(noisy(model, shapes, run, steps), feeds)
        for name, array in again.items():
            a, b = array.astype(np.float64), wanted[name].astype(np.float64)
            with np.errstate(invalid="ignore"):
                gap = np.where(a == b, 0.0, np.abs(a - b))
            found[name] = np.maximum(found[name], np.where(np.isnan(gap), np.inf, gap))
    # Every element stands for its neighbours: few runs do not move all of them.
    return {
        name: np.maximum(gap, np.sqrt(np.mean(gap**2))) if gap.size else gap
        for name, gap in found.items()
    }


def intermediate_shapes(model: onnx.ModelProto) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Element type and shape of every tensor that shape inference knows."""
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    graph = inferred.graph
    known = {}
    for info in (*graph.input, *graph.value_info, *graph.output):
        kind = info.type.tensor_type
        if all(d.HasField("dim_value") for d in kind.shape.dim):
            known[info.name] = (kind.elem_type, tuple(d.dim_value for d in kind.shape.dim))
    return known


def noisy(model: onnx.ModelProto, shapes, run: int, steps: bool) -> onnx.ModelProto:
    """A copy whose every float value is a few roundings off, at random.

    Where `steps` is set, the input of every quantisation is off by up to its step as well.
    """
    rng = np.random.default_rng([run, 11])
    scales = {c.name: numpy_helper.to_array(c) for c in model.graph.initializer}
    step = {
        n.input[0]: scales[n.input[1]]
        for n in model.graph.node
        if n.op_type == "QuantizeLinear" and steps and n.input[1] in scales
    }
    nodes: list[onnx.NodeProto] = []
    added: list[onnx.TensorProto] = []

    def follow(operator: str, source: str, value: np.ndarray, name: str) -> None:
        added.append(numpy_helper.from_array(value.astype(np.float32), f"{name}__by"))
        nodes.append(helper.make_node(operator, [source, f"{name}__by"], [name]))

    for node in model.graph.node:
        own = onnx.NodeProto()
        own.CopyFrom(node)
        nodes.append(own)
        for index, name in enumerate(node.output):
            kind, shape = shapes.get(name, (0, ()))
            if kind != REAL or node.op_type == "Constant":
                continue
            own.output[index] = f"{name}__plain"
            factor = 1 + NOISE * rng.uniform(-1, 1, shape)
            if name not in step:
                follow("Mul", own.output[index], factor, name)
                continue
            follow("Mul", own.output[index], factor, f"{name}__scaled")
            off = rng.integers(-1, 2, shape) * float(np.max(step[name]))
            follow("Add", f"{name}__scaled", off, name)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    copy.graph.initializer.extend(added)
    return copy
