"""Graphs of layers in a row as one graph: results stay in memory tiles for the layers after them.

What a layer lets out is what a later one lets in: the same tensor, row-major. A stream from one
memory tile's buffer to the other's carries it, and neither the chip's memory nor the processor
sees it. Where both buffers lie alike, the later layer reads the first one with its own
descriptors, and nothing is carried at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.carried import window
from match_aie.targets.aie_ml.graph.inplace import in_place
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Outside,
    Shared,
)
from match_aie.targets.aie_ml.graph.row_stage import RowStage
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.kernels.block import Access


@dataclass(frozen=True, order=True)
class Link:
    """A tensor that one layer of a chain writes and a later one reads.

    Attributes:
        writer: its number in the chain.
        reader: likewise.
        operand: of the reader, by name.
    """

    writer: int
    reader: int
    operand: str


@dataclass(frozen=True, eq=False)
class Member:
    """A layer of a chain.

    Attributes:
        graph: of it alone.
        names: of its workload's inputs.
        timed: sizes of a dense layer in passes; None of others.
        rows: likewise of a layer of rows that is a stage of a pipeline.
    """

    graph: LayerGraph
    names: tuple[str, ...]
    timed: Timed | None = None
    rows: RowStage | None = None

    @property
    def stage(self) -> Timed | RowStage | None:
        """Sizes as a stage of a pipeline; None of layers that are none."""
        return self.timed or self.rows

    def operand_of(self, at: int) -> str:
        """What input number `at` of the graph carries."""
        held = self.graph.inputs[at].part or self.graph.inputs[at].blocks
        if held is not None and held.operand in self.names:
            return held.operand
        return self.names[min(at, len(self.names) - 1)]

    def entries(self, operand: str) -> list[int]:
        """Inputs of the graph that carry `operand`."""
        return [at for at in range(len(self.graph.inputs)) if self.operand_of(at) == operand]


@dataclass(frozen=True)
class Kept:
    """Where a result, or a part of it, stays on the array.

    Attributes:
        buffer: name of the one that holds it.
        access: its way out of that.
        outside: where the elements that come out belong.
        in_kernel: whether it is an array of a kernel's source, and not in a memory tile.
    """

    buffer: str
    access: Access
    outside: Outside
    in_kernel: bool = False


@dataclass(frozen=True, eq=False)
class Joined:
    """A chain of layers as one graph.

    Attributes:
        graph: of all of them.
        inputs: whose each of the graph's inputs is, and of which operand.
        outputs: whose each of its outputs is.
        in_place: links whose reader needs no buffer of its own.
        held: by layer whose result stays: where.
    """

    graph: LayerGraph
    inputs: tuple[tuple[int, str], ...]
    outputs: tuple[int, ...]
    in_place: frozenset[Link]
    held: dict[int, tuple[Kept, ...]]


def can_follow(before: Member, after: Member, operand: str) -> bool:
    """Whether `after` can take `operand` from memory tiles that hold the result of `before`."""
    if len(before.graph.outputs) != 1:
        return False
    left, whole = before.graph.outputs[0], _way_out(before.graph)
    ins = [after.graph.inputs[at] for at in after.entries(operand)]
    return bool(ins) and all(window(left, whole, taken) is not None for taken in ins)


def _way_out(graph: LayerGraph) -> Access:
    """How the buffer with the only result is read."""
    end = End("outside", len(graph.inputs))
    (source,) = (link.source for link in graph.connections if link.sink == end)
    return graph.shared[source.of].reads[source.port]


class Joining:
    """A joined graph in the making: the layers' graphs side by side.

    Args:
        name: of the graph.
        members: in the order in which they run.
        device: the array.
    """

    def __init__(self, name: str, members: Sequence[Member], device: Device) -> None:
        """Nothing is joined."""
        mem = device.architecture.mem
        if mem is None:
            raise InternalError(f"{device.name} has no memory tiles")
        self.name, self.members = name, members
        self.room, self.channels = mem.bytes, mem.dma.mm2s
        self.shared: list[Shared] = []
        self.kernels: list[GraphKernel] = []
        self.connections: list[Connection] = []
        #: (layer, number among the outsides of its graph), in the order of `End.of`.
        self.outside: list[tuple[int, int]] = []
        self.columns = 0
        #: Of each layer: number of its first kernel and buffer, and its first column.
        self.first: list[dict[str, int]] = []
        for number, member in enumerate(members):
            self._add(number, member.graph)
        self.dropped: set[int] = set()
        #: Buffers that hold results which stay, by layer: ways out of them, and of what.
        self.held: dict[int, list[tuple[int, Access, Outside]]] = {}
        self.whole: dict[int, Access] = {}
        self.in_place: set[Link] = set()

    def _add(self, number: int, graph: LayerGraph) -> None:
        """A layer east of those before it."""
        base = {
            "outside": len(self.outside),
            "shared": len(self.shared),
            "buffer": len(self.kernels),
            "cascade": len(self.kernels),
            "packets": len(self.kernels),
            "lent": len(self.kernels),
        }
        self.first.append({**base, "column": self.columns})
        for buffer in graph.shared:
            column = None if buffer.column is None else self.columns + buffer.column
            name = _named(graph, buffer.name)
            self.shared.append(replace(buffer, name=name, column=column))
        for kernel in graph.kernels:
            place = self.columns + kernel.place[0], kernel.place[1]
            self.kernels.append(replace(kernel, place=place))
        for link in graph.connections:
            ends = (replace(e, of=base[e.kind] + e.of) for e in (link.source, link.sink))
            self.connections.append(Connection(*ends))
        self.outside += [(number, at) for at in range(len(graph.outside))]
        self.columns += graph.columns

    def join(self, links: Sequence[Link]) -> None:
        """Take a writer's result to all who read it: `links` are all of one writer."""
        writer = links[0].writer
        graph = self.members[writer].graph
        left, number = graph.outputs[0], self.outside.index((writer, len(graph.inputs)))
        (out,) = (c for c in self.connections if c.sink == End("outside", number))
        self.connections.remove(out)
        holder = out.source.of
        entries = [entry for link in sorted(links) for entry in self._entries(link)]
        waiting = list(entries)
        for entry in entries:
            others = {self._part(left, holder, other) for other in waiting if other != entry}
            sink = entry[1].sink.of
            whole = self._part(left, holder, entry) == self.shared[holder].reads[0]
            # Ways that others need are of these dimensions.
            flat = not others
            if whole and self._take(holder, sink, self.channels - len(others), flat=flat):
                waiting.remove(entry)
            elif whole and self._twin(holder, sink):
                waiting.remove(entry)
        self.in_place |= set(links) - {link for link, _ in waiting}
        self._stream(left, holder, waiting)
        self.held[writer] = [(holder, self.whole[holder], left)]

    def _part(self, left: Outside, holder: int, entry: tuple[Link, Connection]) -> Access:
        """The way out of a buffer with `left` that gives what `entry` brought in."""
        number, at = self.outside[entry[1].source.of]
        taken = self.members[number].graph.inputs[at]
        way = window(left, self.shared[holder].reads[0], taken)
        if way is None:
            raise InternalError(f"{self.name} joins layers that do not carry a tensor alike")
        return way

    def _stream(
        self, left: Outside, holder: int, entries: Sequence[tuple[Link, Connection]]
    ) -> None:
        """Ways out of a buffer into others; the first way is no more where nobody takes it."""
        buffer = self.shared[holder]
        self.whole[holder] = buffer.reads[0]
        ports: dict[Access, int] = {}
        for entry in entries:
            way = self._part(left, holder, entry)
            if way not in ports:
                first = way == self.whole[holder]
                ports[way] = 0 if first else len(buffer.reads)
                buffer = buffer if first else replace(buffer, reads=(*buffer.reads, way))
            source = End("shared", holder, ports[way])
            self.connections.append(Connection(source, entry[1].sink))
        self.shared[holder] = buffer
        if 0 not in ports.values():
            self._without_first(holder)

    def _entries(self, link: Link) -> list[tuple[Link, Connection]]:
        """Connections through which a reader's operand comes in; they are no more."""
        ways = [
            End("outside", self.outside.index((link.reader, at)))
            for at in self.members[link.reader].entries(link.operand)
        ]
        found = [(link, c) for c in self.connections if c.source in ways]
        self.connections = [c for c in self.connections if c.source not in ways]
        return found

    def _take(self, holder: int, other: int, spare: int, *, flat: bool) -> bool:
        """Read buffer `holder` in the place of `other`, where that is possible."""
        left, taken = self.shared[holder], self.shared[other]
        # The first way is that of the tensor as a whole: none of a reader's, so far.
        if len(left.reads) - 1 + len(taken.reads) > spare:
            return False
        found = in_place(left, taken, self.room)
        if found is None or (len(found[0].dimensions) != len(left.dimensions) and not flat):
            return False
        left, ways = found
        first = len(left.reads)
        self.shared[holder] = replace(left, reads=(*left.reads, *ways))
        self.dropped.add(other)
        for at, link in enumerate(self.connections):
            if (link.source.kind, link.source.of) == ("shared", other):
                source = End("shared", holder, first + link.source.port)
                self.connections[at] = replace(link, source=source)
        return True

    def _twin(self, holder: int, other: int) -> bool:
        """A second buffer with the same data, which streams write alike, in the place of `other`.

        A memory tile has few channels, so that one buffer cannot serve many readers.
        """
        left, taken = self.shared[holder], self.shared[other]
        whole = replace(left, reads=left.reads[:1])
        found = in_place(whole, taken, self.room)
        if found is None or len(taken.reads) > self.channels:
            return False
        twin, ways = found
        self.shared[other] = replace(
            twin, name=f"{taken.name}_twin", reads=ways, column=taken.column
        )
        self.connections += [
            Connection(link.source, End("shared", other, link.sink.port))
            for link in self.connections
            if (link.sink.kind, link.sink.of) == ("shared", holder)
        ]
        return True

    def _without_first(self, holder: int) -> None:
        """Nobody reads the buffer by its first way."""
        buffer = self.shared[holder]
        self.shared[holder] = replace(buffer, reads=buffer.reads[1:])
        for at, link in enumerate(self.connections):
            if (link.source.kind, link.source.of) == ("shared", holder):
                source = replace(link.source, port=link.source.port - 1)
                self.connections[at] = replace(link, source=source)

    def done(self) -> Joined:
        """The graph, everything numbered anew."""
        used = {e.of for c in self.connections for e in (c.source, c.sink) if e.kind == "outside"}
        ins = [at for at in sorted(used) if self._enters(at)]
        outs = [at for at in sorted(used) if not self._enters(at)]
        left = [at for at in range(len(self.shared)) if at not in self.dropped]
        number = {("outside", at): n for n, at in enumerate((*ins, *outs))}
        number |= {("shared", at): n for n, at in enumerate(left)}

        def end(e: End) -> End:
            return replace(e, of=number.get((e.kind, e.of), e.of))

        graph = LayerGraph(
            self.name,
            f"{len(self.members)} layers, one after the other",
            tuple(self._outside(at) for at in ins),
            tuple(self._outside(at) for at in outs),
            tuple(self.shared[at] for at in left),
            tuple(self.kernels),
            tuple(Connection(end(c.source), end(c.sink)) for c in self.connections),
            self.columns,
            self.members[0].graph.memory,
        )
        owners = [self.outside[at] for at in ins]
        return Joined(
            graph,
            tuple((of, self.members[of].operand_of(way)) for of, way in owners),
            tuple(self.outside[at][0] for at in outs),
            frozenset(self.in_place),
            {of: tuple(self._kept(*one) for one in each) for of, each in self.held.items()},
        )

    def _kept(self, buffer: int, access: Access, outside: Outside) -> Kept:
        return Kept(self.shared[buffer].name, access, outside)

    def _enters(self, at: int) -> bool:
        number, way = self.outside[at]
        return way < len(self.members[number].graph.inputs)

    def _outside(self, at: int) -> Outside:
        number, way = self.outside[at]
        graph = self.members[number].graph
        outside = graph.outside[way]
        return replace(outside, name=_named(graph, outside.name))


def _named(graph: LayerGraph, name: str) -> str:
    """`name` with that of its layer."""
    return name if name.startswith(graph.name) else f"{graph.name}_{name}"


def join(name: str, members: Sequence[Member], links: Sequence[Link], device: Device) -> Joined:
    """The layers of a chain as one graph, in columns side by side.

    Args:
        name: of the graph.
        members: in the order in which they run.
        links: all that the chain's layers read of each other. What a layer writes to one of them
            leaves the array no more.
        device: the array.
    """
    chain = Joining(name, members, device)
    for writer in sorted({link.writer for link in links}):
        chain.join([link for link in links if link.writer == writer])
    return chain.done()
