"""A kernel of programmable logic between cores: channels and descriptors of its streams.

From which column of programmable logic a stream comes is not known, so ways through the switches
are not laid out; a column has the links for those of its cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from match_aie.targets.aie_ml.array.assumed import LogicTimes
from match_aie.targets.aie_ml.array.give import Giver
from match_aie.targets.aie_ml.array.program import Channel, Logic, Tile
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import End, LayerGraph
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import WORD_BYTES, LogicCall


@dataclass(frozen=True)
class Side:
    """One end of a stream.

    Attributes:
        tile: where.
        buffer: name; empty outside.
        copy: bytes that one copy takes or gives.
        total: bytes of a run.
    """

    tile: Tile | None
    buffer: str
    copy: int
    total: int


class SideOf(Protocol):
    """What one end of a connection moves."""

    def __call__(self, end: End, *, sink: bool) -> Side:
        """Of a connection's source, or of its sink."""


class Describe(Protocol):
    """Gives out the descriptors of one end."""

    def __call__(self, end: End, side: Side, channel: Channel, *, sink: bool) -> None:
        """Of a channel that writes where `sink`."""


def logic_side(call: LogicCall, port: int) -> Side:
    """What logic sends by one of its streams: a state, or results, in each turn."""
    size = call.back[port] * WORD_BYTES
    return Side(None, "", size, size * call.sends)


def logics_of(
    graph: LayerGraph, side_of: SideOf, describe: Describe, give: Giver
) -> tuple[Logic, ...]:
    """The kernel of logic of a graph, if it has one, with channels and descriptors given out.

    Args:
        graph: one layer's.
        side_of: says what an end moves.
        describe: gives out descriptors.
        give: what hands out channels.

    Raises:
        NoRoomError: a tile has no channel left.
    """
    call = graph.logic
    if call is None:
        return ()
    into = [link.source for link in graph.connections if link.sink.kind == "logic"]
    leaving = [link for link in graph.connections if link.source.kind == "logic"]
    out = [link.sink for link in leaving]

    def ends(those: Sequence[End], *, sink: bool) -> tuple[tuple[Channel, ...], tuple[str, ...]]:
        channels, names = [], []
        for end in those:
            side = side_of(end, sink=sink)
            channel = give.channel(side.tile, "s2mm" if sink else "mm2s", None)
            describe(end, side, channel, sink=sink)
            channels.append(channel)
            names.append(side.buffer)
        return tuple(channels), tuple(names)

    (sources, reads), (sinks, writes) = ends(into, sink=False), ends(out, sink=True)
    streams = tuple(link.source.port for link in leaving)
    return (Logic(call.symbol, call, sources, reads, sinks, writes, streams, LogicTimes()),)


def logic_cycles(logic: Logic, device: Device) -> tuple[int, ...]:
    """Cycles of the array from a turn's last word in logic to the first that leaves, by turn.

    Raises:
        TargetError: the clock of programmable logic is not known.
    """
    return tuple(round(turn * slower(device)) for turn in logic.times.turns(logic.function))


def crossing_cycles(times: LogicTimes, device: Device) -> int:
    """Cycles of the array from one side's clock to the other's."""
    return round(times.crossing * slower(device))


def word_cycles(device: Device) -> float:
    """Cycles of the array in which a stream of logic moves one word, and so does a DMA channel.

    Such a stream goes from logic through switches only, which are as wide as the channels of cores
    (64 bits on AIE-ML v2, AM027); the DMA of an interface tile, half as fast there, is not on its
    way.
    """
    return max(slower(device), WORD_BYTES / device.architecture.core.dma.bytes_per_cycle)


def slower(device: Device) -> float:
    """Cycles of the array in one of logic."""
    clock = device.need(device.pl_clock_mhz, "clock of programmable logic")
    return device.clock_ghz * 1000 / clock


def passed(logic: Logic, tile: Tile) -> int:
    """Switches between a tile and logic: of its column's, and of a row's to the first of these."""
    first = min(channel.tile[0] for channel in logic.sources)
    return tile[1] + 1 + tile[0] - first
