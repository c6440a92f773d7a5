"""Ways through which the array's DMA reads and writes tensors itself, where they lie in memory.

An interface tile's DMA goes through memory in steps. So blocks of a matrix need no processor that
brings them together, or takes them apart. What lies beyond the matrix on the way in is then what
follows in memory: of rows it reaches no result, and of columns it meets weights of zero.
"""

from __future__ import annotations

from dataclasses import replace

from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Outside
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.xdna.mlir.host import dimensions


def direct(
    graph: LayerGraph, joined: Joined | None, device: Device, *, narrow: bool = False
) -> LayerGraph:
    """The same graph, with a name of the tensor in the ways that need no processor.

    Args:
        graph: of one layer, or of a chain.
        joined: the chain; None for one layer.
        device: whose interface tiles move.
        narrow: whether tensors of floats lie in memory as bfloat16, all of them finite; else the
            processor converts them. What lies beyond columns is then of the tensor, too, or 0, and
            times 0 nothing.
    """
    loose = narrow or (joined is None and all(_exact(call) for call in graph.calls))
    layers = [0] * len(graph.inputs) if joined is None else [at for at, _ in joined.inputs]
    back = [0] * len(graph.outputs) if joined is None else list(joined.outputs)
    inputs = tuple(
        _named(one, layer, device, loose=loose, into=True) if narrow or _same(one) else one
        for one, layer in zip(graph.inputs, layers, strict=True)
    )
    outputs = tuple(
        _named(one, layer, device, loose=False, into=False) if narrow or _same(one) else one
        for one, layer in zip(graph.outputs, back, strict=True)
    )
    return replace(graph, inputs=inputs, outputs=outputs)


def _same(outside: Outside) -> bool:
    """Whether elements lie in memory as they go."""
    return outside.dtype != "bfloat16"


def _exact(call: object) -> bool:
    """Whether a product by a weight of zero is zero, whatever it is a product of."""
    return isinstance(call, Nest) and call.call.spec.a.startswith("int")


def _named(outside: Outside, layer: int, device: Device, *, loose: bool, into: bool) -> Outside:
    """A way with its tensor's name, or as it is.

    Args:
        outside: the way.
        layer: of a chain, whose operand it carries.
        device: that moves it.
        loose: whether anything may come in the place of what lies beyond the columns.
        into: the array; else out of it.
    """
    held = outside.blocks
    if held is None or outside.repeats > 1 or held.turn:
        return outside
    fits = (held.within or loose) if into else held.inside
    if not fits or not _goes(outside, device):
        return outside
    return replace(outside, blocks=replace(held, memory=f"{held.operand}{layer}"))


def _goes(outside: Outside, device: Device) -> bool:
    """Whether one descriptor of an interface tile says the way."""
    held, size = outside.blocks, BYTES[outside.dtype]
    limits = device.architecture.addressing["shim"]
    if held is None or None in (limits.wrap_bits, limits.step_bits, limits.iteration_wrap_bits):
        return False
    (outer, middle, rows, width), found = dimensions(held)
    many = outer, middle, rows
    steps = [step for each, step in zip(many, found[:3], strict=True) if each > 1]
    if any(each * size % WORD for each in (*steps, width, held.start)):
        return False
    wrap = 2 ** (limits.wrap_bits or 0) - 1
    return (
        outer <= 2 ** (limits.iteration_wrap_bits or 0)
        and max(middle, rows, width * size // WORD) <= wrap
        and all(each * size // WORD < 2 ** (limits.step_bits or 0) for each in steps)
    )
