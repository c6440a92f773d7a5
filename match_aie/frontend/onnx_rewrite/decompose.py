"""Operators that TVM imports wrongly or not at all, in terms of those it imports exactly."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from match_aie.frontend.onnx_rewrite.conditions import FLOATS
from match_aie.frontend.onnx_rewrite.functions import expand as by_definition
from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal

Values = tuple[str, ...]


def shape_const(b: Builder, shape: tuple[int, ...] | list[int]) -> str:
    """A shape as Reshape and Expand want it."""
    return b.const(np.array(shape, np.int64))


def space_to_depth(node: Node, b: Builder) -> Values:
    """Reshape, transpose, reshape; channels of a block before (DCR) or after (CRD) the input's."""
    n, c, h, w = b.graph.shape(node.input(0))
    s = int(node.attr("blocksize"))
    split = b.op("Reshape", node.input(0), shape_const(b, [n, c, h // s, s, w // s, s]))
    order = [0, 1, 3, 5, 2, 4] if node.attr("mode", "DCR") == "CRD" else [0, 3, 5, 1, 2, 4]
    moved = b.op("Transpose", split, perm=order)
    return (b.op("Reshape", moved, shape_const(b, [n, c * s * s, h // s, w // s])),)


def expand(node: Node, b: Builder) -> Values | None:
    """Expand to the broadcast shape: a 1 in the wanted shape does not shrink."""
    target = b.graph.constant(node.input(1))
    if target is None:
        raise Refusal("its shape is computed at run time")
    have = b.graph.shape(node.input(0))
    full = np.broadcast_shapes(have, tuple(int(size) for size in target))
    if full == have:
        return (node.input(0),)
    if tuple(target) == full:
        return None
    return (b.op("Expand", node.input(0), shape_const(b, full)),)


def is_inf(node: Node, b: Builder) -> Values | None:
    """One-sided tests as comparisons with an infinity."""
    sides = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    x = node.input(0)
    if sides == (1, 1):
        return None
    if sides == (0, 0):
        return (b.const(np.zeros(b.graph.shape(x), bool)),)
    return (b.op("Equal", x, b.like(np.inf if sides[0] else -np.inf, x)),)


def dropout(node: Node, b: Builder) -> Values:
    """What inference does: nothing, and a mask of ones."""
    training = b.graph.constant(node.input(2)) if node.input(2) else np.array(False)
    ratio = b.graph.constant(node.input(1)) if node.input(1) else np.array(0.5)
    if training is None or (bool(training) and (ratio is None or float(ratio) != 0)):
        raise Refusal("training mode draws random numbers")
    mask = b.const(np.ones(b.graph.shape(node.input(0)), bool)) if node.has_output(1) else ""
    return (node.input(0), mask)


def softplus(node: Node, b: Builder) -> Values:
    """max(x, 0) + log1p(exp(-|x|)), where log1p(e) = log(u) * e / (u - 1) with u = 1 + e.

    TVM computes log(1 + exp(x)), which loses all digits for x << 0 and overflows for x >> 0.
    Formula: W. Kahan; see N. Higham, Accuracy and Stability of Numerical Algorithms, 1.14.1.
    """
    x = node.input(0)
    one = b.like(1.0, x)
    e = b.op("Exp", b.op("Neg", b.op("Abs", x)))
    u = b.op("Add", one, e)
    d = b.op("Sub", u, one)
    tiny = b.op("Equal", d, b.like(0.0, x))
    safe = b.op("Where", tiny, one, d)
    log1p = b.op("Where", tiny, e, b.op("Mul", b.op("Log", u), b.op("Div", e, safe)))
    return (b.op("Add", b.op("Relu", x), log1p),)


def mish(node: Node, b: Builder) -> Values:
    """X * tanh(softplus(x))."""
    x = node.input(0)
    return (b.op("Mul", x, b.op("Tanh", b.op("Softplus", x))),)


def lp_normalization(node: Node, b: Builder) -> Values:
    """X / norm(x) along an axis, 0 where the norm is 0."""
    x, axis, p = node.input(0), int(node.attr("axis", -1)), int(node.attr("p", 2))
    op = {1: "ReduceL1", 2: "ReduceL2"}[p]
    if b.graph.opset >= 18:
        norm = b.op(op, x, shape_const(b, [axis]), keepdims=1)
    else:
        norm = b.op(op, x, axes=[axis], keepdims=1)
    zero = b.op("Equal", norm, b.like(0.0, x))
    return (b.op("Div", x, b.op("Where", zero, b.like(1.0, x), norm)),)


def one_hot(node: Node, b: Builder) -> Values:
    """Comparison with all classes: indices from the end count, others give `off` throughout."""
    depth = b.graph.constant(node.input(1))
    if depth is None:
        raise Refusal("its depth must be known at compile time")
    count = int(depth.reshape(-1)[0])
    rank = len(b.graph.shape(node.input(0)))
    axis = int(node.attr("axis", -1)) % (rank + 1)
    index = b.op("Cast", node.input(0), to=TensorProto.INT64)
    negative = b.op("Less", index, b.const(0, np.int64))
    index = b.op("Where", negative, b.op("Add", index, b.const(count, np.int64)), index)
    index = b.op("Unsqueeze", index, shape_const(b, [axis]))
    classes = np.arange(count).reshape(-1, *[1] * (rank - axis))
    off, on = b.many("Split", [node.input(2), shape_const(b, [1, 1])], 2, axis=0)
    found = b.op("Equal", index, b.const(classes, np.int64))
    return (b.op("Where", found, on, off),)


def eye_like(node: Node, b: Builder) -> Values:
    """A constant, since the shape is known."""
    rows, columns = b.graph.shape(node.input(0))
    dtype = int(node.attr("dtype", b.graph.dtype(node.input(0))))
    eye = np.eye(rows, columns, k=int(node.attr("k", 0)))
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    return (b.graph.add_constant(eye.astype(kind), dtype),)


def power(node: Node, b: Builder) -> Values | None:
    """Mixed types: the exponent takes the type of the base. Integers: through float64."""
    base, exponent = node.inputs
    kind, other = b.graph.dtype(base), b.graph.dtype(exponent)
    if kind == TensorProto.FLOAT16 and other == kind:
        return None
    floats = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
    if kind in floats and other != kind:
        return (b.op("Pow", base, b.op("Cast", exponent, to=kind)),)
    if kind not in floats:
        wide = [b.op("Cast", name, to=TensorProto.DOUBLE) for name in (base, exponent)]
        return (b.op("Cast", b.op("Pow", *wide), to=kind),)
    return None


def conv_transpose(node: Node, b: Builder) -> Values | None:
    """`output_shape` and `auto_pad` as explicit padding."""
    wanted, auto = node.attr("output_shape"), node.attr("auto_pad", "NOTSET")
    if wanted is None and auto == "NOTSET":
        return None
    spatial = b.graph.shape(node.input(0))[2:]
    rank = len(spatial)
    kernel = b.graph.shape(node.input(1))[2:]
    strides = list(node.attr("strides", [1] * rank))
    dilations = list(node.attr("dilations", [1] * rank))
    extra = list(node.attr("output_padding", [0] * rank))
    full = [
        s * (i - 1) + o + (k - 1) * d + 1
        for i, s, o, k, d in zip(spatial, strides, extra, kernel, dilations, strict=True)
    ]
    if wanted is None and auto == "VALID":
        wanted = full
    elif wanted is None:
        wanted = [i * s for i, s in zip(spatial, strides, strict=True)]
    surplus = [f - w for f, w in zip(full, list(wanted)[-rank:], strict=True)]
    # Padding that would be negative enlarges the result instead.
    extra = [o + max(-s, 0) for o, s in zip(extra, surplus, strict=True)]
    halves = [(max(s, 0) // 2, max(s, 0) - max(s, 0) // 2) for s in surplus]
    begins = [high if auto == "SAME_LOWER" else low for low, high in halves]
    if auto != "SAME_UPPER" and auto != "SAME_LOWER":
        begins = [high for _, high in halves]
    ends = [max(s, 0) - begin for s, begin in zip(surplus, begins, strict=True)]
    kept = {k: v for k, v in node.attributes.items() if k not in ("output_shape", "auto_pad")}
    kept |= {"pads": [*begins, *ends], "output_padding": extra}
    return (b.op("ConvTranspose", *node.inputs, **kept),)


#: Marks shifts whose amounts are known to be within the width of the type.
SAFE_SHIFT = "amounts are in range"


def bit_shift(node: Node, b: Builder) -> Values | None:
    """Amounts outside 0 .. width-1 give what the sign extension alone gives, as ONNX says."""
    x, y = node.inputs
    kind = helper.tensor_dtype_to_np_dtype(b.graph.dtype(x))
    width = 8 * kind.itemsize
    amounts = b.graph.constant(y)
    in_range = amounts is not None and bool(np.all((amounts >= 0) & (amounts < width)))
    if in_range or node.proto.doc_string == SAFE_SHIFT:
        return None
    direction = node.attr("direction")
    inside = b.op("Less", y, b.like(width, y))
    if kind.kind == "i":
        inside = b.op("And", inside, b.op("GreaterOrEqual", y, b.like(0, y)))
    fills = direction == "RIGHT" and kind.kind == "i"
    amount = b.op("Where", inside, y, b.like(width - 1 if fills else 0, y))
    shifted = b.op("BitShift", x, amount, direction=direction, doc_string=SAFE_SHIFT)
    return (shifted if fills else b.op("Where", inside, shifted, b.like(0, x)),)


def by_definition_unless_float32(node: Node, b: Builder) -> Values | None:
    """TVM mixes float32 constants into these operators, which other types do not take.

    Those of 16 bits are computed in 32, as onnxruntime does; ONNX has bodies from opset 18 on only.
    """
    x = node.input(0)
    kind = b.graph.dtype(x)
    if kind == TensorProto.FLOAT:
        return None
    if kind in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        wide = b.op(node.op, b.op("Cast", x, to=TensorProto.FLOAT), **node.attributes)
        return (b.op("Cast", wide, to=kind),)
    return by_definition(node, b)


def shrink(node: Node, b: Builder) -> Values | None:
    """Towards zero; of floats only: onnxruntime rounds its attributes for integers, ONNX does not.

    Raises:
        Refusal: it is of integers.
    """
    if b.graph.dtype(node.input(0)) not in FLOATS:
        raise Refusal("of integers: onnxruntime and ONNX's text disagree about it")
    return by_definition_unless_float32(node, b)


def thresholded_relu(node: Node, b: Builder) -> Values:
    """0 but above alpha: TVM multiplies by a mask, which makes NaN of infinities."""
    x = node.input(0)
    above = b.op("Greater", x, b.like(node.attr("alpha", 1.0), x))
    return (b.op("Where", above, x, b.like(0.0, x)),)


def trilu(node: Node, b: Builder) -> Values | None:
    """A diagonal beyond the matrix is one just beyond it: TVM takes it as an int32."""
    k, x = b.graph.constant(node.input(1)), node.input(0)
    most = max(b.graph.shape(x)[-2:]) + 1
    if k is None or abs(int(k.reshape(-1)[0])) <= most:
        return None
    nearest = b.const(np.clip(k, -most, most), np.int64)
    return (b.op("Trilu", x, nearest, **node.attributes),)


#: Marks reductions whose result for nothing but infinities is put right.
SAFE_REDUCTION = "infinities are treated"


def extremum(node: Node, b: Builder) -> Values | None:
    """Maximum and minimum where all elements are infinite: TVM starts from the largest finite."""
    x = node.input(0)
    if b.graph.dtype(x) not in FLOATS or node.proto.doc_string == SAFE_REDUCTION:
        return None
    start = b.like(-np.inf if node.op == "ReduceMax" else np.inf, x)
    result = b.op(node.op, *node.inputs, **node.attributes, doc_string=SAFE_REDUCTION)
    other = b.op("Cast", b.op("Not", b.op("Equal", x, start)), to=TensorProto.INT32)
    some = b.op("ReduceMax", other, *node.inputs[1:], **node.attributes)
    return (b.op("Where", b.op("Cast", some, to=TensorProto.BOOL), result, start),)


def rms_norm(node: Node, b: Builder) -> Values | None:
    """TVM does not take a norm over all axes."""
    rank = len(b.graph.shape(node.input(0)))
    return by_definition(node, b) if int(node.attr("axis", -1)) % rank == 0 else None


def layer_norm(node: Node, b: Builder) -> Values | None:
    """With mean and deviation as results, the definition's body is used."""
    if node.has_output(1) or node.has_output(2):
        return by_definition(node, b)
    return None
