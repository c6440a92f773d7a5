"""`LayerGraph`: what one layer's ADF graph is made of, every number final.

Dense and image layers are planned into it; one template prints it, and `ArrayProgram` is laid out
from it. Data comes from outside into memory tiles as the network stores it (row-major), memory
tiles hand kernels what they read in the order in which they read it, and gather what they store.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import LogicCall

#: Where data outside of the array lies.
MemoryKind = Literal["ddr", "plio"]

#: Column and row of a core, counted from the layer's own first column and the first row of cores.
Place = tuple[int, int]


class Header(Protocol):
    """A generated header: `KernelSpec`, `AddSpec`, `MaxPoolSpec`."""

    @property
    def family(self) -> str:
        """The header is called `<family>.hpp`."""

    @property
    def template(self) -> str:
        """Path of the template that prints it, which reads it under the name `k`."""


class Call(Protocol):
    """A kernel function as a graph sees it: `LayerCall`, `Nest`, `Bands`, `PoolCall`, `AddCall`."""

    @property
    def symbol(self) -> str:
        """Its name, a C identifier."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Its arguments as C++ text: buffers, parameters, cascade in, then what it stores to."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Run-time parameters, in the order of the arguments."""

    @property
    def template(self) -> str:
        """Path of the template that prints it, which reads it under the name `call`."""

    @property
    def headers(self) -> tuple[Header, ...]:
        """Kernels that its source includes."""

    @property
    def stack_bytes(self) -> int:
        """Bytes of local arrays, beside what a compiler needs."""


@dataclass(frozen=True)
class Part:
    """The part of a tensor [rows, columns, channels], row-major, that an `Outside` carries.

    What it carries beyond the tensor is `fill` on the way in and means nothing on the way out.
    Where `contiguous`, it is a piece of the tensor as it lies in memory; else the processor
    gathers it before the run, or spreads it after.

    Attributes:
        operand: of the workload: "x", "x1", "y".
        tensor: rows, columns, channels of the tensor.
        first: row of the tensor where the part begins; negative where rows come before.
        rows: that it carries.
        left: columns that it carries before the tensor's.
        columns: that it carries, `left` included.
        channels: likewise.
        fill: value of what is not in the tensor.
        minded: whether results depend on it, so that no buffer will do that has other values there.
    """

    operand: str
    tensor: tuple[int, int, int]
    first: int
    rows: int
    columns: int
    channels: int
    left: int = 0
    fill: int = 0
    minded: bool = False

    @property
    def elements(self) -> int:
        """Carried, what is filled included."""
        return self.rows * self.columns * self.channels

    @property
    def contiguous(self) -> bool:
        """Whether it is a piece of the tensor as it lies in memory."""
        same = (self.left, self.columns, self.channels) == (0, *self.tensor[1:])
        return same and self.first >= 0 and self.first + self.rows <= self.tensor[0]

    @property
    def begin(self) -> int:
        """Element of the tensor where a contiguous part begins."""
        return self.first * self.tensor[1] * self.tensor[2]

    @property
    def real(self) -> tuple[int, int]:
        """Rows of the tensor that it holds: first and count."""
        first = max(self.first, 0)
        return first, min(self.first + self.rows, self.tensor[0]) - first

    def cut(self, tensor: np.ndarray) -> np.ndarray:
        """What goes in, flat, of a tensor of any shape with the same elements."""
        whole = np.full((self.rows, self.columns, self.channels), self.fill, tensor.dtype)
        first, count = self.real
        _, wide, deep = self.tensor
        at = first - self.first
        inside = tensor.reshape(self.tensor)[first : first + count]
        whole[at : at + count, self.left : self.left + wide, :deep] = inside
        return whole.reshape(-1)

    def paste(self, carried: np.ndarray, tensor: np.ndarray) -> None:
        """What came out, flat, into `tensor`."""
        whole = carried.reshape(self.rows, self.columns, self.channels)
        first, count = self.real
        _, wide, deep = self.tensor
        at = first - self.first
        inside = whole[at : at + count, self.left : self.left + wide, :deep]
        tensor.reshape(self.tensor)[first : first + count] = inside


@dataclass(frozen=True)
class Outside:
    """Data that enters the array from memory, or leaves it.

    Attributes:
        name: a C identifier, unique in the graph.
        dtype: of its elements.
        elements: of one run of the layer; of `values`, each once.
        part: what of which tensor it carries; None where it is a whole tensor, as it lies in
            memory, and the graph's inputs are the workload's in their order.
        blocks: the blocks of a matrix that it carries instead of a part.
        values: constants that are streamed in, in the order in which they go; None for tensors.
        repeats: how often these go in one run of the layer.
    """

    name: str
    dtype: str
    elements: int
    part: Part | None = None
    blocks: Blocks | None = None
    values: np.ndarray | None = field(default=None, compare=False)
    repeats: int = 1

    def __post_init__(self) -> None:
        """Refuse a part of another size."""
        held = self.part or self.blocks
        carried = self.elements if held is None else held.elements
        if self.values is not None:
            carried = self.values.size
        if carried != self.elements:
            raise InternalError(f"outside {self.name} carries {carried} elements")

    @property
    def moved(self) -> int:
        """Elements that go in one run, those that go again included."""
        return self.elements * self.repeats


@dataclass(frozen=True)
class Shared:
    """A buffer in a memory tile.

    Attributes:
        name: a C identifier, unique in the graph.
        dtype: of its elements.
        dimensions: elements, dimension 0 contiguous.
        writes: how each of its input ports fills it.
        reads: how each of its output ports empties it.
        copies: 2 for a ping-pong pair.
        column: of the memory tile, counted from the layer's first; None where nobody minds.
        fills: how often a run of the layer writes it as a whole.
        rows: of the last dimension that are written, where others are read whose numbers reach no
            result; None where all that is read is written.
        laps: that readers make through all copies, which are parts of one thing, before these are
            filled again: as often as reads repeat; 1 where a copy is read so before the next one.
    """

    name: str
    dtype: str
    dimensions: tuple[int, ...]
    writes: tuple[Access, ...]
    reads: tuple[Access, ...]
    copies: int = 2
    column: int | None = None
    fills: int = 1
    rows: int | None = None
    laps: int = 1

    @property
    def joined(self) -> Shared:
        """Parts of one thing as one copy of it, as the vendor's graphs have it; else the same."""
        if self.laps == 1:
            return self
        dim = len(self.dimensions)

        def over_all(way: Access) -> Access:
            return replace(
                way,
                buffer=(*way.buffer, self.copies),
                tile=(*way.tile, 1),
                offset=(*way.offset, 0),
                traversal=(*way.traversal, (dim, 1, self.copies)),
                boundary=(*way.boundary, self.copies) if way.boundary else (),
            )

        return replace(
            self,
            dimensions=(*self.dimensions, self.copies),
            writes=tuple(map(over_all, self.writes)),
            reads=tuple(map(over_all, self.reads)),
            copies=1,
            fills=self.fills // self.copies,
            laps=1,
        )


