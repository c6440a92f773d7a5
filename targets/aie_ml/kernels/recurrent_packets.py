"""The kernels of a GRU or LSTM over several tiles that send each other their units as packets.

Every tile has some rows of the matrices. What it stores of a step goes as a packet into a stream
that all tiles' packets are merged into, in no order, and that every tile reads itself: headers say
whose units follow, and so where in the state they belong. A published way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall

#: The function's template.
PACKETS_TEMPLATE = "aie/recurrent_packets_layer.cpp.mako"

#: Values that an identifier may have, and bytes of a table of places by them.
IDENTIFIERS, PLACE_BYTES = 32, 4


@dataclass(frozen=True)
class PacketCall(JoinedCall):
    """The function of all of the tiles, which run the same on other weights."""

    @property
    def tiles(self) -> int:
        """Which is how many packets make up a state."""
        return self.whole // self.hidden

    @property
    def words(self) -> int:
        """Of a packet behind its header."""
        return self.out_bytes // 4

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""
        return PACKETS_TEMPLATE

    @property
    def stack_bytes(self) -> int:
        """As of tiles that a memory tile joins, whose zeros are the state here; and a table."""
        return super().stack_bytes + IDENTIFIERS * PLACE_BYTES

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: packets behind the parameters."""
        x, _, *parameters, y = super().arguments
        return (x, *parameters, "input_pktstream *h", y)


def packet_call(call: JoinedCall) -> PacketCall:
    """The function of tiles that have the units of `call`."""
    return PacketCall(**{field.name: getattr(call, field.name) for field in fields(JoinedCall)})
