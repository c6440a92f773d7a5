"""The values of a recurrent function's parameters."""

from __future__ import annotations

import numpy as np

from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall, parameter_values
from match_aie.targets.aie_ml.kernels.recurrent_int8 import IntegerCall, integer_values
from match_aie.workload import Workload


def values_of(call: RecurrentCall, workload: Workload, constants: Arrays) -> Arrays:
    """By name, of a function that has all units of the layer."""
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    if isinstance(call, IntegerCall):
        x = workload.inputs[0]
        return integer_values(call, known, x.scale or 1.0, x.zero_point)
    return parameter_values(call, *known.values())
