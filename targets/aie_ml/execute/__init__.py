"""The functional interpreter: executes an `ArrayProgram` with real data, without time."""

from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.execute.machine import execute
from match_aie.targets.aie_ml.execute.result import BufferUse, Executed

__all__ = ["BufferUse", "Executed", "ExecutionError", "execute"]
