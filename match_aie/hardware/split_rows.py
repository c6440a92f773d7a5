"""Layers whose images one memory does not hold at once, in bands of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from match_aie.errors import TargetError
from match_aie.hardware.bands import Region, packs, regions
from match_aie.hardware.graph import Argument, Graph, Node, Value
from match_aie.hardware.passes import JOINED, SLICED, WINDOWED
from match_aie.hardware.rows import (
    AXIS,
    Rows,
    padded,
    rows_needed,
    rows_read,
)
from match_aie.hardware.written import Occupied, Written

#: Sixteenths of the memory that bands are chosen for: less than all of it where placements leave
#: gaps between them.
SHARES = (16, 15, 14, 13, 12)


@dataclass(frozen=True)
class SplitRows:
    """Quantised layers of images in bands of rows, where a memory does not hold these whole.

    Some layers in a row make a band of the last one's result at a time, so that images between
    them are there as bands only. A band of one of these reaches over its borders as far as filters
    of the layers after it do; what two bands share is computed twice. A concatenation makes the
    result of its bands. Of all such layers those are taken that compute least twice, with a price
    for each call. A network that fits stays as it is, and so does one that fits in no bands.

    Attributes:
        room: bytes that the memory has.
    """

    room: int

    def __post_init__(self) -> None:
        """Refuse what is no memory."""
        if self.room < 1:
            raise TargetError(f"{self.name}: give a positive number")

    @property
    def name(self) -> str:
        """As it is written."""
        return f"split_rows({self.room})"

    def __call__(self, graph: Graph) -> Graph:
        """`graph` with such layers in bands."""
        occupied, made = Occupied(graph), graph
        if max(map(occupied.taken, range(len(occupied.written))), default=0) <= self.room:
            return graph
        for sixteenths in SHARES:
            chosen = regions(occupied, self.room * sixteenths // 16)
            if not chosen:
                break
            banded = _banded(graph, {region.result: region for region in chosen})
            if packs(banded, self.room):
                return banded
            made = banded if made is graph else made
        return made


def split_rows(room: int) -> SplitRows:
    """Layers in bands of rows whose images do not fit `room` bytes; see `SplitRows`."""
    return SplitRows(room)


def _banded(graph: Graph, chosen: Mapping[str, Region]) -> Graph:
    """`graph` with some layers in bands, by the last one's result."""
    nodes: list[Node] = []
    values = dict(graph.values)
    for node in graph.nodes:
        region = chosen.get(node.output)
        if region is None:
            nodes.append(node)
            continue
        made = _Bands(graph, region)
        parts = tuple(made.band(number, rows) for number, rows in enumerate(region.bands()))
        values |= made.values
        joined = replace(node, operator=JOINED, arguments=(parts,), attributes={"axis": AXIS})
        nodes += [*made.nodes, joined]
    return _read(Graph(tuple(nodes), values, graph.outputs))


@dataclass(frozen=True)
class _There:
    """What holds some rows of an image."""

    name: str
    rows: Rows


@dataclass(eq=False)
class _Bands:
    """Nodes and values that make a region's result band after band."""

    graph: Graph
    region: Region
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)

    def band(self, number: int, rows: Rows) -> str:
        """Add what makes a band of the result; its name."""
        needed = self.region.needed(rows)
        assert needed is not None
        there: dict[str, _There] = {}
        for each in self.region.made:
            made = self._layer(each, needed[each.tensor], number, there)
            there[each.tensor] = _There(made, needed[each.tensor])
        return there[self.region.result].name

    def _layer(self, made: Written, rows: Rows, number: int, there: Mapping[str, _There]) -> str:
        """Add the nodes of a layer for some rows of its result.

        Args:
            made: the layer.
            rows: of its result.
            number: of the band.
            there: bands of what layers before it made.
        """
        needed = rows_needed(self.graph, made, rows)
        assert needed is not None
        renamed: dict[str, str] = {}
        for node in made.nodes:
            if node.output not in needed:
                continue  # of weights, which all bands share
            seen = needed[node.output]
            read = dict(renamed)
            for name, part in (rows_read(self.graph, node, seen) or {}).items():
                if name in made.reads:
                    whole = 0, self.graph.values[name].shape[AXIS]
                    read[name] = self._rows(there.get(name, _There(name, whole)), part, number)
            arguments = tuple(_renamed(argument, read) for argument in node.arguments)
            how = node.attributes
            if node.operator in WINDOWED:
                how = padded(self.graph, node, seen)
            name = f"{node.output}_band{number}_of_{made.tensor}"
            self._add(replace(node, arguments=arguments, attributes=how), name, seen)
            renamed[node.output] = name
        return renamed[made.tensor]

    def _rows(self, source: _There, rows: Rows, number: int) -> str:
        """Some rows of an image that is there; a view of it where these are not all."""
        if rows == source.rows:
            return source.name
        first, behind = (row - source.rows[0] for row in rows)
        name = f"{source.name}_rows{first}_{behind}_in_band{number}_of_{self.region.result}"
        if name not in self.values:
            like = self.values.get(source.name) or self.graph.values[source.name]
            part = source.name, (float(AXIS),), (float(first),), (float(behind),)
            shape = (like.shape[0], behind - first, *like.shape[2:])
            self.values[name] = Value(name, like.dtype, shape)
            self.nodes.append(Node(0, SLICED, part, {"assume_inbound": False}, name))
        return name

    def _add(self, node: Node, name: str, rows: Rows) -> None:
        whole = self.graph.values[node.output]
        shape = (whole.shape[0], rows[1] - rows[0], *whole.shape[2:])
        self.values[name] = Value(name, whole.dtype, shape)
        label = f"{node.label} rows {rows[0]} to {rows[1] - 1}" if node.label else ""
        self.nodes.append(replace(node, output=name, label=label))


def _renamed(argument: Argument, names: Mapping[str, str]) -> Argument:
    if isinstance(argument, tuple):
        return tuple(_renamed(cast(Argument, each), names) for each in argument)
    return names.get(argument, argument) if isinstance(argument, str) else argument


def _read(graph: Graph) -> Graph:
    """`graph` without what nobody reads, numbered anew."""
    wanted = {*graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.output in wanted:
            wanted.update(node.inputs())
            kept.append(node)
    numbered = (replace(node, index=index) for index, node in enumerate(reversed(kept)))
    dropped = {node.output for node in graph.nodes} - {node.output for node in kept}
    values = {name: value for name, value in graph.values.items() if name not in dropped}
    return Graph(tuple(numbered), values, graph.outputs)
