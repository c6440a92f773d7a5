"""Runs a `LayerGraph` in numpy: what its descriptors, kernels and connections mean.

Written against the meaning of `Access` (adf::tiling_parameters) and of kernels' tables alone: it
knows nothing of images, windows or the planner. The oracle of graph tests.
"""

import numpy as np

from match_aie.targets.aie_ml.kernels.bands import Bands, PoolCall
from match_aie.targets.aie_ml.kernels.layout import tiled, untiled
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.reference import requantised
from match_aie.targets.aie_ml.schedule.rows import RowCall
from tests.kernel_reference import Numbers


def path(access):
    """Index of every element that an access touches, in order; -1 for what is padded."""
    strides = np.cumprod((1, *access.buffer[:-1]))
    real = access.boundary or access.buffer
    # Outermost first: loops over tiles, then the tile's own dimensions.
    steps = [(d, stride, wrap) for d, stride, wrap in reversed(access.traversal)]
    steps += [(d, 1, size) for d, size in reversed(list(enumerate(access.tile)))]
    at = [np.array(o) for o in access.offset]
    for d, stride, wrap in steps:
        at = [a[..., None] for a in at]
        at[d] = at[d] + stride * np.arange(wrap)
    at = np.broadcast_arrays(*at)
    inside = np.logical_and.reduce([(a >= 0) & (a < r) for a, r in zip(at, real, strict=True)])
    index = sum(a * s for a, s in zip(at, strides, strict=True))
    return np.where(inside, index, -1).reshape(-1)


def read(access, buffer):
    index = path(access)
    assert index.max() < buffer.size
    return np.where(index < 0, np.zeros_like(buffer[:1]), buffer[index])


def write(access, buffer, values):
    index = path(access)
    assert index.size == values.size
    assert index.min() >= 0
    assert index.max() < buffer.size
    buffer[index] = values


