"""What a network's graphs look like as files of the emitted project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from match_aie.errors import InternalError
from match_aie.hardware import Unit
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Outside
from match_aie.targets.aie_ml.graph.tiling import tiling
from match_aie.targets.aie_ml.graph.views import BufferView, HeldPart, HeldResult
from match_aie.targets.aie_ml.graph.write_logic import logic_units, logics_of
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES
from match_aie.targets.aie_ml.kernels.stack import Stack
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


@dataclass(frozen=True, eq=False)
class Placed:
    """A layer's graph, from which column of the array on, and the layer's operands.

    Attributes:
        graph: of the layer.
        column: of the array.
        workload: what it computes.
        host: the graph that is run, where that is another layer's with this one's numbers.
        turns: whether one configuration serves it and others, by turns on the same tiles.
    """

    graph: LayerGraph
    column: int
    workload: Workload
    host: LayerGraph | None = None
    turns: bool = False


@dataclass(frozen=True, eq=False)
class Chained:
    """Layers in a row as one graph, from which column of the array on.

    Attributes:
        joined: the graph.
        column: of the array.
        layers: each for itself, in the order in which they run.
        ahead: runs that may have begun before one's result is taken.
    """

    joined: Joined
    column: int
    layers: tuple[Placed, ...]
    ahead: int = 0

    @property
    def graph(self) -> LayerGraph:
        """Of all layers."""
        return self.joined.graph


@dataclass(frozen=True, eq=False)
class HostLayer:
    """A layer as the template of the host's side reads it.

    Attributes:
        name: of the layer.
        graph: that it is part of.
        arguments: operands of the layer before y.
        inputs: buffers that it reads.
        outputs: buffers that it writes.
        updates: one for each of the graph's parameters.
        unused: operands that the kernels have no use for.
        parameter: number of the first of its parameters in the graph.
        first: whether the graph's run begins with this layer's call.
        last: whether it ends there.
        held: what stays on the array of this layer and those before it, where it is the last.
        elements: of each operand of the layer.
        ahead: runs of the graph that may have begun before one's result is taken.
        turn: its number among layers that run as the same graph by turns.
    """

    name: str
    graph: LayerGraph
    arguments: tuple[str, ...]
    inputs: tuple[BufferView, ...]
    outputs: tuple[BufferView, ...]
    updates: tuple[Update, ...]
    unused: tuple[str, ...]
    parameter: int = 0
    first: bool = True
    last: bool = True
    held: tuple[HeldResult, ...] = ()
    elements: tuple[tuple[str, int], ...] = ()
    ahead: int = 0
    turn: int | None = None

    @property
    def narrow(self) -> tuple[tuple[str, int], ...]:
        """Operands that the array moves as bfloat16, with their elements."""
        names = {buffer.operand for buffer in self.buffers if buffer.narrow}
        return tuple(pair for pair in self.elements if pair[0] in names)

    @property
    def buffers(self) -> tuple[BufferView, ...]:
        """All of them."""
        return (*self.inputs, *self.outputs)

    @property
    def streams(self) -> tuple[BufferView, ...]:
        """Inputs that go several times in a run, all of them equally often."""
        return tuple(buffer for buffer in self.inputs if buffer.sends > 1)


@dataclass(frozen=True, eq=False)
class Packing:
    """A graph's constants as the network's constants hold them.

    Attributes:
        constants: by operand.
        updates: where each parameter of a kernel lies.
        streamed: operand and first byte of each of the graph's inputs that has values.
    """

    constants: dict[str, np.ndarray]
    updates: tuple[Update, ...]
    streamed: dict[str, tuple[str, int]]


def pack(graph: LayerGraph, workload: Workload) -> Packing:
    """The values of all parameters and streams, each once, behind the operands they come from.

    Operands whose numbers are part of the kernels' code keep a single zero.
    """
    blobs: dict[str, bytearray] = {operand.name: bytearray() for operand in workload.constants}
    known: dict[tuple[str, bytes], int] = {}
    updates = []

    def kept(operand: str, value: np.ndarray) -> int:
        data = np.ascontiguousarray(value).tobytes()
        if (operand, data) not in known:
            known[operand, data] = len(blobs[operand])
            blobs[operand] += data + bytes(-len(data) % 64)
        return known[operand, data]

    for number, _, parameter in graph.parameters:
        value = dict(graph.kernels[number].values).get(parameter.name)
        if value is None or value.size != parameter.size:
            raise InternalError(f"graph {graph.name} has no value for {parameter.name}")
        operand = _operand(parameter.name, blobs)
        updates.append(Update(operand, kept(operand, value), parameter.c_type, parameter.size))
    streamed = {}
    for outside in graph.inputs:
        if outside.values is not None:
            weight = _operand("w", blobs)
            streamed[outside.name] = weight, kept(weight, outside.values)
    constants = {name: np.frombuffer(bytes(blob) or b"\0", np.int8) for name, blob in blobs.items()}
    return Packing(constants, tuple(updates), streamed)


def _operand(parameter: str, blobs: dict[str, bytearray]) -> str:
    wanted = (*_SOURCES.get(parameter, ()), "weight")
    return next((name for name in wanted if name in blobs), next(iter(blobs)))


def host_layer(graph: LayerGraph, workload: Workload) -> HostLayer:
    """What the host does for one layer."""
    packing = pack(graph, workload)
    used = {update.operand for update in packing.updates}
    used |= {operand for operand, _ in packing.streamed.values()}
    names = [operand.name for operand in workload.operands[:-1]]
    constants = {operand.name for operand in workload.constants}
    inputs = [operand.name for operand in workload.inputs]
    views = [
        _loaded(outside, *packing.streamed[outside.name])
        if outside.name in packing.streamed
        else buffer_view(outside, inputs[min(at, len(inputs) - 1)])
        for at, outside in enumerate(graph.inputs)
    ]
    return HostLayer(
        graph.name,
        graph,
        tuple(names),
        tuple(views),
        tuple(buffer_view(outside, "y") for outside in graph.outputs),
        packing.updates,
        tuple(name for name in names if name in constants - used),
        elements=tuple((operand.name, operand.size) for operand in workload.operands),
    )


def _loaded(outside: Outside, operand: str, begin: int) -> BufferView:
    """The view of constants that are streamed in."""
    nbytes = outside.elements * BYTES[outside.dtype]
    return BufferView(outside.name, operand, nbytes, begin, (), loaded=True, sends=outside.repeats)


def _blocks(name: str, part: Blocks, nbytes: int, size: int) -> BufferView:
    """The view of a matrix in blocks."""
    rows, columns = part.matrix
    if part.contiguous:
        return BufferView(name, part.operand, nbytes, part.begin * size, ())
    fields = {
        "size": size,
        "matrix_rows": rows,
        "matrix_columns": columns,
        "rows": part.rows,
        "width": part.width,
        "row": part.row,
        "row_step": part.row_step,
        "passes": part.passes,
        "column": part.column,
        "column_step": part.column_step,
        "blocks": part.blocks,
        "turn": part.turn,
        "turn_step": part.turn_step,
    }
    begin = part.first * columns * size
    return BufferView(name, part.operand, nbytes, begin, tuple(fields.items()), "ma_array_matrix")


def host_chain(chain: Chained) -> list[HostLayer]:
    """What the host does for each layer of a chain: its calls come one after the other."""
    found: list[HostLayer] = []
    joined, parameter = chain.joined, 0
    graph, last = joined.graph, len(chain.layers) - 1
    held = tuple(_held(chain, number) for number in sorted(joined.held))
    for number, placed in enumerate(chain.layers):
        alone = host_layer(placed.graph, placed.workload)
        ins = zip(graph.inputs, joined.inputs, strict=True)
        outs = zip(graph.outputs, joined.outputs, strict=True)
        inputs = tuple(buffer_view(o, operand) for o, (of, operand) in ins if of == number)
        outputs = tuple(buffer_view(o, "y") for o, of in outs if of == number)
        read = {view.operand for view in inputs}
        stays = [o.name for o in placed.workload.inputs if o.name not in read]
        found.append(
            replace(
                alone,
                graph=graph,
                inputs=inputs,
                outputs=outputs,
                unused=(*stays, *alone.unused, *(() if outputs else ("y",))),
                parameter=parameter,
                first=number == 0,
                last=number == last,
                held=held if number == last else (),
                ahead=chain.ahead,
            )
        )
        parameter += len(alone.updates)
    return found


def _held(chain: Chained, number: int) -> HeldResult:
    """What the emulation shows of a layer's result."""
    placed = chain.layers[number]
    parts = tuple(
        HeldPart(
            kept.buffer,
            tiling(kept.access),
            buffer_view(kept.outside, "y"),
            in_kernel=kept.in_kernel,
        )
        for kept in chain.joined.held[number]
    )
    return HeldResult(placed.graph.name, parts, placed.workload.output.nbytes)


