"""A joined graph whose layers are moved apart: each in columns of its own choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.plan import LayerGraph


def moved(joined: Joined, widths: Sequence[int], columns: Sequence[int]) -> Joined:
    """The same layers, each from another column on; columns between them stay without cores.

    Args:
        joined: layers side by side.
        widths: columns of each.
        columns: first one of each, counted from that of the westernmost.
    """
    to = [first + at for first, width in zip(columns, widths, strict=True) for at in range(width)]
    if to == list(range(len(to))):
        return joined
    graph = joined.graph
    shared = (
        buffer if buffer.column is None else replace(buffer, column=to[buffer.column])
        for buffer in graph.shared
    )
    kernels = (
        replace(kernel, place=(to[kernel.place[0]], kernel.place[1])) for kernel in graph.kernels
    )
    apart: LayerGraph = replace(
        graph, shared=tuple(shared), kernels=tuple(kernels), columns=max(to) + 1
    )
    return replace(joined, graph=apart)
