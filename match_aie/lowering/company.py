"""What two layers take at the same time, modelled: one controller for both, a unit for each."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.hardware import Cost, ExecModule, SequenceCostModel, SharedCostModel, TileCostModel
from match_aie.hardware import Mapping as LoopMapping
from match_aie.mapping.evaluate import kinds
from match_aie.workload import Workload

#: Part of what two layers take that they must save to be put side by side: by so much their
#: modelled cycles may be off the simulated ones (GAP9's pairs of ResNet8, DS-CNN and a network of
#: depthwise filters: 1.1 % at worst; a test holds pairs to it), and what saves less may lose.
MARGIN = 0.02


@dataclass(frozen=True)
class Lane:
    """One of two layers at the same time.

    Attributes:
        alone: cycles by itself.
        free: of these, in which its unit works and needs no controller.
        more: cycles of the controller that it takes beside another one, and not alone.
        slowed: part by which its kernel takes longer while another unit works.
    """

    alone: float
    free: float
    more: float
    slowed: float


def lane_of(module: ExecModule, workload: Workload, mapping: LoopMapping, cost: Cost) -> Lane:
    """A layer as one of two.

    Args:
        module: that runs it.
        workload: the layer.
        mapping: how it runs.
        cost: by itself.
    """
    company = module.beside
    free = min(cost.cycles, free_cycles(module, workload, mapping))
    if company is None:
        return Lane(cost.cycles, free, 0.0, 0.0)
    more = company.enter + company.call * mapping.calls
    return Lane(cost.cycles, free, more, company.slowed)


def free_cycles(module: ExecModule, workload: Workload, mapping: LoopMapping) -> float:
    """Cycles in which the layer's unit works and needs no controller, by its cost model.

    Of a model that prices tiles only, all of the kernel's: its unit is started and left alone. One
    of sequences says so (`SharedCostModel`), or there are none.
    """
    model = module.cost_model(workload)
    tiles = kinds(workload, mapping, mapping.kernel)
    if isinstance(model, SharedCostModel):
        return sum(count * model.free_cycles(workload, tile) for tile, count in tiles)
    if isinstance(model, SequenceCostModel):
        return 0.0  # its calls are priced with their controller, and it does not say what is free
    assert isinstance(model, TileCostModel)
    return sum(count * float(model.kernel_cycles(workload, tile)) for tile, count in tiles)


def beside_cycles(first: Lane, other: Lane) -> float:
    """Cycles of both, `first` started first.

    The controller is with the first one until its unit works by itself, then with the other. Each
    unit is slowed down for as long as the other works.
    """
    both = min(first.free, other.free)
    led = first.alone - first.free + first.more
    return led + max(
        first.free + first.slowed * both, other.more + other.alone + other.slowed * both
    )
