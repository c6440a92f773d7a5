"""Dense layers whose partial sums wait in their results' type, on a mapping that is given."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.array.shapes import blocks, native_tilings
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.graph.timed_splits import columns_for
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.executing import drawn
from match_aie.workload import Converted, Turns, with_rounded_sums
from tests.aie_timed import layer


class Rounded(NamedTuple):
    """A layer's mapping, its arithmetic, its program, where it runs."""

    timed: Timed
    fixed: Converted
    program: ArrayProgram
    array: Device

    def drawn(self, seed):
        """Activations."""
        return drawn(self.fixed.workload.inputs[0], np.random.default_rng(seed))


def rounded(name, pair, sizes, parts, calls, turns, *, zero=0, sums="result", gain=1.0, seed=0):
    """The program of such a layer.

    Args:
        name: of the device.
        pair: element types of the operands.
        sizes: rows, reduction, columns.
        parts: of the reduction, of the columns, of the rows.
        calls: tiles of rows and of columns of a call.
        turns: of a call.
        zero: point of activations and results.
        sums: how they wait.
        gain: makes results larger.
        seed: of the numbers.
    """
    rng, form = np.random.default_rng(seed), "shift"
    workload, constants = layer(rng, *sizes, pair, form, zero, gain)
    whole = replace(dense_layer(workload), partial_sums=sums)
    array = columns_for(name, parts[1] * parts[2], parts[0])
    tiling = native_tilings(whole, array)[0]
    mapping = ArrayMapping(
        whole, tiling, (1, 1), "overlapped", *parts, calls[0] * tiling.m, calls[1] * tiling.n,
        home="chip", reduction_steps=turns,
    )  # fmt: skip
    timed = Timed(replace(mapping, block=blocks(mapping)[0]), array, whole.rows, 1)
    graph = TimedGraph("layer", timed, Numbers(timed, workload, constants)).graph
    program = lay_out(graph, device(name))
    assert not isinstance(program, Infeasible), program
    if sums == "result":
        turns = Turns(mapping.call_reduction, turns, mapping.cas_length)
        workload = with_rounded_sums(workload, turns)
    return Rounded(timed, Converted(workload, constants, None), program, device(name))


INT8, INT16, BF16 = ("int8", "int8"), ("int16", "int16"), ("bfloat16", "bfloat16")
#: Device, types, sizes, parts, calls, turns: chains of one tile and more, few turns and many.
LAYERS = {
    "single": ("npu1", INT8, (32, 96, 32), (1, 1, 2), (2, 4), 3),
    "chain": ("npu1", INT8, (32, 192, 40), (3, 1, 1), (4, 2), 2),
    "npu2": ("npu2", INT8, (32, 128, 32), (2, 1, 1), (2, 2), 4),
    "int16": ("npu1", INT16, (16, 96, 24), (2, 1, 1), (2, 2), 3),
    "bfloat16": ("npu1", BF16, (16, 64, 16), (2, 1, 1), (2, 2), 3),
}
