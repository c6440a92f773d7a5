"""Attention beside small dense layers that share a configuration of an array."""

from dataclasses import replace
from functools import cache

import numpy as np

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.graph.overlay import OverlayPlan
from match_aie.targets.aie_ml.graph.together import together
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.xdna.direct import direct
from match_aie.workload import reference
from tests.aie_attention import long_attention
from tests.aie_layers import random_inputs
from tests.overlays import NPU1, layer_of, small

#: Rows and reduction of dense layers.
SIZES = {"short": (64, 64), "long": (32, 256)}

#: Columns of the dense layers, and of attention.
WEST, EAST = (0, 1), (2, 3)


@cache
def members(size):
    """A dense layer and attention, each on two columns, and what they compute."""
    shared = replace(small(), mapping=replace(small().mapping, row_parts=2))
    dense = layer_of(*size, shared.columns)
    graph = OverlayPlan(shared.timed(dense.workload, "npu1")).graph(
        "dense", dense.workload, dense.constants
    )
    scores = in_fixed_point(*long_attention(0, heads=1, sizes=(40, 260, 64)))
    plan = plan_cut(scores.workload, "npu1", 2, 1)
    assert not isinstance(plan, Infeasible), plan
    other = plan.graph("attention", scores.workload, dict(scores.constants))
    graphs = {"dense": direct(graph, None, NPU1), "attention": direct(other, None, NPU1)}
    return graphs, {"dense": dense, "attention": scores}


@cache
def program_of(size):
    program = lay_out(together("both", members(size)[0]), NPU1)
    assert not isinstance(program, Infeasible), program
    check(program, NPU1)
    return program


def tensors_of(size, seed):
    """Inputs of both layers by their names in the program, and what each makes of them."""
    rng, given, wanted = np.random.default_rng(seed), {}, {}
    for name, made in members(size)[1].items():
        mine = random_inputs(made.workload, rng)
        given |= {f"{name}_{operand}": tensor for operand, tensor in mine.items()}
        tensors = [mine[o.name] for o in made.workload.inputs]
        wanted[name] = reference(made.workload, tensors, made.constants)
    return given, wanted
