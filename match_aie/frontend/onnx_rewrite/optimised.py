"""Operators that ONNX Runtime's optimiser writes in place of several, taken apart again.

Their meaning is that of its documentation of contributed operators. What is left are standard
operators, which the passes behind know.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, sqrt

from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal
from match_aie.frontend.onnx_rewrite.reduced import reduced

#: First version with a `LayerNormalization`.
NORM_SINCE = 17


def gelu(node: Node, b: Builder) -> tuple[str, ...]:
    """`Gelu` of the first input, or `BiasGelu` of a sum: x / 2 (1 + erf(x / sqrt(2)))."""
    x, like = _biased(node, b), node.input(0)
    erf = b.op("Erf", b.op("Div", x, b.like(sqrt(2), like)))
    one = b.op("Add", erf, b.like(1.0, like))
    return (b.op("Mul", b.op("Mul", x, one), b.like(0.5, like)),)


def fast_gelu(node: Node, b: Builder) -> tuple[str, ...]:
    """Likewise by tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    x, like = _biased(node, b), node.input(0)
    cube = b.op("Mul", b.op("Mul", b.op("Mul", x, x), x), b.like(0.044715, like))
    inner = b.op("Mul", b.op("Add", x, cube), b.like(sqrt(2 / pi), like))
    one = b.op("Add", b.op("Tanh", inner), b.like(1.0, like))
    return (b.op("Mul", b.op("Mul", x, one), b.like(0.5, like)),)


def quick_gelu(node: Node, b: Builder) -> tuple[str, ...]:
    """`QuickGelu`: x times the logistic function of alpha x."""
    x = node.input(0)
    scaled = b.op("Mul", x, b.like(node.attr("alpha", 1.702), x))
    return (b.op("Mul", x, b.op("Sigmoid", scaled)),)


def _biased(node: Node, b: Builder) -> str:
    """The first input and, where there is one, the second."""
    return b.op("Add", node.input(0), node.input(1)) if node.input(1) else node.input(0)


def fused_matmul(node: Node, b: Builder) -> tuple[str, ...]:
    """`FusedMatMul`: alpha A B, each turned in its last two axes where it says so."""
    if node.attr("transBatchA", 0) or node.attr("transBatchB", 0):
        raise Refusal("batches that are not in front are not compiled")
    factors = []
    for at, name in enumerate(("transA", "transB")):
        x = node.input(at)
        rank = len(b.graph.shape(x))
        if node.attr(name, 0) and rank > 1:
            x = b.op("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])
        factors.append(x)
    product, alpha = b.op("MatMul", *factors), node.attr("alpha", 1.0)
    return (product if alpha == 1 else b.op("Mul", product, b.like(alpha, node.input(0))),)


def skip_norm(node: Node, b: Builder) -> tuple[str, ...]:
    """`SkipLayerNormalization`: the norm of input + skip + bias, and that sum where asked for.

    Inputs: input, skip, gamma, beta, bias; outputs: the norm, two of training, the sum.
    """
    if node.has_output(1) or node.has_output(2):
        raise Refusal("mean and deviation as results are not compiled")
    x, skip, gamma, beta, bias = (node.input(at) for at in range(5))
    total = b.op("Add", x, skip)
    total = b.op("Add", total, bias) if bias else total
    epsilon = node.attr("epsilon", 1e-12)
    if b.graph.opset >= NORM_SINCE:
        given = (total, gamma, beta) if beta else (total, gamma)
        normed = b.op("LayerNormalization", *given, axis=-1, epsilon=epsilon)
    else:
        centred = b.op("Sub", total, reduced(b, "ReduceMean", total, [-1]))
        power = reduced(b, "ReduceMean", b.op("Mul", centred, centred), [-1])
        scale = b.op("Sqrt", b.op("Add", power, b.like(epsilon, x)))
        normed = b.op("Mul", b.op("Div", centred, scale), gamma)
        normed = b.op("Add", normed, beta) if beta else normed
    return (normed, "", "", total)


def dynamic_matmul(node: Node, b: Builder) -> tuple[str, ...]:
    """`DynamicQuantizeMatMul`: A, stored in 8 bits as it comes, by integers B, and a bias.

    Inputs: A, B, scale of B, its zero point, bias.
    """
    x, weight, scale, zero, bias = (node.input(at) for at in range(5))
    stored, of_x, zero_of_x = b.many("DynamicQuantizeLinear", [x], 3)
    sums = b.op("MatMulInteger", stored, weight, zero_of_x, *([zero] if zero else []))
    real = b.op("Cast", sums, to=TensorProto.FLOAT)
    product = b.op("Mul", real, b.op("Mul", of_x, scale))
    return (b.op("Add", product, bias) if bias else product,)


#: Activations of `FusedConv` -> what their parameters are called.
ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "LeakyRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "Clip": ("min", "max"),
}


def fused_conv(node: Node, b: Builder) -> tuple[str, ...]:
    """`FusedConv`: a convolution, a sum with a fourth input, an activation."""
    kind = node.attr("activation", "")
    if kind and kind not in ACTIVATIONS:
        raise Refusal(f"its activation {kind} is not compiled")
    own = {name: v for name, v in node.attributes.items() if not name.startswith("activation")}
    x, weight, bias, added = (node.input(at) for at in range(4))
    y = b.op("Conv", x, weight, *([bias] if bias else []), **own)
    y = b.op("Add", y, added) if added else y
    given = node.attr("activation_params", ())
    if kind == "Clip":
        return (b.op("Clip", y, *(b.like(bound, x) for bound in given)),)
    return (b.op(kind, y, **dict(zip(ACTIVATIONS[kind], given, strict=False))) if kind else y,)
