"""Random quantised attention as workloads with their constants, for tests of the array."""

import numpy as np

from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.workload import AttentionSizes, Quantized, full_range, quantised_attention
from match_aie.workload.attention_bfloat16 import factor_of, scaled_queries
from match_aie.workload.block_float import blocks_of, values_of_blocks
from match_aie.workload.real import attention
from match_aie.workload.reference import softmax_table

KEYS = (1, 3, 8, 15, 16, 17, 31, 33, 48, 70, 100)
ELEMENTS = (1, 4, 8, 12, 16, 24, 32)


def attention_of(sizes, inputs, between, y):
    """The layer with the constants that its scales say."""
    layer = quantised_attention(inputs, between, y, sizes, full_range(y.dtype, y.zero_point))
    scales = [np.float32(q.scale) for q in (*inputs, *between, y)]
    constants = {
        "scores_scale": np.array([scales[0] * scales[1] / scales[3]], np.float32),
        "table": softmax_table(between[0].scale),
        "scale": np.array([scales[4] * scales[2] / scales[5]], np.float32),
    }
    return layer, constants


def random_attention(seed):
    """Heads, rows, keys and elements of any number; with and without zero points."""
    rng = np.random.default_rng(seed)
    zeros = seed % 2 == 1
    point = lambda: int(rng.integers(-40, 40)) if zeros else 0  # noqa: E731
    size, keys = int(rng.choice(ELEMENTS)), int(rng.choice(KEYS))
    sizes = AttentionSizes(
        int(rng.choice([1, 2, 3, 6])), int(rng.choice([1, 3, 4, 8, 13, 20])), keys, size, size
    )
    unsigned = seed % 3 == 2
    weights = Quantized("uint8", 1 / 256, 0) if unsigned else Quantized("int8", 1 / 256, -128)
    x, x1, x2 = (Quantized("int8", float(rng.uniform(0.004, 0.02)), point()) for _ in range(3))
    spread = 74.0 * 74.0 * x.scale * x1.scale * np.sqrt(size)
    scores = Quantized("int8", float(np.float32(rng.uniform(0.3, 1) * spread / 40)), point())
    y = Quantized("int8", float(np.float32(x2.scale * rng.uniform(0.5, 1.2))), point())
    return attention_of(sizes, (x, x1, x2), (scores, weights), y)


def float_attention(seed, *, heads=None, sizes=None, unshifted=False, blocks=False):
    """Attention of floats in bfloat16: workload, constants; more keys than a round of sums.

    With `blocks` products are of block floating point.
    """
    rng = np.random.default_rng(seed)
    rows, keys, size = sizes or (
        int(rng.integers(1, 70)),
        int(rng.integers(33, 160)),
        int(rng.choice([8, 16, 24, 64])),
    )
    workload = attention(
        batch=1,
        heads=heads or int(rng.choice([1, 2, 4])),
        queries=rows,
        keys=keys,
        size=size,
        value_size=size,
        factor=float(np.float32(size**-0.5 * rng.uniform(0.5, 2))),
    )
    made = in_fixed_point(workload, {}, unshifted=unshifted, blocks=blocks)
    assert not isinstance(made, str), made
    return made.workload, dict(made.constants)


def drawn_floats(workload, rng):
    """Tensors of which scores reach from hardly any difference to more than counts."""
    wide = float(rng.choice([0.1, 1.5, 6.0]))
    return {
        o.name: (rng.standard_normal(o.shape) * wide).astype(np.float32) for o in workload.inputs
    }


def wrapping_floats(workload, rng):
    """Tensors of attention in blocks whose scores in 32 bits wrap, or nearly so."""
    tensors = drawn_floats(workload, rng)
    rounded = lambda x: float(values_of_blocks(*blocks_of(np.full(8, x, np.float32)))[0])  # noqa: E731
    query = rounded(float(scaled_queries(np.ones(1, np.float32), factor_of(workload))[0]))
    keys, far = tensors["x1"], -196608
    near = rounded(1.005 * far / query)
    scores = rng.uniform(far - 64, far + 128, keys.shape[:-1])
    tensors["x"][...], keys[...], keys[..., 0] = 1, 0, near
    keys[..., 8] = (scores - near * query) / query  # a block of its own
    return tensors


def long_attention(seed, *, heads=None, sizes=None):
    """Heads of more keys than a part, without zero points; shifts where `seed` is even."""
    rng = np.random.default_rng(seed)
    rows, keys, size = sizes or (
        int(rng.integers(1, 90)),
        int(rng.integers(33, 300)),
        int(rng.choice([8, 16, 24, 64])),
    )
    sizes = AttentionSizes(heads or int(rng.choice([1, 2, 4])), rows, keys, size, size)
    odd = seed % 2
    steps = [2.0**-6 * (1 + odd * float(rng.uniform(0, 0.9))) for _ in range(2)]
    spread = 2.0 ** round(np.log2(74 * 74 * steps[0] * steps[1] * np.sqrt(size) / 60))
    x, x1 = (Quantized("int8", float(np.float32(step)), 0) for step in steps)
    x2, y = Quantized("int8", 2.0**-5, 0), Quantized("int8", 2.0**-7 * (1 + odd * 0.3), 0)
    weights = Quantized("int8", 1 / 512, -128) if seed % 3 else Quantized("uint8", 1 / 256, 0)
    scores = Quantized("int8", spread, odd * int(rng.integers(-20, 20)))
    return attention_of(sizes, (x, x1, x2), (scores, weights), y)


#: Keys and elements of heads that no tile holds, few of either.
LONG = ((230, 64), (257, 64), (300, 60), (115, 128), (131, 126), (390, 40))


def running_attention(seed, *, heads=None, sizes=None, wide=1.0):
    """Heads that no tile holds, with a running softmax: workload, constants of the model.

    Args:
        seed: of everything.
        heads: any where None.
        sizes: rows, keys, elements; any where None.
        wide: share of the largest scale of scores that this arithmetic takes, at most.
    """
    rng = np.random.default_rng(seed)
    keys, size = LONG[int(rng.integers(len(LONG)))]
    rows, keys, size = sizes or (int(rng.integers(1, 70)), keys, size)
    many = AttentionSizes(heads or int(rng.choice([1, 2, 4])), rows, keys, size, size)
    point = int(rng.integers(-30, 30)) if seed % 2 else 0
    unsigned = seed % 3 == 2
    step = float(np.sqrt(wide * 250 * np.log(2) / 2.0 ** (14 + (size - 1).bit_length())))
    x, x1 = Quantized("int8", step, 0), Quantized("int8", step, 0)
    x2 = Quantized("int8", 0.02, 0)
    y = Quantized("uint8", 0.02, 128) if unsigned else Quantized("int8", 0.02 * 1.25, point)
    between = Quantized("int8", 0.05, 0), Quantized("int8", 1 / 256, -128)
    return attention_of(many, (x, x1, x2), between, y)
