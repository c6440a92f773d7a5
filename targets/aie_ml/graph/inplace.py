"""A buffer of results in a memory tile as the next layer's input: read where it lies."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from match_aie.targets.aie_ml.graph.image import WORD
from match_aie.targets.aie_ml.graph.plan import Call, End, LayerGraph, Shared
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import BYTES


def in_place(left: Shared, taken: Shared, room: int) -> tuple[Shared, tuple[Access, ...]] | None:
    """How `taken`'s readers read `left`, which holds the same tensor.

    Args:
        left: results, of which its only read lets out the tensor.
        taken: where the tensor would go to, by its only write.
        room: bytes of a memory tile.

    Returns:
        `left`, perhaps with more room behind the data, and the ways that replace those out of
        `taken`; None where the two do not lie alike.
    """
    if len(taken.dimensions) == len(left.dimensions) - 1:
        flat = _flattened(left)
        if flat is None:
            return None
        left = flat
    out, entry = left.reads[0], taken.writes[0]
    plain = not (out.traversal or entry.traversal or any(out.offset) or any(entry.offset))
    inner = len(taken.dimensions) - 1
    if not plain or out.tile != entry.tile or entry.tile[:inner] != taken.dimensions[:inner]:
        return None
    if len(left.dimensions) != len(taken.dimensions):
        return None
    high = max(left.dimensions[inner], taken.dimensions[inner])
    grown = _grown(left, (*left.dimensions[:inner], high))
    if taken.rows is not None and left.dimensions[inner] < high:
        grown = replace(grown, rows=left.dimensions[inner])
    if grown.copies * prod(grown.dimensions) * BYTES[grown.dtype] > room:
        return None
    reads = tuple(
        replace(read, buffer=grown.dimensions, boundary=read.boundary or taken.dimensions)
        for read in taken.reads
    )
    return grown, reads


def ended(graph: LayerGraph) -> LayerGraph:
    """The same with an end of each pass, so that nobody's results wait for another pass."""
    nests = [kernel.call for kernel in graph.kernels if isinstance(kernel.call, Nest)]
    ending: dict[int, Call] = {id(n): n.ending() for n in nests if n.call.spec.carries}
    if not ending:
        return graph
    kernels = (replace(k, call=ending.get(id(k.call), k.call)) for k in graph.kernels)
    return replace(graph, kernels=tuple(kernels))


def trimmed(graph: LayerGraph) -> LayerGraph:
    """`graph` with a result that leaves without the columns behind the tensor's, where it can.

    Dense layers let out parts of equal width, of which the last may hold columns that are none.
    """
    out = graph.outputs[0]
    part, end = out.part, End("outside", len(graph.inputs))
    if len(graph.outputs) != 1 or part is None:
        return graph
    (source,) = (link.source for link in graph.connections if link.sink == end)
    holder = graph.shared[source.of]
    if part.contiguous or len(holder.dimensions) != 3 or len(holder.reads) != 1:
        return graph
    high, wide, deep = part.tensor
    flat = _flattened(holder)
    plain = wide == 1 and (part.first, part.left, part.rows) == (0, 0, high)
    if flat is None or not plain or deep * BYTES[out.dtype] % WORD:
        return graph
    if flat.reads[0].tile != (part.channels, high) or any(flat.reads[0].offset):
        return graph
    shared = list(graph.shared)
    shared[source.of] = replace(flat, reads=(replace(flat.reads[0], tile=(deep, high)),))
    whole = replace(part, channels=deep)
    left = replace(out, elements=whole.elements, part=whole)
    return replace(graph, shared=tuple(shared), outputs=(left,))


def _grown(buffer: Shared, dimensions: tuple[int, ...]) -> Shared:
    """`buffer` with a longer outermost dimension: nothing in it moves."""
    return replace(
        buffer,
        dimensions=dimensions,
        writes=tuple(replace(way, buffer=dimensions) for way in buffer.writes),
        reads=tuple(replace(way, buffer=dimensions) for way in buffer.reads),
    )


def _flattened(buffer: Shared) -> Shared | None:
    """`buffer` with its two innermost dimensions as one; None where a way does not run on."""
    if len(buffer.dimensions) < 2:
        return None
    first, second, *others = buffer.dimensions
    ways = [_flat(way) for way in (*buffer.writes, *buffer.reads)]
    known = [way for way in ways if way is not None]
    if len(known) < len(ways):
        return None
    return replace(
        buffer,
        dimensions=(first * second, *others),
        writes=tuple(known[: len(buffer.writes)]),
        reads=tuple(known[len(buffer.writes) :]),
    )


def _flat(way: Access) -> Access | None:
    first = way.buffer[0]
    if way.boundary or (way.tile[1] > 1 and way.tile[0] != first):
        return None
    loops = tuple(
        (max(dim - 1, 0), stride * (first if dim == 1 else 1), wrap)
        for dim, stride, wrap in way.traversal
    )
    return Access(
        (first * way.buffer[1], *way.buffer[2:]),
        (way.tile[0] * way.tile[1], *way.tile[2:]),
        (way.offset[0] + way.offset[1] * first, *way.offset[2:]),
        loops,
    )
