"""What tiles of attention whose keys and values go by compute, call after call of a run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.sums import Whole
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall, Phase
from match_aie.targets.aie_ml.kernels.float_attention import KEYS, PAIR, QUERIES, FloatAttention
from match_aie.targets.aie_ml.kernels.layout import tiled, untiled
from match_aie.targets.aie_ml.kernels.lookup import entries_of
from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16, to_bfloat16, wrap
from match_aie.targets.aie_ml.kernels.reference import Numbers, requantised
from match_aie.targets.aie_ml.kernels.running_attention import RunningAttention
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.kernels.streamed_attention import StreamedAttention
from match_aie.workload import weighted_rows
from match_aie.workload.attention_bfloat16 import (
    SUMS,
    TOGETHER,
    divided,
    lifted_steps,
    powers,
    scaled_queries,
    steps_of,
    total_of,
    unshifted_powers,
    weights_added,
)
from match_aie.workload.attention_running import RunningRows, results_of, scores_of, with_part
from match_aie.workload.bfloat16 import summed
from match_aie.workload.block_float import BLOCK, summed_blocks
from match_aie.workload.rows_bfloat16 import Split

#: Exact products of integers.
Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: A row's largest score before there is any.
_NONE = -(1 << 15)


class InParts(Whole):
    """Attention whose keys and values go by.

    Args:
        call: the function.
        values: of its parameters.
    """

    def __init__(self, call: PartsCall, values: Mapping[str, np.ndarray]) -> None:
        """Nothing has come yet."""
        self._all = call
        self._turn = int(values["turn"].view(np.int32)[0])
        self._queries = np.zeros(call.rows * call.width * BYTES[call.scores.spec.a], np.uint8)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
        """A piece of queries, kept where it is this tile's, or a part of the keys and values."""
        call = self._all
        phase, at = call.phases[number % len(call.phases)]
        if phase != "queries":
            return self._part(phase, at, inputs[1], call.last if at == call.parts - 1 else None)
        whose, piece = divmod(at, call.pieces)
        if whose == self._turn:
            size = len(self._queries) // call.pieces
            self._queries[piece * size : (piece + 1) * size] = inputs[0].view(np.uint8)
        return None

    @abstractmethod
    def _part(
        self, phase: Phase, at: int, part: np.ndarray, counted: int | None
    ) -> np.ndarray | None:
        """A part of the keys and values; results behind the last one.

        Args:
            phase: what is done with it.
            at: its number.
            part: bytes of the keys, and of the values behind them.
            counted: keys of the last part; None of others, where all count.
        """


