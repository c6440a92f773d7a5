"""A dense layer's mapping as a graph: chains of tiles, memory tiles that cut, pad and gather.

Each chain of tiles has one part of the rows and one of the columns, each of its tiles one part of
the reduction (`array.layer.ArrayMapping`). Memory tiles hold x whole and hand every column of
tiles its part; results are gathered in memory tiles and leave row-major.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from match_aie.targets.aie_ml.array.floor import Floor, Net
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.gather import Rectangle, channels_of, gather
from match_aie.targets.aie_ml.graph.matrices import copied, scalar
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Outside,
    Part,
    Shared,
)
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue, epilogue, starts
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.layout import (
    folded_bias,
    pack_column,
    pack_w,
    pack_weights,
    padded,
    words_of,
)
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec, Position
from match_aie.targets.aie_ml.kernels.window import filled
from match_aie.workload import Workload

Arrays = Mapping[str, np.ndarray]


def words(elements: int, dtype: str) -> int:
    """`elements`, and as many more as fill the last 32-bit word."""
    return filled(elements, max(1, 4 // BYTES[dtype]))


def _outside(name: str, dtype: str, rows: int, columns: int, pitch: int) -> Outside:
    """Rows of `columns` elements, of which the array moves `pitch`."""
    whole = name, (rows, 1, columns), 0, rows, 1, pitch
    return Outside(name, dtype, rows * pitch, None if pitch == columns else Part(*whole))


def width_of(mapping: ArrayMapping) -> int:
    """Columns of a part that leave: all that hold results, in whole words."""
    layer = mapping.layer
    return mapping.part_columns if mapping.column_parts > 1 else words(layer.columns, layer.out)


def gathered(
    mapping: ArrayMapping, device: Device, first: int = 0
) -> tuple[list[Shared], list[Connection]]:
    """Where what chains store is gathered, and how it comes there (`gather`).

    Args:
        mapping: how the layer is spread; calls are whole blocks of accumulators.
        device: with as many columns as the layer may take.
        first: number of the first of these buffers among the graph's.
    """
    m, t, floor, parts = mapping, mapping.tiling, Floor(mapping, device), []
    rows = m.row_steps * m.call_rows
    order = (0, t.n, m.call_columns // t.n), (2, t.m, rows // t.m)
    for chain in range(m.chains):
        source = End("buffer", (chain + 1) * m.cas_length - 1)
        place = floor.place(chain, m.cas_length - 1)[0]
        parts.append(Rectangle(source, *m.chain(chain), 1, 1, (t.n, 1, t.m), order, place))
    grid = m.call_columns, m.column_parts, (m.row_parts - 1) * m.part_rows + rows
    most = channels_of(device).s2mm
    return gather(parts, grid, m.part_rows, rows, most, m.layer.out, first=first)


@dataclass(frozen=True, eq=False)
class DenseGraph:
    """How one dense layer becomes a graph; `graph` gives it.

    Attributes:
        name: prefix of everything emitted.
        mapping: how it is spread; weights stay in the tiles.
        device: with as many columns as the layer may take.
        workload: in the arithmetic of the kernels.
        constants: by operand name.
    """

    name: str
    mapping: ArrayMapping
    device: Device
    workload: Workload
    constants: Arrays

    @cached_property
    def end(self) -> Epilogue:
        """The requantisation."""
        return epilogue(self.workload, self.constants)

    @cached_property
    def floor(self) -> Floor:
        """Where the chains sit."""
        return Floor(self.mapping, self.device)

    @cached_property
    def spec(self) -> KernelSpec:
        """The kernel of a tile without a cascade; calls are whole blocks of accumulators."""
        m, t = self.mapping, self.mapping.tiling
        form = self.end.requantise.form
        return KernelSpec(
            m.layer.a,
            m.layer.w,
            t,
            *m.block,
            filled(m.call_rows, t.m * m.block[0]),
            m.part_reduction,
            filled(m.call_columns, t.n * m.block[1]),
            self.end.requantise,
            bias=starts(self.workload, form),
            flat=m.variant == "flat",
        )

    @property
    def firings(self) -> int:
        """Calls of a tile."""
        return -(-self.mapping.part_rows // self.spec.m)

    @property
    def rows(self) -> int:
        """Rows that a chain computes."""
        return self.firings * self.spec.m

    def position(self, at: int) -> Position:
        """Of tile number `at` of a chain."""
        if self.mapping.cas_length == 1:
            return "only"
        if at == 0:
            return "first"
        return "last" if at == self.mapping.cas_length - 1 else "middle"

    @cached_property
    def calls(self) -> tuple[LayerCall, ...]:
        """The function of each tile of a chain."""
        made = []
        for at in range(self.mapping.cas_length):
            position = self.position(at)
            biased = self.spec.bias and position in ("only", "first")
            made.append(
                LayerCall(
                    f"{self.name}_{position}",
                    f"{self.name}_kernels.h",
                    replace(self.spec, position=position, bias=biased),
                    shift=self.end.shift,
                    multiplier=scalar(self.end.multiplier),
                    addend=scalar(self.end.addend),
                )
            )
        return tuple(made)

    @cached_property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights [K, N], and the bias [N] that holds the input's zero point."""
        w = pack_weights(self.constants["weight"].T)
        bias = np.broadcast_to(self.end.bias, (w.shape[1],))
        return w, folded_bias(bias, w, self.workload.inputs[0].zero_point)

    def _values(self, call: LayerCall, at: int, column: int) -> tuple[tuple[str, np.ndarray], ...]:
        """Parameters of tile `at` of a chain that has the part `column` of the columns."""
        m, s = self.mapping, call.spec
        w, bias = self._numbers
        rows = slice(at * m.part_reduction, (at + 1) * m.part_reduction)
        columns = slice(column * m.part_columns, (column + 1) * m.part_columns)
        found = {"w": pack_w(padded(w[rows, columns], s.k, s.n), s), "bias": bias[columns]}
        for name in ("multiplier", "addend"):
            number = getattr(self.end, name)
            if isinstance(number, np.ndarray):
                found[name] = number[columns]
        named = []
        for p in call.parameters:
            value = found[p.name]
            packed = value if p.name == "w" else pack_column(words_of(value), s)
            named.append((p.name, packed))
        return tuple(named)

    @property
    def kernels(self) -> tuple[GraphKernel, ...]:
        """Chain by chain, west to east."""
        found = []
        for chain in range(self.mapping.chains):
            _, column = self.mapping.chain(chain)
            for at, call in enumerate(self.calls):
                s = call.spec
                found.append(
                    GraphKernel(
                        call,
                        self.floor.place(chain, at),
                        (s.m * s.k,),
                        s.m * s.n if s.stores else None,
                        self.firings,
                        self._values(call, at, column),
                    )
                )
        return tuple(found)

    @property
    def x(self) -> Outside:
        """Rows of whole words."""
        layer = self.mapping.layer
        return _outside("x", layer.a, layer.rows, layer.reduction, words(layer.reduction, layer.a))

    def _read(self, net: Net) -> Access:
        """How the part of x of one column of tiles leaves: [M/m][K/k][m][k], zeros beside it.

        Rows behind the last one are whatever the memory tile holds there, and so are the results
        of them, which never leave: no descriptor pads its outermost loop.
        """
        m, t, s = self.mapping, self.mapping.tiling, self.spec
        held = max(m.layer.rows, (m.row_parts - 1) * m.part_rows + self.rows)
        whole = (words(m.layer.reduction, m.layer.a), held)
        return Access(
            whole,
            (t.k, t.m),
            (net.at * m.part_reduction, net.part * m.part_rows),
            ((0, t.k, s.k // t.k), (1, t.m, self.rows // t.m)),
            whole,
        )

    def _inputs(self, most: int) -> tuple[list[Shared], list[Connection]]:
        """Copies of x, each for as many nets as a memory tile has channels."""
        nets, dtype = self.floor.nets, self.mapping.layer.a
        whole = self._read(nets[0]).buffer
        write = Access(whole, (whole[0], self.mapping.layer.rows), (0, 0))
        buffers, joined = [], []
        for index, first in enumerate(range(0, len(nets), most)):
            served = nets[first : first + most]
            column = served[0].slot * self.mapping.cas_length + served[0].at
            reads = tuple(self._read(net) for net in served)
            name = f"x{index}"
            rows = self.mapping.layer.rows if self.mapping.layer.rows < whole[1] else None
            buffers.append(Shared(name, dtype, whole, (write,), reads, column=column, rows=rows))
            joined.append(Connection(End("outside", 0), End("shared", index)))
            for port, net in enumerate(served):
                for chain in net.chains:
                    tile = chain * self.mapping.cas_length + net.at
                    joined.append(Connection(End("shared", index, port), End("buffer", tile)))
        return buffers, joined

    @property
    def graph(self) -> LayerGraph:
        """All of it."""
        m = self.mapping
        inputs, joined = self._inputs(channels_of(self.device).mm2s)
        for chain in range(m.chains):
            for at in range(m.cas_length - 1):
                tile = chain * m.cas_length + at
                joined.append(Connection(End("cascade", tile), End("cascade", tile + 1)))
        outputs, more = gathered(m, self.device, len(inputs))
        grid, width = outputs[-1].dimensions, width_of(m)
        read = Access(grid, (width, m.column_parts, m.layer.rows), (0, 0, 0))
        outputs[-1] = replace(outputs[-1], reads=(read,))
        end = End("shared", len(inputs) + len(outputs) - 1)
        y = _outside("y", m.layer.out, m.layer.rows, m.layer.columns, width * m.column_parts)
        return LayerGraph(
            self.name,
            f"x [{m.layer.rows}, {m.layer.reduction}] times w [{m.layer.reduction}, "
            f"{m.layer.columns}] on {m.chains} chains of {m.cas_length} tiles",
            (self.x,),
            (y,),
            tuple(copied(buffer, self.device) for buffer in (*inputs, *outputs)),
            self.kernels,
            (*joined, *more, Connection(end, End("outside", 1))),
            self.floor.slots * m.cas_length,
        )
