"""What chains are made of, and what they are: layers on the array that run as one graph."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass

from match_aie.hardware import ChosenLayer, Flow, Mapping, Seat
from match_aie.targets.aie_ml.graph.join import Link
from match_aie.targets.versal.wishes import NO_WISHES, Wish
from match_aie.workload import Workload


@dataclass(frozen=True)
class Given:
    """A layer on the array: what it computes, how it runs, where it stands in the network.

    Attributes:
        workload: what it computes.
        mapping: how it runs.
        flow: where it stands.
        label: what users know it by.
        pin: its first column, where its user gives it.
    """

    workload: Workload
    mapping: Mapping
    flow: Flow
    label: str = ""
    pin: int | None = None


@dataclass(frozen=True)
class Chain:
    """Layers that run as one graph.

    Attributes:
        first: number of the first among the network's layers on the array.
        last: of the last one.
        links: what they read of each other, numbered within the chain.
        column: of the array, the first.
        offsets: first column of each layer, counted from that; empty where layers share tiles.
        host: number of the layer whose graph it runs as, where that is another one's (`phases`).
        beside: number of the layer whose columns it takes at other times, where a configuration
            serves both (`graph.overlay`).
    """

    first: int
    last: int
    links: tuple[Link, ...]
    column: int = 0
    offsets: tuple[int, ...] = ()
    host: int | None = None
    beside: int | None = None

    @property
    def layers(self) -> range:
        """Numbers of the layers."""
        return range(self.first, self.last + 1)

    def reads(self, number: int) -> dict[str, int]:
        """Operands of layer `number` of the chain that stay on the array, and whose they are."""
        return {link.operand: link.writer for link in self.links if link.reader == number}

    def stays(self, number: int) -> bool:
        """Whether the result of layer `number` of the chain stays on the array."""
        return any(link.writer == number for link in self.links)


def sharing(found: Iterable[Chain]) -> set[int]:
    """First layers of the chains whose graph others run as, too, and of those others."""
    guests = {chain.first: chain.host for chain in found if chain.host is not None}
    return {*guests, *guests.values()}


def given(layer: ChosenLayer, wishes: MappingOf[str, Wish] = NO_WISHES) -> Given:
    """What of a chosen layer decides about chains.

    Args:
        layer: on the array.
        wishes: of users, by label.
    """
    wish = wishes.get(layer.label)
    pin = None if wish is None else wish.column
    return Given(layer.workload, layer.mapping, layer.flow, layer.label, pin)


def seated(
    layer: Seat, at: int, mapping: Mapping, wishes: MappingOf[str, Wish] = NO_WISHES
) -> Given:
    """Likewise of a layer that is selected, before anything is lowered.

    Args:
        layer: on the array.
        at: its number among all that are selected.
        mapping: how it runs.
        wishes: of users, by label.
    """
    wish = wishes.get(layer.label)
    pin = None if wish is None else wish.column
    flow = Flow(at, layer.sources, layer.readers, layer.leaves)
    return Given(layer.workload, mapping, flow, layer.label, pin)
