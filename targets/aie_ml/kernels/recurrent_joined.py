"""The kernels of a GRU or LSTM over several tiles: each has some of the units.

A tile computes its units of a state as that of a single one does, out of the whole state before. It
stores them for a memory tile, which joins those of all tiles and sends the whole to every one. Each
function walks a run as `sequence` says: the products of the next steps' inputs are computed while
the state is on its way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from match_aie.targets.aie_ml.kernels.recurrent import (
    GROUP,
    TILE_K,
    Arrays,
    RecurrentCall,
    parameter_values,
)
from match_aie.targets.aie_ml.kernels.recurrent_int8 import WIDE, IntegerCall, integer_values
from match_aie.workload import Operand

#: What a function does next: the inputs of a group of steps, a step, or take the last state.
Doing = tuple[Literal["inputs", "step", "end"], int]


def sequence(call: RecurrentCall) -> tuple[Doing, ...]:
    """A run of one of several tiles."""
    found: list[Doing] = []
    for step in range(call.steps):
        if step % GROUP == 0:
            found.append(("inputs", step // GROUP))
        found.append(("step", step))
    return (*found, ("end", 0))


@dataclass(frozen=True)
class OneOfSeveral(RecurrentCall):
    """The function of one of the tiles; `hidden` are those of a tile.

    Attributes:
        whole: units of all tiles, filled up.
    """

    whole: int = 0

    @property
    def tiles(self) -> int:
        """That a layer takes."""
        return self.whole // self.hidden

    @property
    def h_size(self) -> int:
        """Elements of states that arrive together."""
        return self.whole

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_joined_layer.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """As of a single tile; and a state of zeros that the first step reads."""
        return super().stack_bytes + self.h_bytes * self.whole

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: whole states behind the inputs."""
        x, *others = super().arguments
        return (x, f"adf::input_async_buffer<{self.h_type}> &__restrict h", *others)


@dataclass(frozen=True)
class JoinedCall(OneOfSeveral):
    """With products of bfloat16; all tiles run the same."""

    @property
    def h_octets(self) -> int:
        """Tiles of the reduction over the whole state."""
        return self.whole // TILE_K

    @property
    def out_size(self) -> int:
        """A step's."""
        return self.y_width


@dataclass(frozen=True)
class JoinedIntegerCall(OneOfSeveral, IntegerCall):
    """Likewise, with products of 8 bits.

    A tile stores its units of a step twice: rounded to bfloat16, as results, and behind these as
    products read them.
    """

    @property
    def vectors(self) -> int:
        """Of the whole state."""
        return self.whole // WIDE

    #: Bytes, which are two things.
    out_type = "int8"

    @property
    def out_size(self) -> int:
        """A step's."""
        return 3 * self.y_width


#: The functions of several tiles.
AnyJoined = JoinedCall | JoinedIntegerCall


def joined_values(call: RecurrentCall, tile: int, constants: Arrays, x: Operand) -> Arrays:
    """The values of `call.parameters` of the tile of that number.

    Args:
        call: the function, of some of the units.
        tile: from the first units on.
        constants: weight, recurrent and bias of the layer, float32.
        x: the layer's input, quantised where its products are of 8 bits.
    """
    gates, units = len(call.spec.gates), call.hidden
    hidden = len(constants["recurrent"]) // gates
    first, last = tile * units, min((tile + 1) * units, hidden)

    def mine(values: np.ndarray) -> np.ndarray:
        """Rows [gates * hidden, columns] of this tile's units, filled up."""
        rows = values.reshape(gates, hidden, -1)[:, first:last]
        rows = np.pad(rows, ((0, 0), (0, units - rows.shape[1]), (0, 0)))
        return np.ascontiguousarray(rows).reshape(gates * units, -1)

    bias = np.stack([mine(each)[:, 0] for each in constants["bias"]])
    weight, recurrent = (mine(constants[name]) for name in ("weight", "recurrent"))
    if "steps" not in call.parts:  # products of states are of no use there
        recurrent = recurrent[:, :units]
    if isinstance(call, IntegerCall):
        known = {"weight": weight, "recurrent": recurrent, "bias": bias}
        return integer_values(call, known, x.scale or 1.0, x.zero_point)
    return parameter_values(call, weight, recurrent, bias)
