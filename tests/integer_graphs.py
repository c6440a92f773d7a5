"""Integer networks in Relax as Relay's importers and MATCH write them, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from tvm import relax

op = relax.op
#: A network's body: (builder, its inputs) -> what it gives.
Body = Callable[[Any, Sequence[Any]], Any]


def module(body: Body, *inputs: tuple[tuple[int, ...], str]) -> Any:
    """An IRModule; inputs as (shape, dtype)."""
    builder = relax.BlockBuilder()
    given = [relax.Var(f"x{i}", relax.TensorType(*kind)) for i, kind in enumerate(inputs)]
    with builder.function("main", given):
        with builder.dataflow():
            result = builder.emit_output(body(builder, given))
        builder.emit_func_output(result)
    return builder.get()


def const(value: Any, dtype: str = "int32") -> Any:
    return relax.const(np.asarray(value).astype(dtype))


def along(vector: np.ndarray, layout: str) -> Any:
    """int32 per channel, shaped to broadcast in `layout` as bias_add does."""
    value = np.asarray(vector, np.int32)
    return const(value.reshape(-1, 1, 1) if layout == "NCHW" else value)


def requantised(
    builder: Any, total: Any, layout: str, *, bias=None, multiplier=None, offset=None,
    shift=0, zero=0, clip=(-128, 127), dtype="int8",
) -> Any:  # fmt: skip
    """Bias, multiplier, offset, shift, zero point, clip and cast after an int32 sum."""
    emit = builder.emit
    for function, value in ((op.add, bias), (op.multiply, multiplier), (op.add, offset)):
        if value is not None:
            value = along(value, layout) if np.ndim(value) else const(value)
            total = emit(function(total, value))
    if shift:
        total = emit(op.right_shift(total, const(shift)))
    if zero:
        total = emit(op.add(total, const(zero)))
    return emit(op.astype(emit(op.clip(total, *clip)), dtype))


def convolution(
    builder: Any, x: Any, weight: np.ndarray, layout: str = "NCHW", **attributes: Any
) -> Any:
    """int32 conv2d of an 8-bit tensor; weights OIHW."""
    kernel = {"NCHW": "OIHW", "NHWC": "HWIO"}[layout]
    stored = weight if layout == "NCHW" else weight.transpose(2, 3, 1, 0)
    return builder.emit(
        op.nn.conv2d(
            x, const(stored, weight.dtype.name), data_layout=layout, kernel_layout=kernel,
            out_dtype="int32", **attributes,
        )
    )  # fmt: skip


def residual(
    builder: Any, a: Any, b: Any, layout: str = "NCHW", factors=(None, None), **tail: Any
) -> Any:
    """int32 sum of two 8-bit tensors, each times a factor, requantised."""
    wide = [builder.emit(op.astype(x, "int32")) for x in (a, b)]
    wide = [
        x if f is None else builder.emit(op.multiply(x, const(f)))
        for x, f in zip(wide, factors, strict=True)
    ]
    return requantised(builder, builder.emit(op.add(*wide)), layout, **tail)


def dense(builder: Any, x: Any, weight: np.ndarray, **tail: Any) -> Any:
    """int32 x @ weight, requantised where `tail` says how."""
    total = builder.emit(op.matmul(x, const(weight, weight.dtype.name), out_dtype="int32"))
    return requantised(builder, total, "NHWC", **tail) if tail else total


def dense_fork(rows: int, width: int) -> Any:
    """Two dense layers in a row, two that read the last one's result, and the sum of theirs."""
    rng = np.random.default_rng(5)

    def body(builder, inputs):
        def layer(x):
            weight = rng.integers(-128, 128, (width, width)).astype(np.int8)
            return dense(builder, x, weight, shift=10, bias=rng.integers(-999, 999, width))

        read = layer(layer(inputs[0]))
        return residual(builder, layer(read), layer(read), "NHWC", shift=1)

    return module(body, ((rows, width), "int8"))


def dense_row(rows: int, sizes: Sequence[int]) -> Any:
    """Dense layers with shifts, one after the other: the input's columns, then every layer's."""
    rng = np.random.default_rng(5)

    def body(builder, inputs):
        x = inputs[0]
        for k, n in pairwise(sizes):
            weight = rng.integers(-128, 128, (k, n)).astype(np.int8)
            x = dense(builder, x, weight, shift=10, bias=rng.integers(-999, 999, n))
        return x

    return module(body, ((rows, sizes[0]), "int8"))