class Sums:
    """One gathered kernel call in its own arithmetic, from its tables."""

    def __init__(self, bands, values):
        self.call, self.spec = bands.call, bands.call.spec
        self.values = dict(values)

    def products(self, x):
        """Sums of x and w: [M, N], int64."""
        s, t, call = self.spec, self.spec.tiling, self.call
        matrix = s.operation == "mmul"
        across = t.k if matrix else t.n
        total = np.zeros((s.m, s.n), np.int64)
        wide = x.astype(np.int64)
        reach = np.arange(t.m * across).reshape(t.m, across)
        first = np.array(call.origins)[:, None, None]
        for block in range(1 if matrix else s.n // t.n):
            for step, offset in enumerate(call.offsets):
                start = 0 if matrix else block * call.x_n_step
                taps = wide[first + offset + start + reach].reshape(s.m, across)
                if matrix:
                    total += taps @ self.matrix(step)
                else:
                    here = slice(block * t.n, (block + 1) * t.n)
                    total[:, here] += taps * self.lanes(block, step)
        return total

    def matrix(self, step):
        """Weights of one step, [k, N]: they lie as [K/k][N/n][k][n]."""
        s, t = self.spec, self.spec.tiling
        tiles = self.values["w"].astype(np.int64).reshape(s.k_steps, s.n // t.n, t.k, t.n)[step]
        return tiles.transpose(1, 0, 2).reshape(t.k, s.n)

    def lanes(self, block, step):
        """Weights of one tap and block: [M, n], or 1 where nothing is weighted."""
        s, t = self.spec, self.spec.tiling
        if not s.weighted:
            return 1
        taps = self.values["w"].astype(np.int64).reshape(s.n // t.n, s.k_steps, t.m, t.n)
        return np.tile(taps[block, step], (s.m // t.m, 1))

    def start(self, band):
        s = self.spec
        if not s.bias:
            return 0
        bias = self.values["bias"].astype(np.int64)
        if not s.border_bias:
            return bias
        begin = self.values["band_of"][band]
        of = self.values["bias_of"][begin : begin + s.m]
        return bias[of[:, None] + np.arange(s.n)]

    def finish(self, sums):
        """Stored elements, flat as the kernel stores them: [N/n][M][n]."""
        s, call = self.spec, self.call
        r = s.requantise
        multiplier = {"channel": self.values.get("multiplier"), "tensor": call.multiplier}
        addend = {"channel": self.values.get("addend"), "tensor": call.addend}
        numbers = Numbers(call.shift, multiplier.get(r.form), addend.get(r.addend))
        y = requantised(s, sums, numbers)
        return y.reshape(s.m, -1, s.tiling.n).transpose(1, 0, 2).reshape(-1)


def pooled(call, x):
    """A maximum over taps, [blocks][pixels][n] flat."""
    size = call.spec.m * call.spec.n
    first = np.array(call.origins)[:, None]
    blocks = []
    for block in range(call.blocks):
        at = first + block * call.x_n_step + np.arange(size)
        blocks.append(np.max([x[at + offset] for offset in call.offsets], axis=0))
    return np.concatenate([b.reshape(-1) for b in blocks])


def multiplied(kernel, a, b):
    """A product of two activations, zero points corrected, as the kernel stores it."""
    call, s = kernel.call, kernel.call.spec
    t = s.tiling
    left = untiled(a, (s.m, s.k), t.m, t.k).astype(np.int64)
    right = untiled(b, (s.k, s.n), t.k, t.n).astype(np.int64)
    sums = left @ right + dict(kernel.values).get("bias", np.zeros(s.n, np.int64))
    if s.row_bias:
        sums = sums - call.b_zero * left.sum(axis=1, keepdims=True)
        sums = sums - call.a_zero * right.sum(axis=0) + call.constant
    y = requantised(s, sums, Numbers(call.shift, call.multiplier, call.addend))
    return tiled(y, t.m, t.n)


def fired(kernel, inputs, received):
    """All firings of a kernel: stored elements, or sums for the cascade, one array a band."""
    call = kernel.call
    streams = [np.split(x, x.size // size) for x, size in zip(inputs, kernel.inputs, strict=True)]
    if isinstance(call, Bands):
        work = Sums(call, kernel.values)
        assert len(streams[0]) == call.count
        sums = [work.products(x) + work.start(band) for band, x in enumerate(streams[0])]
        if received is not None:
            sums = [a + b for a, b in zip(sums, received, strict=True)]
        assert max(int(np.abs(s).max()) for s in sums) < 1 << 31
        return [work.finish(s) for s in sums] if call.call.spec.stores else sums
    assert len(streams[0]) == kernel.firings
    if isinstance(call, PoolCall):
        return [pooled(call, x) for x in streams[0]]
    if isinstance(call, ProductCall):
        return [multiplied(kernel, a, b) for a, b in zip(*streams, strict=True)]
    assert isinstance(call, RowCall)
    values = [dict(kernel.values)[p.name] for p in call.parameters]
    return [call.meaning(each, *values) for each in zip(*streams, strict=True)]


class Interpreter:
    """One run of a graph.

    Args:
        graph: a `LayerGraph`.
        tensors: by operand name, "x" and so on.
    """

    def __init__(self, graph, tensors):
        self.graph, self.tensors = graph, tensors
        self.source = {(c.sink.kind, c.sink.of, c.sink.port): c.source for c in graph.connections}
        self.kernels = {}
        self.buffers = {}

    def stream(self, end):
        """Everything that comes out of one end."""
        if end.kind == "outside":
            outside = self.graph.outside[end.of]
            return outside.part.cut(self.tensors[outside.part.operand])
        if end.kind == "shared":
            return read(self.graph.shared[end.of].reads[end.port], self.buffer(end.of))
        return np.concatenate(self.kernel(end.of))

    def into(self, *end):
        return self.stream(self.source[end])

    def buffer(self, number):
        if number not in self.buffers:
            shared = self.graph.shared[number]
            buffer = np.full(np.prod(shared.dimensions), -99 % 256).astype(shared.dtype)
            for port, access in enumerate(shared.writes):
                write(access, buffer, self.into("shared", number, port))
            self.buffers[number] = buffer
        return self.buffers[number]

    def kernel(self, number):
        if number not in self.kernels:
            kernel = self.graph.kernels[number]
            ports = range(len(kernel.inputs))
            inputs = [self.into("buffer", number, port) for port in ports]
            before = self.source.get(("cascade", number, 0))
            received = None if before is None else self.kernel(before.of)
            self.kernels[number] = fired(kernel, inputs, received)
        return self.kernels[number]

    def run(self, output):
        """The output tensor, of the shape and type of `output`."""
        y = np.full(output.shape, 77, output.dtype)
        first = len(self.graph.inputs)
        for number, outside in enumerate(self.graph.outputs, start=first):
            carried = self.into("outside", number, 0)
            assert carried.size == outside.elements
            outside.part.paste(carried, y)
        return y


def interpret(graph, tensors, like):
    """What `graph` makes of `tensors`, as an array of the shape and type of `like`."""
    check(graph)
    return Interpreter(graph, tensors).run(like)


def check(graph):
    """Every buffer port and every outside is connected, once where data arrives."""
    sinks = [(c.sink.kind, c.sink.of, c.sink.port) for c in graph.connections]
    assert len(set(sinks)) == len(sinks)
    sources = {(c.source.kind, c.source.of, c.source.port) for c in graph.connections}
    for number, shared in enumerate(graph.shared):
        assert {("shared", number, p) for p in range(len(shared.writes))} <= set(sinks)
        assert {("shared", number, p) for p in range(len(shared.reads))} <= sources
    for number, kernel in enumerate(graph.kernels):
        assert {("buffer", number, p) for p in range(len(kernel.inputs))} <= set(sinks)
        assert (kernel.output is None) == (("cascade", number, 0) in sources), number
        sizes = {p.name: p.size for p in kernel.call.parameters}
        assert sizes == {name: value.size for name, value in kernel.values}
    names = [*(o.name for o in graph.outside), *(s.name for s in graph.shared)]
    assert len(set(names)) == len(names)
