"""A small chip that can be broken in many ways, for the conformance check to find."""

from collections.abc import Sequence

from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import (
    MODULE_FACETS,
    TARGET_FACETS,
    Cost,
    ExecModule,
    Loop,
    MatchTarget,
    Memory,
    Pattern,
    StepResult,
    weighted,
)
from match_aie.workload import Workload

ROOFLINE = Roofline(16.0, steps_per_cycle=4.0, bytes_per_cycle=8.0, overhead=20.0)


def runs_all(workload: Workload) -> str | None:
    """Nothing is refused."""


class Array(ExecModule, *MODULE_FACETS):
    """Dense layers."""

    name = "array"
    memories = (Memory("scratchpad", bytes=64 * 1024, bytes_per_cycle=8.0),)

    def patterns(self) -> Sequence[Pattern]:
        return weighted("dense", "dense", "matmul", runs_all)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        return [Loop("K", min(4, workload.sizes["K"]))]

    def cost_model(self, workload: Workload):
        return ROOFLINE

    def template(self, workload: Workload) -> str:
        return "cpu/dense.c.mako"


class Chip(MatchTarget, *TARGET_FACETS):
    """An array beside a core; `changed` gives one whose array is another."""

    name = "chip"
    array_class = Array

    def __init__(self) -> None:
        self.array = self.array_class()

    def modules(self) -> Sequence[ExecModule]:
        return [self.array]

    @classmethod
    def changed(cls, **changes) -> "Chip":
        """`changes` replace attributes of the array's class."""
        return type(cls.__name__, (cls,), {"array_class": type("Array", (Array,), changes)})()


class Costs:
    """A cost model that says `cost()`."""

    def __init__(self, cost) -> None:
        self.price = cost

    def cost(self, workload: Workload, mapping: object) -> Cost:
        return self.price(workload)


def costs(price):
    """An attribute `cost_model` that says `price(workload)`."""
    return lambda self, workload: Costs(price)


class Slow:
    """A simulator in which layers take `factor` times as long as predicted."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def run(self, steps, *, record=True):
        done = [
            StepResult(s.label, s.module, 0.0, self.factor * s.predicted, s.predicted, True)
            for s in steps
        ]
        cycles = sum(step.cycles for step in done)
        told = {"cycles": cycles, "microseconds": cycles / 100, "frequency_hz": 1e8}
        return type("Run", (), {"steps": tuple(done), **told})()


class Simulated(Chip):
    """The chip with a simulator."""

    factor = 1.5

    def simulator(self):
        return Slow(self.factor)
