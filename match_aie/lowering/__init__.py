"""From mapped layers to a program whose every number is final."""

from match_aie.lowering.program import (
    Alias,
    Argument,
    CFunction,
    Constant,
    Join,
    LayerProgram,
    MemoryPlan,
    NetworkProgram,
    Placement,
    Schedule,
    Step,
    Stream,
    Tensor,
    Workspace,
)
from match_aie.lowering.tiles import tile_program

# After the types: both stages below import them from this package's modules.
from match_aie.lowering.lower import MappedLayer, lower  # isort: skip
from match_aie.lowering.held import held  # isort: skip
from match_aie.lowering.plan import plan  # isort: skip
from match_aie.lowering.streams import store  # isort: skip
from match_aie.lowering.handover import hand_over, kept_after  # isort: skip
from match_aie.lowering.place import place  # isort: skip
from match_aie.lowering.sharing import share  # isort: skip
from match_aie.lowering.shorter import shorter  # isort: skip

__all__ = [
    "Alias",
    "Argument",
    "CFunction",
    "Constant",
    "Join",
    "LayerProgram",
    "MappedLayer",
    "MemoryPlan",
    "NetworkProgram",
    "Placement",
    "Schedule",
    "Step",
    "Stream",
    "Tensor",
    "Workspace",
    "hand_over",
    "held",
    "kept_after",
    "lower",
    "place",
    "plan",
    "share",
    "shorter",
    "store",
    "tile_program",
]
