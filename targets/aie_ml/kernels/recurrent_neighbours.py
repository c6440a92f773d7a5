"""The kernels of a GRU or LSTM on two tiles that read each other's memory, and two for inputs.

Each of two tiles above each other has half of the units. A step's units stay where their tile
stores them: the other core loads them from there, since cores reach their neighbours' memories, and
no stream and no DMA is between them. Two tiles more multiply the inputs ahead.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent import Part, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_apart import (
    SUM_BYTES,
    InputsCall,
    IntegerInputsCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_exchange import ExchangeCall, IntegerExchangeCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined, JoinedIntegerCall


class FedCall(RecurrentCall):
    """A function of states that gets its inputs' sums for a group of steps, and fetches states."""

    @property
    def tiles(self) -> int:
        """That a layer takes."""
        return 4

    @property
    def parts(self) -> tuple[Part, ...]:
        """Of a layer's code."""
        return ("steps",)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of a layer but for what inputs' sums begin with."""
        return tuple(p for p in super().parameters if p.name != "begin")

    @property
    def in_type(self) -> str:
        """C++ type of the inputs' sums."""
        return "float"

    @property
    def in_size(self) -> int:
        """Sums of a group."""
        return self.seen_size

    @property
    def in_bytes(self) -> int:
        """Likewise."""
        return SUM_BYTES * self.in_size

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""
        return "aie/recurrent_neighbours_layer.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """As of tiles that exchange states, without the inputs' sums."""
        return super().stack_bytes - SUM_BYTES * self.seen_size


@dataclass(frozen=True)
class NeighbourCall(FedCall, ExchangeCall):
    """The function of one of the two with states."""


@dataclass(frozen=True)
class IntegerNeighbourCall(FedCall, IntegerExchangeCall):
    """Likewise, with products of 8 bits."""


#: The functions of two tiles with states.
AnyNeighbour = NeighbourCall | IntegerNeighbourCall


def neighbour_calls(call: AnyJoined, group: int) -> tuple[AnyNeighbour, AnyNeighbour]:
    """The functions of the two tiles that have the units of `call`."""
    kind = IntegerNeighbourCall if isinstance(call, JoinedIntegerCall) else NeighbourCall
    same = {field.name: getattr(call, field.name) for field in fields(call) if field.name != "tile"}
    same["group"] = group
    first = kind(**same, tile=0)
    return first, kind(**same | {"symbol": f"{call.symbol}_other"}, tile=1)


def ahead_call(call: AnyNeighbour) -> InputsCall:
    """The function whose sums such a tile reads: of its units."""
    kind = IntegerInputsCall if isinstance(call, IntegerNeighbourCall) else InputsCall
    own = {field.name: getattr(call, field.name) for field in fields(RecurrentCall)}
    return kind(**own | {"symbol": f"{call.symbol.removesuffix('_other')}_inputs"})