def buffer_view(outside: Outside, operand: str) -> BufferView:
    """The view of `outside`, which holds `operand` whole where it does not say what it holds."""
    narrow = outside.dtype == "bfloat16"
    return replace(_view(outside, operand), narrow=narrow, sends=outside.repeats)


def _view(outside: Outside, operand: str) -> BufferView:
    size, part = BYTES[outside.dtype], outside.part
    nbytes = outside.elements * size
    if outside.blocks is not None:
        return _blocks(outside.name, outside.blocks, nbytes, size)
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


def kernel_units(graph: LayerGraph) -> list[Unit]:
    """The sources of one layer's kernels, and their families' headers."""
    found = []
    for call in graph.calls:
        path = f"{FOLDER}/{call.symbol}.cpp"
        found += [Unit(f"{FOLDER}/{k.family}.hpp", k.template, {"k": k}) for k in call.headers]
        found.append(Unit(path, call.template, {"call": call}))
    kernels = {"name": graph.name, "calls": graph.calls}
    path = f"{FOLDER}/{graph.name}_kernels.h"
    return [*found, Unit(path, "aie/graph_kernels.h.mako", kernels)]


def graph_units(placed: Placed | Chained, stack: int) -> list[Unit]:
    """The sources of a layer or a chain: kernels, their families' headers, and the graph.

    `stack` bytes are what the vendor's tools give a kernel that declares none.
    """
    graph = placed.graph
    layers = placed.layers if isinstance(placed, Chained) else (placed,)
    together = any(isinstance(kernel.call, Stack) for kernel in graph.kernels)
    sources = [graph] if together else [layer.graph for layer in layers]
    values = {
        "g": graph,
        "layers": [each.name for each in sources],
        "column": placed.column,
        "stack": stack,
        "c_type": C_TYPES.__getitem__,
        "tiling": tiling,
    }
    whole = Unit(f"{FOLDER}/{graph.name}_graph.h", "aie/graph.h.mako", values, structural=True)
    kernels = (unit for each in sources for unit in kernel_units(each))
    return [*kernels, whole, *logic_units(graph)]


