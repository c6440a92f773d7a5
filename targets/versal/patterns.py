"""What the array runs, and why it refuses what it does not."""

from __future__ import annotations

from collections.abc import Iterator

from match_aie.hardware import (
    AVG_POOL_HALF_AWAY,
    LAYER_NORM,
    RMS_NORM,
    Any,
    Chain,
    Const,
    Op,
    Pattern,
    Structure,
    binary,
    clipped,
    integer_patterns,
    real,
    tabulated,
    unary,
    weighted,
)
from match_aie.targets.aie_ml.graph.cut_plan import refuses as refuses_image
from match_aie.targets.aie_ml.graph.float_attention import refuses_float_heads
from match_aie.targets.aie_ml.graph.row_layers import refuses_turned
from match_aie.targets.cpu.float_patterns import ACTIVATIONS, ATTENTION_STRUCTURES
from match_aie.workload import (
    Kind,
    Workload,
    refuses_attention_bfloat16,
    refuses_bfloat16,
    refuses_integer_recurrent,
    refuses_recurrent,
    refuses_rows_bfloat16,
)

#: (activations, weights) that the generated kernels multiply.
PAIRS = (("int8", "int8"), ("uint8", "int8"), ("int16", "int8"), ("int16", "int16"))

#: What they store.
STORED = ("int8", "uint8", "int16", "int32")


def refuses_product(workload: Workload) -> str | None:
    """Why the array cannot run a product with constant weights; None where it can."""
    x, weight, y = workload.inputs[0], workload.operand("weight"), workload.output
    if (x.dtype, weight.dtype) not in PAIRS:
        return f"it multiplies {x.dtype} by {weight.dtype}, for which there is no kernel"
    if weight.zero_point:
        return f"its weights have the zero point {weight.zero_point}"
    if y.dtype not in STORED:
        return f"it stores {y.dtype}"
    return None


def refuses_pair(workload: Workload) -> str | None:
    """Why the array cannot run a product of two activations; None where it can."""
    if len(workload.inputs) != 2:
        return "one of its operands is constant, and it is no dense layer"
    x, x1, y = workload.operand("x"), workload.operand("x1"), workload.output
    if (x.dtype, x1.dtype) not in PAIRS[:3]:  # sums of int16 activations may leave 32 bits
        return f"it multiplies {x.dtype} by {x1.dtype}, for which there is no kernel"
    if y.dtype not in ("int8", "uint8", "int16") or workload.tail is None:
        return f"it stores {y.dtype}"
    return None


def refuses_attention(workload: Workload) -> str | None:
    """Why the array cannot run quantised attention; None where it can."""
    x, *others = (operand.dtype for operand in workload.inputs)
    if x not in ("int8", "uint8") or set(others) != {"int8"}:
        return f"it multiplies {x} by {' and '.join(others)}; attention takes int8 keys and values"
    if workload.output.dtype not in ("int8", "uint8"):
        return f"it stores {workload.output.dtype}"
    return None


def refuses_float_attention(workload: Workload) -> str | None:
    """Why no array runs attention in bfloat16; None where one may (`AieArray.convert`)."""
    return refuses_attention_bfloat16(workload) or refuses_float_heads(workload)


def _float_forms(biased: bool) -> Iterator[tuple[str, Op]]:
    """A product with constant weights, with and without a ReLU, longest first."""
    product = Op("matmul", Any("x", ("float32",)), Const("weight"))
    total = Op("add", product, Const("bias")) if biased else product
    name = "_bias" * biased
    yield f"{name}_relu", Op("nn.relu", total)
    yield name, total


#: Products of two activations.
PAIRS_OF_ACTIVATIONS: tuple[Pattern, ...] = binary("matmul", "matmul", "matmul", refuses_pair)

#: What may scale scores before their softmax, each step quantised.
SCALED = frozenset({"quantize", "dequantize", "multiply", "divide"})


def _attended(queries: Structure, values: Structure) -> Op:
    """Products of activations around a softmax, of keys that are transposed."""
    scores = Op("quantize", Op("matmul", real(queries), real(Any("x1"))))
    weights = Op("quantize", Op("nn.softmax", Op("dequantize", Chain(SCALED, scores))))
    return Op("quantize", Op("matmul", real(weights), real(values)))


def _heads(name: str) -> Op:
    """A matrix of each head, of columns that lie side by side."""
    return Op("permute_dims", Op("reshape", Any(name)))


#: Products of activations around a softmax.
ATTENTION: tuple[Pattern, ...] = clipped(
    "attention", "attention", _attended(Any("x"), Any("x2")), refuses_attention
)

#: Dense layers, longest forms first.
DENSE: tuple[Pattern, ...] = (
    *weighted("dense", "dense", "matmul", refuses_product),
    *integer_patterns("dense", "dense", refuses_product),
)