class _Streamed(InParts):
    """Attention that keeps the model's arithmetic."""

    def __init__(
        self, call: StreamedAttention, values: Mapping[str, np.ndarray], product: Product
    ) -> None:
        super().__init__(call, values)
        self._call, self._product = call, product
        self._table = entries_of(values["w"], call.repeated).astype(np.int64)
        self._bias = values["bias0"].view(np.int32).astype(np.int64) if "bias0" in values else 0
        self._most = self._total = np.zeros((call.rows, 1), np.int64)
        self._sums = np.zeros((call.rows, call.width), np.int64)

    def _part(
        self, phase: Phase, at: int, part: np.ndarray, counted: int | None
    ) -> np.ndarray | None:
        scores = self._scores(part)[:, :counted]
        if phase == "largest":
            before = self._most if at else _NONE
            self._most = np.maximum(before, scores.max(axis=1, keepdims=True))
            return None
        e = self._table[self._most - scores]
        if phase == "totals":
            self._total = (self._total if at else 0) + e.sum(axis=1, keepdims=True)
            return None
        return self._valued(e, part, at)

    def _scores(self, keys: np.ndarray) -> np.ndarray:
        """Of the block's queries with the keys of a part."""
        c, s, t = self._call.scores, self._call.scores.spec, self._call.scores.spec.tiling
        q = _integers(self._queries.view(s.a), (s.m, s.k), t.m, t.k)
        k = _integers(keys.view(s.b)[: s.k * s.n], (s.k, s.n), t.k, t.n)
        sums = wrap(self._product(q, k) + self._bias, s.lane_bits)
        scaled = s.requantise.scaled
        addend = c.addend if scaled and s.requantise.addend != "zero_point" else None
        numbers = Numbers(c.shift, c.multiplier if scaled else None, addend)
        return requantised(s, sums, numbers).astype(np.int64)

    def _valued(self, e: np.ndarray, part: np.ndarray, at: int) -> np.ndarray | None:
        """Weights times values join the sums; results behind the last part."""
        call, s, t = self._call, self._call.values.spec, self._call.values.spec.tiling
        n = call.numbers
        weights = np.zeros((s.m, s.k), np.int64)
        weights[:, : e.shape[1]] = weighted_rows(e, self._total, n.multiplier, n.tail)
        v = _integers(part.view(s.b)[call.held // 2 :], (s.k, s.n), t.k, t.n)
        sums = self._sums if at else call.start
        self._sums = wrap(sums + self._product(weights, v), s.lane_bits)
        if at < call.parts - 1:
            return None
        scaled = s.requantise.scaled
        addend = call.values.addend if scaled and s.requantise.addend != "zero_point" else None
        numbers = Numbers(call.values.shift, call.values.multiplier if scaled else None, addend)
        return tiled(requantised(s, self._sums, numbers), t.m, t.n)


class _Running(InParts):
    """Attention with a running softmax."""

    def __init__(
        self, call: RunningAttention, values: Mapping[str, np.ndarray], product: Product
    ) -> None:
        super().__init__(call, values)
        self._call, self._product = call, product
        self._table = entries_of(values["w"].view(np.int16), call.repeated)
        self._rows: RunningRows | None = None

    def _part(
        self, phase: Phase, at: int, part: np.ndarray, counted: int | None
    ) -> np.ndarray | None:
        del phase
        call, first, second = self._call, self._call.scores.spec, self._call.adds
        keys, values = np.split(part.view(first.b), [call.held // 2])
        t, u = first.tiling, second.tiling
        q = _integers(self._queries.view(first.a), (first.m, first.k), t.m, t.k)
        k = _integers(keys, (first.k, first.n), t.k, t.n)
        v = _integers(values, (second.k, second.n), u.k, u.n)
        scores = scores_of(self._product(q, k)[:, :counted], call.numbers)
        before = self._rows if at else None
        self._rows = with_part(before, scores, v[:counted], self._table, call.numbers)
        if at < call.parts - 1:
            return None
        return tiled(results_of(self._rows, call.numbers).astype(call.dtype), t.m, t.n)


class _Floats(InParts):
    """Attention in bfloat16."""

    def __init__(self, call: FloatAttention, values: Mapping[str, np.ndarray]) -> None:
        super().__init__(call, values)
        self._call = call
        high, low = (np.float32(each) for each in call.factor)
        self._factor = Split(np.asarray(high), np.asarray(low))
        self._most = np.full((call.rows, 1), _NONE, np.int32)
        self._blocks = call.adds.blocked
        self._add = summed_blocks if self._blocks else summed
        self._totals = np.zeros((call.rows, BLOCK if self._blocks else SUMS), np.float32)
        self._sums = np.zeros((call.rows, call.width), np.float32)

    def _part(
        self, phase: Phase, at: int, part: np.ndarray, counted: int | None
    ) -> np.ndarray | None:
        with np.errstate(all="ignore"):
            steps = self._scores(part, counted)
            if phase == "largest":
                before = self._most if at else _NONE
                self._most = np.maximum(before, steps.max(axis=1, keepdims=True))
                return None
            shifted = self._call.spec.shifted
            weights = powers(steps, self._most) if shifted else unshifted_powers(steps)
            return self._valued(weights, part, at)

    def _scores(self, part: np.ndarray, counted: int | None) -> np.ndarray:
        """Of the block's queries with the keys of a part, in steps."""
        call = self._call
        queries, high = self._queries.view(np.uint16), BLOCK if self._blocks else QUERIES
        q = from_bfloat16(untiled(queries, (call.rows, call.width), high, PAIR))
        keys, high = part.view(np.uint16)[: call.held // 2], call.part if self._blocks else KEYS
        k = from_bfloat16(untiled(keys, (call.part, call.width), high, PAIR))[:counted]
        zero, q = np.zeros(1, np.float32), scaled_queries(q, self._factor)
        sums = self._add(zero, q, np.ascontiguousarray(k.T))
        return steps_of(sums, lifted_steps(blocks=self._blocks))

    def _valued(self, weights: np.ndarray, part: np.ndarray, at: int) -> np.ndarray | None:
        """Weights times values join the sums; results behind the last part."""
        call, t = self._call, self._call.adds.tiling
        values = part.view(np.uint16)[call.held // 2 :]
        v = from_bfloat16(untiled(values, (call.part, call.width), t.k, t.n))
        v = v[: weights.shape[1]]
        if at == 0:
            self._totals, self._sums = np.zeros_like(self._totals), np.zeros_like(self._sums)
        together = 1 if self._blocks else TOGETHER
        self._totals = weights_added(self._totals, weights, together)
        self._sums = self._add(self._sums, weights, v)
        if at < call.parts - 1:
            return None
        found = to_bfloat16(divided(self._sums, total_of(self._totals)), "conv_even")
        return tiled(found, t.m, t.n)


def _integers(tiles: np.ndarray, shape: tuple[int, int], rows: int, columns: int) -> np.ndarray:
    return untiled(tiles, shape, rows, columns).astype(np.int64)


def in_parts(call: PartsCall, values: Mapping[str, np.ndarray], product: Product) -> InParts:
    """The meaning of attention whose keys and values go by.

    Args:
        call: the function.
        values: of its parameters.
        product: an exact one of integers.
    """
    if isinstance(call, FloatAttention):
        return _Floats(call, values)
    if isinstance(call, RunningAttention):
        return _Running(call, values, product)
    assert isinstance(call, StreamedAttention)
    return _Streamed(call, values, product)
