"""What a dense layer of rounded partial sums gives, in numpy: it hangs on how the layer is cut."""

from __future__ import annotations

import numpy as np

from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.kernels.layout import folded_bias, pack_weights
from match_aie.targets.aie_ml.kernels.numeric import as_tensor, carried_as, from_bfloat16
from match_aie.targets.aie_ml.kernels.reference import Numbers as Scale
from match_aie.targets.aie_ml.kernels.reference import requantised
from match_aie.targets.aie_ml.kernels.rounded import rounded_sums
from match_aie.workload import Converted


def rounded_product(timed: Timed, fixed: Converted, x: np.ndarray) -> np.ndarray:
    """The result [M, N] of x [M, K] as the tensor has it: integers, or float32 of bfloat16 values.

    Args:
        timed: how the layer runs, its partial sums rounded.
        fixed: in the arithmetic of its kernels.
        x: activations.
    """
    m, workload = timed.mapping, fixed.workload
    numbers = Numbers(timed, workload, fixed.constants)
    nest = TimedGraph("layer", timed, numbers).nests[-1]
    waits, ends = nest.kernels[0], nest.call.spec
    w = pack_weights(fixed.constants["weight"].T)
    start = np.broadcast_to(numbers.end.bias, (w.shape[1],))
    start = folded_bias(start, w, workload.inputs[0].zero_point)
    if ends.floating:
        x, w = from_bfloat16(carried_as(x, "bfloat16")), from_bfloat16(w)
    tiles = ((m.call_reduction,) * m.reduction_steps,) * m.cas_length
    sums = rounded_sums(waits, x, w, start, tiles, numbers.end.shift)
    stored = requantised(ends, sums, Scale(numbers.end.shift))
    return as_tensor(stored, workload.output.dtype) if not ends.floating else from_bfloat16(stored)
