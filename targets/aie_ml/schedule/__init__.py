"""Kernel schedules: every operation in its bundle, and the cycles that follow. Modelled."""

from match_aie.targets.aie_ml.schedule.call import CallSchedule, best_block, schedule_call, shapes
from match_aie.targets.aie_ml.schedule.counts import Counts
from match_aie.targets.aie_ml.schedule.kernel import Kernel, Position, Requantise, Variant
from match_aie.targets.aie_ml.schedule.machine import Machine, machine
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.place import BlockSchedule, schedule_block
from match_aie.targets.aie_ml.schedule.registers import Placed
from match_aie.targets.aie_ml.schedule.scheduled import Scheduled
from match_aie.targets.aie_ml.schedule.verify import verify

__all__ = [
    "BlockSchedule",
    "CallSchedule",
    "Counts",
    "Kernel",
    "Machine",
    "Operation",
    "Placed",
    "Position",
    "Requantise",
    "Scheduled",
    "Variant",
    "best_block",
    "machine",
    "schedule_block",
    "schedule_call",
    "shapes",
    "verify",
]
