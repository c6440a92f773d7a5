"""The graph of a dense layer whose operands go by (`timed.Timed`), buffer by buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from match_aie.targets.aie_ml.array.emit import tile_nest
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Outside,
    Shared,
)
from match_aie.targets.aie_ml.graph.timed import Rectangle, Timed
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue, epilogue
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.layout import folded_bias, pack_w
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Position
from match_aie.workload import Workload


@dataclass(frozen=True, eq=False)
class Numbers:
    """A layer's constants, cut as tiles read them.

    Attributes:
        timed: how the layer runs.
        workload: in the arithmetic of the kernels.
        constants: by operand name.
    """

    timed: Timed
    workload: Workload
    constants: Mapping[str, np.ndarray]

    @cached_property
    def end(self) -> Epilogue:
        """The requantisation."""
        return epilogue(self.workload, self.constants)

    @property
    def biased(self) -> bool:
        """Whether sums start from something."""
        form = self.end.requantise.form
        return form in ("shift", "none") or self.workload.inputs[0].zero_point != 0

    @cached_property
    def weights(self) -> np.ndarray:
        """[parts of the reduction, reduction of one, calls, parts of the columns, columns]."""
        m = self.timed.mapping
        w = self.constants["weight"].T
        shape = m.cas_length, m.part_reduction, m.column_steps, m.column_parts, m.call_columns
        whole = shape[0] * shape[1], shape[2] * self.timed.width
        rest = whole[0] - w.shape[0], whole[1] - w.shape[1]
        return np.pad(w, ((0, rest[0]), (0, rest[1]))).reshape(shape)

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """What has one number for each column: [calls, parts of the columns, columns], int32."""
        m, w = self.timed.mapping, self.constants["weight"].T
        whole = np.broadcast_to(self.end.bias, (w.shape[1],))
        found = {"bias": folded_bias(whole, w, self.workload.inputs[0].zero_point)}
        for name in ("multiplier", "addend"):
            number = getattr(self.end, name)
            if isinstance(number, np.ndarray):
                found[name] = number
        shape = m.column_steps, m.column_parts, m.call_columns
        rest = m.column_steps * self.timed.width - w.shape[1]
        return {
            name: np.pad(value, (0, rest)).astype(np.int32).reshape(shape)
            for name, value in found.items()
        }

    def packed(self, at: int, part: int, call: int, spec: KernelSpec) -> np.ndarray:
        """Weights of one call of one tile, turn by turn as its kernel reads them."""
        matrix = self.weights[at, :, call, part]
        turns = np.split(matrix, len(matrix) // spec.k)
        return np.concatenate([pack_w(turn, spec) for turn in turns])

    def streamed(self, at: int, piece: range, spec: KernelSpec) -> np.ndarray:
        """Weights of tile `at` of the chains with these parts of the columns, buffer by buffer."""
        calls = self.timed.w_calls(piece)
        return np.concatenate(
            [
                self.packed(at, part, call, spec)
                for first in range(0, self.timed.mapping.column_steps, calls)
                for part in piece
                for call in range(first, first + calls)
            ]
        )


@dataclass
class _Parts:
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
    numbers: Numbers

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
        call = LayerCall(
            f"{self.name}_{position}",
            f"{self.name}_kernels.h",
            replace(self.spec, position=position, bias=biased),
            shift=end.shift,
            multiplier=end.multiplier if isinstance(end.multiplier, int) else 0,
            addend=end.addend if isinstance(end.addend, int) else 0,
        )
        # A single call along the rows keeps its activations, else weights stay while rows go by.
        return replace(tile_nest(m, call), order="mn" if m.row_steps == 1 else "nm")

    def _values(self, at: int, part: int) -> tuple[tuple[str, np.ndarray], ...]:
        """Parameters of a tile."""
        found = []
        for p in self.nests[at].parameters:
            if p.name == "w":
                calls = range(self.timed.mapping.column_steps)
                whole = [self.numbers.packed(at, part, call, self.spec) for call in calls]
                found.append((p.name, np.concatenate(whole)))
            else:
                found.append((p.name, self.numbers.columns[p.name][:, part].reshape(-1)))
        return tuple(found)

    @cached_property
    def kernels(self) -> tuple[GraphKernel, ...]:
        """Chain by chain, west to east."""
        m, s, found = self.timed.mapping, self.spec, []
        for chain in range(m.chains):
            _, column = m.chain(chain)
            for at, nest in enumerate(self.nests):
                inputs = (s.m * s.k, s.k * s.n) if nest.streamed else (s.m * s.k,)
                found.append(
                    GraphKernel(
                        nest,
                        self.timed.floor.place(chain, at),
                        inputs,
                        s.m * s.n if nest.call.spec.stores else None,
                        self.timed.passes,
                        self._values(at, column),
                        walks=True,
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
        for number, (at, parts) in enumerate(t.x_ways):
            blocks = Blocks(
                "x",
                matrix,
                t.x_rows(parts),
                t.x_width,
                row=parts[0] * m.part_rows,
                row_step=m.layer.rows,
                passes=t.passes,
                column=at * m.part_reduction,
            )
            name = f"x_way{number}"
            found.append(Outside(name, m.layer.a, blocks.elements, blocks=blocks))
        for number, (at, piece) in enumerate(t.w_ways):
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

    def _x_buffer(self, slot: Rectangle, at: int) -> Shared:
        """X as tiles of `mmul`, [M/m][K/k][m][k]; read part by part of the rows."""
        t, m = self.timed, self.timed.mapping
        tile = m.tiling
        deep = t.x_width // tile.k
        whole = tile.k, tile.m, deep, t.held_rows(slot.rows) // tile.m
        rows_in = t.x_rows(slot.rows) // tile.m
        write = Access(
            whole,
            (tile.k, 1, 1, 1),
            (0, 0, 0, 0),
            ((2, 1, deep), (1, 1, tile.m), (3, 1, rows_in)),
        )
        first = at % t.shared * m.part_reduction // tile.k
        turn, high = m.call_reduction // tile.k, m.call_rows // tile.m
        loops = ((3, 1, high), (2, turn, m.reduction_steps), (3, high, m.row_steps))
        reads = tuple(
            Access(
                whole,
                (tile.k, tile.m, turn, 1),
                (0, 0, first, part * m.part_rows // tile.m),
                loops,
                repeats=t.x_repeats,
            )
            for part in range(len(slot.rows))
        )
        return Shared(
            f"x{slot.slot}_{at}",
            m.layer.a,
            whole,
            (write,),
            reads,
            t.x_copies,
            slot.slot * m.cas_length + at,
            t.passes,
            rows_in if rows_in < whole[3] else None,
        )

    def _w_buffer(self, slot: Rectangle, at: int, piece: range) -> Shared:
        """Weights of some calls, part by part of the columns."""
        t, m = self.timed, self.timed.mapping
        each = t.w_calls(piece) * t.call_weights
        whole = (len(piece) * each,)
        reads = tuple(
            Access(whole, (each,), (part * each,), repeats=t.w_repeats)
            for part in range(len(piece))
        )
        return Shared(
            f"w{slot.slot}_{at}_{piece[0]}",
            m.layer.w,
            whole,
            (Access(whole, whole, (0,)),),
            reads,
            2,
            slot.slot * m.cas_length + at,
            t.passes * m.column_steps // t.w_calls(piece),
        )

    def _y_buffer(self, part: Rectangle) -> Shared:
        """Results of one call along the columns, row-major."""
        t, m = self.timed, self.timed.mapping
        n, tile = m.call_columns, m.tiling
        whole = len(part.columns) * n, t.held_rows(part.rows)
        loops = (0, tile.n, n // tile.n), (1, tile.m, t.computed_rows // tile.m)
        writes = tuple(
            Access(whole, (tile.n, tile.m), (column * n, row * m.part_rows), loops)
            for row in range(len(part.rows))
            for column in range(len(part.columns))
        )
        read = Access(whole, (whole[0], t.y_rows(part.rows)), (0, 0))
        return Shared(
            f"y{part.slot}_{part.rows[0]}_{part.columns[0]}",
            m.layer.out,
            whole,
            writes,
            (read,),
            2,
            (part.slot + 1) * m.cas_length - 1,
            t.passes * m.column_steps,
        )

    # ------------------------------------------------------------ connections

    def _tile(self, row: int, column: int, at: int) -> int:
        """Number of a kernel."""
        return self.timed.chain(row, column) * self.timed.mapping.cas_length + at

    def _activations(self, parts: _Parts, slot: Rectangle, at: int) -> None:
        way = self.timed.x_ways.index((at - at % self.timed.shared, slot.rows))
        number = parts.add(self._x_buffer(slot, at), End("outside", way))
        for port, row in enumerate(slot.rows):
            for column in slot.columns:
                sink = End("buffer", self._tile(row, column, at))
                parts.join(End("shared", number, port), sink)

    def _weights(self, parts: _Parts, slot: Rectangle, at: int) -> None:
        t = self.timed
        for piece in t.pieces(slot.columns):
            way = len(t.x_ways) + t.w_ways.index((at, piece))
            number = parts.add(self._w_buffer(slot, at, piece), End("outside", way))
            for port, column in enumerate(piece):
                for row in slot.rows:
                    sink = End("buffer", self._tile(row, column, at), 1)
                    parts.join(End("shared", number, port), sink)

    def _results(self, parts: _Parts, index: int, part: Rectangle) -> None:
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
        t, m, parts = self.timed, self.timed.mapping, _Parts()
        for chain in range(m.chains):
            for at in range(m.cas_length - 1):
                tile = chain * m.cas_length + at
                parts.join(End("cascade", tile), End("cascade", tile + 1))
        for slot in t.rectangles:
            for at in range(m.cas_length):
                self._activations(parts, slot, at)
                self._weights(parts, slot, at)
        for index, part in enumerate(t.results):
            self._results(parts, index, part)
        kind = "by stream" if m.streamed else "in the tiles"
        return LayerGraph(
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
        )
