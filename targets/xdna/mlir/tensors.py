"""What host programs move: tensors of a graph's layers, and which part each way carries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Outside
from match_aie.targets.aie_ml.graph.views import BufferView
from match_aie.targets.aie_ml.graph.write import buffer_view
from match_aie.targets.xdna.mlir.host import HostArgument, Packed, host_arguments
from match_aie.workload import Workload


@dataclass(frozen=True)
class HostTensor:
    """A tensor that the host's program reads or writes.

    Attributes:
        name: a C identifier: of its layer and operand.
        dtype: of its elements.
        elements: of it.
        nbytes: of it.
        narrow: whether the array moves float32 as bfloat16.
    """

    name: str
    dtype: str
    elements: int
    nbytes: int
    narrow: bool


@dataclass(frozen=True)
class Moved:
    """A way between a tensor and an argument.

    Attributes:
        tensor: number among the inputs, or among the outputs.
        begin: first byte in the argument.
        view: which part of the tensor.
        spare: bytes behind it that are zero.
    """

    tensor: int
    begin: int
    view: BufferView
    spare: int = 0


@dataclass(frozen=True, eq=False)
class GraphHost:
    """A graph's host program.

    Attributes:
        name: of the graph.
        arguments: of the sequence.
        inputs: tensors that go in.
        outputs: tensors that come out.
        packed: ways of inputs.
        unpacked: ways of outputs.
    """

    name: str
    arguments: tuple[HostArgument, ...]
    inputs: tuple[HostTensor, ...]
    outputs: tuple[HostTensor, ...]
    packed: tuple[Moved, ...]
    unpacked: tuple[Moved, ...]

    @property
    def constants(self) -> HostArgument | None:
        """The argument of streamed constants."""
        return next((one for one in self.arguments if one.name == "constants"), None)

    def constant_words(self) -> str:
        """Words of that argument, in hexadecimal, one a line."""
        found = self.constants
        data = bytearray(0 if found is None else found.words * WORD)
        for one in found.ways if found is not None else ():
            values = one.way.outside.values
            assert values is not None
            begin = one.begin * WORD
            data[begin : begin + values.nbytes] = values.tobytes()
        words = (int.from_bytes(data[at : at + WORD], "little") for at in range(0, len(data), WORD))
        return "".join(f"{word:08x}\n" for word in words)


@dataclass(frozen=True)
class Beside:
    """Where a graph is in a program of several ones (`graph.together`).

    Attributes:
        prefix: in front of the names of its ways.
        moved: names of these.
    """

    prefix: str
    moved: frozenset[str]


#: GraphLayers of a graph, each with its C name.
GraphLayers = Sequence[tuple[str, Workload]]


def graph_host(
    program: ArrayProgram,
    graph: LayerGraph,
    joined: Joined | None,
    layers: GraphLayers,
    beside: Beside | None = None,
) -> GraphHost:
    """The host's program of a graph.

    Args:
        program: laid out from it, or from it and others.
        graph: of one layer, or of a chain.
        joined: the chain; None for one layer.
        layers: that it is of.
        beside: where it is in a program of several graphs; None where it is alone.
    """
    prefix = "" if beside is None else beside.prefix
    arguments = host_arguments(program, None if beside is None else beside.moved)
    placed = {one.way.outside.name: one for argument in arguments for one in argument.ways}
    sides: list[tuple[list[HostTensor], list[Moved]]] = []
    for outsides, outward in ((graph.inputs, False), (graph.outputs, True)):
        tensors: dict[tuple[int, str], HostTensor] = {}
        # Tensors as a whole go first: on the way out, what is spread lies on top of them.
        whole: list[Moved] = []
        pieces: list[Moved] = []
        for at, outside in enumerate(outsides):
            if outside.values is not None:
                continue
            of, operand = _owner(graph, joined, layers[0][1], at, outward=outward)
            tensor = tensors.setdefault((of, operand), _tensor(layers[of], operand, outside))
            number, one = list(tensors).index((of, operand)), placed[prefix + outside.name]
            if outside.blocks is None or not outside.blocks.memory:
                pieces.append(Moved(number, one.begin * WORD, buffer_view(outside, operand)))
            elif all(each.begin != one.base * WORD for each in whole):
                view = BufferView(outside.name, operand, tensor.nbytes, 0, ())
                spare = _spare(arguments, one, tensor.nbytes)
                whole.append(Moved(number, one.base * WORD, view, spare))
        sides.append((list(tensors.values()), [*whole, *pieces]))
    (inputs, packed), (outputs, unpacked) = sides
    return GraphHost(
        graph.name, arguments, tuple(inputs), tuple(outputs), tuple(packed), tuple(unpacked)
    )


def _spare(arguments: Sequence[HostArgument], one: Packed, nbytes: int) -> int:
    """Bytes from a tensor's end to what lies behind it in its argument."""
    mine = next(each for each in arguments if one in each.ways)
    begins = [each.base for each in mine.ways if each.base > one.base]
    return (min(begins, default=mine.words) - one.base) * WORD - nbytes


def _owner(
    graph: LayerGraph, joined: Joined | None, workload: Workload, at: int, *, outward: bool
) -> tuple[int, str]:
    """The layer and the operand of a way."""
    if joined is not None:
        return (joined.outputs[at], "y") if outward else joined.inputs[at]
    if outward:
        return 0, "y"
    held = graph.inputs[at].part or graph.inputs[at].blocks
    names = [operand.name for operand in workload.inputs]
    return 0, held.operand if held is not None else names[min(at, len(names) - 1)]


def _tensor(layer: tuple[str, Workload], operand: str, outside: Outside) -> HostTensor:
    symbol, workload = layer
    found = workload.output if operand == "y" else workload.operand(operand)
    narrow = outside.dtype == "bfloat16"
    return HostTensor(f"{symbol}_{operand}", found.dtype, found.size, found.nbytes, narrow)
