"""Kernel functions by their numpy meaning, call after call of a run.

A call takes what lies in its input buffers, and sums that come over the cascade; it stores, passes
sums on, or keeps them until its next call. Integer sums are wide here and wrap as the core's do;
floats are added one by one to what comes over the cascade.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.attending import in_parts
from match_aie.targets.aie_ml.execute.behind import Behind
from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.execute.passes import Passing
from match_aie.targets.aie_ml.execute.recurrent_functions import recurrent
from match_aie.targets.aie_ml.execute.sums import Function, Sums, Whole
from match_aie.targets.aie_ml.graph.plan import Call
from match_aie.targets.aie_ml.kernels.attention import AttentionCall
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall
from match_aie.targets.aie_ml.kernels.bands import Bands, PoolCall
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.layout import tiled, unpack_w, untiled
from match_aie.targets.aie_ml.kernels.lookup import entries_of
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16, saturate, stored_as, wrap
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_single import SingleCall
from match_aie.targets.aie_ml.kernels.reference import Numbers, float_sums, requantised
from match_aie.targets.aie_ml.kernels.rounded import waiting
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.targets.aie_ml.kernels.stack import Stack
from match_aie.targets.aie_ml.schedule.rows import RowCall

Values = Mapping[str, np.ndarray]


def product(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """An exact product of integers: float64 holds every sum of fewer than 2**21 16-bit products."""
    if max(x.itemsize, w.itemsize) > 2:
        return np.asarray(x.astype(np.int64) @ w.astype(np.int64))
    return np.rint(x.astype(np.float64) @ w.astype(np.float64)).astype(np.int64)


class _Tail:
    """Requantisation of one layer's function."""

    def __init__(self, call: LayerCall, values: Values) -> None:
        self.layer, self.spec, self.values = call, call.spec, values

    def stored(self, sums: np.ndarray, columns: slice = slice(None)) -> np.ndarray:
        """Elements of sums [M, N], flat as the kernel stores them."""
        s, t, r = self.spec, self.spec.tiling, self.spec.requantise
        multiplier: np.ndarray | int | None = None
        addend: np.ndarray | int | None = None
        if r.scaled:
            multiplier = self.layer.multiplier
            if r.form == "channel":
                multiplier = self.values["multiplier"][columns]
            if r.addend != "zero_point":
                channel = r.addend == "channel"
                addend = self.values["addend"][columns] if channel else self.layer.addend
        y = requantised(s, sums, Numbers(self.layer.shift, multiplier, addend))
        if self.layer.image:
            return y.reshape(s.m, -1, t.n).transpose(1, 0, 2).reshape(-1)
        return tiled(y, t.m, t.n)


class _Matrix(_Tail):
    """A product of tiles as they lie, alone or in loops over time (`Nest`)."""

    def __init__(self, call: LayerCall, values: Values, nest: Nest | None) -> None:
        super().__init__(call, values)
        self._nest = nest
        self._kept: np.ndarray | None = None
        self._weights: dict[tuple[int, int], np.ndarray] = {}
        self._behind = Behind(nest)

    def _at(self, number: int) -> tuple[int, int]:
        """(tile of N, tile of K) of a call."""
        if self._nest is None:
            return 0, 0
        nest = self._nest
        outer, k = divmod(number, nest.k_tiles)
        second = outer % nest.outer[1][1]
        first = outer // nest.outer[1][1] % nest.outer[0][1]
        return (second if nest.order == "mn" else first), k

    def _w(self, n: int, k: int, inputs: Sequence[np.ndarray]) -> np.ndarray:
        s = self.spec
        if len(inputs) > 1:
            return unpack_w(inputs[1].view(stored_as(s.b))[: s.k * s.n], s)
        if (n, k) not in self._weights:
            turns = self._nest.k_tiles if self._nest is not None else 1
            piece = self.values["w"].reshape(-1, s.k * s.n)[n * turns + k]
            self._weights[n, k] = unpack_w(piece, s)
        return self._weights[n, k]

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Sums:
        """One call of the kernel."""
        s, t = self.spec, self.spec.tiling
        n, k = self._at(number)
        self.values = self._behind.read(inputs, k) or self.values
        x = untiled(inputs[0].view(stored_as(s.a)), (s.m, s.k), t.m, t.k)
        w, first = self._w(n, k, inputs), k == 0
        start: np.ndarray = np.zeros((s.m, s.n), np.float32 if s.floating else np.int64)
        if not first:
            if self._kept is None:
                raise ExecutionError(f"{self.layer.symbol} has no sums to go on with")
            start = self._kept
        elif s.bias:
            start = self.values["bias"][self._columns(n)]
        last = self._nest is None or k == self._nest.k_tiles - 1
        goes = s.receives and first, last and not s.stores, last
        # Whose blocks say in which order words of the cascade come and go.
        kernel = s if self._nest is None else self._nest.kernels[0 if first else -1]
        if not s.floating:
            return Sums(start + product(x, w), kernel, *goes)
        factors = from_bfloat16(x), from_bfloat16(w)
        if goes[0]:
            return Sums(start, kernel, *goes, factors)
        return Sums(float_sums(s, start, *factors), kernel, *goes)

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """Store, or keep."""
        n, k = self._at(number)
        if self._nest is not None and k < self._nest.k_tiles - 1:
            self._kept = self._waiting(sums, self._nest)
            return None
        return self.stored(sums, self._columns(n))

    def _waiting(self, sums: np.ndarray, nest: Nest) -> np.ndarray:
        """Sums as the next turn finds them in the tile's memory, however wide accumulators are."""
        if nest.rounded:
            return waiting(nest.kernels[0], sums, self.layer.shift)
        if self.spec.floating:
            return sums
        return saturate(sums, "int32", self.spec.requantise.saturation).astype(np.int64)

    def _columns(self, n: int) -> slice:
        """Of a tile of N in its numbers: behind its weights are its own alone."""
        if self._nest is not None and self._nest.numbers:
            n = 0
        return slice(n * self.spec.n, (n + 1) * self.spec.n)


