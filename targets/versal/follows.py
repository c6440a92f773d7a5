"""Whether layers of a chain take what others leave on the array."""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.graph.attention_keys import PAIRED, key_gates
from match_aie.targets.aie_ml.graph.attention_stage import AttentionStage
from match_aie.targets.aie_ml.graph.faces import face_of
from match_aie.targets.aie_ml.graph.inplace import ended, trimmed
from match_aie.targets.aie_ml.graph.join import Member, can_follow
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.pipeline import gates
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.row_stage import RowStagePlan
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan
from match_aie.targets.aie_ml.graph.stack import stacked
from match_aie.workload import Workload


def as_member(plan: LayerPlan, graph: LayerGraph, workload: Workload) -> Member:
    """A layer as a part of a chain.

    Args:
        plan: of it.
        graph: of it alone.
        workload: what it computes.
    """
    names = tuple(operand.name for operand in workload.inputs)
    if isinstance(plan, RowStagePlan):
        return Member(graph, names, rows=plan.stage)
    timed = plan.timed if isinstance(plan, SpreadPlan) else None
    return Member(ended(trimmed(graph)), names, timed and replace(timed, carries=False))


def follows(before: Member, after: Member, operand: str, copies: int) -> bool:
    """Whether the one's result can stay on the array for the other.

    Args:
        before: whose result it is.
        after: that reads it.
        operand: of the latter, by name.
        copies: of the buffers between them.
    """
    if before.stage is not None and after.stage is not None:
        if not before.stage.device.mem_rows:
            return stacked((before, after))
        return not isinstance(gates(before.stage, after.stage, copies), Infeasible)
    return can_follow(before, after, operand)


def paired(after: Member, operand: str) -> bool:
    """Whether it is one of two operands that come by one buffer, keys and values."""
    return isinstance(after.stage, AttentionStage) and operand in PAIRED


def keys_follow(keys: Member, values: Member, after: Member, copies: int) -> bool:
    """Whether keys and values can stay on the array for attention.

    Args:
        keys: the layer that transposes keys.
        values: that projects values.
        after: attention.
        copies: of the buffers before it.
    """
    if keys.stage is None or values.stage is None or not isinstance(after.stage, AttentionStage):
        return False
    faces = face_of(keys.stage), face_of(values.stage)
    return not isinstance(key_gates(*faces, after.stage, copies), Infeasible)
