"""From mapped layers to a program whose every number is final."""

from match_aie.lowering.program import (
    Alias,
    Argument,
    CFunction,
    Constant,
    LayerProgram,
    MemoryPlan,
    NetworkProgram,
    Placement,
    Schedule,
    Step,
    Tensor,
    Workspace,
)

__all__ = [
    "Alias",
    "Argument",
    "CFunction",
    "Constant",
    "LayerProgram",
    "MemoryPlan",
    "NetworkProgram",
    "Placement",
    "Schedule",
    "Step",
    "Tensor",
    "Workspace",
]
