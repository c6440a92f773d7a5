"""What layers of a compiled network cost, modelled and simulated, each as if it were alone."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.compilation import Compilation
from match_aie.hardware import (
    ExecModule,
    MatchTarget,
    Priced,
    SharedMemory,
    TileCostModel,
    facet,
)
from match_aie.lowering import LayerProgram
from match_aie.testing.result import Ran

#: A cost model that is further than this from the simulator is called wrong: choices made by it
#: mean nothing. Layers of the built-in targets are within 1.6.
WRONG = 2.0

#: Cycles of compute, and of transfers, by which `hides_transfers` asks a cost model.
_PROBE = np.asarray(1000.0)


@dataclass(frozen=True)
class Price:
    """Of a layer: cycles of the module's clock.

    Attributes:
        predicted: modelled.
        simulated: None where nothing simulates it.
    """

    predicted: float
    simulated: float | None = None


def without_sharing(target: MatchTarget) -> MatchTarget:
    """The same chip as each layer has it that is alone.

    Nothing stays in an inner memory from layer to layer, and there is room for each list of tiles,
    which those of a zoo's other layers would take.
    """
    one = copy.copy(target)
    if isinstance(target, SharedMemory):
        object.__setattr__(one, "shared_memory", "")  # targets may be frozen
        object.__setattr__(one, "list_bytes", sys.maxsize if target.list_bytes else 0)
    return one


def prices(net: Compilation) -> Mapping[str, Price]:
    """By the layer's symbol; layers that run at the same time have no simulated cycles alone."""
    schedule = net.program.schedule
    modules = {module.name: module for module in net.target.modules()}
    simulated: dict[int, float] = {}
    if net.target.simulator() is not None:
        run = net.simulate(record=False)
        for index, (step, ran) in enumerate(zip(schedule.steps, run.steps, strict=True)):
            if ran.simulated and step.layer is not None and schedule.span(index) == (index, index):
                own = facet(modules[step.layer.module], Priced).frequency or run.frequency_hz
                simulated[index] = ran.cycles * own / run.frequency_hz
    return {
        step.layer.symbol: Price(step.layer.cost.cycles, simulated.get(index))
        for index, step in enumerate(schedule.steps)
        if step.layer is not None
    }


def impossible(ran: Ran) -> str:
    """What is wrong about the cycles of a layer; "" where nothing is."""
    if not (math.isfinite(ran.predicted) and ran.predicted > 0):
        return f"{ran.layer}: the cost model of {ran.module} says {ran.predicted:g} cycles"
    if ran.simulated is not None and ran.apart > WRONG:
        return (
            f"{ran.layer}: the cost model of {ran.module} says {ran.predicted:,.0f} cycles, the "
            f"simulator {ran.simulated:,.0f}, more than a factor of {WRONG:g} apart; choices rest "
            "on what cost_model() says: mend it, or what simulator() takes things to last"
        )
    return ""


def hides_transfers(model: object) -> bool:
    """Whether a cost model takes transfers that are not the first or last to cost nothing."""
    if not isinstance(model, TileCostModel):
        return False
    nothing = np.asarray(0.0)
    return bool(model.combine(_PROBE, [_PROBE], [nothing]) < 1.5 * _PROBE)


def overlaps(layer: LayerProgram, module: ExecModule) -> Iterator[str]:
    """Transfers of a layer that its cost model hides behind kernels, and emitted code waits for."""
    if layer.tiles is None:
        return
    model = module.cost_model(layer.workload)
    single = [o for o in layer.tiles.operands if o.cut and o.copies == 1 and o.moves == "here"]
    if not single or not hides_transfers(model):
        return
    names = ", ".join(operand.name for operand in single)
    yield (
        f"{type(model).__name__}.combine() of module {module.name} hides transfers behind kernels, "
        f"and of {names} there is one tile at a time in {single[0].memory!r}, so that each "
        "transfer is waited for; try: double_buffered=None, or a cost model of mode 'sum'"
    )
