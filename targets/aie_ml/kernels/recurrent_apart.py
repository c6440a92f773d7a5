"""The kernels of a GRU or LSTM on two tiles: one multiplies inputs, the other has the state.

The products of the inputs do not wait for the state. A tile of its own computes them ahead and
sends their sums, float32, to the tile that walks the steps as that of a single one does.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent import (
    LOOPED,
    LOOPED_PRODUCTS,
    TILE_N,
    Part,
    RecurrentCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_int8 import IntegerCall

#: Bytes of a sum.
SUM_BYTES = 4


class InputsCall(RecurrentCall):
    """The function that multiplies inputs: a group's at a time, and no state."""

    #: Of a layer's code.
    parts: ClassVar[tuple[Part, ...]] = ("inputs",)

    @property
    def looped(self) -> bool:
        """Whether program memory has no room for the code for all units."""
        products = len(self.spec.gates) * self.chunks * TILE_N * self.x_octets
        return self.chunks >= LOOPED or products >= LOOPED_PRODUCTS

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_inputs_layer.cpp.mako"

    #: No local arrays.
    stack_bytes = 0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of a layer without tables."""
        return tuple(p for p in super().parameters if p.name not in ("ab", "cd"))

    #: C++ type of what it stores.
    out_type = "float"

    @property
    def out_size(self) -> int:
        """Sums of a group."""
        return self.seen_size


class FedCall(RecurrentCall):
    """A function of states that gets its inputs' sums, of a group of steps at a time."""

    #: Of a layer's code.
    parts: ClassVar[tuple[Part, ...]] = ("steps",)

    @property
    def stack_bytes(self) -> int:
        """As of tiles that multiply inputs themselves, without the inputs' sums."""
        return super().stack_bytes - SUM_BYTES * self.seen_size

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of a layer but for what inputs' sums begin with."""
        return tuple(p for p in super().parameters if p.name != "begin")

    #: C++ type of the inputs' sums.
    in_type = "float"

    @property
    def in_size(self) -> int:
        """Sums of a group."""
        return self.seen_size


class StatesCall(FedCall):
    """The function that walks steps, out of a group's sums of the inputs' products."""

    #: One is for the inputs.
    tiles = 2

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_layer.cpp.mako"


class IntegerInputsCall(InputsCall, IntegerCall):
    """Likewise, with products of 8 bits."""


class IntegerStatesCall(StatesCall, IntegerCall):
    """Likewise, with products of 8 bits."""


def states_call(call: RecurrentCall) -> StatesCall:
    """The function that walks the steps of `call`."""
    kind = IntegerStatesCall if isinstance(call, IntegerCall) else StatesCall
    return kind(**_attributes(call))


def inputs_call(call: StatesCall) -> InputsCall:
    """The function whose sums `call` reads."""
    kind = IntegerInputsCall if isinstance(call, IntegerCall) else InputsCall
    return kind(**_attributes(call) | {"symbol": f"{call.symbol}_inputs"})


def _attributes(call: RecurrentCall) -> dict[str, Any]:
    return {field.name: getattr(call, field.name) for field in fields(call)}
