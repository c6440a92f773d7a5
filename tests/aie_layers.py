"""Random image layers and sums as workloads with their constants, for tests of the array."""

from math import prod

import numpy as np

from match_aie.errors import ModelError, TargetError
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.versal.executing import drawn
from match_aie.workload import (
    Quantized,
    Window,
    conv2d,
    elementwise,
    full_range,
    matmul,
    pool2d,
    table,
)

SIZES = (1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 19, 24, 31)
CHANNELS = (1, 3, 4, 7, 8, 9, 16, 17, 20, 24, 31, 33)


def constants_of(workload, rng):
    """Random weights and biases, and scales that use the output's range."""
    found = {}
    for operand in workload.constants:
        if operand.name == "scale":
            weights = found["weight"].reshape(workload.output.shape[-1], -1).astype(float)
            spread = np.sqrt((weights**2).sum(axis=1)).max() * 74 + 1
            scale = rng.uniform(0.3, 1.0, operand.shape) * 60 / spread
            found["scale"] = scale.astype(np.float32)
        elif operand.name == "bias":
            found["bias"] = rng.integers(-2000, 2000, operand.shape).astype(np.int32)
        else:
            found[operand.name] = rng.integers(-127, 128, operand.shape).astype(operand.dtype)
    return found


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def random_window(rng, filter_):
    """Stride, dilation and padding that a filter may have."""
    dilation = pick(rng, ((1, 1), (1, 1), (1, 1), (2, 2), (1, 2)))
    stride = pick(rng, ((1, 1), (1, 1), (2, 2), (2, 2), (1, 2), (3, 2)))
    reach = [(f - 1) * d for f, d in zip(filter_, dilation, strict=True)]
    padding = [int(rng.integers(0, r + 1)) for r in reach] * 2
    return Window(stride, dilation, tuple(pick(rng, (p, p, 0)) for p in padding))


def quantised(rng, dtype):
    low, high = (0, 256) if dtype == "uint8" else (-128, 128)
    point = pick(rng, (0, int(rng.integers(low, high))))
    return Quantized(dtype, float(rng.uniform(0.01, 0.1)), point)


def random_layer(rng, kind):
    """A workload of `kind`: "conv", "depthwise", "average", "max", "add", "table".

    None where no window has a place.
    """
    dtype = pick(rng, ("uint8", "int8"))
    x, y = quantised(rng, dtype), quantised(rng, dtype)
    shape = (1, pick(rng, SIZES), pick(rng, SIZES), pick(rng, CHANNELS))
    tail = full_range(dtype, y.zero_point)
    if kind == "table":
        return table(x, quantised(rng, pick(rng, ("uint8", "int8"))), elements=prod(shape))
    if kind == "add":
        x1 = quantised(rng, dtype)
        return elementwise("add", x, x1, y, shape=shape, shape1=shape, out=shape, tail=tail)
    filter_ = pick(rng, ((1, 1), (3, 3), (3, 3), (5, 3), (2, 2), (1, 3), (7, 7)))
    window = random_window(rng, filter_)
    try:
        if kind in ("average", "max"):
            name = f"{'avg' if kind == 'average' else kind}_pool2d"
            if kind == "average":
                window = Window(window.stride)
                filter_ = pick(rng, (filter_, shape[1:3]))
            same = x if kind == "max" else y
            tail = full_range(dtype, same.zero_point)
            workload = pool2d(
                name, x, same, shape=shape, filter_shape=filter_, window=window, tail=tail
            )
        else:
            apart = kind == "depthwise"
            outputs = shape[3] if apart else pick(rng, CHANNELS)
            workload = conv2d(
                x,
                y,
                shape=shape,
                weight_shape=(outputs, *filter_, 1 if apart else shape[3]),
                groups=shape[3] if apart else 1,
                window=window,
                tail=tail,
                scales=pick(rng, (1, outputs)),
            )
    except (ModelError, TargetError, ValueError):
        return None
    if any(size < 1 for size in workload.output.shape):
        return None
    return workload


def random_inputs(workload, rng):
    """By operand name."""
    return {operand.name: drawn(operand, rng) for operand in workload.inputs}


#: Sums of two int16 activations may leave 32 bits, so there is no fixed point for them.
PAIRS = (("int8", "int8"), ("uint8", "int8"), ("int16", "int8"))


def product(rng, shape, types, points, scale):
    """A workload in fixed point, and its constants."""
    (a, b, y), (za, zb, zy) = types, points
    batch, rows, inner, columns = shape
    workload = matmul(
        Quantized(a, 0.05, za),
        Quantized(b, 0.05, zb),
        Quantized(y, 0.05, zy),
        batch=batch,
        rows=rows,
        inner=inner,
        columns=columns,
        tail=full_range(y, zy),
    )
    made = in_fixed_point(workload, {"scale": np.array([scale], np.float32)})
    assert not isinstance(made, str)
    return made.workload, made.constants


def scale_for(rng, types, inner, power):
    """A scale that uses the range of y: of a power of two, or not."""
    spread = [np.iinfo(t).max / 2 for t in types]
    wanted = spread[2] / (spread[0] * spread[1] * np.sqrt(inner)) / 2
    return 2.0 ** round(np.log2(wanted)) if power else wanted * rng.uniform(0.5, 1.0)


def random_product(seed):
    """Sizes from 1 to 70, every pair of types, with and without zero points."""
    rng = np.random.default_rng(seed)
    a, b = PAIRS[seed % 3]
    types = a, b, str(rng.choice(["int8", "uint8", "int16"]))
    zeros = seed // 3 % 2 == 1
    points = tuple(int(rng.integers(1, 60)) if zeros and t != "int16" else 0 for t in types)
    sizes = [int(s) for s in rng.choice([1, 3, 7, 8, 13, 16, 31, 33, 48, 70], 3)]
    shape = (int(rng.choice([1, 2, 3, 6])), *sizes)
    return product(rng, shape, types, points, scale_for(rng, types, sizes[1], seed // 6 % 2 == 1))
