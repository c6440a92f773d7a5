"""Two layers with one controller: cycles worked out by hand."""

from dataclasses import dataclass, replace

import pytest

from match_aie.hardware import SimulatedStep
from match_aie.simulation import ScratchpadSimulator
from tests.unit.simulation.test_scratchpad import CONSTANTS, LAYER, Timing, program

LOADS, STORE = 8 * 16 + CONSTANTS, 8 * 32


@dataclass(frozen=True)
class Two(Timing):
    """Kernels of two units: "a" takes `a` cycles, "b" takes `b`."""

    a: float = 1000.0
    b: float = 1000.0
    slow: float = 0.0

    def kernel(self, module, workload, visit):
        made = super().kernel(module, workload, visit)
        (jobs,) = made.jobs
        return replace(made, unit=module, jobs=(replace(jobs, run=getattr(self, module)),))

    def lane(self, module, workload, tiles):
        return self.walk(tiles)

    def kernel_beside(self, module, workload, visit):
        return self.kernel(module, workload, visit)

    def slowed(self, module, workload, other):
        return self.slow if module == "a" else 0.0


def run(timing, order, tiles=(1, 1)):
    steps = [
        SimulatedStep(name, name, LAYER, replace(program(count), beside=bool(order)), 0.0, 0.0)
        for name, count in zip("ab", tiles, strict=True)
    ]
    steps[0] = replace(steps[0], order=order)
    return ScratchpadSimulator(timing).run(steps)


def happened(found):
    return [event.name for event in found.timeline.events if event.category == "beside"]


def test_kernels_work_at_the_same_time():
    """a's loads, b's behind them; a works from its own on, b ends last."""
    found = run(Two(), (0, 1, 0, 1))
    assert found.cycles == Timing().offload + 2 * LOADS + 1000 + STORE
    assert happened(found) == [
        *("open a", "start a", "open b", "start b", "end a", "close a", "end b", "close b")
    ]
    apart = run(Two(), ())
    assert apart.cycles == Timing().offload + 2 * (LOADS + 1000 + STORE)


def test_cycles_of_the_two_add_up():
    found = run(Two(), (0, 1, 0, 1))
    assert sum(step.cycles for step in found.steps) == found.cycles
    assert [step.start for step in found.steps] == [0.0, 0.0]
    covered = run(Two(a=5000.0), (0, 1, 1, 0))
    assert [step.cycles for step in covered.steps] == [covered.cycles, 0.0]


def test_the_controller_waits_for_one_layer_and_cannot_serve_the_other():
    """A wrong order takes longer: b's store waits until a has ended."""
    right, wrong = (run(Two(a=5000.0), order) for order in ((0, 1, 1, 0), (0, 1, 0, 1)))
    assert wrong.cycles == right.cycles + STORE


def test_units_that_share_memory_slow_each_other_down():
    timing = Two(a=4000.0, b=500.0)
    alone, beside = (run(replace(timing, slow=slow), (0, 1, 1, 0)) for slow in (0.0, 0.5))
    # a looks every 500 cycles whether another unit works; b does in one of these.
    assert beside.cycles == alone.cycles + 250
    assert run(replace(timing, slow=0.5), ()).cycles == run(timing, ()).cycles


@pytest.mark.parametrize("tiles", [(1, 4), (4, 4), (4, 1)])
def test_every_tile_has_a_turn(tiles):
    order = tuple(sorted([*(0,) * (tiles[0] + 1), *(1,) * (tiles[1] + 1)], key=lambda lane: -lane))
    found = happened(run(Two(), order, tiles))
    for name, count in zip("ab", tiles, strict=True):
        assert found.count(f"start {name}") == found.count(f"end {name}") == count


def test_a_layer_starts_when_the_one_before_it_on_its_unit_is_done():
    """b and then c on one unit, beside a: c is entered while a works, and a is left last."""
    steps = [
        SimulatedStep(name, unit, LAYER, replace(program(1), beside=True), 0.0, 0.0)
        for name, unit in ("aa", "bb", "cb")
    ]
    steps[0] = replace(steps[0], order=(0, 1, 1, 2, 2, 0))
    found = ScratchpadSimulator(Two(a=5000.0)).run(steps)
    assert happened(found) == [
        *("open a", "start a", "open b", "start b", "end b", "close b"),
        *("open c", "start c", "end c", "close c", "end a", "close a"),
    ]
    assert found.cycles == Timing().offload + LOADS + 5000 + STORE
    assert [step.cycles for step in found.steps] == [found.cycles, 0.0, 0.0]
    # Where both end about when a does, c is what is waited for.
    late = ScratchpadSimulator(Two(a=2000.0)).run(
        [replace(steps[0], order=(0, 1, 1, 2, 0, 2)), *steps[1:]]
    )
    begun = Timing().offload + 2 * LOADS + 1000 + STORE
    assert late.cycles == begun + LOADS + 1000 + STORE
    assert sum(step.cycles for step in late.steps) == late.cycles
