"""What tiles of attention compute, call after call of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.kernels.float_attention import FloatAttention
from match_aie.targets.aie_ml.kernels.layout import tiled, untiled
from match_aie.targets.aie_ml.kernels.lookup import entries_of
from match_aie.targets.aie_ml.kernels.numeric import wrap
from match_aie.targets.aie_ml.kernels.reference import Numbers, requantised
from match_aie.targets.aie_ml.kernels.running_attention import RunningAttention
from match_aie.targets.aie_ml.kernels.streamed_attention import StreamedAttention
from match_aie.workload import weighted_rows

#: Exact products of integers.
_Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: A row's largest score before there is any.
_NONE = -(1 << 15)


def keep_piece(
    call: StreamedAttention | FloatAttention | RunningAttention,
    queries: np.ndarray,
    turn: int,
    at: int,
    piece: np.ndarray,
) -> None:
    """A piece of queries, which joins `queries` where it is this tile's.

    Args:
        call: the function.
        queries: those of a block, tile by tile.
        turn: of the tiles that share the stream, which this one is.
        at: number of the piece among those of all of these tiles.
        piece: what came.
    """
    whose, number = divmod(at, call.pieces)
    if whose == turn:
        begin = number * call.piece
        queries[begin : begin + call.piece] = piece.view(queries.dtype)


class Streamed:
    """Attention whose keys and values go by.

    Args:
        call: the function.
        values: of its parameters.
        product: an exact one of integers.
    """

    def __init__(
        self, call: StreamedAttention, values: Mapping[str, np.ndarray], product: _Product
    ) -> None:
        """Nothing has come yet."""
        self._call, self._product = call, product
        self._table = entries_of(values["w"], call.repeated).astype(np.int64)
        self._turn = int(values["turn"].view(np.int32)[0])
        self._bias = values["bias0"].view(np.int32).astype(np.int64) if "bias0" in values else 0
        s = call.scores.spec
        self._queries = np.zeros(s.m * s.k, np.uint8)
        self._most = np.zeros((s.m, 1), np.int64)
        self._total = np.zeros((s.m, 1), np.int64)
        self._sums = np.zeros((s.m, call.values.spec.n), np.int64)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
        """A piece of queries, or a part of the keys and values."""
        phases = self._call.phases
        phase, at = phases[number % len(phases)]
        if phase == "queries":
            keep_piece(self._call, self._queries, self._turn, at, inputs[0])
            return None
        counted = self._call.last if at == self._call.parts - 1 else None
        scores = self._scores(inputs[1])[:, :counted]
        if phase == "largest":
            before = self._most if at else _NONE
            self._most = np.maximum(before, scores.max(axis=1, keepdims=True))
            return None
        e = self._table[self._most - scores]
        if phase == "totals":
            self._total = (self._total if at else 0) + e.sum(axis=1, keepdims=True)
            return None
        return self._valued(e, inputs[1], at)

    def _scores(self, keys: np.ndarray) -> np.ndarray:
        """Of the block's queries with the keys of a part."""
        c, s, t = self._call.scores, self._call.scores.spec, self._call.scores.spec.tiling
        q = untiled(self._queries.view(s.a), (s.m, s.k), t.m, t.k).astype(np.int64)
        k = untiled(keys.view(s.b)[: s.k * s.n], (s.k, s.n), t.k, t.n).astype(np.int64)
        sums = wrap(self._product(q, k) + self._bias, s.lane_bits)
        scaled = s.requantise.scaled
        addend = c.addend if scaled and s.requantise.addend != "zero_point" else None
        numbers = Numbers(c.shift, c.multiplier if scaled else None, addend)
        return requantised(s, sums, numbers).astype(np.int64)

    def _valued(self, e: np.ndarray, part: np.ndarray, at: int) -> np.ndarray | None:
        """Weights times values join the sums; results behind the last part."""
        call, s, t = self._call, self._call.values.spec, self._call.values.spec.tiling
        last = at == call.parts - 1
        n = call.numbers
        weights = np.zeros((s.m, s.k), np.int64)
        weights[:, : e.shape[1]] = weighted_rows(e, self._total, n.multiplier, n.tail)
        v = untiled(part.view(s.b)[s.k * call.scores.spec.k :], (s.k, s.n), t.k, t.n)
        sums = self._sums if at else call.start
        self._sums = wrap(sums + self._product(weights, v.astype(np.int64)), s.lane_bits)
        if not last:
            return None
        scaled = s.requantise.scaled
        addend = call.values.addend if scaled and s.requantise.addend != "zero_point" else None
        numbers = Numbers(call.values.shift, call.values.multiplier if scaled else None, addend)
        return tiled(requantised(s, self._sums, numbers), t.m, t.n)

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """Never asked."""
        raise ExecutionError(f"{self._call.symbol} has no sums")
