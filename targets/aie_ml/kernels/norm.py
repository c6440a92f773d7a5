"""The kernel of a norm of 8-bit rows in integers (`match_aie.workload.fixed_norm`).

Rows are walked twice: for their sums, two rows together, then to be scaled, a few vectors of all
rows together. Between lie square roots and divisions of 16 or 32 rows at once. Their variances are
first multiplied by the power of four that brings the least of them to 29 bits, so that all that is
left is to shift them down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.lookup import FilledCall, TableSpec
from match_aie.workload import NormNumbers, Tail, norm_rows, normal_bits

#: Lanes of a vector of 32-bit integers, and vectors of the rows that are divided at once.
HALF, GROUPS = 16, 2

#: Bits of a variance's fraction and of what its root is taken of, steps of a root and of a
#: division, bits of a part of a 64-bit number: those of `match_aie.workload.fixed_norm`.
FRACTION, ROOT, STEPS, PART = 8, 30, 15, 30


@dataclass(frozen=True)
class NormSpec(TableSpec):
    """Rows of x less their mean, over their spread, times factors of their own, and addends.

    Attributes:
        rms: whether x has its zero point taken off instead of a mean.
    """

    rms: bool = False

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"{'rms_' * self.rms}norm_{self.a}_{self.dtype}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/norm.hpp.mako"


@dataclass(frozen=True)
class NormCall(FilledCall):
    """A norm's function: buffers x and y, factors and addends of a row's elements.

    Attributes:
        numbers: what is added to a row's variance, and a zero point.
        tail: with the shift.
    """

    spec: NormSpec
    numbers: NormNumbers
    tail: Tail

    #: Its template, which reads it under the name `call`.
    template = "aie/norm_layer.cpp.mako"

    @property
    def normal_bits(self) -> int:
        """Of the fraction of what is left of an element."""
        return normal_bits(self.columns)

    @property
    def groups(self) -> int:
        """Vectors of the rows that are divided at once."""
        return min(GROUPS, -(-self.rows // HALF))

    @property
    def blocks(self) -> tuple[int, ...]:
        """Rows that are divided at once, block by block."""
        most = self.groups * HALF
        return tuple(min(most, self.rows - first) for first in range(0, self.rows, most))

    @property
    def stack_bytes(self) -> int:
        """Sums of rows and of their squares, in parts."""
        return 2 * self.groups * HALF * HALF * 4

    @property
    def _bits(self) -> tuple[int, int]:
        """Bits by which variances are shifted up, the half of it, and down again at most."""
        n, epsilon = self.columns, self.numbers.epsilon
        least = max(max(n - 1, 1) << FRACTION, epsilon)
        up = next(bits for bits in range(ROOT) if least << 2 * bits >= 1 << ROOT - 2)
        # No element is further from the mean, on average, than half of all values of its type.
        spread = 2**FRACTION * (n * 255) ** 2 // (1 if self.spec.rms else 4) + epsilon
        down = next(bits for bits in range(2 * ROOT) if spread << 2 * up >> 2 * bits < 1 << ROOT)
        return up, down

    @property
    def steps(self) -> int:
        """Pairs of bits by which variances, shifted up, are shifted down at most."""
        return self._bits[1]

    @property
    def fields(self) -> tuple[tuple[str, int], ...]:
        """The kernel's call behind its buffers, field by field in their order."""
        n, up = self.columns, self._bits[0]
        centre = self.numbers.centre or 0
        twice = FRACTION + 2 * up
        start = (self.numbers.epsilon << 2 * up) + ((n * centre) ** 2 << twice)
        high, low = divmod(start, 1 << PART)
        bits, share = n.bit_length(), 2 * n.bit_length() + 8
        own: tuple[tuple[str, int], ...] = (
            ("above", 128 * n if self.spec.a == "int8" else 0),
            ("share", (1 << share) // n + 1),
            ("share_bits", share),
        )
        if self.spec.rms:
            own = ("centre", n * centre << twice // 2), ("zero_point", centre)
        return (
            ("rows", self.rows),
            ("width", self.width),
            ("shift", self.tail.shift or 0),
            ("start_high", high),
            ("start_low", low),
            ("times", n << twice),
            ("up", twice // 2),
            ("least", max(n - 1, 1) << twice),
            ("steps", self.steps),
            *own,
            ("count", n),
            ("bits", bits),
            ("normal_shift", 25 - up - bits - self.normal_bits),
        )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Factors and addends, filled up with 0."""
        names = ("multiplier", "int16"), ("bias", "int32")
        return tuple(Parameter(name, c_type, self.width) for name, c_type in names)

    def rows_of(self, x: np.ndarray, *values: np.ndarray) -> np.ndarray:
        """The norms of rows x [B, K]."""
        multiplier, bias = (each[: self.columns] for each in values)
        return norm_rows(x, multiplier, bias, self.numbers, self.tail)
