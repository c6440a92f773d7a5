"""Sums that products take along: what the templates of products and of minimal filtering need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.float_kernel import literal
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Added, Operand, Workload

#: Neighbours of the nearest factors that are tried, on either side.
NEIGHBOURS = 2


@dataclass(frozen=True)
class Factors:
    """A sum in steps of its result: `q * step + (a * scale + offset)`, in float32.

    q are steps of the product's result, a is what is added to it, as it is stored. Every operation
    rounds, or, where `fused`, each product with its sum once.
    """

    step: float
    scale: float
    offset: float
    fused: bool = False


@dataclass(frozen=True)
class SumKernel:
    """One sum behind a product.

    Attributes:
        at: its number.
        operand: what is added.
        per_channel: whether that is packed as real numbers, one for every lane.
        low: the least step of the result that it is added to.
        high: the largest one.
        step: real value of such a step.
        last: operator and operand, in C, that make steps of the real sum.
        factors: what to multiply with instead; None where there are none that round the same.
    """

    at: int
    operand: Operand
    per_channel: bool
    low: float
    high: float
    step: float
    last: str
    factors: Factors | None

    @property
    def name(self) -> str:
        """What functions of tiles call where its operand lies."""
        return f"taken{self.at}"

    @property
    def ctype(self) -> str:
        """C type of what is added."""
        return f"{self.operand.dtype}_t"

    @property
    def parameter(self) -> str:
        """C parameter of functions of tiles."""
        return f"const {'float' if self.per_channel else self.ctype} *{self.name}"

    def origin(self, channel: str, element: str) -> str:
        """C expression of what a panel takes: from a channel on, or from an element on."""
        if self.per_channel:
            return f"(const float *)(const void *){self.operand.name} + {channel}"
        return f"{self.operand.name} + {element}"

    def added(self, steps: str, vector: int | str, place: str) -> str:
        """C expression of the steps of the sum.

        Args:
            steps: of the result, a vector.
            vector: its number in the panel; "" where there is one.
            place: C expression of where its bytes lie.
        """
        whole = f"ma_whole_steps({steps}, {literal(self.low)}, {literal(self.high)})"
        other, short = f"{self.name}_{vector}", "i8" if self.ctype == "int8_t" else "u8"
        if self.factors is None:
            if not self.per_channel:
                scale = literal(self.operand.scale or 0.0)
                other = f"ma_real_{short}({place}, {self.operand.zero_point}, {scale})"
            return f"({whole} * {literal(self.step)} + {other}) {self.last}"
        step, scale, offset = (
            literal(number)
            for number in (self.factors.step, self.factors.scale, self.factors.offset)
        )
        if self.factors.fused:
            if not self.per_channel:
                a = f"ma_float_{short}({place})"
                other = f"ma_fused({a}, ma_splat_f32({scale}), ma_splat_f32({offset}))"
            return f"ma_fused({whole}, ma_splat_f32({step}), {other})"
        if not self.per_channel:
            other = f"(ma_float_{short}({place}) * {scale} + {offset})"
        return f"({whole} * {step} + {other})"


def fuses(machine: Machine) -> bool:
    """Whether every compiler finds a fused multiply-add of the processor's vectors."""
    return machine.lanes > 1 and machine.family in ("x86-64", "aarch64")


def sum_kernels(machine: Machine, workload: Workload) -> tuple[SumKernel, ...]:
    """Of the sums that `workload` takes along."""
    found: list[SumKernel] = []
    fused = fuses(machine)
    before = workload.tail
    for at, added in enumerate(workload.added):
        assert before is not None
        operand = workload.operand(added.operand)
        low, high = before.lo - before.zero_point, before.hi - before.zero_point
        number = float(operand.scale or 0.0)
        stored = (operand.dtype, number, operand.zero_point)
        factors, last = _ways(low, high, added, stored, fused)
        per_channel = len(operand.shape) == 1
        found.append(SumKernel(at, operand, per_channel, low, high, added.scale, last, factors))
        before = added.tail
    return tuple(found)