class _Stack:
    """Layers one after the other: what one stores is what the next one reads."""

    def __init__(self, stack: Stack, values: Values) -> None:
        self._layers = [
            _Matrix(nest.call, {p.name: values[f"{p.name}{at}"] for p in nest.parameters}, nest)
            for at, nest in enumerate(stack.nests)
        ]
        self._kept: np.ndarray | None = None

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Sums:
        """A layer."""
        at = number % len(self._layers)
        x = inputs[0] if at == 0 else self._kept
        assert x is not None
        return self._layers[at].call(0, (x,))

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """Store what the last one makes, and keep all else."""
        at = number % len(self._layers)
        stored = self._layers[at].stored(sums)
        if at == len(self._layers) - 1:
            return stored
        self._kept = np.ascontiguousarray(stored).reshape(-1).view(np.uint8)
        return None


class _Gathered(_Tail):
    """A kernel whose tiles of x lie where its tables say, band after band of an image."""

    def __init__(self, call: LayerCall, values: Values, bands: Bands | None) -> None:
        super().__init__(call, values)
        self._count = bands.count if bands is not None else 1
        self._of = values["band_of"] if bands is not None and bands.tables else None
        self._matrix = call.spec.operation == "mmul"
        t = call.spec.tiling
        across = t.k if self._matrix else t.n
        reach = np.arange(t.m * across).reshape(t.m, across)
        self._first = np.array(call.origins)[:, None, None] + reach
        self._across = across

    def _taps(self, x: np.ndarray, offset: int) -> np.ndarray:
        return x[self._first + offset].reshape(self.spec.m, self._across)

    def _products(self, x: np.ndarray) -> np.ndarray:
        s, t, offsets = self.spec, self.spec.tiling, self.layer.offsets
        if self._matrix:
            w = self.values["w"].reshape(s.k_steps, s.n // t.n, t.k, t.n).transpose(0, 2, 1, 3)
            left = np.concatenate([self._taps(x, offset) for offset in offsets], axis=1)
            return product(left, w.reshape(-1, s.n))
        total = np.zeros((s.m, s.n), np.int64)
        taps = None
        if s.weighted:
            taps = self.values["w"].astype(np.int64).reshape(s.n // t.n, s.k_steps, t.m, t.n)
        wide = x.astype(np.int64)
        for block in range(s.n // t.n):
            here = slice(block * t.n, (block + 1) * t.n)
            for step, offset in enumerate(offsets):
                lanes = self._taps(wide, offset + block * self.layer.x_n_step)
                if taps is not None:
                    lanes = lanes * np.tile(taps[block, step], (s.m // t.m, 1))
                total[:, here] += lanes
        return total

    def _start(self, band: int) -> np.ndarray | int:
        s = self.spec
        if not s.bias:
            return 0
        bias = self.values["bias"].astype(np.int64)
        if not s.border_bias:
            return bias
        if self._of is None:
            rows = np.array(self.layer.bias_of)
        else:
            begin = int(self._of[band])
            rows = self.values["bias_of"][begin : begin + s.m]
        started: np.ndarray = bias[rows[:, None] + np.arange(s.n)]
        return started

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Sums:
        """One band."""
        s = self.spec
        sums = self._products(inputs[0].view(s.a)) + self._start(number % self._count)
        return Sums(sums, s, s.receives, not s.stores)

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray:
        """Store it."""
        del number
        return self.stored(sums)


class _Pool(Whole):
    """A maximum over taps."""

    def __init__(self, call: PoolCall) -> None:
        self._call = call
        size = call.spec.m * call.spec.n
        self._at = np.array(call.origins)[:, None] + np.arange(size)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """[blocks][pixels][n] flat."""
        del number
        c, x = self._call, inputs[0].view(self._call.spec.dtype)
        found = [
            np.max([x[self._at + block * c.x_n_step + tap] for tap in c.offsets], axis=0)
            for block in range(c.blocks)
        ]
        return np.concatenate([block.reshape(-1) for block in found])


class _Rows(Whole):
    """A function that walks rows."""

    def __init__(self, call: RowCall, values: Values) -> None:
        self._call, self._values = call, [values[p.name] for p in call.parameters]

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """Row by row."""
        del number
        c = self._call
        return c.meaning(tuple(each.view(stored_as(c.spec.a)) for each in inputs), *self._values)


class _Product:
    """A product of two activations, its zero points corrected."""

    def __init__(self, call: ProductCall, values: Values) -> None:
        self._call, self._values = call, values

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Sums:
        """One part of the rows by one of the columns."""
        del number
        c, s, t = self._call, self._call.spec, self._call.spec.tiling
        a = untiled(inputs[0].view(s.a), (s.m, s.k), t.m, t.k).astype(np.int64)
        b = untiled(inputs[1].view(s.b), (s.k, s.n), t.k, t.n).astype(np.int64)
        sums = product(a, b)
        if "bias" in self._values:
            sums = sums + self._values["bias"]
        if s.row_bias:
            sums = sums - c.b_zero * a.sum(axis=1, keepdims=True) - c.a_zero * b.sum(axis=0)
            sums = sums + c.constant
        return Sums(sums, s, receives=False, sends=False)

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray:
        """Store it."""
        del number
        c, s = self._call, self._call.spec
        plain = not s.requantise.scaled
        addend = None if plain or s.requantise.addend == "zero_point" else c.addend
        numbers = Numbers(c.shift, None if plain else c.multiplier, addend)
        return tiled(requantised(s, sums, numbers), s.tiling.m, s.tiling.n)


class _Attention(Whole):
    """Scores, weights, which stay, and what values make of them."""

    def __init__(self, call: AttentionCall, values: Values) -> None:
        self._call, self._table = call, entries_of(values["w"], call.repeated)
        biases = [{"bias": values[n]} if n in values else {} for n in ("bias0", "bias1")]
        pairs = zip(call.products, biases, strict=True)
        self._products = [_Product(product, bias) for product, bias in pairs]
        self._kept = np.zeros(0, np.int8)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
        """The first product of a head, its softmax, or its second product."""
        scores, values = self._products
        spec, t = self._call.scores.spec, self._call.scores.spec.tiling
        if number % 3 == 0:
            self._kept = scores.finish(0, scores.call(0, inputs[:2]).values)
            return None
        if number % 3 == 2:
            return values.finish(0, values.call(0, (self._kept, inputs[-1])).values)
        rows = untiled(self._kept.view(self._call.spec.a), (spec.m, spec.n), t.m, t.n)
        weights = self._call.weights(rows, self._table).astype(self._call.spec.dtype)
        self._kept = tiled(weights, t.m, t.n).view(np.uint8)
        return None


class _Unknown(Whole):
    """A kernel of a program that is only timed."""

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Sums:
        """Nobody knows.

        Raises:
            ExecutionError: always.
        """
        raise ExecutionError("a core has no function", hint="a program laid out from a graph")


def function(call: Call | None, values: Values) -> Function:
    """The meaning of `call` with the values of its parameters.

    Raises:
        ExecutionError: there is none for this kind of function, or for its element types.
    """
    if call is None:
        return _Unknown()
    if isinstance(call, PoolCall):
        return _Pool(call)
    if isinstance(call, RowCall):
        return _Rows(call, values)
    if isinstance(call, ProductCall):
        return _Product(call, values)
    if isinstance(call, AttentionCall):
        return _Attention(call, values)
    if isinstance(call, PartsCall):
        return in_parts(call, values, product)
    if isinstance(call, Stack):
        return _Stack(call, values)
    if isinstance(call, RecurrentCall | SingleCall):
        return recurrent(call, values)
    nest = call if isinstance(call, Nest) else None
    bands = call if isinstance(call, Bands) else None
    inner = call.call if isinstance(call, Nest | Bands) else call
    if not isinstance(inner, LayerCall) or (inner.spec.floating and inner.spec.gathered):
        raise ExecutionError(f"kernel {call.symbol} has no meaning that can be executed")
    if inner.spec.gathered:
        return _Gathered(inner, values, bands)
    matrix = _Matrix(inner, values, nest)
    carries = nest is not None and inner.spec.carries
    return Passing(matrix, inner.spec, nest.m_tiles) if nest and carries else matrix


def wrapped(sums: np.ndarray, spec: KernelSpec) -> np.ndarray:
    """As the core's accumulators hold them."""
    return sums if spec.floating else wrap(sums, spec.lane_bits)
