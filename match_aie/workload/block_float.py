"""Products of block floating point (bfp16ebs8): eight mantissas of 8 bits share an exponent.

Operands are bfloat16 numbers, as in `match_aie.workload.bfloat16`. Before they are multiplied,
eight neighbours along the reduction become a block: mantissas times 2 to the power of the block's
exponent less 133. A sum takes block after block, in ascending order of the reduction.

What cores of XDNA2 compute is not in their vendor's documents. It was measured by others, on
processors with them:

- blocks by MicroPerceptron/virtio-accel (docs/research/amdxdna-bfp16ebs8-characterization.md,
  August 2026: ten rounding modes, every lane equal to a model), and AMD's own IRON
  (iron/operators/flm/packing.py);
- sums by atassis (`mac_block` of a numpy model of aie_kernels/aie2p/chain_mm_bfp16.cc of that
  fork of IRON: 3,072 single sums, all equal to it).

They are taken here as these say; this project has held them against no chip.
"""

from __future__ import annotations

import numpy as np

#: Elements that share an exponent.
BLOCK = 8

#: A mantissa of 1 means 2 to the power of its block's exponent less this.
BIAS = 133

#: Largest mantissa: beyond it the block's exponent grows by one.
LARGEST = 127

#: Bits of a float32 behind its first one; what its exponent is written with.
FRACTION, FLOAT_BIAS = 23, 127

#: Bits from a float's significand to the largest mantissa of its own exponent.
DROPPED = FRACTION + FLOAT_BIAS - BIAS

#: 1.5 times 2**52 units: what is added to that, and taken away again, is rounded to whole units.
_HALFWAY, _DOUBLE_BIAS = 1 << 51, 1023


def fields_of(values: np.ndarray) -> np.ndarray:
    """The exponent field of each float32, int64."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return (bits >> FRACTION & 0xFF).astype(np.int64)


def blocks_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float32 `values` [..., K] in blocks along the last axis, which is filled up with zeros.

    The exponent is the largest field of a block's floats. Mantissas are rounded, halves to even;
    where one becomes 128, all are rounded again to the next exponent, while -128 stays. Floats
    below the normal ones are zeros. Infinity is 64 with the exponent 255.

    Returns:
        Mantissas, int8 [..., K up to whole blocks], and exponents, uint8 [..., blocks].
    """
    missing = -values.shape[-1] % BLOCK
    whole = np.pad(values.astype(np.float32), [(0, 0)] * (values.ndim - 1) + [(0, missing)])
    parts = whole.reshape(*whole.shape[:-1], -1, BLOCK)
    fields, bits = fields_of(parts), parts.view(np.uint32)
    known = (bits & ((1 << FRACTION) - 1) | 1 << FRACTION).astype(np.float64)
    known = np.where(fields > 0, np.copysign(known, parts), 0.0)
    exponents = fields.max(axis=-1)

    def rounded(at: np.ndarray) -> np.ndarray:
        return np.asarray(np.rint(np.ldexp(known, fields - at[..., None] - DROPPED)))

    exponents = exponents + (rounded(exponents) > LARGEST).any(axis=-1)
    return rounded(exponents).astype(np.int8).reshape(whole.shape), exponents.astype(np.uint8)


def values_of_blocks(mantissas: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """float64 that blocks of `blocks_of` mean, [..., K]."""
    parts = mantissas.reshape(*exponents.shape, BLOCK).astype(np.float64)
    return np.ldexp(parts, exponents.astype(np.int64)[..., None] - BIAS).reshape(mantissas.shape)


def largest_in_blocks(magnitudes: np.ndarray) -> np.ndarray:
    """The largest magnitudes that blocks make of `magnitudes` [..., K].

    A mantissa is rounded by half a step, which is 2**-7 of its block's largest float, or hardly
    more where that has been rounded up to the next exponent.
    """
    missing = -magnitudes.shape[-1] % BLOCK
    whole = np.pad(magnitudes, [(0, 0)] * (magnitudes.ndim - 1) + [(0, missing)])
    most = whole.reshape(*whole.shape[:-1], -1, BLOCK).max(axis=-1).repeat(BLOCK, axis=-1)
    return np.asarray((whole + 1.01 * 2.0**-7 * most)[..., : magnitudes.shape[-1]])


def lost_in_blocks(terms: int) -> float:
    """What sums of so many products lose of the sum of their largest magnitudes.

    Each block rounds three times by half a step of a grid: 2**-23 of the sum before it, or of the
    product of both blocks' powers of two. That is at most 2**11 times the magnitudes which
    `largest_in_blocks` gives its eight products together.
    """
    blocks = -(-terms // BLOCK)
    return 2.0**-22 * (blocks + 2.0**11)


def grown(sums: np.ndarray, products: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """float32 `sums` and the products of one block each: both are rounded before they are added.

    They are rounded to a grid, halves to even, whose step is 2**-23 of the larger of two powers of
    two: that of the sum's exponent, and that of both blocks' exponents. What they give together is
    rounded to float32.

    Args:
        sums: float32.
        products: added up, float64 and exact.
        exponents: of both blocks together, each less 127.
    """
    largest = np.maximum(fields_of(sums) - FLOAT_BIAS, exponents)
    unit = (largest - FRACTION + 52 + _DOUBLE_BIAS) << 52 | _HALFWAY
    step = unit.view(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(((sums + step - step) + (products + step - step)).astype(np.float32))


def continued_blocks(start: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`start` [...], and block after block of x [..., K] and w [..., K], K ascending, float32."""
    sides = blocks_of(x), blocks_of(w)
    ours, theirs = (values_of_blocks(*side).reshape(*side[1].shape, BLOCK) for side in sides)
    products = (ours * theirs).sum(axis=-1)
    exponents = sides[0][1].astype(np.int64) + sides[1][1] - 2 * FLOAT_BIAS
    sums = start.astype(np.float32)
    for block in range(products.shape[-1]):
        sums = grown(sums, products[..., block], exponents[..., block])
    return sums


def summed_blocks(start: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`start` [M, N] and then block after block of x [M, K] and w [K, N], K ascending, float32."""
    left, left_at = blocks_of(x)
    right, right_at = blocks_of(np.ascontiguousarray(w.T))
    sums = np.broadcast_to(start, (x.shape[0], w.shape[1])).astype(np.float32)
    ours, theirs = values_of_blocks(left, left_at), values_of_blocks(right, right_at)
    at = (left_at.astype(np.int64) - FLOAT_BIAS).T, (right_at.astype(np.int64) - FLOAT_BIAS).T
    for block, (high, wide) in enumerate(zip(*at, strict=True)):
        part = slice(block * BLOCK, (block + 1) * BLOCK)
        # Exact: eight products of 8 bits, all of the same power of two.
        products = ours[:, part] @ theirs[:, part].T
        sums = grown(sums, products, high[:, None] + wide[None, :])
    return sums