def _functions() -> Iterator[Pattern]:
    """Functions of float32 elements, in one operator or spelled out."""
    x, one = Any("x", ("float32",)), Const("one")
    for name, wrap in ACTIVATIONS:
        if name not in ("relu", "clip"):
            yield Pattern(f"bf16_{name}", "function", wrap(x), refuses_rows_bfloat16)
    spelled = {
        "rsqrt_spelled": Op("divide", one, Op("sqrt", x)),
        "reciprocal": Op("divide", one, x),
        "exp": Op("exp", x),
        "rsqrt": Op("rsqrt", x),
    }
    for name, structure in spelled.items():
        yield Pattern(f"bf16_{name}", "function", structure, refuses_rows_bfloat16)


def _float_rows() -> Iterator[Pattern]:
    """Rows of float32 elements, sums and products of two tensors."""
    x, x1, weight = Any("x", ("float32",)), Any("x1", ("float32",)), Const("weight")
    structures: tuple[tuple[Kind, Op], ...] = (
        ("softmax", Op("nn.softmax", x)),
        ("layer_norm", Op("nn.layer_norm", x, weight, Const("bias"))),
        ("rms_norm", Op("nn.rms_norm", x, weight)),
        ("add", Op("add", x, x1)),
        ("mul", Op("multiply", x, x1)),
    )
    for kind, structure in structures:
        yield Pattern(f"bf16_{kind}", kind, structure, refuses_rows_bfloat16)


#: Layers of float32 tensors, in bfloat16.
FLOATS: tuple[Pattern, ...] = (
    *(
        Pattern(f"bf16_dense{name}", "dense", structure, refuses_bfloat16)
        for biased in (True, False)
        for name, structure in _float_forms(biased)
    ),
    Pattern("bf16_gru", "gru", Op("onnx.GRU", Any("x")), refuses_recurrent),
    Pattern("bf16_lstm", "lstm", Op("onnx.LSTM", Any("x")), refuses_recurrent),
    *(
        Pattern(f"bf16_{name}", "attention", structure, refuses_float_attention)
        for name, structure in ATTENTION_STRUCTURES
    ),
    *_functions(),
    *_float_rows(),
)

#: Recurrent layers in float32, on cores that multiply it.
SINGLE: tuple[Pattern, ...] = (
    Pattern("float32_gru", "gru", Op("onnx.GRU", Any("x")), refuses_recurrent),
    Pattern("float32_lstm", "lstm", Op("onnx.LSTM", Any("x")), refuses_recurrent),
)

#: Recurrent layers of quantised inputs, whose products are of 8 bits.
INTEGER_RECURRENT: tuple[Pattern, ...] = (
    Pattern("int8_gru", "gru", Op("onnx.GRU", real(Any("x"))), refuses_integer_recurrent),
    Pattern("int8_lstm", "lstm", Op("onnx.LSTM", real(Any("x"))), refuses_integer_recurrent),
)

#: Convolutions (transposed ones, too), pools and sums of images, longest forms first.
IMAGES: tuple[Pattern, ...] = (
    *weighted("conv2d", "conv2d", "nn.conv2d", refuses_image),
    *weighted("conv2d_transpose", "conv2d_transpose", "nn.conv2d_transpose", refuses_image),
    *binary("add", "add", "add", refuses_image),
    *unary("avg_pool2d", "avg_pool2d", "nn.avg_pool2d", refuses_image),
    *unary("global_avg_pool2d", "avg_pool2d", "mean", refuses_image),
    *clipped("avg_pool2d_half_away", "avg_pool2d", Op(AVG_POOL_HALF_AWAY, Any("x")), refuses_image),
    *clipped("max_pool2d", "max_pool2d", Op("nn.max_pool2d", Any("x")), refuses_image),
    *integer_patterns("conv2d", "conv2d", refuses_image),
    *integer_patterns("add", "add", refuses_image),
)

#: Functions of single elements.
TABLES: tuple[Pattern, ...] = tabulated("table", refuses_image)

#: Rows of 8-bit elements.
ROWS: tuple[Pattern, ...] = (
    *binary("mul", "mul", "multiply", refuses_image),
    *unary("softmax", "softmax", "nn.softmax", refuses_image),
    *clipped("layer_norm", "layer_norm", LAYER_NORM, refuses_image),
    *clipped("rms_norm", "rms_norm", RMS_NORM, refuses_image),
)

#: Transposes of 8-bit matrices and attention whose heads lie side by side, which are stages of
#: pipelines.
TURNED: tuple[Pattern, ...] = (
    Pattern("permute", "permute", Op("permute_dims", Any("x")), refuses_turned),
    Pattern("permute_heads", "permute", _heads("x"), refuses_turned),
    Pattern(
        "attention_rows",
        "attention",
        Op("reshape", Op("permute_dims", _attended(_heads("x"), _heads("x2")))),
        refuses_attention,
    ),
)

PATTERNS = (*DENSE, *ATTENTION, *PAIRS_OF_ACTIVATIONS, *IMAGES, *TABLES, *ROWS)
