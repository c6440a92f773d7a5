"""The kernel of a GRU or LSTM in bfloat16 over several tiles: each has some of the units.

A tile computes its units of a state as `kernels.recurrent` does, out of the whole state before. It
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

#: What a function does next: the inputs of a group of steps, a step, or take the last state.
Doing = tuple[Literal["inputs", "step", "end"], int]


@dataclass(frozen=True)
class JoinedCall(RecurrentCall):
    """The function of one of the tiles, which all run the same; `hidden` are those of a tile.

    Attributes:
        whole: units of all tiles, filled up.
    """

    whole: int = 0

    @property
    def stored(self) -> int:
        """A step's."""
        return 1

    @property
    def h_octets(self) -> int:
        """Tiles of the reduction over the whole state."""
        return self.whole // TILE_K

    @property
    def sequence(self) -> tuple[Doing, ...]:
        """A run."""
        found: list[Doing] = []
        for step in range(self.steps):
            if step % GROUP == 0:
                found.append(("inputs", step // GROUP))
            found.append(("step", step))
        return (*found, ("end", 0))

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""
        return "aie/recurrent_joined_layer.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """As of a single tile; and a state of zeros that the first step reads."""
        return super().stack_bytes + 2 * self.whole

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: whole states behind the inputs."""
        x, *others = super().arguments
        return (x, "adf::input_async_buffer<bfloat16> &__restrict h", *others)


def joined_values(call: JoinedCall, tile: int, constants: Arrays) -> Arrays:
    """The values of `call.parameters` of the tile of that number.

    Args:
        call: the function.
        tile: from the first units on.
        constants: weight, recurrent and bias of the layer, float32.
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
    return parameter_values(call, mine(constants["weight"]), mine(constants["recurrent"]), bias)
