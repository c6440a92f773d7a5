"""Decisions behind layers that sum no products: whether they are worth vectors, and cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from match_aie.targets.cpu.cores import Split, Way, bounds, over
from match_aie.targets.cpu.float_kernel import literal
from match_aie.targets.cpu.machine import Machine
from match_aie.targets.cpu.sums import Factors, near, rounded_sum
from match_aie.workload import Operand, Quantized, Workload, elementwise, reference

_BYTES = ("int8", "uint8")


@dataclass(frozen=True)
class ElementwiseKernel:
    """What the template of elementwise layers needs beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        parts: for as many cores.
        inverse: what to multiply with instead of dividing by y's scale, a C literal; "" to divide.
        vectors: that are computed together.
        factors: of a sum `x * step + (x1 * scale + offset)` of bytes as they are stored, which
            stands for it; None where there are none.
    """

    lanes: int
    parts: int = 1
    inverse: str = ""
    vectors: int = 2
    factors: Factors | None = None

    def summed(self, x: str, x1: str) -> str:
        """C expression of steps of y from bytes as numbers; only where there are factors."""
        assert self.factors is not None
        numbers = self.factors.step, self.factors.scale, self.factors.offset
        step, scale, offset = (f"ma_splat_f32({literal(number)})" for number in numbers)
        if self.factors.fused:
            return f"ma_fused({x}, {step}, ma_fused({x1}, {scale}, {offset}))"
        return f"({x} * {step} + ({x1} * {scale} + {offset}))"

    def split(self, sizes: Sequence[int]) -> tuple[int, Split | None]:
        """(which of the loops of `sizes`, outermost first, is divided, where); None for one core.

        The innermost one is divided where it is alone; its parts begin with whole vectors.
        """
        if self.parts == 1:
            return 0, None
        at = max(range(max(1, len(sizes) - 1)), key=lambda index: sizes[index])
        grain = self.vectors * self.lanes if len(sizes) == 1 else 1
        ends = bounds(Way("", sizes[at], grain), self.parts)
        return at, Split("", ends, 1.0 / self.parts, 0.0)


@dataclass(frozen=True)
class TableKernel:
    """What the template of tables needs beside the layer.

    Attributes:
        split: of elements over cores; None for one.
    """

    split: Split | None = None


@dataclass(frozen=True)
class RowsKernel:
    """What the templates of pools and of softmax need beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        whole: whether it is an average over the whole image.
        split: of images, lines or rows over cores; None for one.
        pairs: of vectors that a softmax's table fills, where rows are turned; else 0.
    """

    lanes: int
    whole: bool
    split: Split | None = None
    pairs: int = 0

    def over(self, dim: str, size: int) -> tuple[str, str]:
        """C expressions of where `dim` begins, and what it stays below."""
        return over(self.split, dim, size)


#: exp(-d) is 0 in float32 from here on (the least subnormal number is 2^-149).
_VANISHED = 105.0
#: Columns of a softmax whose rows are turned: what they add is kept, 64 bytes a column.
_TURNED = 512


def softmax_pairs(machine: Machine, workload: Workload) -> int:
    """Pairs of vectors that a softmax's table fills where its rows are turned, else 0.

    Entries behind them are 0. Only AVX-512 looks floats up in two vectors at once.
    """
    turned = machine.family == "x86-64" and machine.vector_bytes == 64
    sizes, scale = workload.sizes, workload.operand("x").scale
    few = sizes["B"] < machine.lanes or sizes["K"] > _TURNED
    if workload.kind != "softmax" or not turned or few or not scale:
        return 0
    return min(8, int(min(256.0, _VANISHED / scale)) // (2 * machine.lanes) + 1)


def together(machine: Machine, workload: Workload) -> int:
    """Vectors of an elementwise layer that are computed together: four, or two of short rows."""
    same = all(operand.shape == workload.output.shape for operand in workload.data)
    row = workload.output.size if same else workload.sizes["K"]
    return 4 if row >= 4 * machine.lanes else 2


@lru_cache(maxsize=1024)
def sum_factors(workload: Workload, fused: bool) -> Factors | None:
    """Factors of a sum of two bytes that round the same over all 65,536 pairs; None without.

    Args:
        workload: any.
        fused: whether products may be rounded with their sums.
    """
    if workload.kind != "add" or any(o.dtype not in _BYTES for o in workload.data):
        return None
    x, x1, y = *workload.data, workload.output
    a, b = (_bytes(o).astype(np.float32) for o in (x, x1))
    expected, bounds = _expected(workload)
    with np.errstate(all="ignore"):
        nearest = [np.float32(o.scale or 0.0) / np.float32(y.scale or 1.0) for o in (x, x1)]
        for once in (True, False) if fused else (False,):
            for step, scale in product(*(near(number) for number in nearest)):
                whole = x.zero_point * float(step) + x1.zero_point * float(scale)
                offset = np.float32(-whole)
                more = rounded_sum(b.reshape(1, 1, 1, 256), scale, offset, once)
                steps = rounded_sum(a, step, more, once)
                if steps is not None and np.array_equal(np.rint(steps).clip(*bounds), expected):
                    return Factors(float(step), float(scale), float(offset), once)
    return None


@lru_cache(maxsize=1024)
def inverse(workload: Workload) -> str:
    """A factor that stands for the division by y's scale, as a C literal; "" where there is none.

    The sum or product of two bytes has 65,536 values at most. All of them are tried with the
    float32 nearest to the inverse and with its neighbours: rounded steps must be the same.
    """
    if workload.kind not in ("add", "mul") or any(o.dtype not in _BYTES for o in workload.data):
        return ""
    x, x1 = workload.data
    a, b, scale = _bytes(x), _bytes(x1).reshape(1, 1, 1, 256), np.float32(workload.output.scale)
    expected, bounds = _expected(workload)
    with np.errstate(all="ignore"):
        real = (np.add if workload.kind == "add" else np.multiply)(_real(x, a), _real(x1, b))
        nearest = np.float32(1.0) / scale
        for factor in (nearest, *(np.nextafter(nearest, np.float32(w)) for w in (0.0, np.inf))):
            if np.array_equal(np.rint(real * factor).clip(*bounds), expected):
                return literal(float(factor))
    return ""


def _expected(workload: Workload) -> tuple[np.ndarray, tuple[int, int]]:
    """Steps [1, 1, 256, 256] of a sum or product of all pairs of bytes, and their bounds."""
    x, x1, y, tail = *workload.data, workload.output, workload.tail
    assert tail is not None
    a, b = _bytes(x), _bytes(x1).reshape(1, 1, 1, 256)
    pairs = elementwise(
        workload.kind,
        *(Quantized(o.dtype, o.scale, o.zero_point) for o in (x, x1, y)),
        shape=a.shape,
        shape1=b.shape,
        out=(1, 1, 256, 256),
        tail=tail,
    )
    expected = reference(pairs, (a, b)).astype(np.int64) - tail.zero_point
    return expected, (tail.lo - tail.zero_point, tail.hi - tail.zero_point)


def _bytes(operand: Operand) -> np.ndarray:
    """All values of a byte, [1, 1, 256, 1]."""
    return np.arange(256, dtype=np.uint8).view(operand.dtype).reshape(1, 1, 256, 1)


def _real(operand: Operand, values: np.ndarray) -> np.ndarray:
    steps = (values.astype(np.int64) - operand.zero_point).astype(np.float32)
    return np.asarray(steps * np.float32(operand.scale or 0.0))


def in_rows(machine: Machine, workload: Workload) -> bool:
    """Whether it is a pool with as many channels as two vectors have lanes, or a softmax.

    Averages are those of float32; the ones on integers, and fixed point, divide element by element.
    """
    tail = workload.tail
    if workload.fixed_point or tail is None or tail.rounding != "half_even" or machine.lanes == 1:
        return False
    if workload.kind == "softmax":
        return True
    pool = workload.kind in ("avg_pool2d", "max_pool2d")
    return pool and workload.sizes["G"] >= 2 * machine.lanes


def vectorised(machine: Machine, workload: Workload) -> bool:
    """Whether elements are bytes or float32, and lie side by side along the last dimension."""
    if workload.kind not in ("add", "mul", "quantize", "dequantize") or machine.lanes == 1:
        return False
    if workload.fixed_point or workload.output.size == 1:
        return False  # a single element has no loop, whose step would say that it is a stream
    reads = ("float32",) if workload.kind == "quantize" else _BYTES
    writes = ("float32",) if workload.kind == "dequantize" else _BYTES
    if workload.output.dtype not in writes or any(x.dtype not in reads for x in workload.data):
        return False
    # Broadcast along the last dimension, an operand is one value for a whole row.
    return workload.sizes["K"] >= machine.lanes or all(
        operand.shape == workload.output.shape for operand in workload.data
    )


def looks_up(machine: Machine, workload: Workload) -> bool:
    """Whether it is a table whose elements vectors may look up."""
    return workload.kind == "table" and machine.lanes > 1
