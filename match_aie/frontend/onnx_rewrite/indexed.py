"""Operators that put elements at computed places, as gathers, scatters and choices."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal
from match_aie.frontend.onnx_rewrite.reduced import reduced

Values = tuple[str, ...]


def compress(node: Node, b: Builder) -> Values:
    """Compress by a known condition: a gather of what it keeps."""
    condition = b.graph.constant(node.input(1))
    if condition is None:
        raise Refusal("the size of its result depends on the data")
    x, axis = node.input(0), node.attr("axis")
    if axis is None:
        x, axis = b.op("Reshape", x, b.const([-1], np.int64)), 0
    return (b.op("Gather", x, b.const(np.flatnonzero(condition), np.int64), axis=int(axis)),)


def array_feature_extractor(node: Node, b: Builder) -> Values:
    """ai.onnx.ml ArrayFeatureExtractor: a gather of columns; a vector counts as one row."""
    x = node.input(0)
    if len(b.graph.shape(x)) == 1:
        x = b.op("Reshape", x, b.const([1, -1], np.int64))
    index = b.op("Reshape", node.input(1), b.const([-1], np.int64))
    return (b.op("Gather", x, index, axis=max(len(b.graph.shape(node.input(0))) - 1, 1)),)


def cum_prod(node: Node, b: Builder) -> Values | None:
    """From the end on: turned round before and after."""
    axis = b.graph.constant(node.input(1))
    if axis is None:
        raise Refusal("its axis must be known at compile time")
    if not node.attr("reverse", 0):
        return None
    at = int(axis.reshape(-1)[0])
    bounds = [b.const([n], np.int64) for n in (-1, np.iinfo(np.int64).min, at, -1)]
    turned = b.op("Slice", node.input(0), *bounds)
    product = b.op("CumProd", turned, node.input(1), exclusive=int(node.attr("exclusive", 0)))
    return (b.op("Slice", product, *bounds),)


def max_unpool(node: Node, b: Builder) -> Values:
    """Zeros, and the maxima where they came from; a larger result is filled with zeros.

    The indices count in the tensor that was pooled, of the size that kernel, strides and pads give.
    """
    x = node.input(0)
    shape = b.graph.shape(x)
    outer, spatial = list(shape[:2]), shape[2:]
    kernel = node.attr("kernel_shape")
    strides = node.attr("strides", [1] * len(spatial))
    pads = node.attr("pads", [0] * 2 * len(spatial))
    half = len(spatial)
    sizes = [
        (n - 1) * s + k - pads[d] - pads[d + half]
        for d, (n, s, k) in enumerate(zip(spatial, strides, kernel, strict=True))
    ]
    flat = [b.op("Reshape", name, b.const([-1], np.int64)) for name in (node.input(1), x)]
    zeros = b.like(np.zeros(prod(outer + sizes)), x)
    result = b.op("ScatterElements", zeros, *flat, axis=0)
    result = b.op("Reshape", result, b.const(outer + sizes, np.int64))
    if not node.input(2):
        return (result,)
    wanted = b.graph.constant(node.input(2))
    if wanted is None:
        raise Refusal("its shape is computed at run time")
    more = [int(w) - n for w, n in zip(wanted, outer + sizes, strict=True)]
    if min(more) < 0:
        raise Refusal("a result smaller than what was pooled")
    return (b.op("Pad", result, b.const([0] * len(more) + more, np.int64)),)


def max_pool_indices(node: Node, b: Builder) -> Values | None:
    """MaxPool with indices: the windows side by side, and where the largest of each stands.

    Of a window's element at `k` the index in the whole tensor is a sum of a number for the window
    and one for `k`, in either storage order.
    """
    if not node.has_output(1):
        return None
    if node.attr("ceil_mode", 0) or node.attr("auto_pad", "NOTSET") != "NOTSET":
        raise Refusal("indices of windows that are padded in this way are not computed")
    x = node.input(0)
    shape, results = b.graph.shape(x), b.graph.shape(node.outputs[0])
    spatial, counts = shape[2:], results[2:]
    rank = len(spatial)
    strides, steps = (list(node.attr(name, [1] * rank)) for name in ("strides", "dilations"))
    pads = list(node.attr("pads", [0] * 2 * rank))
    kernel = list(node.attr("kernel_shape"))
    if b.graph.dtype(x) not in (TensorProto.FLOAT, TensorProto.DOUBLE):
        raise Refusal("indices of the maxima of floats only are computed")
    whole = x
    if any(pads):
        around = [0, 0, *pads[:rank], 0, 0, *pads[rank:]]
        whole = b.op("Pad", x, b.const(around, np.int64), b.like(-np.inf, x))
    offsets = np.array(list(np.ndindex(*kernel))) * steps
    windows = []
    for offset in offsets:
        ends = [o + s * (n - 1) + 1 for o, s, n in zip(offset, strides, counts, strict=True)]
        bounds = [b.const(v, np.int64) for v in (offset, ends, list(range(2, 2 + rank)), strides)]
        piece = b.op("Slice", whole, *bounds)
        windows.append(b.op("Unsqueeze", piece, b.const([0], np.int64)))
    side_by_side = b.op("Concat", *windows, axis=0)
    order = range(rank) if node.attr("storage_order", 0) else range(rank - 1, -1, -1)
    weights, size = np.zeros(rank, np.int64), 1
    for axis in order:
        weights[axis], size = size, size * spatial[axis]
    first = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1) * strides
    place = (first - pads[:rank]) @ weights
    image = np.arange(prod(shape[:2]), dtype=np.int64).reshape(*shape[:2], *[1] * rank) * size
    found = b.op("ArgMax", side_by_side, axis=0, keepdims=0)
    inside = b.op("Gather", b.const(offsets @ weights, np.int64), found)
    kept = {name: value for name, value in node.attributes.items() if name != "storage_order"}
    values = b.op("MaxPool", x, **kept)
    return values, b.op("Add", inside, b.const(image + place, np.int64))


def tensor_scatter(node: Node, b: Builder) -> Values:
    """TensorScatter: each place takes the update's element that falls on it, or stays."""
    past, update, start = node.input(0), node.input(1), node.input(2)
    shape = list(b.graph.shape(past))
    axis = int(node.attr("axis", -2)) % len(shape)
    length, count = shape[axis], b.graph.shape(update)[axis]
    spread = [1] * len(shape)
    spread[axis] = length
    index = b.const(np.arange(length).reshape(spread), np.int64)
    if start:
        column = [shape[0], *[1] * (len(shape) - 1)]
        index = b.op("Sub", index, b.op("Reshape", start, b.const(column, np.int64)))
    zero = b.const(0, np.int64)
    if node.attr("mode", "linear") == "circular":
        before = b.op("Less", index, zero)
        index = b.op("Where", before, b.op("Add", index, b.const(length, np.int64)), index)
    after = b.op("GreaterOrEqual", index, zero)
    inside = b.op("And", after, b.op("Less", index, b.const(count, np.int64)))
    index = b.op("Expand", b.op("Where", inside, index, zero), b.const(shape, np.int64))
    return (b.op("Where", inside, b.op("GatherElements", update, index, axis=axis), past),)


