"""From a match of quantised attention to the layer it means."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from match_aie.hardware.graph import Node, Value
from match_aie.partition.layer import Extracted
from match_aie.partition.tabulate import values_of
from match_aie.partition.view import Refusal, View
from match_aie.workload import AttentionSizes, Quantized, quantised_attention
from match_aie.workload.reference import softmax_table


def quantised_attention_layer(view: View) -> Extracted:
    """Two products around a softmax, with every requantisation between them.

    What scales the scores must leave every integer as it is, as it does where the scores' scale was
    calibrated before and behind it: the softmax then reads them in steps of their own.

    Raises:
        Refusal: anything else stands between them, or operands do not pair up.
    """
    outer = view.node("matmul")
    weights, wq = _stored(view, str(outer.arguments[0]))
    v, vq = view.activation(str(outer.arguments[1]))
    storing = view.producer(weights.name)
    if view.parameters(storing).per_tensor("the weights") != (np.float32(wq.scale), wq.zero_point):
        raise Refusal("weights are read in other steps than they are stored in")
    softmax = view.producer(str(storing.arguments[0]))
    s, sq = _stored(view, str(softmax.arguments[0]))
    axis = softmax.attributes.get("axis")
    if softmax.operator != "nn.softmax" or not isinstance(axis, int):
        raise Refusal("no softmax stands between the products")
    if axis % len(s.shape) != len(s.shape) - 1:
        raise Refusal("the softmax is not over the last axis")
    inner, before = _scores(view, s)
    (q, qq), (k, kq) = (view.activation(str(name)) for name in inner.arguments[:2])
    sizes = _sizes(q, k, v)
    if view.root.operator == "reshape":
        q, v, sizes = _apart(view, q), _apart(view, v), replace(sizes, joined=True)
        _together(view, sizes)
    yq, tail = view.result()
    # Steps as the softmax reads them; the zero point about which they were rounded and clipped.
    scores = replace(sq, zero_point=before.zero_point)
    layer = quantised_attention((qq, kq, vq), (scores, wq), yq, sizes, tail)
    constants = {
        "scores_scale": _scale(qq, kq, before),
        "table": softmax_table(float(sq.scale or 0)),
        "scale": _scale(wq, vq, yq),
    }
    return Extracted(layer, constants, (q.name, k.name, v.name), view.root.output)


def _stored(view: View, name: str) -> tuple[Value, Quantized]:
    """The bytes behind dequantized `name`; a refusal where there are none."""
    value, quantised = view.activation(name)
    if value.dtype not in ("int8", "uint8"):
        raise Refusal(f"scores or weights are stored as {value.dtype}")
    return value, quantised


def _scores(view: View, s: Value) -> tuple[Node, Quantized]:
    """The first product, and how its result is quantised before anything scales it."""
    between: list[Node] = []
    name = s.name
    while True:
        node = view.producer(name)
        above = [a for a in node.inputs() if view.value(a).constant is None]
        if len(above) != 1:
            raise Refusal(f"{node.operator} scales the scores by what is known at run time")
        maker = view.graph.producers.get(above[0])
        if node.operator == "quantize" and maker is not None and maker.operator == "matmul":
            break
        between.append(node)
        name = above[0]
    first = view.value(name)
    if first.dtype != s.dtype:
        raise Refusal(f"scores of {first.dtype} are scaled into {s.dtype}")
    every = np.arange(256, dtype=np.uint8).view(s.dtype)
    if not np.array_equal(values_of(view, between, {name: every})[s.name], every):
        raise Refusal("what scales the scores changes their integers")
    scale, zero = view.parameters(node).per_tensor("the scores")
    return view.take(maker), Quantized(first.dtype, float(scale), zero)


def _sizes(q: Value, k: Value, v: Value) -> AttentionSizes:
    """Of operands that pair up matrix by matrix."""
    shapes = q.shape, k.shape, v.shape
    whole = all(len(shape) == len(q.shape) >= 2 and shape[:-2] == q.shape[:-2] for shape in shapes)
    if not whole or q.shape[-1] != k.shape[-2] or k.shape[-1] != v.shape[-2]:
        raise Refusal(f"queries, keys and values of shapes {shapes} do not pair up")
    if any(value.constant is not None for value in (q, k, v)):
        raise Refusal("queries, keys or values are constant")
    return AttentionSizes(prod(q.shape[:-2]), q.shape[-2], k.shape[-1], q.shape[-1], v.shape[-1])


def _apart(view: View, value: Value) -> Value:
    """What a matched reshape and transpose make heads of: rows with all of them side by side."""
    turned = view.producer(value.name)
    _swapped(view, turned)
    source = view.value(str(view.producer(str(turned.arguments[0])).arguments[0]))
    rows, wide = value.shape[-2], value.shape[-3] * value.shape[-1]
    if source.shape[-1] != wide or prod(source.shape) != rows * wide:
        raise Refusal(f"heads of {value.shape} are no columns of {source.shape}")
    return source


def _together(view: View, sizes: AttentionSizes) -> None:
    """A refusal unless the result's heads lie side by side in its rows."""
    turned = view.producer(str(view.take(view.root).arguments[0]))
    _swapped(view, turned)
    shape, wide = view.value(view.root.output).shape, sizes.batch * sizes.value_size
    if shape[-1] != wide or prod(shape) != sizes.queries * wide:
        raise Refusal(f"results of {sizes.batch} heads become {shape}")


def _swapped(view: View, turned: Node) -> None:
    """A refusal unless a transpose of one matrix a head exchanges heads and rows."""
    axes = turned.attributes.get("axes")
    order = [int(a) for a in axes] if isinstance(axes, tuple | list) else []
    lead = len(order) - 3
    shape = view.value(turned.output).shape
    if lead < 0 or order != [*range(lead), lead + 1, lead, lead + 2] or prod(shape[:lead]) != 1:
        raise Refusal(f"a transpose of axes {order} does not exchange heads and rows")


def _scale(a: Quantized, b: Quantized, y: Quantized) -> np.ndarray:
    """(a b) / y in float32, one rounding per operation; a refusal where it is not finite."""
    with np.errstate(all="ignore"):
        step = np.float32(a.scale or 0) * np.float32(b.scale or 0)
        scale = np.array([step / np.float32(y.scale or 0)], np.float32)
    if not np.isfinite(scale).all():
        raise Refusal("its scales multiply to something that is not finite")
    return scale
