"""What tiles of attention with a running softmax compute, call after call of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.attending import Streamed, keep_piece
from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.execute.float_attending import FloatStreamed
from match_aie.targets.aie_ml.kernels.float_attention import FloatAttention
from match_aie.targets.aie_ml.kernels.layout import tiled, untiled
from match_aie.targets.aie_ml.kernels.lookup import entries_of
from match_aie.targets.aie_ml.kernels.running_attention import RunningAttention
from match_aie.targets.aie_ml.kernels.streamed_attention import StreamedAttention
from match_aie.workload.attention_running import RunningRows, results_of, scores_of, with_part

#: Exact products of integers.
_Product = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Running:
    """Attention whose keys and values go by once.

    Args:
        call: the function.
        values: of its parameters.
        product: an exact one of integers.
    """

    def __init__(
        self, call: RunningAttention, values: Mapping[str, np.ndarray], product: _Product
    ) -> None:
        """Nothing has come yet."""
        self._call, self._product = call, product
        self._table = entries_of(values["w"].view(np.int16), call.repeated)
        self._turn = int(values["turn"].view(np.int32)[0])
        self._queries = np.zeros(call.rows * call.width, np.uint8)
        self._rows: RunningRows | None = None

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
        """A piece of queries, or a part of the keys and values."""
        call = self._call
        phase, at = call.phases[number % len(call.phases)]
        if phase == "queries":
            keep_piece(call, self._queries, self._turn, at, inputs[0])
            return None
        last = at == call.parts - 1
        counted = call.last if last else call.scores.spec.n
        first, second = call.scores.spec, call.adds
        part = inputs[1].view(first.b)
        keys, values = part[: call.held // 2], part[call.held // 2 :]
        q = _matrix(self._queries.view(first.a), (first.m, first.k), first.tiling.m, first.tiling.k)
        k = _matrix(keys, (first.k, first.n), first.tiling.k, first.tiling.n)
        v = _matrix(values, (second.k, second.n), second.tiling.k, second.tiling.n)
        scores = scores_of(self._product(q, k)[:, :counted], call.numbers)
        before = self._rows if at else None
        self._rows = with_part(before, scores, v[:counted], self._table, call.numbers)
        if not last:
            return None
        stored = results_of(self._rows, call.numbers).astype(call.dtype)
        return tiled(stored, first.tiling.m, first.tiling.n)

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """Never asked."""
        raise ExecutionError(f"{self._call.symbol} has no sums")


def _matrix(tiles: np.ndarray, shape: tuple[int, int], rows: int, columns: int) -> np.ndarray:
    return untiled(tiles, shape, rows, columns).astype(np.int64)


def in_parts(
    call: StreamedAttention | FloatAttention | RunningAttention,
    values: Mapping[str, np.ndarray],
    product: _Product,
) -> Streamed | FloatStreamed | Running:
    """The meaning of attention whose keys and values go by.

    Args:
        call: the function.
        values: of its parameters.
        product: an exact one of integers.
    """
    if isinstance(call, FloatAttention):
        return FloatStreamed(call, values)
    if isinstance(call, RunningAttention):
        return Running(call, values, product)
    return Streamed(call, values, product)