@lru_cache(maxsize=1024)
def _ways(
    low: int, high: int, added: Added, stored: tuple[str, float, int], fused: bool
) -> tuple[Factors | None, str]:
    """How a sum is computed, see `SumKernel`: what gives the same for all pairs of bytes.

    Args:
        low: the least step of the result that is added to.
        high: the largest one.
        added: the sum.
        stored: type, a byte, scale and zero point of what is added.
        fused: whether products may be rounded with their sums.
    """
    (dtype, scale, zero), tail, to = stored, added.tail, np.float32(added.to)
    least, most = tail.lo - tail.zero_point, tail.hi - tail.zero_point
    steps = np.arange(low, high + 1, dtype=np.float32).reshape(-1, 1)
    seen = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    with np.errstate(all="ignore"):
        real = steps * np.float32(added.scale) + (seen - np.float32(zero)) * np.float32(scale)
        expected = np.rint(real / to).clip(least, most)

        def same(sums: np.ndarray | None) -> bool:
            return sums is not None and np.array_equal(np.rint(sums).clip(least, most), expected)

        nearest = np.float32(added.scale) / to, np.float32(scale) / to
        for once in (True, False) if fused else (False,):
            for step, factor in product(*(near(number) for number in nearest)):
                offset = np.float32(-zero) * factor
                if same(rounded_sum(steps, step, rounded_sum(seen, factor, offset, once), once)):
                    return Factors(float(step), float(factor), float(offset), once), ""
        for inverse in near(np.float32(1.0) / to):
            if same(real * inverse):
                return None, f"* {literal(float(inverse))}"
    return None, f"/ {literal(added.to)}"


def rounded_sum(
    a: np.ndarray, factor: np.float32, more: np.ndarray | np.float32 | None, once: bool
) -> np.ndarray | None:
    """`a * factor + more` in float32, rounded once or twice; None where that is not known.

    Bytes and differences of them by float32 are exact in float64. What the sum in float64 lacks
    to the exact one is known, too (Knuth's TwoSum): where it is not 0, rounding to float32 could
    be of a number that was rounded before.

    Args:
        a: bytes or differences of them, as float32.
        factor: of them.
        more: added to their products.
        once: whether product and sum are rounded together.
    """
    if more is None:
        return None
    if not once:
        return np.asarray(a * factor + more)
    exact, other = a.astype(np.float64) * np.float64(factor), np.asarray(more, np.float64)
    total = exact + other
    part = total - exact
    if np.any((exact - (total - part)) + (other - part)):
        return None
    return total.astype(np.float32)


def near(number: np.float32) -> list[np.float32]:
    """`number` and its neighbours, nearest first."""
    found, below, above = [number], number, number
    for _ in range(NEIGHBOURS):
        below = np.nextafter(below, np.float32(0.0))
        above = np.nextafter(above, np.float32(np.inf))
        found += [below, above]
    return found


def pack_sums(
    sums: tuple[SumKernel, ...], columns: int, groups: int, constants: Constants
) -> Constants:
    """Constants with what is added per channel as real numbers, as bytes of float32.

    Args:
        sums: that the layer takes along.
        columns: channels of a group, rounded up to whole vectors.
        groups: of channels.
        constants: by operand.
    """
    packed = dict(constants)
    for one in sums:
        if one.per_channel:
            operand, value = one.operand, constants[one.operand.name].astype(np.float32)
            if one.factors is not None:
                made = one.factors
                real = rounded_sum(
                    value, np.float32(made.scale), np.float32(made.offset), made.fused
                )
                assert real is not None  # as it was for every byte when factors were found
            else:
                real = (value - np.float32(operand.zero_point)) * np.float32(operand.scale or 0.0)
            lanes = np.zeros((groups, columns), np.float32)
            lanes[:, : operand.size // groups] = real.reshape(groups, -1)
            packed[operand.name] = lanes.reshape(-1).view(np.uint8)
    return packed
