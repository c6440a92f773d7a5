"""Quantised attention: two products of activations around a softmax, as one layer.

It means what its three layers mean one after the other: `scores = x x1` requantised, `weights =
softmax(scores)` requantised, `y = weights x2` requantised. Types, scales and zero points of scores
and weights are parameters ("scores_step", "scores_zero", "scores_least", likewise "weights_");
constants of the first product are called "scores_scale" and so on, those of the softmax "table"
and "weights_multiplier", those of the second product as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import expm1, floor

import numpy as np

from match_aie.workload.attention_running import attended_running, runs
from match_aie.workload.build import Quantized, full_range, matmul, rowwise
from match_aie.workload.fixed import Converted, with_fixed_tail
from match_aie.workload.workload import Axis, Operand, Tail, Workload

Arrays = Mapping[str, np.ndarray]

#: Constants of the fused layer by the name that they have in each of the three layers.
NAMES: tuple[Mapping[str, str], ...] = (
    {name: f"scores_{name}" for name in ("scale", "multiplier", "offset")},
    {"table": "table", "multiplier": "weights_multiplier"},
    {name: name for name in ("scale", "multiplier", "offset")},
)


@dataclass(frozen=True)
class AttentionSizes:
    """Of attention: matrices, rows of queries, keys, elements of a key and of a value.

    Where heads are `joined`, queries, values and results are matrices whose rows have the elements
    of all heads side by side, as projections store and read them.
    """

    batch: int
    queries: int
    keys: int
    size: int
    value_size: int
    joined: bool = False


def quantised_attention(
    inputs: tuple[Quantized, Quantized, Quantized],
    between: tuple[Quantized, Quantized],
    y: Quantized,
    sizes: AttentionSizes,
    tail: Tail,
) -> Workload:
    """x[B,OY,C], x1[B,C,OX], x2[B,OX,K] -> y[B,OY,K].

    With joined heads x[OY,B C], x1[B,C,OX], x2[OX,B K] -> y[OY,B K].

    Args:
        inputs: queries, keys and values.
        between: scores and weights, 8 bits, whole ranges.
        y: what is stored.
        sizes: of all tensors.
        tail: of the second product.
    """
    dims = {"B": sizes.batch, "OY": sizes.queries, "OX": sizes.keys}
    dims |= {"C": sizes.size, "K": sizes.value_size}
    axes = (("B", "OY", "C"), ("B", "C", "OX"), ("B", "OX", "K"))
    named = zip(("x", "x1", "x2"), inputs, axes, strict=True)
    joined = sizes.joined
    data = [_tensor(name, q, dims, over, joined=joined and name != "x1") for name, q, over in named]
    known = (("scores_scale", 1), ("table", 256), ("scale", 1))
    constants = [Operand(n, "float32", (size,), (Axis(()),), True) for n, size in known]
    parameters = {}
    for name, q in zip(("scores", "weights"), between, strict=True):
        assert q.scale is not None
        parameters[f"{name}_step"] = float(np.float32(q.scale))
        parameters[f"{name}_zero"] = float(q.zero_point)
        parameters[f"{name}_least"] = float(np.iinfo(q.dtype).min)
    return Workload(
        "attention",
        tuple(dims.items()),
        (*data, *constants, _tensor("y", y, dims, ("B", "OY", "K"), joined=joined)),
        tail=tail,
        parameters=tuple(parameters.items()),
    )


def _tensor(
    name: str,
    q: Quantized,
    dims: Mapping[str, int],
    over: tuple[str, ...],
    *,
    joined: bool = False,
) -> Operand:
    """A tensor over dimensions; joined, the first of three stands beside the last one."""
    shape = tuple(dims[dim] for dim in over)
    axes = tuple(Axis(((dim, 1),)) for dim in over)
    if joined:
        shape = shape[1], shape[0] * shape[2]
        axes = axes[1], Axis(((over[0], dims[over[2]]), (over[2], 1)))
    return Operand(
        name,
        q.dtype,
        shape,
        axes,
        scale=q.scale,
        zero_point=q.zero_point,
    )


def heads_joined(workload: Workload) -> bool:
    """Whether rows of attention have the elements of all heads side by side."""
    return workload.kind == "attention" and len(workload.operand("x").shape) == 2


@lru_cache(maxsize=256)
def attention_layers(workload: Workload) -> tuple[Workload, Workload, Workload]:
    """The three layers of which quantised attention is made, in its arithmetic."""
    d, p = workload.sizes, dict(workload.parameters)
    x, x1, x2 = (_quantised(workload.operand(name)) for name in ("x", "x1", "x2"))
    scores, weights = (_between(p, name) for name in ("scores", "weights"))
    assert workload.tail is not None
    first, second = (full_range(q.dtype, q.zero_point) for q in (scores, weights))
    rows = {"batch": d["B"], "rows": d["OY"]}
    many = d["B"] * d["OY"]
    layers = (
        matmul(x, x1, scores, **rows, inner=d["C"], columns=d["OX"], tail=first),
        rowwise("softmax", scores, weights, rows=many, columns=d["OX"], tail=second),
        matmul(
            weights,
            x2,
            _quantised(workload.output),
            **rows,
            inner=d["OX"],
            columns=d["K"],
            tail=replace(workload.tail, shift=None, bits=32),
        ),
    )
    if not workload.fixed_point:
        return layers
    bits = int(p["scores_bits"])
    tails = (
        replace(first, zero_point=0, shift=int(p["scores_shift"]), bits=bits),
        replace(second, shift=int(p["weights_shift"]), bits=64),
        workload.tail,
    )
    here = {operand.name for operand in workload.constants}
    one, two, three = (
        _fixed(layer, tail, {name for name, mine in names.items() if mine in here})
        for layer, tail, names in zip(layers, tails, NAMES, strict=True)
    )
    return one, two, three


def _quantised(operand: Operand) -> Quantized:
    return Quantized(operand.dtype, operand.scale, operand.zero_point)


def _between(parameters: Mapping[str, float], name: str) -> Quantized:
    dtype = "int8" if parameters[f"{name}_least"] < 0 else "uint8"
    return Quantized(dtype, parameters[f"{name}_step"], int(parameters[f"{name}_zero"]))


def _fixed(layer: Workload, tail: Tail, constants: set[str]) -> Workload:
    """A layer with the tail and the constants of its own integers."""
    if layer.kind == "matmul":
        multiplier, offset = (int(name in constants) for name in ("multiplier", "offset"))
        return with_fixed_tail(layer, tail, multiplier=multiplier, offset=offset, bias=False)
    sizes = (("table", 256), ("multiplier", 1))
    known = (Operand(name, "int32", (size,), (Axis(()),), True) for name, size in sizes)
    return replace(layer, operands=(layer.operand("x"), *known, layer.output), tail=tail)


def layer_constants(arrays: Arrays) -> tuple[Arrays, Arrays, Arrays]:
    """Constants of the three layers by the names that they have there."""
    one, two, three = (
        {name: arrays[mine] for name, mine in names.items() if mine in arrays} for names in NAMES
    )
    return one, two, three


def joined_attention(workload: Workload, layers: tuple[Converted, ...]) -> Converted:
    """Attention in the integers of its three layers, with its bound.

    Args:
        workload: in the model's arithmetic.
        layers: what `attention_layers` gave, converted; each loses what `error_lsb` says.
    """
    constants = {
        names[name]: value
        for names, layer in zip(NAMES, layers, strict=True)
        for name, value in layer.constants.items()
    }
    none = (Axis(()),)
    known = [
        Operand(name, value.dtype.name, value.shape, none, True)
        for name, value in constants.items()
    ]
    first, second, third = (layer.workload.tail for layer in layers)
    assert first is not None
    assert second is not None
    assert third is not None
    numbers = {"scores_shift": first.shift, "scores_bits": first.bits}
    numbers |= {"weights_shift": second.shift}
    more = tuple((name, float(value or 0)) for name, value in numbers.items())
    data = [workload.operand(name) for name in ("x", "x1", "x2")]
    changed = replace(
        workload,
        operands=(*data, *known, workload.output),
        tail=third,
        parameters=(*workload.parameters, *more),
    )
    return Converted(changed, constants, _bound(workload, layers))


def _bound(workload: Workload, layers: tuple[Converted, ...]) -> float:
    """Of what the last rounding sees, in steps of the output, for all inputs.

    Scores that differ by d change a weight w by at most w (exp(2 d) - 1), all of them by exp(2 d)
    - 1 together; their own integers change each of them by whole steps.
    """
    errors = [layer.error_lsb or 0.0 for layer in layers]
    scores, weights = (floor(error) + 1 if error else 0 for error in errors[:2])
    p, x2, y = dict(workload.parameters), workload.operand("x2"), workload.output
    info = np.iinfo(x2.dtype)
    most = max(int(info.max) - x2.zero_point, x2.zero_point - int(info.min))
    apart = expm1(min(2.0 * scores * p["scores_step"], 50.0))
    keys = workload.sizes["OX"]
    if scores:  # both round their own weights
        apart += keys * p["weights_step"]
    apart = min(apart, 2.0) + weights * keys * p["weights_step"]
    assert x2.scale is not None
    assert y.scale is not None
    return errors[2] + apart * most * x2.scale / y.scale


def attended(
    workload: Workload,
    arrays: Arrays,
    reference: Callable[[Workload, Sequence[np.ndarray], Arrays], np.ndarray],
) -> np.ndarray:
    """What its three layers make one after the other, each as its `reference` says.

    Attention with a running softmax has a meaning of its own.
    """
    if runs(workload):
        return attended_running(workload, arrays)
    (first, second, third), known = attention_layers(workload), layer_constants(arrays)
    x, x2, joined = arrays["x"], arrays["x2"], heads_joined(workload)
    if joined:
        heads = workload.sizes["B"]
        x, x2 = (np.swapaxes(each.reshape(len(each), heads, -1), 0, 1) for each in (x, x2))
    scores = reference(first, [x, arrays["x1"]], known[0])
    rows = scores.reshape(second.operand("x").shape)
    weights = reference(second, [rows], known[1])
    y = reference(third, [weights.reshape(scores.shape), x2], known[2])
    return np.swapaxes(y, 0, 1).reshape(workload.output.shape) if joined else y
