"""What a network's graphs look like as files of the emitted project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.errors import InternalError
from match_aie.hardware import Unit
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Outside
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES
from match_aie.workload import Workload

#: Folder of the sources that the vendor's tools take.
FOLDER = "aie"

#: Operands that hold a kernel's parameters, the first that the layer has.
_SOURCES = {"bias": ("offset", "bias"), "addend": ("offset",), "multiplier": ("multiplier",)}


@dataclass(frozen=True)
class Update:
    """Where the host finds a run-time parameter: bytes into an operand's packed constant."""

    operand: str
    offset: int
    c_type: str
    elements: int


@dataclass(frozen=True)
class BufferView:
    """An outside as the host sees it.

    Attributes:
        name: of it.
        operand: of the layer.
        nbytes: of the array's buffer.
        begin: byte of the operand where it begins.
        part: C initialisers of a `struct ma_array_part`, where the tensor's elements do not lie
            together in it; empty where they do.
    """

    name: str
    operand: str
    nbytes: int
    begin: int
    part: tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Placed:
    """A layer's graph, from which column of the array on, and the layer's operands."""

    graph: LayerGraph
    column: int
    workload: Workload


@dataclass(frozen=True, eq=False)
class HostLayer:
    """A layer as the template of the host's side reads it.

    Attributes:
        graph: the layer's.
        arguments: operands of the layer before y.
        inputs: buffers that it reads.
        outputs: buffers that it writes.
        updates: one for each of the graph's parameters.
        unused: operands that the kernels have no use for.
    """

    graph: LayerGraph
    arguments: tuple[str, ...]
    inputs: tuple[BufferView, ...]
    outputs: tuple[BufferView, ...]
    updates: tuple[Update, ...]
    unused: tuple[str, ...]

    @property
    def buffers(self) -> tuple[BufferView, ...]:
        """All of them."""
        return (*self.inputs, *self.outputs)


@dataclass(frozen=True, eq=False)
class Packing:
    """Parameters of a graph's kernels as the network's constants hold them."""

    constants: dict[str, np.ndarray]
    updates: tuple[Update, ...]


def pack(graph: LayerGraph, workload: Workload) -> Packing:
    """The values of all parameters, each once, behind the operands that they come from.

    Operands whose numbers are part of the kernels' code keep a single zero.
    """
    blobs: dict[str, bytearray] = {operand.name: bytearray() for operand in workload.constants}
    known: dict[tuple[str, bytes], int] = {}
    updates = []
    for number, _, parameter in graph.parameters:
        value = dict(graph.kernels[number].values).get(parameter.name)
        if value is None or value.size != parameter.size:
            raise InternalError(f"graph {graph.name} has no value for {parameter.name}")
        operand = _operand(parameter.name, blobs)
        data = np.ascontiguousarray(value).tobytes()
        if (operand, data) not in known:
            known[operand, data] = len(blobs[operand])
            blobs[operand] += data + bytes(-len(data) % 64)
        updates.append(Update(operand, known[operand, data], parameter.c_type, parameter.size))
    constants = {name: np.frombuffer(bytes(blob) or b"\0", np.int8) for name, blob in blobs.items()}
    return Packing(constants, tuple(updates))


def _operand(parameter: str, blobs: dict[str, bytearray]) -> str:
    wanted = (*_SOURCES.get(parameter, ()), "weight")
    return next((name for name in wanted if name in blobs), next(iter(blobs)))


def host_layer(graph: LayerGraph, workload: Workload) -> HostLayer:
    """What the host does for one layer."""
    packing = pack(graph, workload)
    used = {update.operand for update in packing.updates}
    names = [operand.name for operand in workload.operands[:-1]]
    constants = {operand.name for operand in workload.constants}
    inputs = [operand.name for operand in workload.inputs]
    return HostLayer(
        graph,
        tuple(names),
        tuple(_buffer(o, inputs[min(at, len(inputs) - 1)]) for at, o in enumerate(graph.inputs)),
        tuple(_buffer(outside, "y") for outside in graph.outputs),
        packing.updates,
        tuple(name for name in names if name in constants - used),
    )


def _buffer(outside: Outside, operand: str) -> BufferView:
    """The view of `outside`, which holds `operand` whole where it does not say what it holds."""
    size, part = BYTES[outside.dtype], outside.part
    nbytes = outside.elements * size
    if part is None:
        return BufferView(outside.name, operand, nbytes, 0, ())
    if part.contiguous:
        return BufferView(outside.name, part.operand, nbytes, part.begin * size, ())
    (first, count), (_, wide, deep) = part.real, part.tensor
    fields = {
        "size": size,
        "rows": part.rows,
        "columns": part.columns,
        "channels": part.channels,
        "first": first - part.first,
        "left": part.left,
        "real_rows": count,
        "real_columns": wide,
        "real_channels": deep,
        "fill": part.fill,
    }
    begin = first * wide * deep * size
    return BufferView(outside.name, part.operand, nbytes, begin, tuple(fields.items()))


def graph_units(placed: Placed) -> list[Unit]:
    """The sources of one layer: kernels, their families' headers, and the graph."""
    graph = placed.graph
    found = []
    for call in graph.calls:
        path = f"{FOLDER}/{call.symbol}.cpp"
        found += [Unit(f"{FOLDER}/{k.family}.hpp", k.template, {"k": k}) for k in call.headers]
        found.append(Unit(path, call.template, {"call": call}))
    head, name = f"{FOLDER}/{graph.name}", graph.name
    kernels = {"name": name, "calls": graph.calls}
    values = {"g": graph, "column": placed.column, "c_type": C_TYPES.__getitem__}
    found.append(Unit(f"{head}_kernels.h", "aie/graph_kernels.h.mako", kernels))
    found.append(Unit(f"{head}_graph.h", "aie/graph.h.mako", values, structural=True))
    return found


def network_units(network: str, placed: Sequence[Placed]) -> tuple[Unit, ...]:
    """All sources of a network's layers on the array, each file once."""
    found = {unit.path: unit for layer in placed for unit in graph_units(layer)}
    graphs = tuple(layer.graph for layer in placed)
    layers = tuple(host_layer(layer.graph, layer.workload) for layer in placed)
    head = f"{FOLDER}/{network}"
    more = (
        Unit(f"{head}_graphs.h", "aie/graphs.h.mako", {"graphs": graphs}),
        Unit(f"{head}_graphs.cpp", "aie/graphs.cpp.mako", {"network": network, "graphs": graphs}),
        Unit(f"{head}_host.cpp", "aie/host.cpp.mako", {"network": network, "layers": layers}),
    )
    sources = {
        "kernels": tuple(path for path in found if path.endswith(".cpp")),
        "graphs": tuple(unit.path for unit in more if unit.path.endswith(".cpp")),
    }
    whole = Unit(f"emulation/{network}_array.cpp", "aie/emulation.cpp.mako", sources, True)
    return (*found.values(), *more, whole)
