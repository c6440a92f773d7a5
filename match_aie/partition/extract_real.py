"""From a match of float32 operators to the layer it means.

Values are found by the names that the pattern binds: `x`, `x1`, `x2`, `weight`, `bias`,
`residual`, and for operators spelled out in constants `one`, `half`, `root` (of two), `factor`,
`divisor`. Where a value is not what the name promises, extraction refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from match_aie.hardware.graph import Node, Value
from match_aie.partition.extract_recurrent import RECURRENT_OPERATORS, recurrent_of
from match_aie.partition.extract_rows import ROWS
from match_aie.partition.layer import Extracted
from match_aie.partition.real_values import (
    activation,
    bound,
    constant,
    last_axis,
    scalar,
    tail,
)
from match_aie.partition.view import Refusal, View, integers, pool_window, rank4, sliding
from match_aie.workload import (
    Kind,
    RealTail,
    attention,
    real_conv2d,
    real_dense,
    real_matmul,
    real_pool2d,
)

#: Operators that are a pool on float32 values.
_POOLS = ("nn.avg_pool2d", "nn.max_pool2d", "mean")

#: Operators whose presence in a match says that it means integers.
_QUANTISED = ("quantize", "dequantize")


def is_real(view: View) -> bool:
    """Whether the match computes float32 from float32; recurrent layers alone may be quantised."""
    operators = {view.graph.nodes[i].operator for i in view.match.nodes}
    result = view.value(view.root.output)
    first = view.value(next(iter(view.match.bound.values())))
    whole = operators.isdisjoint(_QUANTISED) and result.dtype == first.dtype == "float32"
    return whole or view.root.operator in RECURRENT_OPERATORS


def extract_real(view: View, kind: Kind) -> Extracted:
    """The float32 layer that the match means as a workload of `kind`.

    Raises:
        Refusal: there is none.
    """
    if kind not in _KINDS:
        raise Refusal(f"there is no float32 layer of kind {kind}")
    return _KINDS[kind](view)


def _behind(view: View, value: str, operator: str, name: str) -> str:
    """What `operator` makes of `value` and the operand `name`, taken; `value` where it does not."""
    node = view.reader(value, operator)
    if node is None or name not in view.match.bound:
        return value
    pair = (value, view.match.bound[name])
    if node.inputs() != pair and (operator == "divide" or node.inputs() != pair[::-1]):
        return value
    return view.take(node).output


def _bias(view: View, value: str, channels: int) -> tuple[dict[str, np.ndarray], str]:
    """One value per output channel that is added to `value`, and the sum; {} where none is."""
    total = _behind(view, value, "add", "bias")
    if total == value:
        return {}, value
    data, rank = constant(view, "bias"), len(view.value(value).shape)
    if data.size != channels or data.shape[-1:] != (channels,) or data.ndim > rank:
        raise Refusal(f"a bias of shape {data.shape} is not one value per output channel")
    return {"bias": data.reshape(channels)}, total


def permutation(node: Node, rank: int) -> tuple[int, ...]:
    """Axes of a permute_dims."""
    axes = node.attributes.get("axes")
    if axes is None:
        return tuple(reversed(range(rank)))
    return tuple(a % rank for a in integers(node, "axes"))


def _swaps(view: View, node: Node) -> bool:
    """Whether a permute_dims exchanges the last two axes; a refusal where it does other things."""
    shape = view.value(node.output).shape
    rank = len(shape)
    if permutation(node, rank) != (*range(rank - 2), rank - 1, rank - 2):
        raise Refusal("a permutation that does not exchange the last two axes")
    if prod(shape[:-2]) != 1:
        raise Refusal("a batch of transposed matrices")
    return True


def _residual(view: View, value: str) -> tuple[tuple[str, ...], str]:
    """Name of what is added to `value`, and the sum; () where nothing is."""
    total = _behind(view, value, "add", "residual")
    if total == value:
        return (), value
    added, shape = activation(view, "residual"), view.value(value).shape
    if added.shape != shape:
        raise Refusal(f"a residual of shape {added.shape} for a result of shape {shape}")
    return (added.name,), total


def _dense(view: View) -> Extracted:
    node = view.node("matmul")
    x = activation(view, "x")
    matrix = constant(view, "weight")
    if matrix.ndim != 2:
        raise Refusal("the second matrix is not of rank 2")
    product = view.value(node.output)
    x_swapped = x.name not in node.inputs() and _swaps(view, view.producer(node.inputs()[0]))
    weight = np.ascontiguousarray(matrix.T)
    outputs, inputs = weight.shape
    bias, value = _bias(view, node.output, outputs)
    outer = view.reader(value, "permute_dims")
    y_swapped = outer is not None and _swaps(view, view.take(outer))
    residual, value = _residual(view, outer.output if outer else value)
    workload = real_dense(
        rows=prod(product.shape[:-1]),
        inputs=inputs,
        outputs=outputs,
        bias=bool(bias),
        residual=bool(residual),
        tail=tail(view, value),
        x_axes=("C", "B") if x_swapped else ("B", "C"),
        y_axes=("K", "B") if y_swapped else ("B", "K"),
    )
    return Extracted(workload, {"weight": weight, **bias}, (x.name, *residual), view.root.output)


def _conv2d(view: View) -> Extracted:
    node = view.node("nn.conv2d")
    if (node.attributes["data_layout"], node.attributes["kernel_layout"]) != ("NHWC", "HWIO"):
        raise Refusal("the convolution is not NHWC with HWIO weights")
    x = activation(view, "x")
    weight = np.ascontiguousarray(constant(view, "weight").transpose(3, 0, 1, 2))
    bias, value = _bias(view, node.output, len(weight))
    residual, value = _residual(view, value)
    groups = node.attributes["groups"]
    assert isinstance(groups, int)
    workload = real_conv2d(
        shape=rank4(x.shape),
        weight_shape=rank4(weight.shape),
        groups=groups,
        window=sliding(node),
        bias=bool(bias),
        residual=bool(residual),
        tail=tail(view, value),
    )
    return Extracted(workload, {"weight": weight, **bias}, (x.name, *residual), view.root.output)


def _pool(kind: Kind) -> Callable[[View], Extracted]:
    def extract(view: View) -> Extracted:
        node = view.root
        if node.operator not in _POOLS:
            # Patterns for integers end in a clip, and match the same operators on float32.
            raise Refusal(f"a float32 pool takes no {node.operator} behind it")
        view.take(node)
        x = activation(view, "x")
        shape = rank4(x.shape)
        if node.operator == "mean":
            axes = tuple(a % len(x.shape) for a in integers(node, "axis"))
            if len(x.shape) != 4 or sorted(axes) != [1, 2]:
                raise Refusal(f"a mean over axes {axes} is not a pool over rows and columns")
            workload = real_pool2d(kind, shape=shape, filter_shape=(shape[1], shape[2]))
        else:
            if node.attributes["layout"] != "NHWC":
                raise Refusal("the pool is not NHWC")
            fy, fx = integers(node, "pool_size")
            window = pool_window(node, shape, view.value(node.output).shape)
            workload = real_pool2d(kind, shape=shape, filter_shape=(fy, fx), window=window)
        return Extracted(workload, {}, (x.name,), node.output)

    return extract


def _through(view: View, name: str, dims: tuple[str, ...]) -> tuple[Value, tuple[str, ...]]:
    """The value behind `name`, read through a permute_dims of the match, and its axes by name.

    Args:
        view: the match.
        name: of the value as the product reads it, with one axis per name of `dims`.
        dims: names of its axes.
    """
    node = view.graph.producers.get(name)
    members = set(view.match.nodes)
    if node is None or node.operator != "permute_dims" or node.index not in members:
        return view.value(name), dims
    order = permutation(view.take(node), len(dims))
    stored = [""] * len(dims)
    for at, source in enumerate(order):
        stored[source] = dims[at]
    return view.value(str(node.arguments[0])), tuple(stored)


_BATCHES: Mapping[int, tuple[str, ...]] = {2: (), 3: ("B",), 4: ("B", "G")}


def _matmul(view: View) -> Extracted:
    node = view.node("matmul")
    left, right = (view.value(str(a)) for a in node.arguments[:2])
    rank = len(left.shape)
    alike = len(right.shape) == rank and left.shape[:-2] == right.shape[:-2]
    if rank not in _BATCHES or not alike:
        raise Refusal(f"matrices of shapes {left.shape} and {right.shape} do not pair up")
    dims = _BATCHES[rank]
    x, x_axes = _through(view, left.name, (*dims, "OY", "C"))
    x1, x1_axes = _through(view, right.name, (*dims, "C", "K"))
    factors = {"x": x, "x1": x1}
    known = {name: each.constant for name, each in factors.items() if each.constant is not None}
    if len(known) == 2 or any(view.known(each) and each.constant is None for each in (x, x1)):
        raise Refusal("matrices are known at compile time, or computed of what is")
    sizes = dict(zip((*dims, "OY", "C"), left.shape, strict=True)) | {"K": right.shape[-1]}
    stored = (*dims, "OY", "K")
    factor, value = _factor(view, node.output)
    outer = view.reader(value, "permute_dims")
    if outer is not None:
        stored = tuple(stored[a] for a in permutation(view.take(outer), rank))
    scaled = RealTail(factor=factor)
    workload = real_matmul(sizes, x_axes, x1_axes, stored, scaled, tuple(known))
    names = tuple(each.name for name, each in factors.items() if name not in known)
    return Extracted(workload, known, names, view.root.output)


def _factor(view: View, value: str) -> tuple[float, str]:
    """What `value` is multiplied by or divided by, and the result; 1 where it is not."""
    scaled = _behind(view, value, "divide", "divisor")
    if scaled != value:
        return float(np.float32(1.0) / np.float32(scalar(view, "divisor"))), scaled
    scaled = _behind(view, value, "multiply", "factor")
    return (scalar(view, "factor") if scaled != value else 1.0), scaled


def _heads(view: View, name: str, dims: tuple[str, ...], stored: tuple[str, ...]) -> Value:
    """An operand of attention, heads interleaved: [batch, position, head, element]."""
    value, axes = _through(view, name, dims)
    if axes != stored or value.constant is not None:
        raise Refusal("queries, keys or values are not [batch, position, head, element]")
    return value


def _attention(view: View) -> Extracted:
    products = [i for i in view.match.nodes if view.graph.nodes[i].operator == "matmul"]
    if len(products) != 2:
        raise Refusal(f"{len(products)} matrix products where attention has two")
    outer, inner = (view.take(view.graph.nodes[i]) for i in products)
    softmax = view.node("nn.softmax")
    factor, scaled = _factor(view, inner.output)
    scores = _behind(view, scaled, "add", "mask")
    if softmax.inputs() != (scores,) or outer.inputs()[:1] != (softmax.output,):
        raise Refusal("something stands between the products that attention does not compute")
    axis = softmax.attributes["axis"]
    last_axis(view, softmax, (axis,) if isinstance(axis, int) else ())
    if len(view.value(inner.output).shape) != 4:
        raise Refusal("the products are not of rank 4")
    q = _heads(view, str(inner.arguments[0]), ("B", "G", "OY", "C"), ("B", "OY", "G", "C"))
    k = _heads(view, str(inner.arguments[1]), ("B", "G", "C", "OX"), ("B", "OX", "G", "C"))
    v = _heads(view, str(outer.arguments[1]), ("B", "G", "OX", "K"), ("B", "OX", "G", "K"))
    last = view.reader(outer.output, "permute_dims")
    if last is None or permutation(view.take(last), 4) != (0, 2, 1, 3):
        raise Refusal("the result is not [batch, position, head, element]")
    if not q.shape[0] == k.shape[0] == v.shape[0] or not q.shape[2] == k.shape[2] == v.shape[2]:
        raise Refusal("queries, keys and values differ in batch or heads")
    batch, queries, heads, size = q.shape
    shape = (batch, heads, queries, k.shape[1])
    mask, axes = _mask(view, shape) if scores != scaled else (None, None)
    known = None if mask is None else mask.constant
    workload = attention(
        batch=batch,
        heads=heads,
        queries=queries,
        keys=k.shape[1],
        size=size,
        value_size=v.shape[3],
        factor=factor,
        mask=axes,
        known=known is not None,
    )
    constants, names = {}, [q.name, k.name, v.name]
    if known is not None:
        constants["mask"] = known.reshape(workload.operand("mask").shape)
    elif mask is not None:
        names.append(mask.name)
    return Extracted(workload, constants, tuple(names), view.root.output)


def _mask(view: View, scores: tuple[int, ...]) -> tuple[Value, tuple[str, ...]]:
    """What is added to scores of shape [batch, head, query, key], and its axes that are not 1."""
    mask = bound(view, "mask")
    if len(mask.shape) > 4 or (view.known(mask) and mask.constant is None):
        raise Refusal(f"a mask of shape {mask.shape}")
    shape = (1,) * (4 - len(mask.shape)) + mask.shape
    if any(size not in (1, whole) for size, whole in zip(shape, scores, strict=True)):
        raise Refusal(f"a mask of shape {mask.shape} for scores of shape {scores}")
    if shape[-1] == 1 != scores[-1]:
        raise Refusal("a mask that is the same for all keys")
    named = zip(("B", "G", "OY", "OX"), shape, strict=True)
    return mask, tuple(dim for dim, size in named if size > 1 or dim == "OX")


_KINDS: Mapping[Kind, Callable[[View], Extracted]] = {
    "dense": _dense,
    "conv2d": _conv2d,
    "avg_pool2d": _pool("avg_pool2d"),
    "max_pool2d": _pool("max_pool2d"),
    "matmul": _matmul,
    **ROWS,
    "attention": _attention,
    "gru": recurrent_of("gru"),
    "lstm": recurrent_of("lstm"),
}
