"""The array simulator: executes an `ArrayProgram`, separate from any cost model."""

from match_aie.targets.aie_ml.simulate.groups import ends_of_groups
from match_aie.targets.aie_ml.simulate.host import (
    HostWork,
    Streamed,
    host_work,
    simulate_streamed,
)
from match_aie.targets.aie_ml.simulate.layer import simulate, simulate_program
from match_aie.targets.aie_ml.simulate.network import ArrayNetworkSimulator, ArrayRun
from match_aie.targets.aie_ml.simulate.outside import Beyond
from match_aie.targets.aie_ml.simulate.result import ArrayResult
from match_aie.targets.aie_ml.simulate.run import LayerRun, run_layer
from match_aie.targets.aie_ml.simulate.spread import spread
from match_aie.targets.aie_ml.simulate.stretch import Part, Stretch

__all__ = [
    "ArrayNetworkSimulator",
    "ArrayResult",
    "ArrayRun",
    "Beyond",
    "HostWork",
    "LayerRun",
    "Part",
    "Streamed",
    "Stretch",
    "ends_of_groups",
    "host_work",
    "run_layer",
    "simulate",
    "simulate_program",
    "simulate_streamed",
    "spread",
]
