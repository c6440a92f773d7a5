"""Dense layers whose weights lie in memory tiles during a run."""

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.held import held_best
from match_aie.targets.xdna.direct import direct
from tests.overlays import NPU1


def plan_of(made):
    """The best plan of a layer on the whole array, or why there is none."""
    return held_best(dense_layer(made.workload), made.workload, "npu1", NPU1.columns)


def program_of(made):
    """A layer's program, found to keep all rules."""
    graph = plan_of(made).graph("layer", made.workload, made.constants)
    program = lay_out(direct(graph, None, NPU1, narrow=bool(made.workload.rounded)), NPU1)
    assert not isinstance(program, Infeasible), program
    check(program, NPU1)
    return program
