"""A window of Whisper's encoder as tasks: frames in chunks, attention of a chunk in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdna_context import ATTENTION, DENSE, MOST, PROCESSOR, Done, Plan, Takes
from xdna_encoder import LAYERS
from xdna_overlay import SIZES

#: Windows one behind the other, in some rows.
MANY = 16


@dataclass(frozen=True)
class Pieces:
    """What a window takes, in milliseconds.

    Attributes:
        chunks: of its frames.
        dense: by the names of sequences; of a chunk, but of convolutions.
        attention: of a piece.
        rows: of a whole layer of rows on the processor, by name.
        copies: of the processor, for each convolution and for the keys of a layer.
        gathered: by the processor, of the ways of attention for a chunk that are no piece of a
            tensor.
        pieces: of a chunk's attention, each a dispatch.
        apart: whether dense layers and attention have contexts of their own.
        patience: of dispatches, as `Plan.run`.
        longest: likewise.
        abreast: of windows, as `Plan.ranked`.
        looks: as `Plan.run`.
        most: likewise.
        order: in which all is begun, if that is known, as `Done` has it.
    """

    chunks: int
    dense: Mapping[str, Takes]
    attention: Takes
    rows: Mapping[str, float]
    copies: tuple[float, float, float]
    gathered: float = 0.0
    pieces: int = 1
    apart: bool = False
    patience: float = 0.0
    longest: float = 0.0
    abreast: float = 0.0
    looks: int = 1
    most: int = MOST
    order: tuple[tuple[int, ...], ...] = ()

    def window(self, plan: Plan) -> int:
        """Add a window's tasks; the number of the last one."""
        rows = {name: value / self.chunks for name, value in self.rows.items()}
        first = plan.add(DENSE, self.dense["convolution_1"], self._host(plan, self.copies[0]))
        gelu = self._host(plan, self.rows["GELU 1"] + self.copies[1], first)
        second = plan.add(DENSE, self.dense["convolution_2"], gelu)
        behind = rows["GELU 2"] + rows["sum"]
        last = [self._host(plan, behind, second) for _ in range(self.chunks)]
        for _ in range(LAYERS):
            last = self._layer(plan, rows, last)
        return self._host(plan, self.rows["norm"], *last)

    def _host(self, plan: Plan, takes: float, *after: int) -> int:
        """A task of the processor."""
        return plan.add(PROCESSOR, takes, *after)

    def _layer(self, plan: Plan, rows: Mapping[str, float], last: Sequence[int]) -> list[int]:
        into = [
            plan.add(DENSE, self.dense["into_heads"], self._host(plan, rows["norm"], one))
            for one in last
        ]
        keys = self._host(plan, self.copies[2], *into)
        done = []
        for _ in last:
            brought = self._host(plan, self.gathered, keys)
            scores = [plan.add(ATTENTION, self.attention, brought) for _ in range(self.pieces)]
            out = plan.add(DENSE, self.dense["of_heads"], *scores)
            normal = self._host(plan, rows["sum"] + rows["norm"], out)
            wide = plan.add(DENSE, self.dense["wide"], normal)
            gelu = self._host(plan, rows["GELU"], wide)
            back = plan.add(DENSE, self.dense["back"], gelu)
            done.append(self._host(plan, rows["sum"], back))
        return done

    @property
    def note(self) -> str:
        """What it is made of."""
        dense = sum(
            value.beside * SIZES[name].many * (1 if name.startswith("convolution") else self.chunks)
            for name, value in self.dense.items()
        )
        norms = 1 + 2 * LAYERS
        many = {"GELU 1": 1, "GELU 2": 1, "sum": norms, "norm": norms, "GELU": LAYERS}
        computed = sum(many[name] * value for name, value in self.rows.items())
        keys = self.copies[2] + self.chunks * self.gathered
        copied = self.copies[0] + self.copies[1] + LAYERS * keys
        attention = LAYERS * self.chunks * self.pieces * self.attention.beside
        return (
            f"{self.chunks} chunk{'s' * (self.chunks > 1)}; dense layers "
            f"{dense:.1f} ms beside attention {attention:.1f} ms "
            f"beside the processor {computed:.1f} + {copied:.1f} of copies"
        )

    def each(self, many: int = 1) -> float:
        """Milliseconds for each of so many windows, from the first one's begin to the last end."""
        return max(self.done(many).ends) / many

    def done(self, many: int) -> Done:
        """The schedule of so many windows."""
        plan = Plan()
        for number in range(many):
            first = len(plan.tasks)
            self.window(plan)
            plan.ranked(first, number, self.abreast)
        if self.order:
            return plan.again(self.order)
        return plan.run(
            apart=self.apart,
            patience=self.patience,
            longest=self.longest,
            looks=self.looks,
            most=self.most,
        )
