"""Networks of more weights than the array's tiles hold: layers take turns as one graph.

Cases of `aie_network.py`. Each is compiled by `match.compile`, every layer's program is executed
with random data and compared with its reference, and one inference is simulated: all graphs one
after the other, with the Arm core's copies, calls and numbers. Seconds are measured; nothing here
ran on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from rows import duration, figure, processor
from versal import dense_network, varied

import match_aie as match
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.graph.plan import MemoryKind
from match_aie.targets.aie_ml.graph.spread_plan import Aim
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove


@dataclass(frozen=True)
class Phased:
    """A network of dense layers that is too large for the array.

    Attributes:
        rows: of a call.
        widths: of the input and of every layer's output.
        memory: what feeds layers whose weights stay.
        aim: what it is compiled for.
    """

    rows: int
    widths: tuple[int, ...]
    memory: MemoryKind = "ddr"
    aim: Aim = "throughput"


#: Of the array's clock, in which costs count.
CLOCK_GHZ = device("vek280").clock_ghz

PHASED = {
    "deep_40x512": Phased(128, (512,) * 41, "plio"),
    "mlp10_2048_b1": Phased(1, (2048,) * 11, aim="latency"),
    "mlp10_2048_b256": Phased(256, (2048,) * 11),
}


def phased_rows(name: str) -> list[dict[str, object]]:
    """All figures of a network.

    Raises:
        AssertionError: a layer does not run on the array.
        MismatchError: a result is not the reference's.
    """
    case = PHASED[name]
    target = VersalAIEML(modules=("array",), memory=case.memory, optimize_for=case.aim)
    model = dense_network(case.widths, case.rows)
    begun = processor()
    net = match.compile(model, target, cache=False)
    compiling = processor() - begun
    layers = net.program.schedule.chosen
    assert len(layers) == len(case.widths) - 1, "a layer runs elsewhere"
    begun = processor()
    count = prove(layers, target.device, np.random.default_rng(1))
    executing = processor() - begun
    begun = processor()
    micro = net.simulate(record=False).microseconds
    simulating = processor() - begun
    macs = case.rows * sum(a * b for a, b in pairwise(case.widths))
    graphs = [unit.path for unit in net.program.units if unit.path.endswith("_graph.h")]
    note = f"{case.rows} rows, one inference: {len(layers)} layers as {len(graphs)} graphs"
    costs = [step.layer.cost for step in net.program.schedule.steps if step.layer is not None]
    predicted = sum(cost.cycles for cost in costs) / 1e3 / CLOCK_GHZ
    return [
        figure(name, "executed", 1, "", "measured", f"{count} results equal to the reference"),
        figure(name, "simulated_us", micro, "us", "simulated", note),
        figure(name, "simulated_tops", 2e-6 * macs / micro, "TOPS", "simulated", note),
        figure(name, "predicted_us", predicted, "us", "modelled"),
        figure(name, "graphs", len(graphs), "", "modelled"),
        duration(name, "seconds", compiling, "match.compile"),
        duration(name, "seconds_execution", executing),
        duration(name, "seconds_simulation", simulating),
        *varied(name, net),
    ]
