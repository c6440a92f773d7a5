"""Softmax of 8-bit rows in integers: a table of exponentials, one reciprocal a row.

`e = table[max(x) - x]`, `total = sum(e)` of b bits; `t` has its leading 15, `r = (2**29 - 1) // t`,
`m = r * multiplier >> 15`, and `y = clip(round(e * m / 2**(shift + b)) + zero_point)`. Exponentials
have as many bits as their sum leaves them of 30, so that products need 64; or 17 at most, with
which every product is below 2**31. Halves go to the even number, or up, as the tail says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import exp, frexp
from typing import Literal

import numpy as np

from match_aie.workload.fixed import LARGEST_RESULT, Converted, refuses_rows, shift_round
from match_aie.workload.workload import Axis, Operand, Rounding, Tail, Workload

Arrays = Mapping[str, np.ndarray]

#: Bits of a row's sum, of what is kept of it, of the reciprocal's dividend, of multipliers.
SUM_BITS, KEPT_BITS, DIVIDEND_BITS, FACTOR_BITS = 30, 15, 29, 15

#: Bits of the fraction of exponentials whose products fit 32 bits: 2**16 * (2**15 - 2) < 2**31.
NARROW_BITS = 16

#: Results that a row's 16-bit steps hold, zero points included.
_MOST_STEPS = 2.0**14

#: Rows are filled up to whole vectors of so many elements, whose sum must have room too.
_VECTOR = 32

#: Relative error of a row's factor: of t and r 2**-14 each, of m 2**-13, of the multiplier 2**-15.
_FACTOR_ERROR = 2.0**-12 + 2.0**-15


def fixed_softmax(
    workload: Workload, bits: Literal[32, 64] = 64, rounding: Rounding = "half_even"
) -> Converted | str:
    """A quantised softmax in these integers, or a sentence saying why not.

    The bound of the difference adds up, in steps of the output: entries of the table are off by
    half a unit each, alone and in the sum; the factor; the model's own float32, K + 4 roundings.
    A row's sum is one exponential of the maximum at least, so K halves of a unit are K / 2 units
    of `2**fraction` at most, and results are `1 / y.scale` steps or 256, which are stored, at most.

    Args:
        workload: of kind softmax.
        bits: of products.
        rounding: of results, to the nearest.
    """
    refused = refuses_rows(workload, "softmax")
    tail, x, y = workload.tail, workload.operand("x"), workload.output
    if refused is not None or tail is None or x.scale is None or y.scale is None:
        return refused or "it is not quantised"
    columns = workload.sizes["K"]
    fraction = SUM_BITS - (max(columns, _VECTOR) - 1).bit_length()
    fraction = min(fraction, NARROW_BITS) if bits == 32 else fraction
    steps = 1 / float(np.float32(y.scale))
    mantissa, exponent = frexp(steps)
    multiplier = min(round(mantissa * 2**FACTOR_BITS), 2**FACTOR_BITS - 1)
    shift = KEPT_BITS - 1 - exponent
    relative = _FACTOR_ERROR + columns * 2.0 ** -(fraction + 1) + (columns + 4) * 2.0**-24
    error = min(steps, LARGEST_RESULT) * relative + steps * 2.0 ** -(fraction + 1)
    if error >= 1 or steps > _MOST_STEPS or fraction < KEPT_BITS or not 0 <= shift < 32:
        return f"rows of {columns} stored in steps of {y.scale:.3g} are too fine for its integers"
    entries = [round(exp(-d * float(np.float32(x.scale))) * 2**fraction) for d in range(256)]
    none = (Axis(()),)
    operands = (
        x,
        Operand("table", "int32", (256,), none, True),
        Operand("multiplier", "int32", (1,), none, True),
        y,
    )
    rounded = replace(tail, shift=shift, bits=bits, rounding=rounding)
    changed = replace(workload, operands=operands, tail=rounded)
    constants = {
        "table": np.array(entries, np.int32),
        "multiplier": np.array([multiplier], np.int32),
    }
    return Converted(changed, constants, error)


def softmax_rows(x: np.ndarray, table: np.ndarray, multiplier: int, tail: Tail) -> np.ndarray:
    """The integers that are stored, int64.

    Args:
        x: rows of 8-bit integers [B, K].
        table: int32 [256].
        multiplier: of the output's steps.
        tail: with the shift.
    """
    wide = x.astype(np.int64)
    e = table.astype(np.int64)[wide.max(axis=-1, keepdims=True) - wide]
    return weighted_rows(e, e.sum(axis=-1, keepdims=True), multiplier, tail)


def weighted_rows(e: np.ndarray, total: np.ndarray, multiplier: int, tail: Tail) -> np.ndarray:
    """What is stored of exponentials whose rows have these sums, int64.

    Args:
        e: exponentials [B, K], int64, or some columns of them.
        total: of each whole row [B, 1], int64.
        multiplier: of the output's steps.
        tail: with the shift.
    """
    assert tail.shift is not None
    bits = np.frexp(total.astype(np.float64))[1].astype(np.int64)
    kept = total >> (bits - KEPT_BITS)
    factor = ((2**DIVIDEND_BITS - 1) // kept * multiplier) >> FACTOR_BITS
    rounded = np.empty_like(e)
    for number in np.unique(bits):
        rows = (bits == number)[..., 0]
        rounded[rows] = shift_round((e * factor)[rows], tail.shift + int(number), tail.rounding)
    return np.asarray(np.clip(rounded + tail.zero_point, tail.lo, tail.hi))
