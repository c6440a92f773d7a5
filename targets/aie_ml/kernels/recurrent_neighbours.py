"""The kernels of a GRU or LSTM on two tiles next to each other, and two for inputs.

Each of two tiles above each other has half of the units. A step's units stay where their tile
stores them: the other core loads them from there, since cores reach their neighbours' memories, and
no stream and no DMA is between them. In bfloat16 the upper tile sends its own along the cascade
instead, which leads down: sixteen sums a word, and no lock; the lower one rounds them. With sixteen
units a tile both halves of a state are in registers (`recurrent_quarters.PairedSpec`). Results are
stored beside them, and leave a group of steps at a time, so that a step has locks for the neighbour
alone. Two tiles more multiply the inputs ahead.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

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
from match_aie.targets.aie_ml.kernels.recurrent_quarters import PairedSpec


class OneOfFour(FedCall, OneOfSeveral):
    """A function of states that fetches the other tile's units where that one stored them."""

    #: Two are for inputs.
    tiles = 4

    @property
    def takes(self) -> bool:
        """Whether the other tile's units come along the cascade."""
        return False

    @property
    def hands(self) -> bool:
        """Whether its own go along the cascade."""
        return False

    @property
    def h_size(self) -> int:
        """Elements of the other tile's units that it loads from there."""
        return 0 if self.takes else self.y_width

    @property
    def sent_size(self) -> int:
        """Elements that the other tile loads of a step."""
        return 0 if self.hands else self.y_width

    #: C++ type of results.
    out_type = "bfloat16"

    @property
    def out_size(self) -> int:
        """Elements of a group's results."""
        return self.group * self.y_width

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: what the other tile loads behind the results."""
        x, h, *others = super().arguments
        found = [x, *others] if self.takes else [x, h, *others]
        if not self.hands:
            found.append(f"adf::output_async_buffer<{self.h_type}> &__restrict sent")
        if self.takes:
            found.append("input_cascade<accfloat> *from")
        return (*found, "output_cascade<accfloat> *to") if self.hands else tuple(found)

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_neighbours_layer.cpp.mako"


@dataclass(frozen=True)
class NeighbourCall(OneOfFour, ExchangeCall):
    """The function of one of the two with states; the second one's tile is the upper one."""

    @property
    def takes(self) -> bool:
        """Whether the other tile's units come along the cascade."""
        return self.tile == 0

    @property
    def hands(self) -> bool:
        """Whether its own go along the cascade."""
        return self.tile == 1

    @property
    def stack_bytes(self) -> int:
        """Without rounded states, and zeros for the first step, where registers have these."""
        rounded = 3 * self.h_bytes * self.y_width if isinstance(self.spec, PairedSpec) else 0
        return super().stack_bytes - rounded


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
    if call.spec.quartered:
        same["spec"] = PairedSpec(call.spec.cell)
    first = kind(**same, tile=0)
    return first, kind(**same | {"symbol": f"{call.symbol}_other"}, tile=1)


def ahead_call(call: AnyNeighbour) -> InputsCall:
    """The function whose sums such a tile reads: of its units."""
    kind = IntegerInputsCall if isinstance(call, IntegerNeighbourCall) else InputsCall
    own = {field.name: getattr(call, field.name) for field in fields(RecurrentCall)}
    return kind(**own | {"symbol": f"{call.symbol.removesuffix('_other')}_inputs"})
