"""Dense layers of two reductions by an overlay, and attention beside them, as one configuration."""

from functools import cache

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.one_text import Member, Task
from tests.aie_attention import long_attention
from tests.beside_attention import SIZES, members
from tests.overlays import NPU1


@cache
def encoder():
    """Members, and what their sequences compute, by name.

    Attention has three operands on one column, so one of them comes through the next one.
    """
    made = in_fixed_point(*long_attention(0, heads=1, sizes=(12, 68, 64)))
    plan = plan_cut(made.workload, "npu1", 1, 1)
    assert not isinstance(plan, Infeasible), plan
    graph = plan.graph("scores", made.workload, dict(made.constants))
    tasks, layers = [], {"scores": made}
    for name, size in SIZES.items():
        graphs, known = members(size)
        layers[name] = known["dense"]
        tasks.append(Task(name, graphs["dense"], None, [(name, known["dense"].workload)]))
    scores = Task("scores", direct(graph, None, NPU1), None, [("scores", made.workload)])
    return (Member("dense", 0, tuple(tasks), told=True), Member("beside", 3, (scores,))), layers
