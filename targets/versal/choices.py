"""What users choose of the target as a whole, and what is refused of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Literal, get_args

from match_aie.errors import TargetError
from match_aie.hardware import ExecModule, refuse_word
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import MemoryKind
from match_aie.targets.aie_ml.graph.spread_plan import Aim
from match_aie.targets.aie_ml.known import device as known_device

#: Generations of the array that Versal devices have; the others lie beside other processors.
VERSAL = ("AIE", "AIE-ML", "AIE-MLv2")

#: What dense and recurrent layers of float32 tensors become on the array. "int8" is "bf16", but for
#: recurrent layers of quantised inputs, whose products are of 8 bits. "bfp16" is "bf16", but for
#: dense layers and attention with an unshifted softmax, whose products are of block floating point.
#: "float32_logic" is "float32", but for recurrent layers on cores that multiply it: their gates are
#: in programmable logic.
Floats = Literal["float32", "float32_logic", "bf16", "int8", "bfp16"]

#: Of quantised attention whose heads no tile holds: the model's weights, or a running softmax. Of
#: attention in bfloat16: weights of scores less their row's largest, or, "unshifted", as they are.
Softmax = Literal["model", "running", "unshifted"]

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
    refuse_word("memory", memory, get_args(MemoryKind))
    refuse_word("optimize_for", optimize_for, get_args(Aim))
    if memory == "plio":
        array.need(array.plio_in, "the number of streams from programmable logic")
        array.need(array.plio_out, "the number of streams to programmable logic")


def refuse_clock(megahertz: float) -> None:
    """Refuse a clock of the Arm core that is none.

    Raises:
        TargetError: so it is.
    """
    if not isinstance(megahertz, (int, float)) or not 0 < megahertz < inf:
        raise TargetError(f"an Arm core at {megahertz!r} MHz", hint="a number above 0")


def of_float32(name: str) -> bool:
    """Whether cores of device `name` multiply float32 numbers: those of the first generation."""
    return known_device(name).architecture.name == "AIE"


def refuse_arithmetic(name: str, floats: str, softmax: str) -> None:
    """Refuse what is no choice, or what cores of device `name` do not multiply.

    Raises:
        TargetError: so it is.
    """
    refuse_word("floats", floats, get_args(Floats))
    core, single = known_device(name).architecture.core, floats.startswith("float32")
    if floats == "float32_logic" and not of_float32(name):
        raise TargetError(
            f"cores of {name} do not multiply float32",
            hint='floats="bf16", and gates in logic by layers={LABEL: {"logic": 1}}',
        )
    if not single and not core.tilings_of("bfloat16", "bfloat16"):
        raise TargetError(f"cores of {name} have no products of bfloat16", hint='floats="float32"')
    if floats == "bfp16" and not core.tilings_of("bfloat16", "bfp16"):
        raise TargetError(
            f"there are no kernels of block floating point for {name}",
            hint='floats="bf16", or quantised layers',
        )
    refuse_word("softmax", softmax, get_args(Softmax))


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


def columns_asked(array: Device, asked: int | None, optimize_for: str) -> int:
    """Columns that a layer may take at most: so many, or what is usual where nobody says.

    Raises:
        TargetError: it is no number, or the array has not that many.
    """
    usual = array.columns if optimize_for == "throughput" else COLUMNS
    columns = usual if asked is None else asked
    number = isinstance(columns, int) and not isinstance(columns, bool)
    if not number or not 1 <= columns <= array.columns:
        raise TargetError(
            f"{columns!r} columns a layer, {array.name} has {array.columns}",
            hint=f"columns_per_layer: a number from 1 to {array.columns}",
        )
    return columns


def starts_once(array: Device, aim: str) -> bool:
    """Whether layers in a row that hand over are priced with one start.

    Each is with a dispatch where a processor dispatches whole programs, and none where runs follow
    each other.
    """
    return aim == "latency" and array.dispatch_us is None


def columns_alone(columns: int, memory: str, optimize_for: str) -> int:
    """Columns of a layer that is no stage of a pipeline: few will do where the memory bounds it."""
    few = memory == "ddr" and optimize_for == "throughput"
    return min(columns, COLUMNS) if few else columns
