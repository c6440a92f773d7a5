"""In which order the tiles of a dense mapping make their calls, and what each takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.array.layer import ArrayMapping


@dataclass(frozen=True)
class Step:
    """A call of a core: what it takes before and gives after.

    Attributes:
        takes_a: whether new activations are needed.
        takes_w: whether new weights are.
        gives_a: whether its activations are used for the last time.
        gives_w: likewise.
    """

    takes_a: bool
    takes_w: bool
    gives_a: bool
    gives_w: bool

    def names(self, *, stores: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Buffers taken and given, results among them where the tile `stores` them."""
        out = (True, "out") if stores else (False, "")
        takes = ((self.takes_a, "a"), (self.takes_w, "w"), out)
        gives = ((self.gives_a, "a"), (self.gives_w, "w"), out)
        return (
            tuple(name for wanted, name in takes if wanted),
            tuple(name for wanted, name in gives if wanted),
        )


def steps(mapping: ArrayMapping) -> tuple[Step, ...]:
    """Calls of one run of a layer, in order."""
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
            streamed = mapping.streamed
            found.append(Step(a[0], streamed and w[0], a[1], streamed and w[1]))
    return tuple(found)