@dataclass(frozen=True, eq=False)
class GraphKernel:
    """A kernel on its core.

    Attributes:
        call: the function.
        place: its core.
        inputs: elements of each input buffer, in the order of the arguments.
        output: elements of the output buffer; None where sums go on over the cascade.
        firings: for one run of the layer.
        values: of the run-time parameters, by name.
        walks: whether the function fetches its buffers itself (`adf::async` ports, `Nest`).
        single: whether its output buffer is there once, and no pair (`Nest.single`).
        north: inputs whose buffers lie in the memory of the tile north, where no kernel is.
        sent: elements of a second output buffer, read by a neighbour or sent as packets, or None.
        turns: banks of the first and of the second copy of all its buffers, where they are pinned.
    """

    call: Call
    place: Place
    inputs: tuple[int, ...]
    output: int | None
    firings: int
    values: tuple[tuple[str, np.ndarray], ...] = ()
    walks: bool = False
    single: bool = False
    north: tuple[int, ...] = ()
    sent: int | None = None
    turns: tuple[int, int] | None = None


@dataclass(frozen=True)
class End:
    """One end of a connection.

    Attributes:
        kind: "outside", "shared", "buffer" (of a kernel), "cascade" or "packets": a kernel's stream
            of packets, into which all buffers that are connected to it are merged; or "lent": a
            buffer that a kernel reads where the neighbour that stores it has it; or "logic": the
            graph's kernel of programmable logic.
        of: index among the graph's outsides, shared buffers or kernels; 0 of logic.
        port: of a shared buffer, among what a kernel reads or writes, or among what comes to logic
            or leaves it; 0 elsewhere.
    """

    kind: Literal["outside", "shared", "buffer", "cascade", "packets", "lent", "logic"]
    of: int
    port: int = 0

    @property
    def node(self) -> tuple[str, int]:
        """What has this end: a kernel is one, whatever it is connected by."""
        return self.kind if self.kind in ("outside", "shared", "logic") else "kernel", self.of


