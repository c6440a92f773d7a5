"""Layers of every kind that GAP9's cluster runs, for tests of its timing and cost model."""

from dataclasses import replace

import numpy as np

from match_aie.workload import (
    BFLOAT16,
    FLOAT16,
    RECURRENT,
    ROW_KINDS,
    Quantized,
    RealTail,
    Window,
    conv2d,
    dense,
    elementwise,
    fixed_softmax,
    full_range,
    layer_norm,
    matmul,
    permute,
    pool2d,
    quantised_norm,
    real_conv2d,
    real_dense,
    real_pair,
    real_pool2d,
    real_softmax,
    recurrent,
    rowwise,
    stored_as,
    table,
)

X = Quantized("uint8", 0.1, 3)
TAIL = full_range("uint8", 3)
SAME, HALVED = Window(padding=(1, 1, 1, 1)), Window((2, 2), padding=(0, 0, 1, 1))


def conv(rows, columns, c, k, filter_=(3, 3), window=SAME):
    return conv2d(
        X,
        X,
        shape=(1, rows, columns, c),
        weight_shape=(k, *filter_, c),
        scales=k,
        window=window,
        tail=TAIL,
    )


def depthwise(rows, columns, c, filter_=(3, 3), window=SAME):
    return conv2d(
        X,
        X,
        shape=(1, rows, columns, c),
        weight_shape=(c, *filter_, 1),
        groups=c,
        scales=c,
        window=window,
        tail=TAIL,
    )


def linear(rows, inputs, outputs):
    return dense(X, X, rows=rows, inputs=inputs, outputs=outputs, scales=outputs, tail=TAIL)


def cell(kind, steps, inputs, hidden, reset):
    made = recurrent(
        kind, steps=steps, batch=1, inputs=inputs, hidden=hidden, linear_before_reset=reset,
        quantized=X,
    )  # fmt: skip
    return replace(made, real=RealTail(precision="int8"))


def integer_softmax(rows, columns, dtype, bits):
    x, y = Quantized(dtype, 0.05, 3), Quantized("uint8", 1 / 256, 0)
    tail = full_range("uint8", 0)
    made = rowwise("softmax", x, y, rows=rows, columns=columns, tail=tail)
    return fixed_softmax(made, bits, "half_up").workload


def half(workload):
    """With an input of 16 bits."""
    x = replace(workload.operand("x"), dtype="int16", zero_point=0)
    return replace(workload, operands=(x, *workload.operands[1:]))


def short(workload, of=FLOAT16):
    """With products of floats of 16 bits."""
    return replace(workload, real=replace(workload.real, precision=of.precision))


