"""Sums that products take along: what the templates of products and of minimal filtering need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.elementwise import inverse
from match_aie.targets.cpu.float_kernel import literal
from match_aie.workload import Added, Operand, Quantized, Tail, Workload, elementwise


@dataclass(frozen=True)
class SumKernel:
    """One sum behind a product; numbers are C literals.

    Attributes:
        at: its number.
        operand: what is added.
        ctype: of that.
        per_channel: whether that is packed as real values, float32, one for every lane.
        zero_point: of it.
        scale: of it.
        step: real value of a step of the result that it is added to.
        low: the least such step.
        high: the largest one.
        last: operator and operand that make steps of a real sum.
    """

    at: int
    operand: str
    ctype: str
    per_channel: bool
    zero_point: int
    scale: str
    step: str
    low: str
    high: str
    last: str

    @property
    def name(self) -> str:
        """What functions of tiles call where it lies."""
        return f"taken{self.at}"

    @property
    def parameter(self) -> str:
        """C parameter of these functions."""
        return f"const {'float' if self.per_channel else self.ctype} *{self.name}"

    def origin(self, channel: str, element: str) -> str:
        """C expression of what a panel takes: from a channel on, or from an element on."""
        if self.per_channel:
            return f"(const float *)(const void *){self.operand} + {channel}"
        return f"{self.operand} + {element}"

    def added(self, steps: str, vector: int, place: str) -> str:
        """C expression of the steps of the sum.

        Args:
            steps: of the result, a vector.
            vector: its number in the panel.
            place: C expression of where its bytes lie.
        """
        short = "i8" if self.ctype == "int8_t" else "u8"
        real = f"ma_real_{short}({place}, {self.zero_point}, {self.scale})"
        if self.per_channel:
            real = f"{self.name}_{vector}"
        before = f"ma_real_steps({steps}, {self.low}, {self.high}, {self.step})"
        return f"({before} + {real}) {self.last}"


def sum_kernels(workload: Workload) -> tuple[SumKernel, ...]:
    """Of the sums that `workload` takes along."""
    found, before = [], workload.tail
    for at, added in enumerate(workload.added):
        assert before is not None
        operand = workload.operand(added.operand)
        low, high = (literal(float(v - before.zero_point)) for v in (before.lo, before.hi))
        factor = inverse(_alone(added, before, operand))
        last = f"* {factor}" if factor else f"/ {literal(added.to)}"
        per_channel = len(operand.shape) == 1
        found.append(
            SumKernel(
                at,
                operand.name,
                f"{operand.dtype}_t",
                per_channel,
                operand.zero_point,
                literal(operand.scale or 0.0),
                literal(added.scale),
                low,
                high,
                last,
            )
        )
        before = added.tail
    return tuple(found)


def _alone(added: Added, before: Tail, operand: Operand) -> Workload:
    """The sum as a layer of its own, of one element."""
    kinds = ["int8" if tail.lo < 0 else "uint8" for tail in (before, added.tail)]
    one = (1, 1, 1, 1)
    return elementwise(
        "add",
        Quantized(kinds[0], added.scale, before.zero_point),
        Quantized(operand.dtype, operand.scale, operand.zero_point),
        Quantized(kinds[1], added.to, added.tail.zero_point),
        shape=one,
        shape1=one,
        out=one,
        tail=added.tail,
    )


def pack_sums(workload: Workload, columns: int, groups: int, constants: Constants) -> Constants:
    """Constants with what is added per channel as real values, as bytes of float32.

    Args:
        workload: the layer.
        columns: channels of a group, rounded up to whole vectors.
        groups: of channels.
        constants: by operand.
    """
    packed = dict(constants)
    for added in workload.added:
        operand = workload.operand(added.operand)
        if len(operand.shape) == 1:
            steps = constants[operand.name].astype(np.int64) - operand.zero_point
            real = steps.astype(np.float32) * np.float32(operand.scale or 0.0)
            lanes = np.zeros((groups, columns), np.float32)
            lanes[:, : operand.size // groups] = real.reshape(groups, -1)
            packed[operand.name] = lanes.reshape(-1).view(np.uint8)
    return packed
