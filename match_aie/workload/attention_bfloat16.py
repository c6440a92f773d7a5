"""Attention in bfloat16, bit for bit: softmax(x x1^T * factor) x2 of every head.

x, x1, x2 and the result are rounded to bfloat16, halves to even; sums are float32 and take one
product after the other. Queries are multiplied by factor * log2(e), which is the sum of two
bfloat16 numbers, and rounded again. So scores count powers of two. They are rounded to whole
steps of 2^-7, halves to even, and saturate at -256 and 256. (Rounding adds a large float and takes
its bits away, in 32 bits that wrap: scores below -98304 have no meaning.)

With d the steps by which a score is below the largest one of its row, 64 powers of two at most, its
weight is 2^-d: an exponent, and a mantissa 2^f of 1 + f, a polynomial of degree two whose inner
value and result are rounded to bfloat16. Weights join four sums, each of every fourth eight keys,
and are multiplied by values in the order of the keys. Sums over values are multiplied by one over
that of the four in the end, as a softmax in bfloat16 does (`rows_bfloat16`).

Largest scores are known before the first weight, so nothing depends on how many keys a tile holds
as long as these are whole rounds of the four sums.

An *unshifted* softmax (`unshifted`) leaves a row's largest score where it is: weights are 2^s of
scores s, of which none counts as less than -64 powers of two, or as 64 and more. They are floats of
as many bits, sums hold them, and what is divided in the end is the same, so results are as exact
while scores stay within that; beyond it they are not softmaxes (`attention_bound` has no bound
there). Every score is computed once.

Attention of precision "bfp16" is the same but for its products, which are of block floating point
(`block_float`): of scaled queries by keys in blocks of eight elements, of weights by values in
blocks of eight keys. Weights are made blocks behind their rounding to bfloat16, and join, as they
were, eight sums, each of every eighth key. Steps of scores are lifted by 64 powers of two before
they saturate, which is another result only where their 32 bits wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from match_aie.errors import ModelError
from match_aie.workload.bfloat16 import summed, to_bfloat16
from match_aie.workload.block_float import BLOCK, summed_blocks
from match_aie.workload.rows_bfloat16 import MAGIC, Split, inverse
from match_aie.workload.workload import Axis, Operand, Workload

Arrays = Mapping[str, np.ndarray]

#: Steps of a power of two: bits of a bfloat16 number's mantissa.
STEPS = 1 << 7

#: Steps below the largest score that still count.
FARTHEST_STEPS = 64 * STEPS

#: The largest score of an unshifted softmax, in steps, and the name of its parameter.
LARGEST_STEP = FARTHEST_STEPS - 1
UNSHIFTED = "unshifted"

#: Keys whose weights are summed together, and sums that take turns.
TOGETHER, SUMS = 8, 4

#: Bits of the bfloat16 number 1.
ONE_BITS = 0x3F80

#: 2^(x - 1) between 1 and 2 as START + x (LINEAR + x SQUARE), found by trying all triples of a
#: grid for the least largest error behind both roundings; SQUARE is a bfloat16 number. Weights are
#: within 0.5 % then, where the nearest bfloat16 number is within 0.4 %.
START, LINEAR, SQUARE = (np.float32(v) for v in (0.69225, -0.031, 0.341796875))


def factor_of(workload: Workload) -> Split:
    """What queries are multiplied by."""
    assert workload.real is not None
    return Split.of(np.array(workload.real.factor * np.log2(np.e), np.float32))


def with_factor(workload: Workload) -> tuple[Workload, dict[str, np.ndarray]]:
    """Attention and the constant that its kernel has beside the layer's: `factor_of`."""
    factor = factor_of(workload)
    known = np.array([factor.high.item(), factor.low.item()], np.float32)
    *others, last = workload.operands
    operand = Operand("factor", "float32", known.shape, (Axis(()),), True)
    return replace(workload, operands=(*others, operand, last)), {"factor": known}


def without_shift(workload: Workload) -> Workload:
    """Attention of floats with an unshifted softmax."""
    return replace(workload, parameters=(*workload.parameters, (UNSHIFTED, 1.0)))


def unshifted(workload: Workload) -> bool:
    """Whether weights are powers of scores as they are."""
    return dict(workload.parameters).get(UNSHIFTED, 0.0) == 1.0


def in_blocks(workload: Workload) -> bool:
    """Whether products are of block floating point."""
    return workload.real is not None and workload.real.precision == "bfp16"


def refuses_attention_bfloat16(workload: Workload) -> str | None:
    """Why attention of floats has no meaning in bfloat16; None where it has one."""
    if workload.kind != "attention" or workload.real is None:
        return f"a {workload.kind} is no attention of floats"
    if workload.run_time:
        return "its sizes are given by a run"
    if "mask" in (operand.name for operand in workload.operands):
        return "something is added to its scores, which attention in bfloat16 does not do"
    return None


