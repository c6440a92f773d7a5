"""The array simulator: executes an `ArrayProgram`, separate from any cost model."""

from match_aie.targets.aie_ml.simulate.layer import simulate, simulate_program
from match_aie.targets.aie_ml.simulate.result import ArrayResult
from match_aie.targets.aie_ml.simulate.spread import spread

__all__ = ["ArrayResult", "simulate", "simulate_program", "spread"]
