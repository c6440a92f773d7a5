"""Functions of single elements in bfloat16: the nearest bfloat16 number to each result.

A bfloat16 number has 16 bits, so a function is a table of its numbers' bits. Magnitudes in order
are their bits in order; a table holds those from `low` up to where the function ends, for both
signs. Below `low` a function is its slope at 0 times x, or constant; above it is x itself, or
constant.
Reciprocals and inverse roots have tables of what their mantissas give, and integer arithmetic for
exponents; their results below the normal numbers are 0, and arguments there count as 0.
NaN stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import erfc

import numpy as np

from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.workload import Activation

#: Bits of infinity, of 1, and of a mantissa; magnitudes are below the sign's bit.
INFINITY, ONE, MANTISSA, SIGN = 0x7F80, 0x3F80, 0x7F, 0x8000
#: The first normal number; of NaN.
NORMAL, NAN = 0x0080, 0x7FC0

_erfc = np.frompyfunc(erfc, 1, 1)


def _logistic(v: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-v)))


def _gelu(v: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * v * _erfc(-v / np.sqrt(2.0)).astype(np.float64))


def _gelu_tanh(v: np.ndarray) -> np.ndarray:
    """0.5 v (1 + tanh(u)) as v times the logistic function of 2 u, where nothing cancels."""
    return np.asarray(v * _logistic(np.sqrt(8.0 / np.pi) * (v + 0.044715 * v**3)))


@dataclass(frozen=True)
class _Shape:
    """A function in float64, its slope at 0 (0 where it is constant there), and whether it ends x.

    Attributes:
        exact: the function.
        slope: at 0; 0 where results near 0 are one number.
        linear: whether large x are their own results.
    """

    exact: Callable[[np.ndarray], np.ndarray]
    slope: float = 0.0
    linear: bool = False


_SHAPES: Mapping[Activation, _Shape] = {
    "gelu": _Shape(_gelu, 0.5, linear=True),
    "gelu_tanh": _Shape(_gelu_tanh, 0.5, linear=True),
    "silu": _Shape(lambda v: v * _logistic(v), 0.5, linear=True),
    "tanh": _Shape(np.tanh, 1.0),
    "sigmoid": _Shape(_logistic),
    "exp": _Shape(np.exp),
}

#: By their exponents: elements of a table, as many as mantissas, of one exponent or of two.
EXPONENTS: Mapping[Activation, int] = {"reciprocal": 128, "rsqrt": 256}

#: All functions that there are.
FUNCTIONS: tuple[Activation, ...] = (*_SHAPES, *EXPONENTS)


@dataclass(frozen=True, eq=False)
class FunctionTable:
    """What the kernel of a function knows.

    Attributes:
        entries: bits of results as int16: of magnitudes `low` to `high`, then of `low` to `deep`
            with the sign.
        low: least magnitude of the table.
        high: greatest one of positive numbers.
        deep: greatest one of negative numbers.
        slope: of smaller ones; 0 where those are the first entries.
        linear: whether positive numbers above are their own results.
    """

    entries: np.ndarray
    low: int
    high: int
    deep: int
    slope: float
    linear: bool

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        """Results of bfloat16 patterns, uint16."""
        x = bits.view(np.int16).astype(np.int32)
        size = x & 0x7FFF
        up = np.maximum(size, self.low)
        above = np.minimum(up, self.high) - self.low
        below = np.minimum(up, self.deep) + self.high + 1 - 2 * self.low
        found = self.entries.view(np.uint16)[np.where(x < 0, below, above)]
        if self.slope:
            with np.errstate(invalid="ignore", under="ignore"):
                small = patterns(values_of(bits) * np.float32(self.slope))
            found = np.where(size < self.low, small, found)
        if self.linear:
            found = np.where(x > self.high, bits, found)
        return np.where(size > INFINITY, bits, found).astype(np.uint16)


@dataclass(frozen=True, eq=False)
class ExponentTable:
    """What the kernel of a reciprocal or inverse root knows.

    Attributes:
        entries: bits of results of the mantissas, int16, as if exponents were 0 (and 1).
        root: whether exponents are halved.
    """

    entries: np.ndarray
    root: bool

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        """Results of bfloat16 patterns, uint16."""
        x = bits.view(np.int16).astype(np.int32)
        size = x & 0x7FFF
        inside = len(self.entries) - 1
        exponent = (size & ~inside) >> self.root
        made = self.entries.astype(np.int32)[size & inside] - exponent
        made = np.where(made < NORMAL, 0, made)
        made = np.where(size < NORMAL, INFINITY, made)
        made = np.where(size == INFINITY, 0, made)
        if self.root:
            made = np.where((x < 0) & (size >= NORMAL), NAN, made)
        made = made + (x & SIGN)
        return np.where(size > INFINITY, bits, made).astype(np.uint16)


def values_of(bits: np.ndarray) -> np.ndarray:
    """Patterns of bfloat16, uint16, as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def patterns(values: np.ndarray) -> np.ndarray:
    """Numbers, rounded to bfloat16, as patterns, uint16."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = np.ascontiguousarray(values, np.float32)
    return (to_bfloat16(single).view(np.uint32) >> 16).astype(np.uint16)


@lru_cache(maxsize=16)
def function_table(name: Activation) -> FunctionTable | ExponentTable:
    """The table of one of `FUNCTIONS`."""
    if name in EXPONENTS:
        return _by_exponents(name)
    shape, sizes = _SHAPES[name], np.arange(INFINITY + 1, dtype=np.uint16)
    x = values_of(sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        positive, negative = (patterns(shape.exact(s * x.astype(np.float64))) for s in (1, -1))
    if shape.linear:
        negative[-1] = SIGN  # minus infinity times nothing
    near = patterns(x * np.float32(shape.slope)) if shape.slope else None
    small = near is None and (positive == positive[0]) & (negative == negative[0])
    if near is not None:
        small = (positive == near) & (negative == near + SIGN)
    # The first entries stand for smaller numbers where those have one result.
    low = int(np.argmin(small)) - (near is None)
    high = _end(positive == (sizes if shape.linear else positive[-1]))
    deep = _end(negative == negative[-1])
    both = positive[low : high + 1], negative[low : deep + 1]
    entries = np.concatenate(both).view(np.int16)
    return FunctionTable(entries, low, high, deep, shape.slope, shape.linear)


def _end(settled: np.ndarray) -> int:
    """The first place from which on all are."""
    return len(settled) - int(np.argmin(settled[::-1]))


def _by_exponents(name: Activation) -> ExponentTable:
    """Results of mantissas with exponent 1 (and 2), and of what comes before them by so much."""
    many, root = EXPONENTS[name], name == "rsqrt"
    # An even number of exponents away from 0, in the middle of the range.
    away = 126 << 7
    x = values_of(np.arange(many, dtype=np.uint16) + np.uint16(away)).astype(np.float64)
    found = patterns(1.0 / np.sqrt(x) if root else 1.0 / x).astype(np.int32)
    return ExponentTable((found + (away >> root)).astype(np.int16), root)
