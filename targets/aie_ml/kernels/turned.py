"""The kernel of a transpose of 8-bit elements: tiles of 8 x 8, each turned by itself.

Descriptors of memory tiles move 32-bit words, so they bring tiles in one order and store them in
another, and the core turns what is inside of one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.elements import ElementCall
from match_aie.targets.aie_ml.kernels.spec import C_TYPES

#: Rows and columns of a tile.
SIDE = 8


@dataclass(frozen=True)
class TurnedSpec:
    """y = x transposed, tile by tile.

    Attributes:
        a: element type, 8 bits.
    """

    a: str

    def __post_init__(self) -> None:
        """Refuse types of other widths."""
        if self.a not in ("int8", "uint8"):
            raise TargetError(f"no transpose of {self.a}")

    @property
    def dtype(self) -> str:
        """Of what it stores."""
        return self.a

    @property
    def lanes(self) -> int:
        """Elements of a tile."""
        return SIDE * SIDE

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"turned_{self.a}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/turned.hpp.mako"

    @property
    def c_type(self) -> str:
        """C++ name of the element type."""
        return C_TYPES[self.a]


@dataclass(frozen=True)
class TurnedCall(ElementCall[TurnedSpec]):
    """A transpose's function: buffers x and y, no parameters.

    Attributes:
        rows: tiles of a call.
    """

    rows: int

    #: Its template, which reads it under the name `call`.
    template = "aie/turned_layer.cpp.mako"

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores of tiles; it has no parameters."""
        del values
        tiles = inputs[0].reshape(-1, SIDE, SIDE)
        return np.ascontiguousarray(tiles.transpose(0, 2, 1)).reshape(-1)
