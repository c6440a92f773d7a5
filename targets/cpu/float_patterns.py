"""What the float modules run, as patterns of the canonical graph, longest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from match_aie.hardware import Any, Const, Op, Pattern
from match_aie.targets.cpu.float_kernel import strides
from match_aie.targets.cpu.patterns import empty_window
from match_aie.workload import Workload

#: Not of integer graphs, whose products look the same.
X = Any("x", ("float32",))

#: What an activation is applied to.
Inner = Op | Any

#: An activation as operators around that, by name.
Wrapping = tuple[str, Callable[[Inner], Op]]


def _erf_sums() -> Iterator[Callable[[Inner], Op]]:
    """1 + erf(v / sqrt(2)), with the division or a multiplication."""
    yield lambda v: Op("add", Op("erf", Op("divide", v, Const("root"))), Const("one"))
    yield lambda v: Op("add", Op("erf", Op("multiply", v, Const("scale"))), Const("one"))


def _gelus() -> Iterator[Wrapping]:
    """GELU spelled out: the orders in which exporters multiply v, 1 + erf and a half."""
    half = Const("half")
    for number, total in enumerate(_erf_sums()):

        def first(v: Inner, s: Callable[[Inner], Op] = total) -> Op:
            return Op("multiply", Op("multiply", v, s(v)), half)

        def second(v: Inner, s: Callable[[Inner], Op] = total) -> Op:
            return Op("multiply", Op("multiply", v, half), s(v))

        def third(v: Inner, s: Callable[[Inner], Op] = total) -> Op:
            return Op("multiply", v, Op("multiply", s(v), half))

        for form, wrap in (("a", first), ("b", second), ("c", third)):
            yield f"gelu_{form}{number}", wrap


def _named(operator: str) -> Wrapping:
    return operator.removeprefix("nn."), lambda v: Op(operator, v)


def _activations() -> tuple[Wrapping, ...]:
    single = ("nn.relu", "clip", "nn.gelu", "nn.gelu_tanh", "nn.silu", "tanh", "sigmoid")
    silu: Wrapping = ("silu_product", lambda v: Op("multiply", v, Op("sigmoid", v)))
    return (*_gelus(), silu, *(_named(operator) for operator in single))


ACTIVATIONS = _activations()


def _sums(product: Op, name: str) -> Iterator[tuple[str, Op]]:
    """With bias and without."""
    yield f"{name}_bias", Op("add", product, Const("bias"))
    yield name, product


def _dense() -> Iterator[Pattern]:
    for x_name, x in (("_xt", Op("permute_dims", X)), ("", X)):
        product = Op("matmul", x, Const("weight"))
        for name, total in _sums(product, f"real_dense{x_name}"):
            for suffix, wrap in ACTIVATIONS:
                yield Pattern(f"{name}_{suffix}", "dense", wrap(total), refuses)
            turned = Op("permute_dims", total)
            for at, stored in ((f"{name}_yt", turned), (name, total)):
                added = Op("add", stored, Any("residual"))
                yield Pattern(f"{at}_residual_relu", "dense", Op("nn.relu", added), refuses)
                yield Pattern(f"{at}_residual", "dense", added, refuses)
                yield Pattern(at, "dense", stored, refuses)


def _conv2d() -> Iterator[Pattern]:
    product = Op("nn.conv2d", X, Const("weight"))
    for name, total in _sums(product, "real_conv2d"):
        for suffix, wrap in ACTIVATIONS:
            yield Pattern(f"{name}_{suffix}", "conv2d", wrap(total), refuses)
        added = Op("add", total, Any("residual"))
        yield Pattern(f"{name}_residual_relu", "conv2d", Op("nn.relu", added), refuses)
        yield Pattern(f"{name}_residual", "conv2d", added, refuses)
        yield Pattern(name, "conv2d", total, refuses)


def _matmul() -> Iterator[Pattern]:
    for x_name, x in (("_xt", Op("permute_dims", X)), ("", X)):
        for x1_name, x1 in (("_x1t", Op("permute_dims", Any("x1"))), ("", Any("x1"))):
            name, product = f"real_matmul{x_name}{x1_name}", Op("matmul", x, x1)
            yield Pattern(f"{name}_yt", "matmul", Op("permute_dims", product), refuses)
            yield Pattern(
                f"{name}_divide", "matmul", Op("divide", product, Const("divisor")), refuses
            )
            yield Pattern(
                f"{name}_scale", "matmul", Op("multiply", product, Const("factor")), refuses
            )
            yield Pattern(name, "matmul", product, refuses)


def _turned(name: str) -> Op:
    return Op("permute_dims", Any(name))


def _attention() -> Iterator[tuple[str, Op]]:
    """Products of activations around a softmax, scores scaled and masked or not."""
    scores = Op("matmul", _turned("x"), _turned("x1"))
    scaled = (
        ("divide", Op("divide", scores, Const("divisor"))),
        ("scale", Op("multiply", scores, Const("factor"))),
        ("plain", scores),
    )
    for suffix, weights in scaled:
        for mark, total in (("_mask", Op("add", weights, Any("mask"))), ("", weights)):
            values = Op("matmul", Op("nn.softmax", total), _turned("x2"))
            yield f"attention_{suffix}{mark}", Op("permute_dims", values)


#: Attention of floats, by name.
ATTENTION_STRUCTURES = tuple(_attention())


def refuses(workload: Workload) -> str | None:
    """Why the float modules cannot run `workload`, in a sentence; None where they can."""
    for operand in workload.operands:
        if operand.size >= 1 << 31:
            return f"{operand.name} has more elements than an int32 index reaches"
    if workload.kind == "matmul":
        return _refuses_layout(workload)
    if workload.kind in ("avg_pool2d", "max_pool2d") and empty_window(workload):
        return "a window lies entirely in the padding"
    return None


def _refuses_layout(workload: Workload) -> str | None:
    x, x1, y = (strides(workload.operand(name)) for name in ("x", "x1", "y"))
    if 1 not in (x["OY"], x["C"]) or 1 not in (x1["K"], x1["C"]):
        return "neither rows nor columns of a matrix are contiguous"
    return None if y["K"] == 1 else "the result lies transposed"


def _functions() -> Iterator[Pattern]:
    """Functions of tensors that no product makes; compilers make vectors of relu and clip."""
    for name, wrap in ACTIVATIONS:
        if name not in ("relu", "clip"):
            yield Pattern(f"real_{name}", "function", wrap(X), refuses)


#: Of products: `FloatProducts`.
PRODUCTS: tuple[Pattern, ...] = (*_dense(), *_matmul())

#: Of everything else: `FloatRows`.
ROWS: tuple[Pattern, ...] = (
    *(Pattern(name, "attention", structure, refuses) for name, structure in ATTENTION_STRUCTURES),
    *_conv2d(),
    Pattern("real_max_pool2d", "max_pool2d", Op("nn.max_pool2d", X), refuses),
    Pattern("real_avg_pool2d", "avg_pool2d", Op("nn.avg_pool2d", X), refuses),
    Pattern("real_global_avg_pool2d", "avg_pool2d", Op("mean", X), refuses),
    Pattern("real_softmax", "softmax", Op("nn.softmax", Any("x")), refuses),
    Pattern(
        "layer_norm",
        "layer_norm",
        Op("nn.layer_norm", Any("x"), Const("weight"), Const("bias")),
        refuses,
    ),
    Pattern("rms_norm", "rms_norm", Op("nn.rms_norm", Any("x"), Const("weight")), refuses),
    *_functions(),
    Pattern("gru", "gru", Op("onnx.GRU", Any("x")), refuses),
    Pattern("lstm", "lstm", Op("onnx.LSTM", Any("x")), refuses),
)
