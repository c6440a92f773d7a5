"""What a target declares: memories, modules, patterns, costs; and where targets register."""

from match_aie.hardware.blocked import Blocked, Packing
from match_aie.hardware.conversion import Original, computes_model, convert
from match_aie.hardware.core import CoreCost, Operation, TensorType
from match_aie.hardware.cost import (
    Array,
    Block,
    Cost,
    CostModel,
    Direction,
    Mode,
    Tile,
    TileCostModel,
    combine_cycles,
    cost_from_json,
    cost_to_json,
    measure,
)
from match_aie.hardware.energy import Charges, Energy, Figure, Objective, refuse_objective
from match_aie.hardware.mapping import Cut, Loop, Mapping, mapping_from_json, mapping_to_json
from match_aie.hardware.module import CORE, ExecModule, Memory, check_memories
from match_aie.hardware.move import Move
from match_aie.hardware.pattern import (
    AVG_POOL_HALF_AWAY,
    REQUANTISE,
    Any,
    Chain,
    Const,
    Op,
    Pattern,
    Structure,
    integer_patterns,
)
from match_aie.hardware.quantised import binary, clipped, real, unary, weighted
from match_aie.hardware.registry import load_target, target_names
from match_aie.hardware.runtime import SCRATCHPAD_FILES, Runtime, runtime_files
from match_aie.hardware.sequence import Call, Repeat, SequenceCostModel
from match_aie.hardware.simulated import (
    NetworkSimulator,
    SimulatedRun,
    SimulatedStep,
    StepResult,
)
from match_aie.hardware.target import BuildProfile, MatchTarget, Storage
from match_aie.hardware.tiles import (
    Region,
    TileAxis,
    TileOperand,
    TileProgram,
    Visit,
    tiles_from_json,
    tiles_to_json,
)
from match_aie.hardware.unit import ChosenLayer, Flow, HandedOver, Seat, Unit, flows
from match_aie.workload import Converted

__all__ = [
    "AVG_POOL_HALF_AWAY",
    "CORE",
    "REQUANTISE",
    "SCRATCHPAD_FILES",
    "Any",
    "Array",
    "Block",
    "Blocked",
    "BuildProfile",
    "Call",
    "Chain",
    "Charges",
    "ChosenLayer",
    "Const",
    "Converted",
    "CoreCost",
    "Cost",
    "CostModel",
    "Cut",
    "Direction",
    "Energy",
    "ExecModule",
    "Figure",
    "Flow",
    "HandedOver",
    "Loop",
    "Mapping",
    "MatchTarget",
    "Memory",
    "Mode",
    "Move",
    "NetworkSimulator",
    "Objective",
    "Op",
    "Operation",
    "Original",
    "Packing",
    "Pattern",
    "Region",
    "Repeat",
    "Runtime",
    "Seat",
    "SequenceCostModel",
    "SimulatedRun",
    "SimulatedStep",
    "StepResult",
    "Storage",
    "Structure",
    "TensorType",
    "Tile",
    "TileAxis",
    "TileCostModel",
    "TileOperand",
    "TileProgram",
    "Unit",
    "Visit",
    "binary",
    "check_memories",
    "clipped",
    "combine_cycles",
    "computes_model",
    "convert",
    "cost_from_json",
    "cost_to_json",
    "flows",
    "integer_patterns",
    "load_target",
    "mapping_from_json",
    "mapping_to_json",
    "measure",
    "real",
    "refuse_objective",
    "runtime_files",
    "target_names",
    "tiles_from_json",
    "tiles_to_json",
    "unary",
    "weighted",
]
