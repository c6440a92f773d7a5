"""Dense layers of several sizes by one configuration of the array: what differs comes at run time.

Memory tiles see blocks of one turn: rows of a call by its reduction. A tile is sent the blocks of
its rows in their order, each once for every call along the columns, and of the weights the block of
every turn. How many turns a call has, memory tiles need not know: of so many blocks of activations
a pass has few calls of many turns (long reductions), or many calls of few. So programs of layers
whose blocks are alike differ in what interface tiles move, and in one number that cores read: the
turns of a call (`targets.xdna.mlir.overlay`).

Weights come again for every call along the rows: memory tiles that sent them again would have to
know how often. A layer of more columns than the overlay has is several runs of its rows in one,
each with other weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Mapping
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.overlay_graph import OverlayGraph
from match_aie.targets.aie_ml.graph.overlay_nest import nest_of, overlaid_cycles
from match_aie.targets.aie_ml.graph.overlay_numbers import OverlayNumbers
from match_aie.targets.aie_ml.graph.passes_plan import PassesPlan
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.slots import Rectangle, Slot
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_room import holds
from match_aie.targets.aie_ml.graph.timed_splits import columns_for
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES
from match_aie.workload import Workload

#: Times that a transfer of an interface tile is repeated at most (facts: six bits).
MOST_AGAIN = 64


@dataclass(frozen=True)
class Overlay:
    """What layers that share a configuration have in common.

    Attributes:
        mapping: of one of them: split over tiles, kernel, rows and columns of a call.
        call_reduction: of a turn.
        blocks: of activations that a tile is sent for a call along the columns: calls along the
            rows of a pass, times turns of each.
        column_steps: calls along the columns.
        chunk: turns whose weights a memory tile takes at once, which may be of several calls;
            divides the turns of a column of calls of every layer.
        feeds: ways for the weights of one column of tiles.
        spread: whether a memory tile has the weights of its part of the columns for tiles of all
            columns, instead of those of all parts for its own column.
        primed: whether the first turn of a call has the kernel of those behind it (`Nest.primed`).
        halved: whether numbers by column come in two turns, half of them in each (`Nest.halved`).
    """

    mapping: ArrayMapping
    call_reduction: int
    blocks: int
    column_steps: int
    chunk: int
    feeds: int = 1
    spread: bool = False
    primed: bool = False
    halved: bool = False

    @property
    def columns(self) -> int:
        """Of results that a run computes."""
        m = self.mapping
        return self.column_steps * m.column_parts * m.call_columns

    def turns(self, reduction: int) -> int:
        """Of a call of a layer with so long a reduction.

        Raises:
            TargetError: blocks do not divide.
        """
        each = self.mapping.cas_length * self.call_reduction
        turns, rest = divmod(reduction, each)
        whole = turns * self.column_steps % self.chunk == 0
        if rest or not turns or self.blocks % turns or not whole or turns % 2:
            raise TargetError(
                f"a reduction of {reduction} is no even number of turns of {each} that divides "
                f"{self.blocks}, and {self.column_steps} calls of it are no whole chunks of "
                f"{self.chunk}",
                hint="columns of zeros behind the weights",
            )
        return turns

    def rows(self, reduction: int) -> int:
        """Of a pass of a layer with so long a reduction."""
        m = self.mapping
        return m.row_parts * m.call_rows * (self.blocks // self.turns(reduction))

    def timed(self, workload: Workload, name: str) -> Overlaid | Infeasible:
        """How a dense layer runs on device `name`; by what it does not.

        Raises:
            TargetError: its sizes are none of the overlay's.
        """
        layer = dense_layer(workload)
        if layer.columns != self.columns:
            raise TargetError(f"{layer.columns} columns are not the {self.columns} of the overlay")
        rows, turns = self.rows(layer.reduction), self.turns(layer.reduction)
        if layer.rows % rows:
            raise TargetError(f"{layer.rows} rows are no number of passes of {rows}")
        mapping = replace(
            self.mapping,
            layer=replace(layer, rows=rows, resident=False, shared=True),
            reduction_steps=turns,
        )
        found = self._overlaid(mapping, name, layer.rows)
        if self.spread and len({slot.columns for slot in found.slots}) > 1:
            raise TargetError(
                "weights are spread over memory tiles where every one is for all parts of columns",
                hint="chains of one part of the rows beside each other: order 'm'",
            )
        if found.fits:
            return found
        return Infeasible("memory tiles", 1, 0, "overlay", ("fewer blocks", "smaller calls"))

    def _overlaid(self, mapping: ArrayMapping, name: str, rows: int) -> Overlaid:
        """A layer of so many rows with this mapping, on device `name`."""
        return Overlaid(
            mapping,
            columns_for(name, mapping.chains, mapping.cas_length),
            rows,
            self.feeds,
            held_turns=self.chunk,
            spread=self.spread,
            primed=self.primed,
            halved=self.halved,
        )

    def fewest_turns(self, reduction: int) -> int | None:
        """Of a call of a layer with this reduction or a longer one; None where no pass has them."""
        step = self.chunk if self.chunk % 2 == 0 else 2 * self.chunk
        least = ceil(reduction / (self.mapping.cas_length * self.call_reduction))
        able = range(step, self.blocks + 1, step)
        return next((n for n in able if n >= least and self.blocks % n == 0), None)

    def padded(self, layer: DenseLayer, name: str) -> Overlaid | Infeasible:
        """How a layer of any size runs on device `name`, or what it lacks for that.

        What its sizes lack to whole blocks is computed, too; no result hangs on it.
        """
        turns = self.fewest_turns(layer.reduction)
        if turns is None:
            each = self.mapping.cas_length * self.call_reduction
            return Infeasible("turns of a pass", ceil(layer.reduction / each), self.blocks, "turns")
        m, width = self.mapping, self.mapping.cas_length * self.call_reduction * turns
        rows = m.row_parts * m.call_rows * (self.blocks // turns)
        runs, passes = ceil(layer.columns / self.columns), ceil(layer.rows / rows)
        if max(runs, passes) > MOST_AGAIN:
            return Infeasible("transfers", max(runs, passes), MOST_AGAIN, "repetitions")
        whole = replace(m.layer, rows=rows, reduction=width, columns=self.columns)
        mapping = replace(m, layer=whole, reduction_steps=turns)
        real = layer.reduction, layer.columns
        found = replace(self._overlaid(mapping, name, layer.rows), real=real, runs=runs)
        if found.fits:
            return found
        return Infeasible("memory tiles", 1, 0, "overlay", ("fewer blocks", "smaller calls"))


@dataclass(frozen=True)
class Overlaid(Timed):
    """A dense layer by an overlay.

    Attributes:
        held_turns: turns whose weights are in one copy of a buffer.
        spread: as `Overlay`.
        primed: likewise.
        halved: likewise.
        real: reduction and columns of the layer; those of the mapping where None.
        runs: of its rows, each of as many columns as the overlay has.
    """

    held_turns: int = 2
    spread: bool = False
    primed: bool = False
    halved: bool = False
    real: tuple[int, int] | None = None
    runs: int = 1

    @property
    def reduction(self) -> int:
        """Of the layer."""
        return self.mapping.layer.reduction if self.real is None else self.real[0]

    @property
    def columns(self) -> int:
        """Of the layer."""
        return self.mapping.layer.columns if self.real is None else self.real[1]

    @property
    def row_passes(self) -> int:
        """Over the rows, in each run."""
        return ceil(self.rows / self.mapping.layer.rows)

    @property
    def passes(self) -> int:
        """Over the rows, in all runs."""
        return self.runs * self.row_passes

    @property
    def blocks(self) -> int:
        """Of activations of a tile in a pass."""
        return self.mapping.row_steps * self.mapping.reduction_steps

    @property
    def x_repeats(self) -> int:
        """Once for every call along the columns, whatever a tile could keep."""
        return self.mapping.column_steps

    @property
    def fits(self) -> bool:
        """Also whether memory tiles hold two copies of all activations, which there always are."""
        return super().fits and holds(self, 2)

    def held_pieces(self, slot: Slot) -> tuple[range, ...]:
        """A part of them for the chains of all slots, where weights are spread."""
        found = super().held_pieces(slot)
        return found[slot.number :: len(self.slots)] if self.spread else found

    @cached_property
    def shared(self) -> int:
        """Each tile of a chain has a way of its own."""
        return 1

    @cached_property
    def x_copies(self) -> int:
        """Two, of layers of a single pass, too: one run follows another."""
        return 2

    @property
    def number_turns(self) -> int:
        """Two where numbers come in halves."""
        return 1 + self.halved

    @property
    def w_repeats(self) -> int:
        """Weights come again from the chip's memory."""
        return 1

    def w_turns(self, piece: range, chunk: int = 0) -> int:
        """As many for all layers, and whatever the bytes of a copy."""
        del piece, chunk
        return self.held_turns

    @cached_property
    def w_loads(self) -> tuple[int, ...]:
        """Bytes of a pass: the weights once for every call along the rows."""
        return tuple(self.mapping.row_steps * each for each in super().w_loads)

    def gathered(self, slot: Slot) -> Sequence[Rectangle]:
        """Each part of the rows has a way of its own, so that all its blocks are steps of it."""
        return slot.bands

    def y_bytes(self, part: Rectangle) -> int:
        """Of one copy: a call of each chain."""
        m = self.mapping
        return len(part.columns) * m.call_columns * m.call_rows * ELEMENT_BYTES[m.layer.out]


@dataclass(frozen=True)
class OverlayPlan(PassesPlan):
    """A dense layer by an overlay.

    Attributes:
        timed: sizes of everything.
    """

    timed: Overlaid

    @cached_property
    def cycles(self) -> float:
        """Of one run, modelled; infinite where tiles lack something for it."""
        return overlaid_cycles(self.timed)

    @property
    def nest(self) -> Mapping:
        """See `overlay_nest`."""
        return nest_of(self.timed)

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes to and from the chip's memory in a run, and the least of any such schedule.

        The least is x and y once, the weights for every call along the rows.
        """
        t, layer = self.timed, self.timed.mapping.layer
        moved = t.passes * (sum(t.x_loads) + sum(t.w_loads) + sum(t.y_loads))
        x, w, y = (ELEMENT_BYTES[each] for each in (layer.a, layer.w, layer.out))
        weights = t.passes * t.mapping.row_steps * layer.reduction * layer.columns * w
        return moved, t.rows * (x * t.reduction + y * t.columns) + weights

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        return OverlayGraph(name, self.timed, OverlayNumbers(self.timed, workload, constants)).graph