def col2im(node: Node, b: Builder) -> Values:
    """Col2Im: every element of the image is the sum of the columns' elements that fall on it."""
    x, image, block = node.input(0), *(b.graph.constant(n) for n in node.inputs[1:3])
    if image is None or block is None:
        raise Refusal("its shapes must be known at compile time")
    rank = len(image)
    steps, strides = (np.array(node.attr(k, [1] * rank)) for k in ("dilations", "strides"))
    pads = np.array(node.attr("pads", [0] * 2 * rank))
    places = (image + pads[:rank] + pads[rank:] - (steps * (block - 1) + 1)) // strides + 1
    batch, columns, length = b.graph.shape(x)
    if length != prod(places) or columns % prod(block):
        raise Refusal("its sizes do not fit each other")
    channels = columns // prod(block)
    table = _falls_on(image, pads[:rank], (block, steps), (places, strides))
    missing = prod(block) * length
    rows = b.op("Reshape", x, b.const([batch, channels, missing], np.int64))
    rows = b.op("Concat", rows, b.like(np.zeros((batch, channels, 1)), x), axis=2)
    total = reduced(b, "ReduceSum", b.op("Gather", rows, b.const(table), axis=2), [3], 0)
    return (b.op("Reshape", total, b.const([batch, channels, *image], np.int64)),)


def _falls_on(
    image: np.ndarray,
    pads: np.ndarray,
    kernel: tuple[np.ndarray, np.ndarray],
    windows: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """[elements of the image, of a block]: the column element, or one past all of them.

    Args:
        image: its sizes.
        pads: before the image, per axis.
        kernel: sizes and dilations of a block.
        windows: how many there are and their strides.
    """
    (block, steps), (places, strides) = kernel, windows
    length = prod(places)
    pixels = np.array(list(np.ndindex(*image)))[:, None] + pads
    first = pixels - np.array(list(np.ndindex(*block))) * steps
    window = first // strides
    falls = np.all((first % strides == 0) & (window >= 0) & (window < places), axis=-1)
    weights = np.array([prod(places[d + 1 :]) for d in range(len(places))])
    element = np.arange(prod(block)) * length + window @ weights
    return np.where(falls, element, prod(block) * length).astype(np.int64)