@dataclass(frozen=True)
class Connection:
    """Data that goes from one end to another."""

    source: End
    sink: End


@dataclass(frozen=True, eq=False)
class LayerGraph:
    """One layer on the array.

    Attributes:
        name: prefix of everything emitted, a C identifier.
        remark: a sentence for the head of the source.
        inputs: outsides that the layer reads, in the order of the layer's operands.
        outputs: outsides that it writes.
        shared: buffers in memory tiles.
        kernels: on cores.
        connections: between them. An `End` of kind "outside" counts inputs first, then outputs.
        columns: of the array that it takes.
        memory: what is outside: the chip's memory ("ddr"), which DMA channels of interface tiles
            reach, or streams of programmable logic ("plio"), one for each outside.
        logic: a kernel of programmable logic between its kernels; None where there is none.
    """

    name: str
    remark: str
    inputs: tuple[Outside, ...]
    outputs: tuple[Outside, ...]
    shared: tuple[Shared, ...]
    kernels: tuple[GraphKernel, ...]
    connections: tuple[Connection, ...]
    columns: int
    memory: MemoryKind = "ddr"
    logic: LogicCall | None = None

    def __post_init__(self) -> None:
        """Refuse ends that do not exist and cores that two kernels share."""
        counts = {
            "outside": len(self.inputs) + len(self.outputs),
            "shared": len(self.shared),
            "buffer": len(self.kernels),
            "cascade": len(self.kernels),
            "packets": len(self.kernels),
            "lent": len(self.kernels),
            "logic": 0 if self.logic is None else 1,
        }
        for connection in self.connections:
            for end in (connection.source, connection.sink):
                if not 0 <= end.of < counts[end.kind]:
                    raise InternalError(f"graph {self.name} has no {end.kind} {end.of}")
        places = [kernel.place for kernel in self.kernels]
        places += [(k.place[0], k.place[1] + 1) for k in self.kernels if k.north]
        if len(set(places)) != len(places):
            raise InternalError(f"two kernels of graph {self.name} share a core")

    @property
    def merges(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Kernels that read a stream of packets, by the kernels whose buffers it is merged of."""
        sources: dict[int, list[int]] = {}
        for link in self.connections:
            if link.sink.kind == "packets":
                sources.setdefault(link.sink.of, []).append(link.source.of)
        found: dict[tuple[int, ...], tuple[int, ...]] = {}
        for sink, many in sources.items():
            found[tuple(many)] = (*found.get(tuple(many), ()), sink)
        return found

    @property
    def calls(self) -> tuple[Call, ...]:
        """The functions, each once."""
        return tuple({kernel.call.symbol: kernel.call for kernel in self.kernels}.values())

    @property
    def parameters(self) -> tuple[tuple[int, int, Parameter], ...]:
        """(kernel, its input, what the host sets there), kernel by kernel."""
        return tuple(
            (number, len(kernel.inputs) + at, parameter)
            for number, kernel in enumerate(self.kernels)
            for at, parameter in enumerate(kernel.call.parameters)
        )

    @property
    def outside(self) -> tuple[Outside, ...]:
        """Inputs, then outputs: what an `End` of kind "outside" counts."""
        return (*self.inputs, *self.outputs)
