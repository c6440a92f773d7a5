"""What the cluster runs of float32 networks, as patterns of the canonical graph, longest first."""

from __future__ import annotations

from collections.abc import Iterator

from match_aie.hardware import Any, Const, Op, Pattern
from match_aie.workload import Kind, Workload

#: Not of integer graphs, whose products look the same.
X = Any("x", ("float32",))
#: What may stand behind a sum.
ACTIVATIONS = ("nn.relu", "clip")


def refuses_real(workload: Workload) -> str | None:
    """Why the cluster cannot run a float32 layer, in a sentence; None where it can."""
    real, d = workload.real, workload.sizes
    types = {operand.dtype for operand in workload.operands}
    if real is None or types != {"float32"}:
        return f"its tensors are {' and '.join(sorted(types))}; this kernel takes float32"
    if real.activation not in ("identity", "relu", "clip") or real.factor != 1.0:
        return f"behind its sums stands {real.activation}; the kernel has ReLU and clips"
    if "residual" in (operand.name for operand in workload.operands):
        return "it adds a residual, which here is a layer of its own"
    if workload.kind == "dense" and any(
        operand.axes[0].terms != (("B", 1),) for operand in (workload.operand("x"), workload.output)
    ):
        return "a matrix lies transposed"
    if any(operand.nbytes >= 1 << 31 for operand in workload.operands):
        return "a tensor has more bytes than an int32 index reaches"
    if workload.kind == "conv2d" and d["G"] > 1 and (d["C"] > 1 or d["K"] > 1):
        return f"{d['G']} groups of {d['C']} to {d['K']} channels; it takes one, or depthwise"
    if workload.kind == "avg_pool2d" and _empty(workload):
        return "a window lies entirely in the padding"
    return None


def _empty(workload: Workload) -> bool:
    """Whether some window of a pool sees no position of the image."""
    window, d = workload.window, workload.sizes
    assert window is not None
    for axis, (out, filter_) in enumerate((("OY", "FY"), ("OX", "FX"))):
        size, first = workload.operand("x").shape[1 + axis], -window.padding[axis]
        step, apart = window.stride[axis], window.dilation[axis]
        for o in range(d[out]):
            places = (first + o * step + f * apart for f in range(d[filter_]))
            if not any(0 <= place < size for place in places):
                return True
    return False


def _products(kind: Kind, operator: str) -> Iterator[Pattern]:
    product = Op(operator, X, Const("weight"))
    for name, total in (("_bias", Op("add", product, Const("bias"))), ("", product)):
        for activation in ACTIVATIONS:
            suffix = activation.removeprefix("nn.")
            structure = Op(activation, total)
            yield Pattern(f"real_{kind}{name}_{suffix}", kind, structure, refuses_real)
        yield Pattern(f"real_{kind}{name}", kind, total, refuses_real)


def _sums() -> Iterator[Pattern]:
    """Of two tensors of one shape."""
    total = Op("add", X, Any("x1", ("float32",)))
    for activation in ACTIVATIONS:
        name = activation.removeprefix("nn.")
        yield Pattern(f"real_add_{name}", "add", Op(activation, total), refuses_real)
    yield Pattern("real_add", "add", total, refuses_real)


FLOAT_PATTERNS: tuple[Pattern, ...] = (
    *_products("conv2d", "nn.conv2d"),
    *_products("dense", "matmul"),
    *_sums(),
    Pattern("real_max_pool2d", "max_pool2d", Op("nn.max_pool2d", X), refuses_real),
    Pattern("real_avg_pool2d", "avg_pool2d", Op("nn.avg_pool2d", X), refuses_real),
    Pattern("real_global_avg_pool2d", "avg_pool2d", Op("mean", X), refuses_real),
    Pattern("real_softmax", "softmax", Op("nn.softmax", X), refuses_real),
    Pattern(
        "real_layer_norm",
        "layer_norm",
        Op("nn.layer_norm", X, Const("weight"), Const("bias")),
        refuses_real,
    ),
)
