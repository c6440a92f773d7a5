"""How close attention in bfloat16 must be to what it means in float64: a bound of every element.

Operands are off by a rounding each, and queries by one more; a score is off by what that does to
its products. In block floating point both operands of a product are off by half a step of their
blocks besides, and so are weights and values. Where scores of a row are off by d at most, weights
are by exp(2 d) and `WEIGHT_ERROR` twice, before they are divided and behind that. Scores that may
saturate have no bound. All of it is for the worst: scores of many large products that cancel are
bound hardly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.workload.attention_bfloat16 import in_blocks, unshifted
from match_aie.workload.bfloat16 import UNIT_BFLOAT16
from match_aie.workload.block_float import largest_in_blocks, lost_in_blocks
from match_aie.workload.real_reference import MEANING
from match_aie.workload.running import Near, gamma
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Relative error of a weight: the polynomial's behind its roundings (every mantissa was tried), and
#: half a step of a score, 2^-8 of a power of two.
WEIGHT_ERROR = 0.0048 + 0.0028

#: Scores up to here do not saturate, in powers of two.
FARTHEST_SCORE = 255

#: Likewise of an unshifted softmax.
FARTHEST_UNSHIFTED = 63

#: Weights of keys that are farther than 64 powers of two below the largest one.
_FAR = 2.0**-60

#: Below the normal numbers.
_TINY = 2.0**-126


def attention_expected(workload: Workload, arrays: Arrays) -> Near:
    """What elements of attention in bfloat16 are, and how far they may be off."""
    value = MEANING["attention"](workload, arrays)
    assert workload.real is not None
    factor, error = workload.real.factor, np.empty(workload.output.shape)
    farthest = FARTHEST_UNSHIFTED if unshifted(workload) else FARTHEST_SCORE
    wide = {name: arrays[name].astype(np.float64) for name in ("x", "x1", "x2")}
    for batch, head in np.ndindex(error.shape[0], error.shape[2]):
        q, k, v = (each[batch, :, head] for each in wide.values())
        how = farthest, in_blocks(workload)
        error[batch, :, head] = _head(q * factor, k, np.abs(v), *how)
    return Near(value, error.reshape(value.shape))


def _head(q: np.ndarray, k: np.ndarray, v: np.ndarray, farthest: int, blocks: bool) -> np.ndarray:
    """How far elements of a head may be off.

    Args:
        q: queries in units of scores.
        k: keys.
        v: magnitudes of values.
        farthest: score up to which there is a bound, in powers of two.
        blocks: whether products are of block floating point.
    """
    unit = UNIT_BFLOAT16 / 2
    lost = (1 + unit) ** 3 * (1 + 2.0**-16) * (1 + gamma(q.shape[1] + 3)) - 1
    reach = np.abs(q) @ np.abs(k.T)
    away = lost * reach + (_in_blocks(np.abs(q), np.abs(k).T, reach) if blocks else 0.0)
    off = away.max(axis=1, keepdims=True)
    scores = q @ k.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    grown = np.exp(2 * off) * (1 + WEIGHT_ERROR) / (1 - WEIGHT_ERROR) - 1
    grown = grown + gamma(2 * len(k)) + 2.0**-14
    found = (grown + 2 * unit * (1 + grown)) * (weights @ v) + _FAR * v.sum(axis=0) + _TINY
    if blocks:
        # What weights are made blocks of is larger by what scores are off, and so is their sum.
        found = found + (1 + grown) ** 2 * _in_blocks(weights, v, weights @ v)
    beyond = np.log2(np.e) * (reach.max(axis=1, keepdims=True) + off) > farthest
    return np.asarray(np.where(beyond, np.inf, found))


def _in_blocks(x: np.ndarray, w: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What blocks along the reduction may take from a product of magnitudes that are rounded first.

    Args:
        x: magnitudes [M, K].
        w: magnitudes [K, N].
        product: x @ w.
    """
    rounded = (1 + UNIT_BFLOAT16) ** 2
    ours, theirs = largest_in_blocks(x), largest_in_blocks(w.T).T
    most = rounded * (ours @ theirs)
    return np.asarray(most - product + lost_in_blocks(x.shape[1]) * most)
