"""What layers there are, and what some of them have in common."""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "conv2d",
    "conv2d_transpose",
    "dense",
    "matmul",
    "add",
    "mul",
    "avg_pool2d",
    "max_pool2d",
    "softmax",
    "quantize",
    "dequantize",
    "permute",
    "table",
    "function",
    "layer_norm",
    "rms_norm",
    "attention",
    "gru",
    "lstm",
]

#: Rows by their spread; an RMS norm leaves their mean in, and adds nothing.
NORMS: tuple[Kind, ...] = ("layer_norm", "rms_norm")
#: Kinds whose every step multiplies and adds.
PRODUCTS: tuple[Kind, ...] = ("conv2d", "dense", "matmul")
#: Kinds whose every element depends on its whole row, along K.
ROW_KINDS: tuple[Kind, ...] = ("softmax", *NORMS)

#: Kinds whose tail may be fixed point; the others compute with real values.
FIXED_POINT_KINDS: tuple[Kind, ...] = (
    *("conv2d", "conv2d_transpose", "dense", "matmul", "add", "mul", "avg_pool2d"),
)
