"""What tiles of attention in bfloat16 compute, call after call of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.attending import keep_piece
from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.kernels.float_attention import KEYS, PAIR, QUERIES, FloatAttention
from match_aie.targets.aie_ml.kernels.layout import tiled, untiled
from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16, to_bfloat16
from match_aie.workload.attention_bfloat16 import (
    SUMS,
    divided,
    powers,
    scaled_queries,
    steps_of,
    total_of,
    unshifted_powers,
    weights_added,
)
from match_aie.workload.bfloat16 import summed
from match_aie.workload.rows_bfloat16 import Split

#: A row's largest score before there is any.
_NONE = -(1 << 15)


class FloatStreamed:
    """Attention in bfloat16 whose keys and values go by."""

    def __init__(self, call: FloatAttention, values: Mapping[str, np.ndarray]) -> None:
        """Nothing has come yet."""
        self._call = call
        self._turn = int(values["turn"].view(np.int32)[0])
        high, low = (np.float32(each) for each in call.factor)
        self._factor = Split(np.asarray(high), np.asarray(low))
        self._queries = np.zeros(call.rows * call.width, np.uint16)
        self._most = np.full((call.rows, 1), _NONE, np.int32)
        self._totals = np.zeros((call.rows, SUMS), np.float32)
        self._sums = np.zeros((call.rows, call.width), np.float32)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
        """A piece of queries, or a part of the keys and values."""
        call = self._call
        phase, at = call.phases[number % len(call.phases)]
        if phase == "queries":
            keep_piece(call, self._queries, self._turn, at, inputs[0])
            return None
        with np.errstate(all="ignore"):
            steps = self._scores(inputs[1], call.last if at == call.parts - 1 else None)
            if phase == "largest":
                before = self._most if at else _NONE
                self._most = np.maximum(before, steps.max(axis=1, keepdims=True))
                return None
            shifted = call.spec.shifted
            weights = powers(steps, self._most) if shifted else unshifted_powers(steps)
            return self._valued(weights, inputs[1], at)

    def _scores(self, part: np.ndarray, counted: int | None) -> np.ndarray:
        """Of the block's queries with the keys of a part, in steps."""
        call = self._call
        q = from_bfloat16(untiled(self._queries, (call.rows, call.width), QUERIES, PAIR))
        keys = part.view(np.uint16)[: call.held // 2]
        k = from_bfloat16(untiled(keys, (call.part, call.width), KEYS, PAIR))[:counted]
        zero = np.zeros(1, np.float32)
        return steps_of(summed(zero, scaled_queries(q, self._factor), np.ascontiguousarray(k.T)))

    def _valued(self, weights: np.ndarray, part: np.ndarray, at: int) -> np.ndarray | None:
        """Weights times values join the sums; results behind the last part."""
        call = self._call
        values = part.view(np.uint16)[call.held // 2 :]
        t = call.adds.tiling
        v = from_bfloat16(untiled(values, (call.part, call.width), t.k, t.n))
        v = v[: weights.shape[1]]
        zero = np.zeros((call.rows, 1), np.float32)
        self._totals = weights_added(self._totals if at else zero, weights)
        self._sums = summed(self._sums if at else zero, weights, v)
        if at < call.parts - 1:
            return None
        found = to_bfloat16(divided(self._sums, total_of(self._totals)), "conv_even")
        return tiled(found, t.m, t.n)

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """Never asked."""
        raise ExecutionError(f"{self._call.symbol} has no sums")
