"""A graph as the program for the vendor's simulators runs it: parameters, ways, golden data.

The program knows nothing of the network around the array. It hands each way in what the Arm core
would, frame by frame, and compares what comes out of each way with what references say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match_aie.targets.aie_ml.graph.capacity import runs_ahead
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Outside
from match_aie.targets.aie_ml.graph.write import Chained, Packing, Placed, pack
from match_aie.targets.aie_ml.kernels.numeric import carried_as, from_bfloat16
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES

#: Tensors of some frames, by operand, of one layer; its result is "y".
Frames = Callable[[int], Sequence[Mapping[str, np.ndarray]]]

#: Bytes of a line of a stream's file: those of a 128-bit word.
WORD = 16

#: What stands in golden files where any number will do.
ANY = "x"

#: C types of the numbers in files: bfloat16 goes as its bits where the chip's memory is outside.
_IN_MEMORY = {"bfloat16": "uint16_t"}


@dataclass(frozen=True)
class JobWay:
    """A way into the array or out of it.

    Attributes:
        outside: of the layer's own graph.
        port: its name in the graph that runs.
        layer: number of the layer among the network's, whose operand it carries.
        operand: of that layer; "y" of ways out, empty for constants.
        sends: how often it goes in a run.
        memory: whether the chip's memory is outside.
    """

    outside: Outside
    port: str
    layer: int
    operand: str
    sends: int
    memory: bool

    @property
    def name(self) -> str:
        """Of the way, in its layer's own graph."""
        return self.outside.name

    @property
    def constant(self) -> bool:
        """Whether it carries the same in every frame."""
        return self.outside.values is not None

    @property
    def nbytes(self) -> int:
        """Of a run, each once."""
        return self.elements * BYTES[self.outside.dtype]

    @property
    def elements(self) -> int:
        """Of a run, each once."""
        return self.outside.elements

    @property
    def c_type(self) -> str:
        """Of its numbers."""
        dtype = self.outside.dtype
        return _IN_MEMORY.get(dtype, C_TYPES[dtype])

    def text(self, frames: Frames) -> str:
        """What goes in, or what is to come out: all frames, a 128-bit word a line."""
        if self.outside.values is not None:
            values = np.asarray(self.outside.values).reshape(-1)
            return self._lines([_words(values, values.dtype.kind == "f", self.memory)])
        return self._lines([self._carried(each[self.operand]) for each in frames(self.layer)])

    def _carried(self, tensor: np.ndarray) -> list[str]:
        held = self.outside.part or self.outside.blocks
        brain = self.outside.dtype == "bfloat16"
        if held is None:
            return _words(tensor.reshape(-1), brain, self.memory)
        # What fills a part up is a number of its type: of bfloat16 its bits.
        words = _words(held.cut(carried_as(tensor, self.outside.dtype)), brain, self.memory)
        if self.operand != "y":
            return words
        # 1 where the tensor is, 0 or what the part is filled with elsewhere: told apart by 2.
        ours = held.cut(np.full(tensor.shape, 2, np.int8)) == 2
        return [word if own else ANY for word, own in zip(words, ours.tolist(), strict=True)]

    def _lines(self, frames: Sequence[Sequence[str]]) -> str:
        words = [word for each in frames for word in each]
        many = max(1, WORD // BYTES[self.outside.dtype])
        return "".join(" ".join(words[at : at + many]) + "\n" for at in range(0, len(words), many))


def _words(values: np.ndarray, brain: bool, memory: bool = True) -> list[str]:
    """Numbers as text: bfloat16, of floats or bits, as bits for memory, as decimals for streams.

    Nine digits tell all numbers of float32 apart, and are what programs and the emulation write.
    """
    if not brain:
        digits = ".9g" if values.dtype == np.float32 else ""
        return [format(value, digits) for value in values.tolist()]
    bits = values if values.dtype == np.uint16 else carried_as(values, "bfloat16")
    if memory:
        return [str(each) for each in bits.tolist()]
    return [f"{value:.9g}" for value in from_bfloat16(bits).tolist()]


@dataclass(frozen=True, eq=False)
class Job:
    """A layer or a chain, run as a graph for some frames; nothing is packed before it is written.

    Attributes:
        placed: on the array.
        number: of each of its layers among the network's on the array.
    """

    placed: Placed | Chained
    number: tuple[int, ...]

    @property
    def name(self) -> str:
        """Of the graph, or of the layer whose numbers another one's graph takes."""
        return self.placed.graph.name

    @property
    def graph(self) -> LayerGraph:
        """That runs."""
        own = self.placed.graph
        return own if isinstance(self.placed, Chained) else self.placed.host or own

    @property
    def streams(self) -> bool:
        """Whether programmable logic feeds it: its tools read and write the files themselves."""
        return self.graph.memory == "plio"

    @property
    def parametric(self) -> bool:
        """Whether it has run-time parameters."""
        return bool(self.graph.parameters)

    @cached_property
    def _packings(self) -> tuple[Packing, ...]:
        """Of its layers, in the order of their numbers in the file of parameters."""
        layers = self.placed.layers if isinstance(self.placed, Chained) else (self.placed,)
        return tuple(pack(each.graph, each.workload) for each in layers)

    @cached_property
    def updates(self) -> tuple[tuple[str, int, int], ...]:
        """C type, first byte in the file of parameters, and elements of each parameter."""
        found, begin = [], 0
        for packing in self._packings:
            starts = {}
            for operand, value in packing.constants.items():
                starts[operand], begin = begin, begin + value.nbytes
            found += [(u.c_type, starts[u.operand] + u.offset, u.elements) for u in packing.updates]
        return tuple(found)

    def parameters(self) -> str:
        """All of them as bytes, 32 of them a line, two digits each."""
        values = (value for packing in self._packings for value in packing.constants.values())
        data = b"".join(value.tobytes() for value in values)
        return "".join(data[at : at + 32].hex() + "\n" for at in range(0, len(data), 32))

    @cached_property
    def inputs(self) -> tuple[JobWay, ...]:
        """Ways in."""
        own, ports = self.placed.graph, [way.name for way in self.graph.inputs]
        if isinstance(self.placed, Chained):
            read = [(self.number[of], operand) for of, operand in self.placed.joined.inputs]
        else:
            alone = self.placed
            read = [(self.number[0], _operand(alone, *each)) for each in enumerate(own.inputs)]
        return tuple(
            JobWay(way, port, of, operand, way.repeats, not self.streams)
            for way, port, (of, operand) in zip(own.inputs, ports, read, strict=True)
        )

    @cached_property
    def outputs(self) -> tuple[JobWay, ...]:
        """Ways out."""
        own, ports = self.placed.graph, [way.name for way in self.graph.outputs]
        made = self.placed.joined.outputs if isinstance(self.placed, Chained) else [0] * len(ports)
        return tuple(
            JobWay(way, port, self.number[of], "y", 1, not self.streams)
            for way, port, of in zip(own.outputs, ports, made, strict=True)
        )

    @property
    def ahead(self) -> int:
        """Frames that may have begun before one's results are taken."""
        plain = not any(way.constant for way in self.inputs)
        return runs_ahead(self.placed.graph) if plain else 0

    @property
    def passes(self) -> int:
        """How often inputs go that go several times in a run."""
        return max((way.sends for way in self.inputs), default=1)


def _operand(placed: Placed, at: int, way: Outside) -> str:
    """The operand that a way into a layer carries; empty for constants."""
    if way.values is not None:
        return ""
    held = way.part or way.blocks
    if held is not None:
        return held.operand
    names = [operand.name for operand in placed.workload.inputs]
    return names[min(at, len(names) - 1)]
