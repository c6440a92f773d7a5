"""What the array runs at one call: a layer, or several in a row whose results stay on it."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.graph.plan import LayerGraph


@dataclass(frozen=True)
class Part:
    """A layer of a stretch.

    Attributes:
        step: number of its call in the network.
        reads: buffers in memory tiles that hold its inputs, of layers of the same stretch.
        writes: those that hold its result; none where that leaves the array.
    """

    step: int
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Stretch:
    """Layers that run as one graph.

    Attributes:
        graph: of all of them.
        column: of the array, the first.
        parts: the layers, in the order of their calls.
        updated: bytes of run-time parameters that the processor writes before the run, since other
            layers run as the same graph.
        configures: whether the array is configured anew before it.
    """

    graph: LayerGraph
    column: int
    parts: tuple[Part, ...]
    updated: int = 0
    configures: bool = False