SUM = (1, 32, 32, 16)
LAYERS = {
    "conv": conv(16, 16, 64, 64),
    "conv_few": conv(32, 32, 16, 16),
    "first": conv(48, 48, 3, 8, window=HALVED),
    "keywords": conv(49, 10, 1, 64, (10, 4), Window((2, 2), padding=(4, 1, 5, 1))),
    "point": conv(6, 6, 128, 128, (1, 1), Window()),
    "depthwise": depthwise(24, 24, 16),
    "depthwise_small": depthwise(3, 3, 256),
    "depthwise_stride": depthwise(48, 48, 16, window=HALVED),
    "depthwise_5x5": depthwise(14, 14, 30, (5, 5), Window(padding=(2, 2, 2, 2))),
    "dense": linear(1, 640, 128),
    "dense_odd": linear(2, 63, 10),
    "add": elementwise("add", X, X, X, shape=SUM, shape1=SUM, out=SUM, tail=TAIL),
    "average": pool2d("avg_pool2d", X, X, shape=(1, 8, 8, 64), filter_shape=(8, 8), tail=TAIL),
    "maximum": pool2d(
        "max_pool2d", X, X, shape=(1, 28, 28, 30), filter_shape=(3, 3), window=HALVED, tail=TAIL
    ),
    "repeated": elementwise("add", X, X, X, shape=SUM, shape1=(1, 1, 1, 16), out=SUM, tail=TAIL),
    "product": elementwise("mul", X, X, X, shape=SUM, shape1=SUM, out=SUM, tail=TAIL),
    "scores": matmul(X, X, X, batch=2, rows=64, inner=32, columns=64, tail=TAIL),
    "values": matmul(X, X, X, batch=4, rows=50, inner=50, columns=22, tail=TAIL),
    "norm": quantised_norm(X, X, rows=48, columns=96, epsilon=1e-5, tail=TAIL, kind="layer_norm"),
    "heads": permute(X, shape=(1, 48, 4, 32), axes=(0, 2, 1, 3)),
    "keys": permute(X, shape=(1, 50, 4, 32), axes=(0, 2, 3, 1)),
    "planes": permute(X, shape=(1, 3, 48, 46), axes=(0, 2, 3, 1)),
    "channels first": permute(X, shape=(1, 12, 14, 20), axes=(0, 3, 1, 2)),
    "real conv": real_conv2d(
        shape=(1, 12, 12, 16), weight_shape=(22, 3, 3, 16), window=SAME, bias=True
    ),
    "real depthwise": real_conv2d(
        shape=(1, 12, 12, 16), weight_shape=(16, 3, 3, 1), groups=16, window=SAME, bias=True
    ),
    "real dense": real_dense(rows=8, inputs=64, outputs=50, bias=True),
    "real maximum": real_pool2d("max_pool2d", shape=(1, 12, 12, 16), filter_shape=(2, 2)),
    "real average": real_pool2d("avg_pool2d", shape=(1, 8, 8, 32), filter_shape=(8, 8)),
    "real add": real_pair("add", elements=4096, tail=RealTail("relu")),
    "real softmax": real_softmax(rows=24, columns=33),
    "real norm": layer_norm(rows=24, columns=64, epsilon=1e-5),
    "float16 conv": short(
        real_conv2d(shape=(1, 12, 12, 16), weight_shape=(22, 3, 3, 16), window=SAME, bias=True)
    ),
    "float16 dense": short(real_dense(rows=8, inputs=650, outputs=50, bias=True)),
    "float16 point": short(real_conv2d(shape=(1, 9, 7, 64), weight_shape=(66, 1, 1, 64))),
    "float16 stored": stored_as(
        short(real_conv2d(shape=(1, 12, 12, 15), weight_shape=(22, 3, 3, 15), window=SAME)),
        {"x": "float16"},
    ),
    "bfloat16 in place": stored_as(
        short(real_conv2d(shape=(1, 9, 7, 64), weight_shape=(66, 1, 1, 64)), BFLOAT16),
        {"x": "bfloat16", "y": "bfloat16"},
    ),
    "bfloat16 conv": short(
        real_conv2d(shape=(1, 12, 12, 16), weight_shape=(22, 3, 3, 16), window=SAME), BFLOAT16
    ),
    "bfloat16 dense": short(real_dense(rows=8, inputs=650, outputs=50, bias=True), BFLOAT16),
    "gru": cell("gru", 12, 40, 33, True),
    "gru before": cell("gru", 10, 21, 64, False),
    "lstm": cell("lstm", 5, 40, 48, True),
    "table": table(X, X, elements=4098),
    "softmax": rowwise("softmax", X, X, rows=16, columns=10, tail=TAIL),
    "softmax narrow": integer_softmax(64, 64, "uint8", 32),
    "softmax wide": integer_softmax(20, 350, "int8", 64),
    "half conv": half(conv(12, 12, 22, 30)),
    "half first": half(conv(24, 24, 3, 8, window=HALVED)),
    "half depthwise": half(depthwise(12, 12, 22)),
    "half dense": half(linear(2, 121, 50)),
    "half point": half(conv(6, 6, 128, 66, (1, 1), Window())),
    "quantize": rowwise("quantize", Quantized("float32"), X, rows=1, columns=2764, tail=TAIL),
    "dequantize": rowwise("dequantize", X, Quantized("float32"), rows=1, columns=640, tail=None),
}


def whole(workload):
    """The ranges of a call that does the whole layer."""
    return {dim: (0, size) for dim, size in workload.dims}


def random_ranges(workload, rng):
    """A tile that a mapping may have: multiples of four channels, reductions whole."""
    found = {}
    for dim, size in workload.dims:
        if (
            workload.kind in RECURRENT
            or dim in workload.reductions
            or (workload.kind in ROW_KINDS and dim == "K")
        ):
            found[dim] = (0, size)
            continue
        tile = int(rng.choice([size, -(-size // 2), -(-size // 4), rng.integers(1, size + 1)]))
        tile = tile - tile % 4 if dim in "KG" and tile > 4 else tile
        start = int(rng.integers(0, -(-size // tile))) * tile
        found[dim] = (start, min(tile, size - start))
    return found


def lengths(ranges):
    """The tile of a cost model."""
    return {dim: np.asarray(n) for dim, (_, n) in ranges.items()}
