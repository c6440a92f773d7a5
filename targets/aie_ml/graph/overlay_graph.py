"""How a layer by an overlay (`overlay`) becomes a graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from match_aie.targets.aie_ml.array.emit import tile_nest
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.plan import End, Outside, Shared
from match_aie.targets.aie_ml.graph.slots import Rectangle, Slot
from match_aie.targets.aie_ml.graph.timed_graph import Parts, TimedGraph
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.nest import Nest

if TYPE_CHECKING:
    from match_aie.targets.aie_ml.graph.overlay import Overlaid


@dataclass(frozen=True, eq=False)
class OverlayGraph(TimedGraph):
    """How a layer by an overlay becomes a graph."""

    timed: Overlaid

    def _nest(self, at: int) -> Nest:
        nest = super()._nest(at)
        made = tile_nest(self.timed.mapping, nest.call, at)
        t = self.timed
        return replace(made, order="nm", primed=t.primed, halved=t.halved, told=True)

    @cached_property
    def inputs(self) -> tuple[Outside, ...]:
        """Activations block by block, weights once for every call along the rows."""
        t, m = self.timed, self.timed.mapping
        found = []
        for number, (_, at, parts) in enumerate(t.x_ways):
            blocks = Blocks(
                "x",
                (t.rows, t.reduction),
                m.call_rows,
                m.call_reduction,
                row=parts[0] * m.part_rows * t.row_passes,
                row_step=m.call_rows,
                passes=t.row_passes * len(parts) * m.row_steps,
                column=at * m.part_reduction,
                column_step=m.call_reduction,
                blocks=m.reduction_steps,
            )
            name = f"x_way{number}"
            way = Outside(name, m.layer.a, blocks.elements, blocks=blocks, repeats=t.runs)
            found.append(way)
        for number, (_, at, piece) in enumerate(t.w_ways):
            calls = t.runs * m.column_steps
            once = self.numbers.streamed(at, piece, self.spec).reshape(calls, 1, -1)
            values = np.repeat(once, m.row_steps, axis=1).reshape(-1)
            if t.runs > 1:  # passes are inside of runs, each of which has other weights
                values = np.repeat(values.reshape(t.runs, 1, -1), t.row_passes, axis=1).reshape(-1)
            name, again = f"w_way{number}", 1 if t.runs > 1 else t.row_passes
            found.append(Outside(name, m.layer.w, values.size, values=values, repeats=again))
        return tuple(found)

    @cached_property
    def outputs(self) -> tuple[Outside, ...]:
        """A way for each part of the rows."""
        t, m = self.timed, self.timed.mapping
        found = []
        for number, part in enumerate(t.results):
            slot, width = t.slots[part.slot].rows, len(part.columns) * m.call_columns
            first = slot[0] * t.row_passes + part.rows[0] - slot[0]
            joined = t.runs == 1 or t.row_passes == 1  # calls of the next run follow in one pass
            blocks = Blocks(
                "y",
                (t.rows, t.columns),
                m.part_rows,
                width,
                row=first * m.part_rows,
                row_step=len(slot) * m.part_rows,
                passes=t.row_passes if joined else t.passes,
                column=part.columns[0] * m.call_columns,
                column_step=t.width,
                blocks=(t.runs if joined else 1) * m.column_steps,
                turn=0 if joined else t.row_passes,
                turn_step=0 if joined else m.layer.columns,
            )
            found.append(Outside(f"y_way{number}", m.layer.out, blocks.elements, blocks=blocks))
        return tuple(found)

    def _x_buffer(self, slot: Slot, at: int, parts: range) -> Shared:
        """Blocks one behind the other, row-major as they come; sent as tiles of `mmul`."""
        t, m = self.timed, self.timed.mapping
        tile, rows = m.tiling, t.blocks * m.call_rows
        whole = m.call_reduction, len(parts) * rows
        loops = (0, tile.k, whole[0] // tile.k), (1, tile.m, rows // tile.m)
        reads = tuple(
            Access(whole, (tile.k, tile.m), (0, part * rows), loops, repeats=t.x_repeats)
            for part in range(len(parts))
        )
        write = Access(whole, whole, (0, 0))
        name, column = f"x{slot.number}_{at}", slot.number * m.cas_length + at
        return Shared(name, m.layer.a, whole, (write,), reads, t.x_copies, column, t.passes)

    def _w_buffer(self, slot: Slot, at: int, piece: range) -> Shared:
        buffer = super()._w_buffer(slot, at, piece)
        return replace(buffer, fills=buffer.fills * self.timed.mapping.row_steps)

    def _weights(self, parts: Parts, slot: Slot, at: int) -> None:
        """Those of one part of the columns for tiles of all slots, where weights are spread."""
        t = self.timed
        if not t.spread:
            super()._weights(parts, slot, at)
            return
        for piece in t.held_pieces(slot):
            way = len(t.x_ways) + t.w_ways.index(t.w_way(slot, at, piece))
            number = parts.add(self._w_buffer(slot, at, piece), End("outside", way))
            for port, column in enumerate(piece):
                for row in (r for each in t.slots for r, c in each.parts if c == column):
                    sink = End("buffer", self._tile(row, column, at), 1)
                    parts.join(End("shared", number, port), sink)

    def _y_buffer(self, part: Rectangle) -> Shared:
        """Results of a call of a part of the rows, row-major."""
        t, m = self.timed, self.timed.mapping
        n, tile = m.call_columns, m.tiling
        whole = len(part.columns) * n, m.call_rows
        loops = (0, tile.n, n // tile.n), (1, tile.m, m.call_rows // tile.m)
        return Shared(
            f"y{part.slot}_{part.rows[0]}",
            m.layer.out,
            whole,
            tuple(
                Access(whole, (tile.n, tile.m), (column * n, 0), loops)
                for column in range(len(part.columns))
            ),
            (Access(whole, whole, (0, 0)),),
            2,
            (part.slot + 1) * m.cas_length - 1,
            t.passes * m.column_steps * m.row_steps,
        )
