"""The kernels of a GRU or LSTM on two tiles that read each other's memory, and two for inputs.

Each of two tiles above each other has half of the units. A step's units stay where their tile
stores them: the other core loads them from there, since cores reach their neighbours' memories, and
no stream and no DMA is between them. Results are stored beside them, and leave a group of steps at
a time, so that a step has locks for the neighbour alone. Two tiles more multiply the inputs ahead.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_apart import (
    FedCall,
    InputsCall,
    IntegerInputsCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_exchange import ExchangeCall, IntegerExchangeCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import (
    AnyJoined,
    JoinedIntegerCall,
    OneOfSeveral,
)


class OneOfFour(FedCall, OneOfSeveral):
    """A function of states that fetches the other tile's units where that one stored them.

    Attributes:
        tiles: that a layer takes.
    """

    tiles: ClassVar[int] = 4

    @property
    def h_size(self) -> int:
        """Elements of the other tile's units."""
        return self.sent_size

    @property
    def sent_size(self) -> int:
        """Elements that the other tile loads of a step."""
        return self.y_width

    @property
    def sent_bytes(self) -> int:
        """Likewise."""
        return self.h_bytes * self.sent_size

    @property
    def out_type(self) -> str:
        """C++ type of results."""
        return "bfloat16"

    @property
    def out_size(self) -> int:
        """Elements of a group's results."""
        return self.group * self.y_width

    @property
    def out_bytes(self) -> int:
        """Likewise."""
        return 2 * self.out_size

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: what the other tile loads behind the results."""
        return (*super().arguments, f"adf::output_async_buffer<{self.h_type}> &__restrict sent")

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""
        return "aie/recurrent_neighbours_layer.cpp.mako"


@dataclass(frozen=True)
class NeighbourCall(OneOfFour, ExchangeCall):
    """The function of one of the two with states."""


@dataclass(frozen=True)
class IntegerNeighbourCall(OneOfFour, IntegerExchangeCall):
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
