"""The graph of a dense layer whose operands go by (`timed.Timed`), buffer by buffer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from match_aie.targets.aie_ml.array.emit import tile_nest
from match_aie.targets.aie_ml.graph.beside import beside
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.constants import Blank, Numbers
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Outside,
    Shared,
)
from match_aie.targets.aie_ml.graph.slots import Rectangle, Slot
from match_aie.targets.aie_ml.graph.straight import straight
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Position


@dataclass
class Parts:
    """Buffers and connections in the making; outsides are known before."""

    shared: list[Shared] = field(default_factory=list)
    joined: list[Connection] = field(default_factory=list)

    def add(self, buffer: Shared, source: End | None = None) -> int:
        """Another buffer, filled by `source`; its number."""
        number = len(self.shared)
        self.shared.append(buffer)
        if source is not None:
            self.join(source, End("shared", number))
        return number

    def join(self, source: End, sink: End) -> None:
        """Connect."""
        self.joined.append(Connection(source, sink))


@dataclass(frozen=True, eq=False)
class TimedGraph:
    """How a layer whose operands go by becomes a graph; `graph` gives it.

    Attributes:
        name: prefix of everything emitted.
        timed: sizes of everything.
        numbers: the layer's constants.
    """

    name: str
    timed: Timed
    numbers: Numbers | Blank

    @cached_property
    def spec(self) -> KernelSpec:
        """The kernel of a call of a tile without a cascade, all turns together."""
        m, n = self.timed.mapping, self.numbers
        return KernelSpec(
            m.layer.a,
            m.layer.w,
            m.tiling,
            *m.block,
            m.call_rows,
            m.call_reduction,
            m.call_columns,
            n.end.requantise,
            bias=n.biased,
            flat=m.variant == "flat",
        )

    @cached_property
    def nests(self) -> tuple[Nest, ...]:
        """The function of each tile of a chain."""
        return tuple(self._nest(at) for at in range(self.timed.mapping.cas_length))

    def _nest(self, at: int) -> Nest:
        m, end = self.timed.mapping, self.numbers.end
        place = m.position(at)
        position: Position = "only" if place == "single" else place
        biased = self.spec.bias and position in ("only", "first")
        relu = self.numbers.relu and position in ("only", "last")
        call = LayerCall(
            f"{self.name}_{position}",
            f"{self.name}_kernels.h",
            replace(self.spec, position=position, bias=biased, relu=relu),
            shift=end.shift,
            multiplier=end.multiplier if isinstance(end.multiplier, int) else 0,
            addend=end.addend if isinstance(end.addend, int) else 0,
        )
        nest = replace(tile_nest(m, call, at), exposed=m.variant == "exposed")
        if self.timed.walks_passes:
            walks = replace(nest, order="mn", m_tiles=self.timed.passes * m.row_steps)
            return walks.carrying() if self.timed.carries else walks
        # A single call along the rows keeps its activations, else weights stay while rows go by.
        return replace(nest, order="mn" if m.row_steps == 1 else "nm")

    @cached_property
    def kernels(self) -> tuple[GraphKernel, ...]:
        """Chain by chain, west to east."""
        m, s, found = self.timed.mapping, self.spec, []
        for chain in range(m.chains):
            _, column = m.chain(chain)
            for at, nest in enumerate(self.nests):
                inputs = (s.m * s.k, nest.w_elements) if nest.streamed else (s.m * s.k,)
                found.append(
                    GraphKernel(
                        nest,
                        self.timed.floor.place(chain, at),
                        inputs,
                        s.m * s.n if nest.call.spec.stores else None,
                        1 if self.timed.walks_passes else self.timed.passes,
                        self.numbers.values(nest, at, column),
                        walks=True,
                        single=nest.single and nest.call.spec.stores,
                    )
                )
        return tuple(found)

    # ------------------------------------------------------------ outside

    @cached_property
    def inputs(self) -> tuple[Outside, ...]:
        """Activations, then weights, in the order of `Timed.x_ways` and `w_ways`."""
        t, m = self.timed, self.timed.mapping
        matrix = t.rows, m.layer.reduction
        found = []
        for number, (_, at, parts) in enumerate(t.x_ways):
            blocks = Blocks(
                "x",
                matrix,
                t.x_rows(parts),
                t.x_width // t.cut,
                row=parts[0] * m.part_rows,
                row_step=m.layer.rows,
                passes=t.passes,
                column=at * m.part_reduction,
                column_step=t.x_width // t.cut if t.cut > 1 else 0,
                blocks=t.cut,
            )
            name = f"x_way{number}"
            found.append(Outside(name, m.layer.a, blocks.elements, blocks=blocks))
        for number, (_, at, piece) in enumerate(t.w_ways):
            values = self.numbers.streamed(at, piece, self.spec)
            name = f"w_way{number}"
            found.append(Outside(name, m.layer.w, values.size, values=values, repeats=t.passes))
        return tuple(found)

    @cached_property
    def outputs(self) -> tuple[Outside, ...]:
        """A way for each of `Timed.results`."""
        t, m = self.timed, self.timed.mapping
        found = []
        for number, part in enumerate(t.results):
            blocks = Blocks(
                "y",
                (t.rows, m.layer.columns),
                t.y_rows(part.rows),
                len(part.columns) * m.call_columns,
                row=part.rows[0] * m.part_rows,
                row_step=m.layer.rows,
                passes=t.passes,
                column=part.columns[0] * m.call_columns,
                column_step=t.width,
                blocks=m.column_steps,
            )
            name = f"y_way{number}"
            found.append(Outside(name, m.layer.out, blocks.elements, blocks=blocks))
        return tuple(found)

    # ------------------------------------------------------------ memory tiles

    def _x_buffer(self, slot: Slot, at: int, parts: range) -> Shared:
        """X as tiles of `mmul`, [M/m][K/k][m][k]; read part by part of the rows."""
        t, m = self.timed, self.timed.mapping
        tile = m.tiling
        deep = t.x_width // tile.k // t.cut
        whole = tile.k, tile.m, deep, t.held_rows(parts) // tile.m
        rows_in = min(t.x_rows(parts) // tile.m, whole[3])
        write = Access(
            whole,
            (tile.k, 1, 1, 1),
            (0, 0, 0, 0),
            ((2, 1, deep), (1, 1, tile.m), (3, 1, rows_in)),
        )
        first = at % t.shared * m.part_reduction // tile.k
        turn, high = m.call_reduction // tile.k, m.call_rows // tile.m // t.fills
        loops = ((3, 1, high), (2, turn, m.reduction_steps // t.cut), (3, high, m.row_steps))
        reads = tuple(
            Access(
                whole,
                (tile.k, tile.m, turn, 1),
                (0, 0, first, part * m.part_rows // tile.m),
                loops,
                repeats=t.x_repeats,
            )
            for part in range(len(parts))
        )
        many = len(t.x_parts(slot)) > 1
        return Shared(
            f"x{slot.number}_{at}" + (f"_{parts[0]}" if many else ""),
            m.layer.a,
            whole,
            (write,),
            reads,
            t.x_copies,
            slot.number * m.cas_length + at,
            t.passes * t.fills * t.cut,
            rows_in if rows_in < whole[3] else None,
            t.x_repeats if t.cut > 1 else 1,
        )

    def _w_buffer(self, slot: Slot, at: int, piece: range) -> Shared:
        """Weights of some turns, part by part of the columns."""
        t, m = self.timed, self.timed.mapping
        each = t.w_turns(piece) * t.turn_weights(at)
        whole = (len(piece) * each,)
        reads = tuple(
            Access(whole, (each,), (part * each,), repeats=t.w_repeats)
            for part in range(len(piece))
        )
        return Shared(
            f"w{slot.number}_{at}_{piece[0]}",
            m.layer.w,
            whole,
            (Access(whole, whole, (0,)),),
            reads,
            2,
            slot.number * m.cas_length + at,
            t.passes * t.w_fills(piece),
        )

    def _y_buffer(self, part: Rectangle) -> Shared:
        """Results of one call along the columns, row-major; a slot's from its last column on."""
        t, m = self.timed, self.timed.mapping
        beside = [each for each in t.results if each.slot == part.slot].index(part)
        n, tile = m.call_columns, m.tiling
        whole = len(part.columns) * n, t.held_rows(part.rows)
        loops = (0, tile.n, n // tile.n), (1, tile.m, t.computed_rows // tile.m // t.fills)
        writes = tuple(
            Access(whole, (tile.n, tile.m), (column * n, row * m.part_rows), loops)
            for row in range(len(part.rows))
            for column in range(len(part.columns))
        )
        read = Access(whole, (whole[0], t.y_rows(part.rows) // t.fills), (0, 0))
        return Shared(
            f"y{part.slot}_{part.rows[0]}_{part.columns[0]}",
            m.layer.out,
            whole,
            writes,
            (read,),
            t.y_copies,
            (part.slot + 1) * m.cas_length - 1 - (beside if t.spread > 1 else 0),
            t.passes * m.column_steps * t.fills,
        )

    # ------------------------------------------------------------ connections

    def _tile(self, row: int, column: int, at: int) -> int:
        """Number of a kernel."""
        return self.timed.chain(row, column) * self.timed.mapping.cas_length + at

    def _activations(self, parts: Parts, slot: Slot, at: int, rows: range) -> None:
        way = self.timed.x_ways.index(self.timed.x_way(slot, at, rows))
        number = parts.add(self._x_buffer(slot, at, rows), End("outside", way))
        for row, column in sorted(slot.parts):
            if row in rows:
                sink = End("buffer", self._tile(row, column, at))
                parts.join(End("shared", number, row - rows[0]), sink)

    def _weights(self, parts: Parts, slot: Slot, at: int) -> None:
        t = self.timed
        for piece in t.pieces(slot.columns):
            way = End("outside", len(t.x_ways) + t.w_ways.index(t.w_way(slot, at, piece)))
            number = -1 if t.direct else parts.add(self._w_buffer(slot, at, piece), way)
            for port, column in enumerate(piece):
                source = way if t.direct else End("shared", number, port)
                for row in (r for r, c in slot.parts if c == column):
                    parts.join(source, End("buffer", self._tile(row, column, at), 1))

    def _results(self, parts: Parts, index: int, part: Rectangle) -> None:
        number, port = parts.add(self._y_buffer(part)), 0
        for row in part.rows:
            for column in part.columns:
                tile = self._tile(row, column, self.timed.mapping.cas_length - 1)
                parts.join(End("buffer", tile), End("shared", number, port))
                port += 1
        parts.join(End("shared", number), End("outside", len(self.inputs) + index))

    @property
    def graph(self) -> LayerGraph:
        """All of it."""
        t, m, parts = self.timed, self.timed.mapping, Parts()
        if not t.device.mem_rows:
            return straight(self.name, t, self.kernels)
        for chain in range(m.chains):
            for at in range(m.cas_length - 1):
                tile = chain * m.cas_length + at
                parts.join(End("cascade", tile), End("cascade", tile + 1))
        for slot in t.slots:
            for at in range(m.cas_length):
                for rows in t.x_parts(slot):
                    self._activations(parts, slot, at, rows)
                self._weights(parts, slot, at)
        for index, part in enumerate(t.results):
            self._results(parts, index, part)
        kind = "by stream" if m.streamed else "in the tiles"
        one = LayerGraph(
            self.name,
            f"x [{t.rows}, {m.layer.reduction}] times w [{m.layer.reduction}, {m.layer.columns}], "
            f"{m.chains} chains of {m.cas_length} tiles, {t.passes} x {m.row_steps} x "
            f"{m.column_steps} calls in {m.reduction_steps} turns, weights {kind}",
            self.inputs,
            self.outputs,
            tuple(parts.shared),
            self.kernels,
            tuple(parts.joined),
            t.floor.slots * m.cas_length,
            t.memory,
        )
        return beside(one, t.copies)
