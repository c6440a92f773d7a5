"""What a module needs of a layer on the array: its cost, its columns, and its graph by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Protocol, TypeVar

import numpy as np

from match_aie.errors import Infeasible
from match_aie.hardware import Mapping as HowItRuns
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.workload import Operand, Workload, product_type

Arrays = Mapping[str, np.ndarray]


def zeros_of(workload: Workload) -> dict[str, np.ndarray]:
    """Constants that stand for all others: a graph's structure does not depend on them."""
    return {o.name: np.zeros(o.shape, o.dtype) for o in workload.constants}


def crossing(workload: Workload, operand: Operand) -> int:
    """Bytes of an operand in the array's buffers; of floats 2 each, of layers in bfloat16."""
    narrow = operand.dtype == "float32" and product_type(workload) != "float32"
    return operand.nbytes // 2 if narrow else operand.nbytes


class LayerPlan(Protocol):
    """How a layer runs on the array, before its numbers are known."""

    @property
    def columns(self) -> int:
        """Of the array that it takes."""

    @property
    def cycles(self) -> float:
        """Of the array's clock, from the first word in to the last word out; modelled."""

    @property
    def ways(self) -> tuple[int, int]:
        """Channels from the chip's memory (or streams) into the array, and back."""

    @property
    def memory(self) -> MemoryKind:
        """What these ways lead to."""

    @property
    def legs(self) -> tuple[float, float]:
        """Of `cycles`, the way of the inputs into memory tiles, and that of the result out."""

    @property
    def requests(self) -> tuple[float, float]:
        """Of `cycles`, until the chip's memory gives a first word, and takes a last one.

        The first is what that takes beyond `starting`, which passes meanwhile.
        """

    @property
    def starting(self) -> float:
        """Starting the kernels: not waited for behind other layers of one graph."""

    @property
    def nest(self) -> HowItRuns:
        """All of it as loops; no other plan has the same, and the plan is read from it."""

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`.

        Its structure depends on the workload only, never on the constants.
        """


Plan = TypeVar("Plan", bound=LayerPlan)


def _cycles(plan: LayerPlan) -> float:
    return plan.cycles


def by_width(
    most: int,
    best: Callable[[int, float], Plan | Infeasible],
    price: Callable[[Plan], float] = _cycles,
) -> tuple[Plan, ...] | Infeasible:
    """The best plans of 1, 2, 4, ... and `most` columns, without those that fewer columns equal.

    Args:
        most: columns that there are.
        best: plan on so many columns, and the price from which on there is no use for it.
        price: of a plan.
    """
    widths = sorted({1 << i for i in range(most.bit_length())} | {most})
    found: dict[int, Plan] = {}
    refused: Infeasible | None = None
    for width in (w for w in widths if w <= most):
        least = min(map(price, found.values()), default=inf)
        plan = best(width, least)
        if isinstance(plan, Infeasible):
            refused = plan
        elif price(plan) < least:
            found[plan.columns] = plan
    if refused is not None and not found:
        return refused
    return tuple(found.values())
