"""In which order the tiles of a dense mapping make their calls, and what each takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.array.layer import ArrayMapping


@dataclass(frozen=True)
class Step:
    """A turn of a core's call: what it takes before and gives after.

    Attributes:
        takes_a: whether new activations are needed.
        takes_w: whether new weights are.
        gives_a: whether its activations are used for the last time.
        gives_w: likewise.
        begins: whether it is the call's first turn, which takes a buffer for results.
        ends: whether it is the last, which gives the results.
    """

    takes_a: bool
    takes_w: bool
    gives_a: bool
    gives_w: bool
    begins: bool = True
    ends: bool = True

    def names(self, *, stores: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Buffers taken and given, results among them where the tile `stores` them."""
        takes = ((self.takes_a, "a"), (self.takes_w, "w"), (stores and self.begins, "out"))
        gives = ((self.gives_a, "a"), (self.gives_w, "w"), (stores and self.ends, "out"))
        return (
            tuple(name for wanted, name in takes if wanted),
            tuple(name for wanted, name in gives if wanted),
        )


def steps(mapping: ArrayMapping) -> tuple[Step, ...]:
    """Turns of the calls of one run of a layer, in order.

    A call of several turns keeps nothing from one to the next but its sums.
    """
    turns, streamed = mapping.reduction_steps, mapping.streamed
    if turns > 1:
        call = [
            Step(True, streamed, True, streamed, turn == 0, turn == turns - 1)
            for turn in range(turns)
        ]
        return tuple(call * mapping.calls)
    found = []
    rows_outer = mapping.outer == "m"
    shape = mapping.row_steps, mapping.column_steps
    outer, inner = shape if rows_outer else shape[::-1]
    for i in range(outer):
        for j in range(inner):
            first_in, last_in = j == 0, j == inner - 1
            first, last = first_in and i == 0, last_in and i == outer - 1
            # What belongs to the outer loop stays for the inner one; what belongs to the inner
            # loop is new in every call, unless there is only one of it.
            kept = (first_in, last_in)
            moving = (True, True) if inner > 1 else (first, last)
            a, w = (kept, moving) if rows_outer else (moving, kept)
            found.append(Step(a[0], streamed and w[0], a[1], streamed and w[1]))
    return tuple(found)
