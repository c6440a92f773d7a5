"""What a target declares: memories, modules, patterns, costs; and where targets register."""

from match_aie.hardware.blocked import Blocked, Packing
from match_aie.hardware.conversion import Original, computes_model, convert
from match_aie.hardware.core import REDUCTIONS, CoreCost, Operation, TensorType
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
from match_aie.hardware.graph import Graph, Node, Value
from match_aie.hardware.layouts import activations, packings
from match_aie.hardware.mapping import Cut, Loop, Mapping, mapping_from_json, mapping_to_json
from match_aie.hardware.module import (
    CORE,
    OPERANDS,
    SUMS,
    Company,
    Constants,
    ExecModule,
    Memory,
    check_memories,
    sums_memory,
)
from match_aie.hardware.move import Move
from match_aie.hardware.options_file import read_options
from match_aie.hardware.passes import PadChannels, Pass, pad_channels
from match_aie.hardware.pattern import (
    AVG_POOL_HALF_AWAY,
    POINTWISE,
    REQUANTISE,
    Any,
    Chain,
    Const,
    Op,
    Pattern,
    Structure,
    Web,
    integer_patterns,
)
from match_aie.hardware.quantised import binary, clipped, real, tabulated, unary, weighted
from match_aie.hardware.registry import load_target, target_names
from match_aie.hardware.roof import Roof
from match_aie.hardware.runtime import SCRATCHPAD_FILES, Runtime, runtime_files
from match_aie.hardware.sequence import Call, Ranges, Repeat, SequenceCostModel, SharedCostModel
from match_aie.hardware.simulated import (
    NetworkSimulator,
    SimulatedRun,
    SimulatedStep,
    StepResult,
)
from match_aie.hardware.stage import Stage, Staged
from match_aie.hardware.tables import is_listed
from match_aie.hardware.target import BuildProfile, MatchTarget, Storage
from match_aie.hardware.tile_codec import tiles_from_json, tiles_to_json
from match_aie.hardware.tiles import (
    Region,
    Sums,
    TileAxis,
    TileOperand,
    TileProgram,
    Visit,
)
from match_aie.hardware.unit import ChosenLayer, Flow, HandedOver, Seat, Unit, flows
from match_aie.workload import Converted

__all__ = [
    "AVG_POOL_HALF_AWAY",
    "CORE",
    "OPERANDS",
    "POINTWISE",
    "REDUCTIONS",
    "REQUANTISE",
    "SCRATCHPAD_FILES",
    "SUMS",
    "Any",
    "Array",
    "Block",
    "Blocked",
    "BuildProfile",
    "Call",
    "Chain",
    "Charges",
    "ChosenLayer",
    "Company",
    "Const",
    "Constants",
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
    "Graph",
    "HandedOver",
    "Loop",
    "Mapping",
    "MatchTarget",
    "Memory",
    "Mode",
    "Move",
    "NetworkSimulator",
    "Node",
    "Objective",
    "Op",
    "Operation",
    "Original",
    "Packing",
    "PadChannels",
    "Pass",
    "Pattern",
    "Ranges",
    "Region",
    "Repeat",
    "Roof",
    "Runtime",
    "Seat",
    "SequenceCostModel",
    "SharedCostModel",
    "SimulatedRun",
    "SimulatedStep",
    "Stage",
    "Staged",
    "StepResult",
    "Storage",
    "Structure",
    "Sums",
    "TensorType",
    "Tile",
    "TileAxis",
    "TileCostModel",
    "TileOperand",
    "TileProgram",
    "Unit",
    "Value",
    "Visit",
    "Web",
    "activations",
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
    "is_listed",
    "load_target",
    "mapping_from_json",
    "mapping_to_json",
    "measure",
    "packings",
    "pad_channels",
    "read_options",
    "real",
    "refuse_objective",
    "runtime_files",
    "sums_memory",
    "tabulated",
    "target_names",
    "tiles_from_json",
    "tiles_to_json",
    "unary",
    "weighted",
]