def _hosts(placed: Sequence[Placed | Chained]) -> list[HostLayer]:
    """What the host does for each layer; those that run as one graph are numbered."""
    found: list[HostLayer] = []
    shared = {id(one.host) for one in placed if isinstance(one, Placed) and one.host is not None}
    for turn, one in enumerate(placed):
        if isinstance(one, Chained):
            found += host_chain(one)
            continue
        graph = one.host or one.graph
        own = host_layer(one.graph, one.workload)
        found.append(replace(own, graph=graph, turn=turn if id(graph) in shared else None))
    return found


def network_units(network: str, placed: Sequence[Placed | Chained], stack: int) -> tuple[Unit, ...]:
    """All sources of a network's layers on the array, each file once; `stack` as above."""
    owners = [one for one in placed if isinstance(one, Chained) or one.host is None]
    found = {unit.path: unit for owner in owners for unit in graph_units(owner, stack)}
    graphs = tuple(owner.graph for owner in owners)
    turning = tuple(one.graph for one in owners if isinstance(one, Placed) and one.turns)
    layers = tuple(_hosts(placed))
    head = f"{FOLDER}/{network}"
    more = (
        Unit(f"{head}_graphs.h", "aie/graphs.h.mako", {"graphs": graphs}),
        Unit(f"{head}_graphs.cpp", "aie/graphs.cpp.mako", {"network": network, "graphs": graphs}),
        Unit(
            f"{head}_host.cpp",
            "aie/host.cpp.mako",
            {"network": network, "graphs": graphs, "layers": layers, "turning": turning},
        ),
    )
    sources: dict[str, object] = {
        "kernels": kernels_of(network, tuple(found.values())),
        "graphs": tuple(unit.path for unit in more if unit.path.endswith(".cpp")),
        "logics": logics_of(graphs),
    }
    whole = Unit(f"emulation/{network}_array.cpp", "aie/emulation.cpp.mako", sources, True)
    apart = Unit("emulation/adf.cpp", "aie/adf.cpp.mako", {}, True)
    return (*found.values(), *more, whole, apart)


def kernels_of(network: str, units: Sequence[Unit]) -> tuple[str, ...]:
    """Paths of the kernels' sources among a network's units."""
    others = {f"{FOLDER}/{network}_graphs.cpp", f"{FOLDER}/{network}_host.cpp"}
    paths = (unit.path for unit in units if unit.path.startswith(f"{FOLDER}/"))
    return tuple(path for path in paths if path.endswith(".cpp") and path not in others)
