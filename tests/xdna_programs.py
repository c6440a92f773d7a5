"""Programs on Ryzen AI processors, for tests of their text."""

import numpy as np

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.cut_plan import cut_plans
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.executing import stretches
from match_aie.targets.xdna import XDNA
from tests.aie_layers import constants_of, random_layer
from tests.networks.power_of_two import dense_chain


def chain(rows, widths, dtype, name="npu1", columns=None):
    """The one graph of a chain of dense layers, with tensors and results."""
    target = XDNA(name, columns_per_layer=columns, modules=("array",))
    net = match.compile(dense_chain(rows, widths, dtype), target=target, selection="match")
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert len(mine) == len(widths) - 1
    (made,) = stretches(mine, name, np.random.default_rng(0))
    return made


def image(kind, seed):
    """The program of a random image layer on npu1; None where it has none."""
    rng = np.random.default_rng(seed)
    workload = random_layer(rng, kind)
    fixed = None if workload is None else in_fixed_point(workload, constants_of(workload, rng))
    if fixed is None or isinstance(fixed, str):
        return None
    plans = cut_plans(fixed.workload, "npu1", 2)
    if isinstance(plans, Infeasible):
        return None
    program = lay_out(plans[-1].graph("layer", fixed.workload, fixed.constants), device("npu1"))
    return None if isinstance(program, Infeasible) else program
