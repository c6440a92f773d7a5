"""Norms of 8-bit rows in integers: exact sums, one square root and one division a row.

With N elements, `s` their sum and `q` that of their squares, the variance is in
`V = (N q - s**2) * 2**8 + epsilon`, at least `(N - 1) * 2**8`. `4**h` brings it to 29 or 30 bits,
`root` is its integer square root, `inv = (2**29 - 1) // root`, `A = N * inv >> n` (n bits of N),
`c` the nearest integer below the mean, and

    u = (x - c) * A - ((s - N c) * inv >> n)              z times a power of two
    z = clip16(round_half_even(u / 2**(25 + h - n - f)))  f bits behind the point
    y = clip(round_half_even((z * multiplier + offset) / 2**shift))

An RMS norm has the zero point of x in place of the mean: `s` and `q` are sums of `x - c` and of
its squares, `V = N q * 2**8 + epsilon`, and `u = (x - c) * A`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor, isqrt, log2, sqrt

import numpy as np

from match_aie.workload.fixed import LARGEST_RESULT, Converted, refuses_rows, shift_round
from match_aie.workload.workload import Axis, Operand, Tail, Workload

Arrays = Mapping[str, np.ndarray]

#: Bits of a variance's fraction, of what its root is taken of at least, of a reciprocal's dividend.
VARIANCE_BITS, ROOT_BITS, DIVIDEND_BITS = 8, 29, 29


@dataclass(frozen=True)
class NormNumbers:
    """What the z of a row depends on.

    Attributes:
        epsilon: what is added to V.
        centre: in place of the mean; None where it is the mean.
    """

    epsilon: int
    centre: int | None = None

    @staticmethod
    def of(workload: Workload) -> NormNumbers:
        """Those of a norm in fixed point."""
        centre = workload.operand("x").zero_point if workload.kind == "rms_norm" else None
        return NormNumbers(int(workload.parameter("epsilon")), centre)


def normal_bits(columns: int) -> int:
    """Bits behind the point of z, whose magnitude is below the root of the elements of a row."""
    return 13 - ((columns - 1).bit_length() + 1) // 2


def fixed_norm(workload: Workload, constants: Arrays) -> Converted | str:
    """A quantised norm in these integers, or a sentence saying why not.

    The bound of the difference, in steps of the output: z is off by half a unit, by what is cut off
    of A and of the mean's part, and by 2**-12 of itself (root, reciprocal, A); factors and addends
    are off by half a unit each.
    """
    refused = refuses_rows(workload, workload.kind.replace("_", " "))
    tail, x, y = workload.tail, workload.operand("x"), workload.output
    if refused is not None or tail is None or x.scale is None or y.scale is None:
        return refused or "it is not quantised"
    columns = workload.sizes["K"]
    step = float(np.float32(y.scale))
    gamma = constants["weight"].astype(np.float64) / step
    addend = constants.get("bias", np.zeros(columns, np.float32))
    beta = addend.astype(np.float64) / step + tail.zero_point
    if not (np.isfinite(gamma).all() and np.isfinite(beta).all()):
        return "its weight or bias is not finite"
    bits = normal_bits(columns)
    room = [
        floor(log2(most / top)) if (top := float(np.abs(v).max())) else 30
        for v, most in ((gamma, 2.0**15 - 1), (beta, 2.0**30 / 2.0**bits))
    ]
    fraction = min(*room, 30 - bits)
    relative = workload.parameter("epsilon") / float(np.float32(x.scale)) ** 2
    epsilon = round(columns**2 * relative * 2**VARIANCE_BITS)
    spread = sqrt(columns)
    error = np.abs(gamma) * (2.0 ** -(bits + 1) + 1.5 * spread * 2.0**-13)
    error += np.minimum(np.abs(gamma) * spread, LARGEST_RESULT + np.abs(beta)) * 2.0**-12
    error += spread * 2.0 ** -(fraction + 1) + 2.0 ** -(bits + fraction + 1)
    most = float(error.max())
    if not most < 1 or fraction + bits < 0 or epsilon >= 1 << 52 or columns > 1 << 14:
        return f"rows of {columns} stored in steps of {y.scale:.3g} are too fine for its integers"
    channel = (Axis((("K", 1),)),)
    operands = (
        x,
        *(Operand(name, "int32", (columns,), channel, True) for name in ("multiplier", "offset")),
        y,
    )
    fixed = {
        "multiplier": np.rint(gamma * 2.0**fraction).astype(np.int32),
        "offset": np.rint(beta * 2.0 ** (fraction + bits)).astype(np.int32),
    }
    changed = replace(
        workload,
        operands=operands,
        tail=replace(tail, zero_point=0, shift=fraction + bits),
        parameters=(("epsilon", float(epsilon)),),
    )
    return Converted(changed, fixed, most)


def norm_rows(
    x: np.ndarray, multiplier: np.ndarray, offset: np.ndarray, numbers: NormNumbers, tail: Tail
) -> np.ndarray:
    """The integers that are stored, int64.

    Args:
        x: rows of 8-bit integers [B, K].
        multiplier: [K].
        offset: [K].
        numbers: epsilon, and what is taken from elements.
        tail: with the shift.
    """
    assert tail.shift is not None
    n = x.shape[-1]
    z = np.stack([_normal(row, n, numbers) for row in x.astype(np.int64)])
    sums = z * multiplier.astype(np.int64) + offset.astype(np.int64)
    return np.asarray(np.clip(shift_round(sums, tail.shift, "half_even"), tail.lo, tail.hi))


def _normal(row: np.ndarray, n: int, numbers: NormNumbers) -> np.ndarray:
    """A row's z, int64 [K]."""
    total, squares = int(row.sum()), int((row * row).sum())
    mean, apart = total // n, n * squares - total * total
    if numbers.centre is not None:
        mean = numbers.centre
        apart = n * (squares - 2 * mean * total + n * mean * mean)
    variance = (apart << VARIANCE_BITS) + numbers.epsilon
    # Rows that are not all the same have no less; those that are have no z but 0.
    variance = max(variance, max(n - 1, 1) << VARIANCE_BITS)
    half = 0
    while variance >= 1 << ROOT_BITS + 1:
        variance, half = variance >> 2, half + 1
    while variance < 1 << ROOT_BITS - 1:
        variance, half = variance << 2, half - 1
    inverse = ((1 << DIVIDEND_BITS) - 1) // isqrt(variance)
    bits = n.bit_length()
    factor = n * inverse >> bits
    rest = 0 if numbers.centre is not None else total - n * mean
    moved = factor * mean + (rest * inverse >> bits)
    shift = DIVIDEND_BITS - VARIANCE_BITS // 2 + half - bits - normal_bits(n)
    z = shift_round(row * factor - moved, shift, "half_even")
    return np.asarray(np.clip(z, -(1 << 15), (1 << 15) - 1))
