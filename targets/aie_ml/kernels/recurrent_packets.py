"""The kernels of a GRU or LSTM over several tiles that send each other their units as packets.

Every tile has some rows of the matrices. What it stores of a step goes as a packet into a stream
that all tiles' packets are merged into, in no order, and that every tile reads itself: headers say
whose units follow, and so where in the state they belong. A published way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from match_aie.targets.aie_ml.kernels.recurrent_joined import (
    AnyJoined,
    JoinedCall,
    JoinedIntegerCall,
    OneOfSeveral,
)

#: Values that an identifier may have, and bytes of a table of places by them.
IDENTIFIERS, PLACE_BYTES = 32, 4


class OneOfMany(OneOfSeveral):
    """The function of all of the tiles, which run the same on other weights."""

    @property
    def packet_bytes(self) -> int:
        """Of a packet behind its header."""
        return self.h_bytes * self.y_width

    @property
    def words(self) -> int:
        """Likewise, of 32 bits."""
        return self.packet_bytes // 4

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_packets_layer.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """As of tiles that a memory tile joins, whose zeros are the state here; and a table."""
        return super().stack_bytes + IDENTIFIERS * PLACE_BYTES

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: packets behind the parameters."""
        x, _, *parameters, y = super().arguments
        return (x, *parameters, "input_pktstream *h", y)


@dataclass(frozen=True)
class PacketCall(OneOfMany, JoinedCall):
    """With products of bfloat16: results are what packets hold."""


@dataclass(frozen=True)
class IntegerPacketCall(OneOfMany, JoinedIntegerCall):
    """With products of 8 bits: packets hold units as products read them, results lie apart."""

    @property
    def sent_size(self) -> int:
        """Elements of a packet."""
        return self.y_width

    #: C++ type of results.
    out_type = "bfloat16"

    @property
    def out_size(self) -> int:
        """A step's results."""
        return self.y_width

    @property
    def stack_bytes(self) -> int:
        """Likewise, without states in steps: these lie where packets leave from."""
        return super().stack_bytes - 2 * self.y_width

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: what packets leave from behind the results."""
        sent = f"adf::output_async_buffer<{self.h_type}> &__restrict sent"
        return (*super().arguments, sent)


#: The functions of tiles that read packets.
AnyPacket = PacketCall | IntegerPacketCall


def packet_call(call: AnyJoined) -> AnyPacket:
    """The function of tiles that have the units of `call`."""
    kind = IntegerPacketCall if isinstance(call, JoinedIntegerCall) else PacketCall
    return kind(**{field.name: getattr(call, field.name) for field in fields(call)})
