"""`LayerGraph`: what one layer's ADF graph is made of, every number final.

Dense and image layers are planned into it; one template prints it, and `ArrayProgram` is laid out
from it. Data comes from outside into memory tiles as the network stores it (row-major), memory
tiles hand kernels what they read in the order in which they read it, and gather what they store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from match_aie.errors import InternalError
from match_aie.hardware import Unit
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: Column and row of a core, counted from the layer's own first column and the first row of cores.
Place = tuple[int, int]


class Call(Protocol):
    """A kernel function as a graph sees it: `LayerCall`, `Nest`, and those of other operators."""

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
    def units(self) -> tuple[Unit, ...]:
        """Its source `<symbol>.cpp` and the headers that it includes, by name without a folder."""


@dataclass(frozen=True)
class Outside:
    """Data that enters the array from memory, or leaves it.

    Attributes:
        name: a C identifier, unique in the graph.
        dtype: of its elements.
        elements: of one run of the layer, as the array moves them: whole 32-bit words.
        run: elements that lie together in the network's tensor and here, such as a row or the
            channels of a pixel; 0 where all of them do.
        pitch: elements here from the beginning of one run to that of the next; 0 likewise. The
            Arm core puts zeros between them, and drops what comes back there.
    """

    name: str
    dtype: str
    elements: int
    run: int = 0
    pitch: int = 0

    def __post_init__(self) -> None:
        """Refuse runs that do not make up the data, and data that is no words."""
        if (self.run > 0) != (self.pitch > 0) or self.run > self.pitch:
            raise InternalError(f"{self.name}: runs of {self.run} every {self.pitch}")
        if self.pitch and self.elements % self.pitch:
            raise InternalError(f"{self.name}: {self.elements} elements, {self.pitch} a run")
        if self.elements * BYTES[self.dtype] % 4:
            raise InternalError(f"{self.name}: {self.elements} {self.dtype} are no 32-bit words")

    @property
    def tensor_elements(self) -> int:
        """Elements of the network's tensor."""
        return self.elements // self.pitch * self.run if self.pitch else self.elements


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
    """

    name: str
    dtype: str
    dimensions: tuple[int, ...]
    writes: tuple[Access, ...]
    reads: tuple[Access, ...]
    copies: int = 2
    column: int | None = None


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
    """

    call: Call
    place: Place
    inputs: tuple[int, ...]
    output: int | None
    firings: int
    values: tuple[tuple[str, np.ndarray], ...] = ()
    walks: bool = False


@dataclass(frozen=True)
class End:
    """One end of a connection.

    Attributes:
        kind: "outside", "shared", "buffer" (of a kernel) or "cascade".
        of: index among the graph's outsides, shared buffers or kernels.
        port: of a shared buffer or among a kernel's buffers; 0 elsewhere.
    """

    kind: Literal["outside", "shared", "buffer", "cascade"]
    of: int
    port: int = 0


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
    """

    name: str
    remark: str
    inputs: tuple[Outside, ...]
    outputs: tuple[Outside, ...]
    shared: tuple[Shared, ...]
    kernels: tuple[GraphKernel, ...]
    connections: tuple[Connection, ...]
    columns: int

    def __post_init__(self) -> None:
        """Refuse ends that do not exist and cores that two kernels share."""
        counts = {
            "outside": len(self.inputs) + len(self.outputs),
            "shared": len(self.shared),
            "buffer": len(self.kernels),
            "cascade": len(self.kernels),
        }
        for connection in self.connections:
            for end in (connection.source, connection.sink):
                if not 0 <= end.of < counts[end.kind]:
                    raise InternalError(f"graph {self.name} has no {end.kind} {end.of}")
        places = [kernel.place for kernel in self.kernels]
        if len(set(places)) != len(places):
            raise InternalError(f"two kernels of graph {self.name} share a core")

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
