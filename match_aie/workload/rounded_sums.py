"""Dense layers whose partial sums wait in their results' type: an arithmetic that loses bits.

The reduction is walked in turns, tile after tile of a chain. Behind each turn but a tile's last one
its sums are requantised as results are: rounded after the shift, saturated to the type, without
bounds. The next turn shifts them up again and adds its products. Tiles hand each other whole sums.
With v_0 = offset and s bits of shift, turn t of a tile gives

    v_t = saturate(round((v_(t-1) 2^s + x_t w_t) / 2^s)),

in bfloat16 the float32 sum rounded to it. An offset, and what a zero point adds to it, is in the
sums from the first turn on. So what a layer means hangs on how its reduction is cut: a workload
asks for this arithmetic first (`with_rounded_sums`), and has the cut once it has a mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from match_aie.errors import ModelError
from match_aie.workload.fixed import shift_round
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Names of a workload's parameters, in the order of `Turns`.
_NAMES = "turn_reduction", "tile_turns", "chain_tiles"


@dataclass(frozen=True)
class Turns:
    """How the reduction of a layer is cut.

    Attributes:
        reduction: of one turn.
        turns: of one tile, between which its sums are rounded.
        tiles: of a chain; together they may take more than the layer's reduction: zeros.
    """

    reduction: int
    turns: int
    tiles: int

    @property
    def waits(self) -> int:
        """How often sums are rounded before they are a result."""
        return self.tiles * (self.turns - 1)

    @property
    def widths(self) -> tuple[tuple[int, ...], ...]:
        """Of each tile, the reduction of each turn."""
        return ((self.reduction,) * self.turns,) * self.tiles


#: Of a workload that asks for it and has no mapping yet.
_UNKNOWN = Turns(0, 0, 0)


def rounds_sums(workload: Workload) -> bool:
    """Whether its partial sums wait in the results' type."""
    return _NAMES[0] in dict(workload.parameters)


def with_rounded_sums(workload: Workload, turns: Turns = _UNKNOWN) -> Workload:
    """A dense workload with partial sums that wait so; `turns` once they are known."""
    others = tuple((name, value) for name, value in workload.parameters if name not in _NAMES)
    mine = zip(_NAMES, map(float, astuple(turns)), strict=True)
    return replace(workload, parameters=(*others, *mine))


def with_exact_sums(workload: Workload) -> Workload:
    """The same workload with partial sums of all their bits."""
    others = tuple((name, value) for name, value in workload.parameters if name not in _NAMES)
    return replace(workload, parameters=others)


def turns_of(workload: Workload) -> Turns | None:
    """How the reduction is cut; None where partial sums are exact.

    Raises:
        ModelError: the workload has no mapping yet.
    """
    if not rounds_sums(workload):
        return None
    found = Turns(*(int(workload.parameter(name)) for name in _NAMES))
    if found == _UNKNOWN:
        raise ModelError("what rounded partial sums give hangs on a mapping, and there is none")
    return found


def walked(
    start: np.ndarray,
    operands: tuple[np.ndarray, np.ndarray],
    tiles: Sequence[Sequence[int]],
    add: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    wait: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Sums [M, N] of a chain's last turn, before the result's requantisation.

    Args:
        start: [M, N] or [N], what sums begin with, in their type.
        operands: x [M, K] and w [K, N].
        tiles: of each tile of the chain, the reduction of each turn; K may be shorter.
        add: sums, and the products of its operands' parts.
        wait: sums as the next turn starts from them.
    """
    x, w = operands
    sums = np.broadcast_to(start, (x.shape[0], w.shape[1]))
    begin = 0
    for turns in tiles:
        for number, wide in enumerate(turns):
            sums = add(sums, x[:, begin : begin + wide], w[begin : begin + wide])
            begin += wide
            if number + 1 < len(turns):
                sums = wait(sums)
    return sums


def summed_exactly(sums: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Integer sums [M, N] and the products of x [M, K] and w [K, N], exact.

    float64 holds products of 8 or 16 bits and sums of as many as fit 32 bits.
    """
    return np.asarray(sums + np.rint(x.astype(float) @ w.astype(float)).astype(np.int64))


def rounded_integers(workload: Workload, turns: Turns, arrays: Arrays) -> np.ndarray:
    """What a dense layer in fixed point stores, int64.

    Raises:
        ModelError: it requantises by more than a shift: only a shift is undone.
    """
    tail, offset = workload.tail, arrays.get("offset", np.zeros(1, np.int32))
    if tail is None or tail.shift is None or "multiplier" in arrays:
        raise ModelError("partial sums that wait in the results' type want a shift, and only it")
    shift, info = tail.shift, np.iinfo(workload.output.dtype)

    def wait(sums: np.ndarray) -> np.ndarray:
        kept = np.clip(shift_round(sums, shift, tail.rounding), info.min, info.max)
        return np.asarray(kept << shift)

    w = arrays["weight"].astype(np.int64).T
    start = offset.astype(np.int64) - workload.operand("x").zero_point * w.sum(axis=0)
    x = arrays["x"].reshape(-1, w.shape[0])
    sums = walked(start, (x, w), turns.widths, summed_exactly, wait)
    stored = shift_round(sums, shift, tail.rounding) + tail.zero_point
    return np.asarray(np.clip(stored, tail.lo, tail.hi).reshape(workload.output.shape))
