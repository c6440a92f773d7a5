"""What users choose of the target as a whole, and what is refused of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from match_aie.errors import TargetError
from match_aie.hardware import ExecModule
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import MemoryKind
from match_aie.targets.aie_ml.graph.spread_plan import Aim
from match_aie.targets.aie_ml.known import device as known_device

#: Generations of the array that Versal devices have; the others lie beside other processors.
VERSAL = ("AIE", "AIE-ML", "AIE-MLv2")

#: Columns that a layer may take at most, where nobody says and a single run counts.
COLUMNS = 4


def versal_array(name: str) -> Device:
    """The array of a Versal device, with channels to the chip's memory."""
    array = known_device(name)
    if array.architecture.name not in VERSAL:
        raise TargetError(
            f"{name} is no Versal device: its array ({array.architecture.name}) belongs "
            "to a processor with other host code",
            hint="vek280",
        )
    array.need(array.gmio_in, "the number of DMA channels from memory")
    return array


def refuse_ways(array: Device, memory: str, optimize_for: str) -> None:
    """Refuse what is no choice, or not known of the array.

    Raises:
        TargetError: so it is.
    """
    if memory not in get_args(MemoryKind):
        raise TargetError(f"memory {memory!r}", hint=f"one of {get_args(MemoryKind)}")
    if optimize_for not in get_args(Aim):
        raise TargetError(f"optimize_for {optimize_for!r}", hint=f"one of {get_args(Aim)}")
    if memory == "plio":
        array.need(array.plio_in, "the number of streams from programmable logic")
        array.need(array.plio_out, "the number of streams to programmable logic")


def among(made: Mapping[str, Sequence[ExecModule]], names: Sequence[str]) -> tuple[ExecModule, ...]:
    """The modules that are asked for; a name may stand for several.

    Raises:
        TargetError: one is not there.
    """
    for name in names:
        if name not in made:
            raise TargetError(
                f"the target has no module {name!r}", hint=f"modules are {' and '.join(made)}"
            )
    return tuple(module for name, mine in made.items() if name in names for module in mine)


def columns_alone(columns: int, memory: str, optimize_for: str) -> int:
    """Columns of a layer that is no stage of a pipeline: few will do where the memory bounds it."""
    few = memory == "ddr" and optimize_for == "throughput"
    return min(columns, COLUMNS) if few else columns
