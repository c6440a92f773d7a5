"""Event-driven simulation: the engine that chips' simulators are built on, and its timelines.

A simulator never shares code with a cost model: comparing the two is how both earn trust.
"""

from match_aie.simulation.commands import (
    Acquire,
    Channel,
    Command,
    Delay,
    Fire,
    Get,
    Process,
    Put,
    Release,
    Resource,
    Signal,
    Task,
    Wait,
)
from match_aie.simulation.engine import DeadlockError, Simulator
from match_aie.simulation.scratchpad import (
    Jobs,
    KernelTime,
    ScratchpadSimulator,
    ScratchpadTiming,
    Simulation,
    TransferTime,
)
from match_aie.simulation.spread import SpreadLayer, SpreadResult, simulate_spread
from match_aie.simulation.steady import Steady, extrapolate, find_steady
from match_aie.simulation.timeline import Event, Timeline

__all__ = [
    "Acquire",
    "Channel",
    "Command",
    "DeadlockError",
    "Delay",
    "Event",
    "Fire",
    "Get",
    "Jobs",
    "KernelTime",
    "Process",
    "Put",
    "Release",
    "Resource",
    "ScratchpadSimulator",
    "ScratchpadTiming",
    "Signal",
    "Simulation",
    "Simulator",
    "SpreadLayer",
    "SpreadResult",
    "Steady",
    "Task",
    "Timeline",
    "TransferTime",
    "Wait",
    "extrapolate",
    "find_steady",
    "simulate_spread",
]