def scaled_queries(x: np.ndarray, factor: Split) -> np.ndarray:
    """Queries as they are multiplied by keys."""
    rounded = to_bfloat16(x)
    return to_bfloat16(rounded * factor.high + rounded * factor.low)


def steps_of(sums: np.ndarray, lifted: int = 0) -> np.ndarray:
    """Scores float32 in steps, int32.

    Args:
        sums: scores.
        lifted: steps by which they are higher while they saturate, and where 32 bits wrap.
    """
    steps = (sums + MAGIC).view(np.int32) - (MAGIC.view(np.int32) - np.int32(lifted))
    return np.asarray(np.clip(steps, -(1 << 15), (1 << 15) - 1) - lifted)


def lifted_steps(*, blocks: bool) -> int:
    """By how much scores are higher while they saturate: in blocks by the least that counts."""
    return FARTHEST_STEPS if blocks else 0


def powers(steps: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Weights [rows, keys], bfloat16 values, of scores and the largest ones [rows, 1], in steps."""
    floor = np.maximum(most, FARTHEST_STEPS - (1 << 15)) - FARTHEST_STEPS
    bits = np.maximum(steps, floor) - floor + (ONE_BITS - FARTHEST_STEPS)
    part = (bits & (STEPS - 1)) + ONE_BITS
    x = (part.astype(np.uint32) << 16).view(np.float32)
    mantissa = to_bfloat16(START + to_bfloat16(LINEAR + SQUARE * x) * x)
    whole = (mantissa.view(np.uint32) >> 16).astype(np.int32) + (bits - part)
    return np.asarray((whole.astype(np.uint32) << 16).view(np.float32))


def unshifted_powers(steps: np.ndarray) -> np.ndarray:
    """Weights [rows, keys], bfloat16 values, of scores in steps as they are."""
    return powers(np.minimum(steps, LARGEST_STEP), np.zeros((1, 1), np.int32))


def weights_added(sums: np.ndarray, weights: np.ndarray, together: int = TOGETHER) -> np.ndarray:
    """Sums [rows, sums] and weights [rows, keys] of keys that begin a round, in their order."""
    many = sums.shape[1]
    more = -weights.shape[1] % (together * many)
    wide = np.pad(weights, ((0, 0), (0, more))).reshape(len(weights), -1, many, together)
    for turn, key in np.ndindex(wide.shape[1], together):
        sums = sums + wide[:, turn, :, key]
    return sums


def total_of(sums: np.ndarray) -> np.ndarray:
    """What all weights of a row make, [rows, 1]: neighbours of a power of two sums are added."""
    while sums.shape[1] > 1:
        sums = sums[:, ::2] + sums[:, 1::2]
    return sums


def divided(sums: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Sums [rows, K] over their rows' weights, before they are rounded."""
    a, b = Split.of(sums), Split.of(inverse(total))
    return np.asarray(a.high * b.high + a.high * b.low + a.low * b.high)


def attended_rows(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, *, shifted: bool = True, blocks: bool = False
) -> np.ndarray:
    """One head's results [rows, K] before they are rounded.

    Args:
        q: scaled queries [rows, C].
        k: keys [keys, C], bfloat16 values.
        v: values [keys, K], likewise.
        shifted: whether weights are of scores less their row's largest one.
        blocks: whether products are of block floating point.
    """
    add, start = summed_blocks if blocks else summed, np.zeros(1, np.float32)
    scores = add(start, q, np.ascontiguousarray(k.T))
    steps = steps_of(scores, lifted_steps(blocks=blocks))
    most = steps.max(axis=1, keepdims=True)
    weights = powers(steps, most) if shifted else unshifted_powers(steps)
    many, together = (BLOCK, 1) if blocks else (SUMS, TOGETHER)
    total = total_of(weights_added(np.zeros((len(q), many), np.float32), weights, together))
    return divided(add(start, weights, v), total)


def attention_bfloat16(workload: Workload, arrays: Arrays) -> np.ndarray:
    """What the layer stores, float32 of bfloat16 values.

    Raises:
        ModelError: the layer has no such meaning.
    """
    refused = refuses_attention_bfloat16(workload)
    if refused is not None:
        raise ModelError(refused)
    factor, shifted, blocks = factor_of(workload), not unshifted(workload), in_blocks(workload)
    x, x1, x2 = (arrays[name] for name in ("x", "x1", "x2"))
    y = np.empty(workload.output.shape, np.float32)
    with np.errstate(all="ignore"):
        q, k, v = scaled_queries(x, factor), to_bfloat16(x1), to_bfloat16(x2)
        for batch, head in np.ndindex(x.shape[0], x.shape[2]):
            mine = (each[batch, :, head] for each in (q, k, v))
            found = attended_rows(*mine, shifted=shifted, blocks=blocks)
            y[batch, :, head] = to_bfloat16(found)
    return y
