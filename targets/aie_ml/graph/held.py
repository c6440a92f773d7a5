"""A dense layer whose weights lie in memory tiles during a run, while its rows come in passes.

A tile keeps its part of the rows of a pass, and the memory tile below sends it all weights again in
every pass. So the chip's memory gives each operand once (`timed.Timed` has weights come from there
in every pass). Results of a pass leave by a way for each part of the rows, through memory tiles of
all columns of a chain: by one way they would take longer than the products. Weights of the next run
come while this one's are read. Numbers by column come with the weights of each call, so that layers
of one size share a program, and so may runs for parts of a layer's columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import ceil

from match_aie.cost_models.aie_timed import timed_cycles
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.price import Priced, price
from match_aie.targets.aie_ml.array.shapes import BLOCKED, native_tilings
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.pass_work import memory_work
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Outside, Shared
from match_aie.targets.aie_ml.graph.proof import cannot_be_written, cannot_lie
from match_aie.targets.aie_ml.graph.slots import Rectangle, Slot
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.graph.timed_splits import columns_for
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

#: Tiles of rows and of columns of a call that are tried, and accumulators at once (rows, columns).
HIGH, WIDE = (4, 8, 12, 16, 24), (2, 4, 8)
BLOCKS = ((4, 2), (3, 2), (2, 2))
#: Likewise columns in block floating point; and columns and accumulators of tiles that are made
#: lane by lane.
BLOCKED_WIDE = (2, 4, 6, 8)
LANED_WIDE, LANED_BLOCKS = (1, 2), ((1, 1),)


@dataclass(frozen=True)
class Held(Timed):
    """A dense layer in passes whose weights stay in memory tiles for all of them."""

    @cached_property
    def shared(self) -> int:
        """Each tile of a chain has a way of its own."""
        return 1

    @cached_property
    def x_copies(self) -> int:
        """Rows of one pass come while tiles read another's."""
        return 2

    @property
    def w_repeats(self) -> int:
        """Weights are read again in every pass."""
        return self.passes

    def w_turns(self, piece: range, chunk: int = 0) -> int:
        """All of them."""
        del piece, chunk
        return self.mapping.column_steps

    def w_fills(self, piece: range) -> int:
        """Once, in a run."""
        del piece
        return 1

    def gathered(self, slot: Slot) -> Sequence[Rectangle]:
        """A way for each part of the rows."""
        return slot.bands


@dataclass(frozen=True, eq=False)
class HeldGraph(TimedGraph):
    """How such a layer becomes a graph."""

    timed: Held

    @cached_property
    def inputs(self) -> tuple[Outside, ...]:
        """Activations, then weights, which come once."""
        found = super().inputs
        return tuple(way if way.values is None else replace(way, repeats=1) for way in found)

    def _w_buffer(self, slot: Slot, at: int, piece: range) -> Shared:
        return replace(super()._w_buffer(slot, at, piece), fills=1)

    def _y_buffer(self, part: Rectangle) -> Shared:
        """Ways of a slot spread over its columns."""
        length = self.timed.mapping.cas_length
        at = part.slot * length + (length - 1 - part.rows[0]) % length
        return replace(super()._y_buffer(part), column=at)


@dataclass(frozen=True)
class HeldPlan:
    """A mapping, and its modelled cycles.

    Attributes:
        timed: sizes of everything.
        cycles: of one run, modelled.
    """

    timed: Held
    cycles: float

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes from the chip's memory and to it in a run, and the least: each operand once."""
        t = self.timed
        moved = t.passes * (sum(t.x_loads) + sum(t.y_loads)) + sum(t.w_loads)
        return moved, t.least_bytes(1)

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        return HeldGraph(name, self.timed, Numbers(self.timed, workload, constants)).graph


def held_best(
    layer: DenseLayer, workload: Workload, name: str, columns: int
) -> HeldPlan | Infeasible:
    """The plan of least modelled cycles that can be laid out and has a text.

    On fewer columns than rows of cores (4 on Ryzen AI) there is none: a memory tile would have no
    channels for the results of several parts of the rows beside activations and weights.

    Args:
        layer: what runs.
        workload: the same.
        name: of the device.
        columns: of it that are taken, by one chain from west to east for each part of the rows.
    """
    plans = sorted(_plans(layer, name, columns), key=lambda plan: plan.cycles)
    zeros, device = zeros_of(workload), known(name)
    what = "parts of the rows and the reduction for all tiles, weights twice in memory tiles,"
    reason = Infeasible(what, 1, 0, "sizes of calls", ("fewer columns a run", "another plan"))
    for plan in plans:
        graph = plan.graph("layer", workload, zeros)
        refused = cannot_lie(graph, device) or cannot_be_written(graph, device)
        if refused is None:
            return plan
        reason = refused
    return reason


def _shapes(tiling: Tiling) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Tiles of rows and of columns of a call, and accumulators at once."""
    if tiling.blocks:
        return product(HIGH, BLOCKED_WIDE, BLOCKED)
    return product(HIGH, LANED_WIDE, LANED_BLOCKS) if tiling.lanes else product(HIGH, WIDE, BLOCKS)


def _plans(layer: DenseLayer, name: str, columns: int) -> Iterator[HeldPlan]:
    """Of all sizes of calls that fit, each with the fewest passes."""
    array = known(name)
    tiling, high = native_tilings(layer, array)[0], array.core_rows
    if ceil(layer.reduction / tiling.k) < columns or layer.rows < high * tiling.m:
        return
    device = columns_for(name, high, columns)
    for tall, wide, block in _shapes(tiling):
        if tall % block[0] or wide % block[1]:
            continue
        passes = ceil(layer.rows / (high * tall * tiling.m))
        part = replace(layer, rows=ceil(layer.rows / passes), resident=False, shared=True)
        rows = ceil(ceil(part.rows / tiling.m) / high)
        if (high - 1) * rows * tiling.m >= part.rows or rows > tall:
            continue
        call = tall * tiling.m, wide * tiling.n
        mapping = ArrayMapping(
            part,
            tiling,
            block,
            "overlapped" if tiling.waits else "flat",
            columns,
            1,
            high,
            *call,
            outer="m",
            home="chip",
        )
        timed = Held(mapping, device, layer.rows, 1)
        if not timed.fits:
            continue
        try:
            priced = price(mapping, device, Assumed())
        except TargetError:  # no schedule: registers hold no such block
            continue
        if isinstance(priced, Priced):
            yield HeldPlan(timed, _cycles(timed, priced))


def _cycles(timed: Held, priced: Priced) -> float:
    """Of a run, whose weights come before anything begins."""
    work = memory_work(timed, priced.cost)
    return timed_cycles(replace(work, weights=(), first_weights=max(timed.w_loads), asking=0))
