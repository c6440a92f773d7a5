"""Random small expressions of the kinds that compilers have mistranslated, for the fallback.

Choices between operands, paddings, concatenations, pools and reductions over few elements along the
last axes, where compilers unroll and vectorise. Each network has several, so that one compilation
tries many.
"""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op

#: Expressions per network.
EXPRESSIONS = 10


def expressions(seed: int):
    """A body for `module_of`, and input arrays for it."""
    rng = np.random.default_rng(seed)
    shape = (1, int(rng.integers(1, 5)), int(rng.choice([2, 3, 4, 8, 9, 36])), _narrow(rng))
    arrays = [rng.standard_normal(shape).astype(np.float32) for _ in range(3)]
    draws = rng.integers(0, 2**31, EXPRESSIONS)

    def body(emit, *inputs):
        return [_expression(emit, inputs, np.random.default_rng(draw)) for draw in draws]

    return body, arrays


def _narrow(rng) -> int:
    return int(rng.choice([1, 2, 2, 3, 4, 4, 8, 16, 20]))


def _expression(emit, inputs, rng):
    value = inputs[int(rng.integers(3))]
    for _ in range(int(rng.integers(1, 4))):
        rule = _RULES[int(rng.integers(len(_RULES)))]
        value = emit(rule(emit, value, inputs, rng))
    return value


def _shape(value) -> list[int]:
    return [int(size) for size in value.ty.shape]


def _like(emit, value, inputs, rng):
    """Another operand of the shape of `value`: an input, or `value` changed."""
    same = [x for x in inputs if _shape(x) == _shape(value)]
    if same:
        return same[int(rng.integers(len(same)))]
    return emit(op.subtract(value, relax.const(np.float32(rng.standard_normal()))))


def _chosen(emit, value, inputs, rng):
    """x < 0 ? a : b, the condition sometimes widened first."""
    other = _like(emit, value, inputs, rng)
    compare = (op.less, op.greater, op.less_equal, op.not_equal)[int(rng.integers(4))]
    condition = emit(compare(value, relax.const(np.float32(0))))
    if rng.integers(2):
        wide = emit(op.astype(condition, "int64"))
        condition = emit(op.greater(wide, relax.const(np.int64(0), "int64")))
    return op.where(condition, emit(op.multiply(value, other)), value)


def _concatenated(emit, value, inputs, rng):
    other = _like(emit, value, inputs, rng)
    if rng.integers(2):
        other = emit(op.negative(other))
    return op.concat([value, other], int(rng.integers(1, 4)))


def _stacked(emit, value, inputs, rng):
    """Alternating elements, as interleaving audio networks have them."""
    other = emit(op.negative(_like(emit, value, inputs, rng)))
    first, second = (emit(op.expand_dims(x, 4)) for x in (value, other))
    n, c, h, w = _shape(value)
    return op.reshape(emit(op.concat([first, second], 4)), (n, c, h, 2 * w))


def _padded(emit, value, inputs, rng):
    widths = [0, 0, *(int(n) for n in rng.integers(0, 3, 6))]
    if rng.integers(3) == 0:
        value = emit(op.nn.relu(value))
    return op.nn.pad(value, widths, "constant", float(rng.choice([0.0, 7.0])))


def _pooled(emit, value, inputs, rng):
    layout = ("NCHW", "NHWC")[int(rng.integers(2))]
    height, width = _shape(value)[2:] if layout == "NCHW" else _shape(value)[1:3]
    window = [int(rng.integers(1, min(3, size) + 1)) for size in (height, width)]
    stride = [int(rng.integers(1, 3)) for _ in window]
    pads = [size // 2 for size in window]
    kind = op.nn.max_pool2d if rng.integers(2) else op.nn.avg_pool2d
    return kind(value, window, stride, [*pads, *pads], layout=layout)


def _reduced(emit, value, inputs, rng):
    kind = (op.sum, op.max, op.min, op.mean)[int(rng.integers(4))]
    return kind(value, [int(rng.integers(1, 4))], keepdims=True)


def _sliced(emit, value, inputs, rng):
    axis = int(rng.integers(1, 4))
    size = _shape(value)[axis]
    start = int(rng.integers(0, max(1, size // 2)))
    return op.strided_slice(value, [axis], [start], [size])


def _turned(emit, value, inputs, rng):
    return op.permute_dims(value, [0, *(1 + int(axis) for axis in rng.permutation(3))])


def _combined(emit, value, inputs, rng):
    other = _like(emit, value, inputs, rng)
    kind = (op.add, op.multiply, op.maximum, op.minimum)[int(rng.integers(4))]
    return kind(value, other)


def _quantised(emit, value, inputs, rng):
    dtype = ("int8", "uint8")[int(rng.integers(2))]
    scale, zero = relax.const(np.float32(0.05)), relax.const(np.dtype(dtype).type(3), dtype)
    integers = emit(op.quantize(value, scale, zero, 0, dtype))
    return op.dequantize(integers, scale, zero, 0)


_RULES = (
    _chosen, _chosen, _concatenated, _concatenated, _stacked, _padded, _padded, _pooled, _reduced,
    _sliced, _turned, _combined, _quantised,
)  # fmt: skip
