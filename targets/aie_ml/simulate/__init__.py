"""The array simulator: executes an `ArrayProgram`, separate from any cost model."""

from match_aie.targets.aie_ml.simulate.layer import simulate, simulate_program
from match_aie.targets.aie_ml.simulate.network import ArrayNetworkSimulator, ArrayRun
from match_aie.targets.aie_ml.simulate.outside import Beyond
from match_aie.targets.aie_ml.simulate.result import ArrayResult
from match_aie.targets.aie_ml.simulate.run import LayerRun, run_layer
from match_aie.targets.aie_ml.simulate.spread import spread

__all__ = [
    "ArrayNetworkSimulator",
    "ArrayResult",
    "ArrayRun",
    "Beyond",
    "LayerRun",
    "run_layer",
    "simulate",
    "simulate_program",
    "spread",
]
