"""The kernels of a GRU or LSTM on two tiles that send each other their units of every state.

Each has half of the rows of the matrices. A core has two ways in, one for x and one for the other
tile's units, so that nothing has to be merged, and no memory tile stands between them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from match_aie.targets.aie_ml.kernels.recurrent_joined import (
    AnyJoined,
    JoinedCall,
    JoinedIntegerCall,
    OneOfSeveral,
)


@dataclass(frozen=True)
class OneOfTwo(OneOfSeveral):
    """The function of one of the two.

    Attributes:
        tile: which: the units of the first come first.
    """

    tile: int = 0

    @property
    def h_size(self) -> int:
        """Elements of the other tile's units."""
        return self.out_size

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_exchange_layer.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """As of a single tile; and zeros that the first step reads of the other's units."""
        return super().stack_bytes - self.h_bytes * self.y_width


@dataclass(frozen=True)
class ExchangeCall(OneOfTwo, JoinedCall):
    """With products of bfloat16."""


@dataclass(frozen=True)
class IntegerExchangeCall(OneOfTwo, JoinedIntegerCall):
    """With products of 8 bits: units are sent in both forms."""


#: The functions of two tiles.
AnyExchange = ExchangeCall | IntegerExchangeCall


def exchange_calls(call: AnyJoined) -> tuple[AnyExchange, AnyExchange]:
    """The functions of two tiles that have the units of `call`, as another two join them."""
    kind = IntegerExchangeCall if isinstance(call, JoinedIntegerCall) else ExchangeCall
    same = {field.name: getattr(call, field.name) for field in fields(call) if field.name != "tile"}
    first = kind(**same, tile=0)
    return first, kind(**same | {"symbol": f"{call.symbol}_other"}, tile=1)
