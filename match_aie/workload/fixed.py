"""Fixed-point requantisation: what a module's own arithmetic computes, exactly, in integers.

With the constant operands "multiplier" (int32, one per tensor or per channel; 1 where absent; two
for an `add`, one per input) and "offset" (int32, one per tensor or per channel; 0 where absent):

    t = acc * multiplier + offset
    y = clip(shift_round(t, shift, rounding) + zero_point, lo, hi)

The sum `acc` is exact and fits int32; products and `t` fit the register of `Tail.bits`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.errors import ModelError
from match_aie.workload.workload import Axis, Operand, Rounding, Tail, Workload

Arrays = Mapping[str, np.ndarray]

#: Magnitudes of scaled 8-bit results that matter: larger ones are stored as the largest integer.
LARGEST_RESULT = 256.0


@dataclass(frozen=True, eq=False)
class Converted:
    """A layer in a module's own arithmetic.

    Attributes:
        workload: with the inputs and the output of the layer it stands for, in the same order,
            of the same shapes and element types.
        constants: by operand name.
        error_lsb: 0 where the stored integers are the model's bit for bit; else a bound, proven
            for all inputs, of the difference between what the two arithmetics round, in integer
            steps of the output. Stored integers then differ by at most floor(error_lsb) + 1.
            None of floats, whose bound depends on the numbers (`real_bound`).
    """

    workload: Workload
    constants: Arrays
    error_lsb: float | None = 0.0


def refuses_rows(workload: Workload, what: str) -> str | None:
    """Why rows cannot be computed in 8-bit integers, whole ranges stored; None where they can.

    Args:
        workload: of a row-wise kind.
        what: users call it.
    """
    tail, x, y = workload.tail, workload.operand("x"), workload.output
    if tail is None or x.scale is None or y.scale is None or y.dtype not in ("int8", "uint8"):
        return f"its {what} of {x.dtype} is stored as {y.dtype}"
    info = np.iinfo(y.dtype)
    if (tail.lo, tail.hi) != (info.min, info.max):
        return f"its {what} is clipped to {tail.lo} .. {tail.hi}"
    return None


def with_fixed_tail(
    workload: Workload,
    tail: Tail,
    *,
    multiplier: int = 0,
    offset: int = 0,
    bias: bool = True,
    raw: bool = False,
) -> Workload:
    """`workload` requantised in fixed point by `tail` instead of in float32.

    Args:
        workload: of a kind in `FIXED_POINT_KINDS`, with or without a tail.
        tail: with a `shift`.
        multiplier: elements of the operand "multiplier"; 0 for none. An `add` has 2.
        offset: elements of the operand "offset"; 0 for none.
        bias: keep the operand "bias"; without it, "offset" holds what it adds.
        raw: inputs count from 0 instead of from their zero points, which "offset" holds.

    Raises:
        ValueError: the workload has no such meaning.
    """
    kept = [
        _raw(o) if raw and o.name in ("x", "x1") else o
        for o in workload.operands[:-1]
        if o.name not in ("scale", "multiplier", "offset") and (bias or o.name != "bias")
    ]
    channel = workload.output.axes[-1]
    for name, size in (("multiplier", multiplier), ("offset", offset)):
        if size:
            per_channel = size == workload.output.shape[-1] > 1 and (
                (workload.kind, name) != ("add", "multiplier")
            )
            access = channel if per_channel else Axis(())
            kept.append(Operand(name, "int32", (size,), (access,), True))
    return replace(workload, operands=(*kept, workload.output), tail=tail)


def _raw(operand: Operand) -> Operand:
    """`operand` as bare integers, without a scale: 0 is not what means real 0."""
    return operand if not operand.zero_point else replace(operand, zero_point=0, scale=None)


def shift_round(t: np.ndarray, shift: int, rounding: Rounding) -> np.ndarray:
    """`t / 2**shift` to the nearest integer, or down: int64 in, int64 out.

    >>> [int(v) for v in shift_round(np.array([-6, -2, 2, 6]), 2, "half_even")]
    [-2, 0, 0, 2]
    >>> [int(v) for v in shift_round(np.array([-6, -2, 2, 6]), 2, "half_up")]
    [-1, 0, 1, 2]
    >>> [int(v) for v in shift_round(np.array([-6, -2, 2, 6]), 2, "half_away")]
    [-2, -1, 1, 2]
    >>> [int(v) for v in shift_round(np.array([-6, -2, 2, 6]), 2, "floor")]
    [-2, -1, 0, 1]
    """
    down = t >> shift
    if rounding == "floor" or shift == 0:
        return np.asarray(down)
    rest, half = t - (down << shift), 1 << (shift - 1)
    if rounding == "half_up":
        up = rest >= half
    elif rounding == "half_even":
        up = (rest > half) | ((rest == half) & (down & 1 == 1))
    else:
        up = (rest > half) | ((rest == half) & (t > 0))
    return np.asarray(down + up)


def requantise_fixed(acc: np.ndarray, tail: Tail, arrays: Arrays) -> np.ndarray:
    """Sums [..., channel], int64, to the output as int64.

    Raises:
        ModelError: a product, or the sum with the offset, leaves `tail.bits`.
    """
    return _finish(acc * _vector(arrays, "multiplier", 1), tail, arrays)


def requantise_pair(x: np.ndarray, x1: np.ndarray, tail: Tail, arrays: Arrays) -> np.ndarray:
    """`x * multiplier[0] + x1 * multiplier[1]` with numpy broadcasting, to the output as int64.

    Args:
        x: the first operand, less its zero point.
        x1: the second one.
        tail: in fixed point.
        arrays: with "multiplier" and "offset".

    Raises:
        ModelError: a product, or a sum, leaves `tail.bits`.
    """
    left, right = np.broadcast_to(_vector(arrays, "multiplier", 1), (2,))
    products = x * left, x1 * right
    for product in products:
        _check_width(product, tail)
    return _finish(products[0] + products[1], tail, arrays)


def _finish(product: np.ndarray, tail: Tail, arrays: Arrays) -> np.ndarray:
    if tail.shift is None:
        raise ModelError("a tail without a shift is not fixed point")
    _check_width(product, tail)
    t = product + _vector(arrays, "offset", 0)
    _check_width(t, tail)
    return np.asarray(
        np.clip(shift_round(t, tail.shift, tail.rounding) + tail.zero_point, tail.lo, tail.hi)
    )


def _vector(arrays: Arrays, name: str, default: int) -> np.ndarray:
    value = arrays.get(name)
    return np.array([default], np.int64) if value is None else value.astype(np.int64)


def _check_width(t: np.ndarray, tail: Tail) -> None:
    most = (1 << (tail.bits - 1)) - 1
    if t.size and (t.min() < -most - 1 or t.max() > most):
        raise ModelError(
            f"a fixed-point requantisation leaves {tail.bits} bits",
            hint="use a smaller multiplier and shift",
        )
