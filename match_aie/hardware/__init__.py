"""What a target declares: memories, modules, patterns, costs; and where targets register."""

from match_aie.hardware.core import CoreCost, Operation, TensorType
from match_aie.hardware.cost import Cost, CostModel
from match_aie.hardware.mapping import Loop, Mapping
from match_aie.hardware.module import CORE, ExecModule, Memory
from match_aie.hardware.move import Move
from match_aie.hardware.pattern import Any, Const, Op, Pattern, Structure
from match_aie.hardware.registry import load_target, target_names
from match_aie.hardware.target import BuildProfile, MatchTarget

__all__ = [
    "CORE",
    "Any",
    "BuildProfile",
    "Const",
    "CoreCost",
    "Cost",
    "CostModel",
    "ExecModule",
    "Loop",
    "Mapping",
    "MatchTarget",
    "Memory",
    "Move",
    "Op",
    "Operation",
    "Pattern",
    "Structure",
    "TensorType",
    "load_target",
    "target_names",
]
