"""Banks of a tile whose calls take turns: weights by stream, sums that wait.

Two copies of the activations, two of the weights, the sums, the results and the stack share a few
banks. Activations and weights never share one, since every step loads both; sums are by
themselves, since every block of every turn loads and stores them. All else goes where there is
room: results are stored in the last of the turns, the stack is touched between calls only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

#: Bytes of a cycle that a conflict costs: `LocalPlan.shared` counts the DMA's words of 128 bits.
_CYCLE = 16

#: Bytes of a store, at most in the smaller generation: each takes a cycle of a bank.
_STORE = 32

#: Banks of a buffer, by what it holds.
Places = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Turned:
    """Bytes of a tile's buffers, one copy of each, and how busy its loads keep banks.

    Attributes:
        inputs: activations of a turn.
        weights: of a turn, and the numbers behind them.
        sums: that wait.
        outputs: results of a call, which are there once; 0 where there are none.
        fixed: stack, and what else lies there once.
        turns: of a call.
        shares: of cycles in which a turn loads activations, and weights: 0 to 1.
    """

    inputs: int
    weights: int
    sums: int
    outputs: int
    fixed: int
    turns: int
    shares: tuple[float, float]


@dataclass(frozen=True)
class Packed:
    """Banks of everything.

    Attributes:
        places: of "a", "w", "sums", "out" and "stack".
        taken: banks of activations, of weights, of all else.
        shared: bytes a turn, a cycle for each 16 of them: what the DMA, or the core itself, writes
            into a bank in cycles in which the core loads from it.
    """

    places: Places
    taken: tuple[int, int, int]
    shared: int


@lru_cache(maxsize=65536)
def pack(turned: Turned, banks: int, size: int) -> Packed | None:
    """The banks of fewest conflicts, of so many banks of `size` bytes; None where there is none.

    A write into a bank costs the core a cycle where it loads from that bank in that cycle: the
    bytes that the DMA writes beside a copy that is read count by the share of cycles with a load.
    """
    apart_a, apart_w = 2 * ceil(turned.inputs / size), 2 * ceil(turned.weights / size)
    joined_a, joined_w = ceil(2 * turned.inputs / size), ceil(2 * turned.weights / size)
    found = (
        _packed(turned, (a, w), (a < apart_a, w < apart_w), (banks, size))
        for a in sorted({apart_a, joined_a})
        for w in sorted({apart_w, joined_w})
    )
    return min((one for one in found if one), key=lambda one: one.shared, default=None)


def _packed(
    turned: Turned, data: tuple[int, int], joined: tuple[bool, bool], room: tuple[int, int]
) -> Packed | None:
    """With so many banks for activations and weights; whether both copies are in one of them."""
    (a, w), (banks, size) = data, room
    rest = banks - a - w
    wide = ceil(turned.sums / size)
    if rest < max(wide, 1):
        return None
    free = [0] * (a + w) + [size] * rest
    if a <= 2:
        free[:a] = [size - (2 if joined[0] else 1) * turned.inputs] * a
    if w <= 2:
        free[a : a + w] = [size - (2 if joined[1] else 1) * turned.weights] * w
    for bank in range(a + w, a + w + wide):
        free[bank] = 0
    if wide:
        free[a + w + wide - 1] = wide * size - turned.sums
    inside = range(a + w, banks), range(a), range(a, a + w)
    shares = (0.0, *turned.shares)
    order = [(bank, share) for banks, share in zip(inside, shares, strict=True) for bank in banks]
    fit = [bank for bank, _ in order if free[bank] >= turned.outputs]
    if not fit:
        return None
    results = fit[0]
    free[results] -= turned.outputs
    # Sums of several banks are in a row: the stack, which lies at a bank's begin, is not in theirs.
    able = [bank for bank, _ in order if not (wide > 1 and a + w <= bank < a + w + wide)]
    stack = next((bank for bank in able if free[bank] >= turned.fixed), None)
    if stack is None:
        return None
    stall = dict(order)[results] * turned.outputs / _STORE / turned.turns * _CYCLE
    stall += joined[0] * turned.shares[0] * turned.inputs
    stall += joined[1] * turned.shares[1] * turned.weights
    places = (
        ("a", tuple(range(a))),
        ("w", tuple(range(a, a + w))),
        ("sums", tuple(range(a + w, a + w + wide))),
        ("out", (results,)),
        ("stack", (stack,)),
    )
    return Packed(places, (a, w, rest), ceil(stall))
