"""Random layers for the kernels of GAP9's cluster, as its tiles may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
from generated import ROOT  # noqa: F401  (makes the tests importable)

from match_aie.targets.gap9.cluster.module import Cluster
from match_aie.workload import (
    Quantized,
    RealTail,
    Window,
    Workload,
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
    table,
)
from tests.cc.gap9.cluster_harness import Case

X, TAIL = Quantized("uint8", 0.1, 3), full_range("uint8", 3)
Random = np.random.Generator

#: Share of convolutions with less than four output channels.
FEW = 0.1

#: Share of permutations that turn three planes into pixels.
PLANES = 0.2

#: Share of convolutions with a single output pixel, of products with a single row: two are computed
#: at a time where there are two.
ONE_PIXEL = 0.2


def _conv2d(rng: Random) -> Workload:
    high, wide = (int(rng.choice([1, 1, 3, 3, 3, 4, 10])) for _ in range(2))
    high = wide if wide < 4 else high
    side, stride = int(rng.integers(6, 18)) + max(high, wide), int(rng.integers(1, 3))
    pads = ((high - 1) // 2, (wide - 1) // 2, high // 2, wide // 2)
    c, k = int(rng.choice([1, 3, 4, 8, 16, 24, 32, 64])), int(rng.choice([4, 8, 10, 16, 32, 64]))
    k = int(rng.integers(1, 4)) if rng.random() < FEW else k
    shape = (side, side)
    if rng.random() < ONE_PIXEL:
        shape, stride, pads = (high, wide), 1, (0, 0, 0, 0)
    window = Window((stride, stride), padding=pads)
    return conv2d(
        X, X, shape=(1, *shape, c), weight_shape=(k, high, wide, c), scales=k, window=window,
        tail=TAIL,
    )  # fmt: skip


def _depthwise(rng: Random) -> Workload:
    size, side = int(rng.choice([3, 3, 3, 5, 7])), int(rng.integers(8, 20))
    c, stride = int(rng.choice([4, 8, 16, 30, 32, 64])), int(rng.integers(1, 3))
    window = Window((stride, stride), padding=(size // 2,) * 4)
    return conv2d(
        X, X, shape=(1, side, side, c), weight_shape=(c, size, size, 1), groups=c, scales=c,
        window=window, tail=TAIL,
    )  # fmt: skip


def _dense(rng: Random) -> Workload:
    rows, inputs, outputs = int(rng.integers(1, 4)), int(rng.integers(8, 400)), _size(rng, 8, 160)
    return dense(X, X, rows=rows, inputs=inputs, outputs=outputs, scales=outputs, tail=TAIL)


def _size(rng: Random, low: int, high: int) -> int:
    return int(rng.integers(low, high))


def _pool(kind: str, *, whole: bool, rounding: str = "half_even") -> Callable[[Random], Workload]:
    def made(rng: Random) -> Workload:
        side, c = _size(rng, 5, 20), int(rng.choice([4, 8, 30, 32, 64]))
        size = side if whole else _size(rng, 2, 4)
        window = Window() if whole else Window((2, 2))
        tail = replace(TAIL, rounding=rounding) if kind == "avg_pool2d" else TAIL
        return pool2d(
            kind, X, X, shape=(1, side, side, c), filter_shape=(size, size), window=window,
            tail=tail,
        )  # fmt: skip

    return made


def _pair(kind: str) -> Callable[[Random], Workload]:
    def made(rng: Random) -> Workload:
        shape = (1, _size(rng, 4, 20), _size(rng, 4, 20), int(rng.choice([4, 8, 16, 30])))
        other = (1, 1, 1, shape[-1]) if rng.random() < 0.3 else shape
        return elementwise(kind, X, X, X, shape=shape, shape1=other, out=shape, tail=TAIL)

    return made


def _rows(kind: str) -> Callable[[Random], Workload]:
    def made(rng: Random) -> Workload:
        rows, columns = _size(rng, 1, 20), _size(rng, 8, 200)
        real, x = Quantized("float32"), X
        if kind == "quantize":
            return rowwise(kind, real, x, rows=1, columns=rows * columns, tail=TAIL)
        if kind == "dequantize":
            return rowwise(kind, x, real, rows=1, columns=rows * columns, tail=None)
        if kind == "layer_norm":
            return quantised_norm(
                X, X, rows=rows, columns=columns, epsilon=1e-5, tail=TAIL, kind="layer_norm"
            )
        return rowwise("softmax", x, x, rows=rows, columns=columns, tail=TAIL)

    return made


def _shares(rng: Random) -> Workload:
    """A softmax whose results are steps of 1/256: rows of which integers hold any length."""
    shares = Quantized("uint8", 1 / 256, 0)
    rows, columns = _size(rng, 1, 20), _size(rng, 4, 200)
    return rowwise("softmax", X, shares, rows=rows, columns=columns, tail=full_range("uint8", 0))


def _matmul(rng: Random) -> Workload:
    sizes = {name: _size(rng, 4, 60) for name in ("rows", "inner", "columns")}
    sizes["rows"] = 1 if rng.random() < ONE_PIXEL else sizes["rows"]
    return matmul(X, X, X, batch=_size(rng, 1, 5), tail=TAIL, **sizes)


def _permute(rng: Random) -> Workload:
    shape = (1, *(_size(rng, 3, 40) for _ in range(3)))
    axes = [(0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2)][_size(rng, 0, 3)]
    if rng.random() < PLANES:
        shape, axes = (1, 3, *shape[2:]), (0, 2, 3, 1)
    return permute(X, shape=shape, axes=axes)


def _cell(kind: str, *, reset: bool = False) -> Callable[[Random], Workload]:
    def made(rng: Random) -> Workload:
        sizes = {"steps": _size(rng, 2, 6), "inputs": _size(rng, 8, 60)}
        hidden = _size(rng, 8, 64)
        layer = recurrent(
            kind, batch=1, hidden=hidden, linear_before_reset=reset, quantized=X, **sizes
        )
        return replace(layer, real=RealTail(precision="int8"))

    return made


def _real_conv2d(rng: Random) -> Workload:
    side, c, k = _size(rng, 5, 10), _size(rng, 3, 12), _size(rng, 4, 16)
    if rng.random() < 0.5:
        return real_dense(rows=_size(rng, 1, 6), inputs=8 * c, outputs=k, bias=True)
    window = Window(padding=(1, 1, 1, 1))
    return real_conv2d(
        shape=(1, side, side, c), weight_shape=(k, 3, 3, c), window=window, bias=True
    )


def _real_depthwise(rng: Random) -> Workload:
    side, c = _size(rng, 5, 12), _size(rng, 4, 20)
    return real_conv2d(
        shape=(1, side, side, c), weight_shape=(c, 3, 3, 1), groups=c,
        window=Window(padding=(1, 1, 1, 1)), bias=True,
    )  # fmt: skip


def _real_pool(kind: str) -> Callable[[Random], Workload]:
    def made(rng: Random) -> Workload:
        side, size = _size(rng, 5, 12), _size(rng, 2, 4)
        return real_pool2d(
            kind, shape=(1, side, side, _size(rng, 4, 20)), filter_shape=(size, size)
        )

    return made


def _real_rows(rng: Random) -> Workload:
    return real_softmax(rows=_size(rng, 1, 20), columns=_size(rng, 4, 40))


def _real_sum(rng: Random) -> Workload:
    return real_pair("add", elements=_size(rng, 4, 3000), tail=RealTail("relu"))


def _real_norm(rng: Random) -> Workload:
    return layer_norm(rows=_size(rng, 1, 20), columns=_size(rng, 4, 64), epsilon=1e-5)


_MADE: Mapping[str, Callable[[Random], Workload]] = {
    "conv2d": _conv2d,
    "depthwise": _depthwise,
    "dense": _dense,
    "max_pool2d": _pool("max_pool2d", whole=False),
    "avg_pool2d": _pool("avg_pool2d", whole=True),
    "avg_pool2d away": _pool("avg_pool2d", whole=False, rounding="half_away"),
    "avg_pool2d whole": _pool("avg_pool2d", whole=True),
    "avg_pool2d float": _pool("avg_pool2d", whole=False),
    "add": _pair("add"),
    "mul": _pair("mul"),
    "table": lambda rng: table(X, X, elements=_size(rng, 100, 4000)),
    "quantize": _rows("quantize"),
    "dequantize": _rows("dequantize"),
    "softmax": _rows("softmax"),
    "softmax narrow": _shares,
    "softmax wide": _shares,
    "layer_norm": _rows("layer_norm"),
    "matmul": _matmul,
    "permute": _permute,
    "gru": _cell("gru", reset=True),
    "gru before": _cell("gru"),
    "lstm": _cell("lstm"),
    "real conv2d": _real_conv2d,
    "real depthwise": _real_depthwise,
    "real max_pool2d": _real_pool("max_pool2d"),
    "real avg_pool2d": _real_pool("avg_pool2d"),
    "real add": _real_sum,
    "real softmax": _real_rows,
    "real layer_norm": _real_norm,
}

#: Layers that stay as they are: fixed point would be another kernel.
IN_FLOATS = ("avg_pool2d away", "avg_pool2d whole", "avg_pool2d float", "softmax")

#: Bits of an integer softmax's products; the cluster takes the fewest that are precise enough.
PRODUCTS: Mapping[str, Literal[32, 64]] = {"softmax narrow": 32, "softmax wide": 64}

#: Kernels, as `match_aie.cost_models.pulp_plain` names them.
KINDS = tuple(_MADE)


def random_case(kind: str, rng: Random) -> Case:
    """A random layer that a kernel runs whole, in the cluster's arithmetic."""
    layer = _MADE[kind](rng)
    constants = {
        o.name: _random(rng, o.dtype, o.shape) for o in layer.constants if o.name != "scale"
    }
    if "scale" in [o.name for o in layer.constants]:
        shape = layer.operand("scale").shape
        constants["scale"] = rng.uniform(0.001, 0.002, shape).astype(np.float32)
    inputs = [_random(rng, o.dtype, o.shape) for o in layer.inputs]
    if kind not in IN_FLOATS:
        cluster = Cluster(floats="int8", instruction_set="rv32imc")
        bits = PRODUCTS.get(kind)
        made = fixed_softmax(layer, bits, "half_up") if bits else cluster.convert(layer, constants)
        if isinstance(made, str):
            raise SystemExit(f"{kind}: {made}")
        layer, constants = made.workload, dict(made.constants)
    return Case(layer, inputs, constants, {dim: (0, size) for dim, size in layer.dims})


def _random(rng: Random, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    if dtype == "float32":
        return rng.normal(0, 0.3, shape).astype(np.float32)
    if dtype == "int32":
        return rng.integers(-1000, 1000, shape).astype(np.int32)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
