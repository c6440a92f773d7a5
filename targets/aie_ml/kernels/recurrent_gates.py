"""The kernels of a GRU or LSTM whose gates are spread over a chain of tiles for each sixteen units.

The last tile of a chain, its southern end, has the state and the gate that all others wait for; the
others have the other gates, and the first one the products of the inputs, too. All get the whole
state before as packets. Sums and gates go down the chain as words of a cascade, sixteen floats
each, which take no lock. Ahead of a step come the sums of the inputs' products that tiles further
down begin with, the nearest to the state first; then what each tile makes of the state, in the
order of `ORDER`: a GRU's product that the reset gate is applied to, rounded, and other gates before
they are rounded. So only the first gate's products are waited for, and a tile with the state has no
lock but that of its packet. Its results leave a group of steps at a time. The last state of a run,
which no step reads, is no packet, so that tiles begin the next run as soon as they can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Literal

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent import (
    GROUP,
    GROUPS,
    LANES,
    TILE_K,
    Cell,
    Part,
    RecurrentCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall, OneOfSeveral
from match_aie.targets.aie_ml.kernels.recurrent_packets import IDENTIFIERS, PLACE_BYTES
from match_aie.targets.aie_ml.kernels.recurrent_quarters import QuarteredSpec

#: Gates in the order in which a tile with the state wants them.
ORDER: dict[Cell, tuple[str, ...]] = {"gru": ("r", "n", "z"), "lstm": ("i", "g", "f", "o")}

#: Gates of each tile of a chain, from that with the state on: the fastest ones of two tiles, and a
#: tile for each gate.
SPLITS: dict[Cell, tuple[tuple[int, ...], ...]] = {
    "gru": ((2, 1), (1, 1, 1)),
    "lstm": ((2, 2), (1, 1, 1, 1)),
}

#: Bytes of a float.
FLOAT_BYTES = 4

#: What a function does next: all inputs of the first group, words ahead of a step, a step, one
#: gate's inputs of the next group.
Doing = tuple[Literal["inputs", "send", "step", "ahead"], int]


@dataclass(frozen=True)
class GatesCall(OneOfSeveral):
    """The function of one tile of the chains, which all run the same on other weights.

    Attributes:
        split: gates of each tile of a chain, from that with the state on.
        at: which of these it is.
    """

    split: tuple[int, ...] = (2, 1)
    at: int = 0

    @property
    def depth(self) -> int:
        """Tiles of a chain."""
        return len(self.split)

    @property
    def chains(self) -> int:
        """Which is how many packets make up a state."""
        return self.whole // self.hidden

    @property
    def tiles(self) -> int:
        """That a layer takes."""
        return self.depth * self.chains

    @property
    def ends(self) -> bool:
        """Whether it has the state."""
        return self.at == 0

    @property
    def begins(self) -> bool:
        """Whether it multiplies inputs."""
        return self.at == self.depth - 1

    @property
    def own(self) -> tuple[str, ...]:
        """Gates whose products of the state it has."""
        return self._of(self.at)

    def _of(self, at: int) -> tuple[str, ...]:
        first = sum(self.split[:at])
        return ORDER[self.spec.cell][first : first + self.split[at]]

    @property
    def products(self) -> tuple[tuple[str, ...], ...]:
        """Its gates, one at a time."""
        return tuple((gate,) for gate in self.own)

    @property
    def later(self) -> tuple[str, ...]:
        """Gates that come as words in a step."""
        return ORDER[self.spec.cell][sum(self.split[: self.at + 1]) :]

    @property
    def kept(self) -> tuple[str, ...]:
        """Gates whose sums of the inputs come as words ahead of a step, and stay here."""
        return () if self.begins else self._begun(self.at)

    @property
    def handed(self) -> tuple[str, ...]:
        """Likewise, which go on down the chain."""
        return tuple(gate for at in range(self.at) for gate in self._begun(at))

    def _begun(self, at: int) -> tuple[str, ...]:
        """Gates whose sums of the inputs a tile of the chain wants.

        A GRU's last gate has those added behind the reset gate, by the tile with the state.
        """
        if self.spec.cell == "lstm":
            return self._of(at)
        return (*(gate for gate in self._of(at) if gate != "n"), *(("n",) if at == 0 else ()))

    #: A gate of the inputs at a time, each behind another step of the group before.
    abreast = 1

    @property
    def parts(self) -> tuple[Part, ...]:
        """Of a layer's code that it has."""
        return ("inputs", "steps") if self.begins else ("steps",)

    @property
    def h_octets(self) -> int:
        """Tiles of the reduction over the whole state."""
        return self.whole // TILE_K

    @property
    def words(self) -> int:
        """Of a packet behind its header."""
        return 2 * self.y_width // 4

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_gates_layer.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """The whole state, a table of places; the own state, or two groups' sums: local arrays."""
        found = self.h_bytes * self.whole + IDENTIFIERS * PLACE_BYTES
        found += FLOAT_BYTES * self.y_width if self.ends else 0
        return found + (2 * FLOAT_BYTES * self.seen_size if self.begins else 0)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Weights; what sums begin with, and tables, where they are of use."""
        gru = self.spec.cell == "gru"
        biased, plain = self.begins or (gru and "n" in self.own), gru and self.own == ("n",)
        unused = ((not biased) * ("bias",)) + (plain * ("ab", "cd"))
        return tuple(p for p in super().parameters if p.name not in unused)

    @property
    def in_size(self) -> int:
        """Elements of a group's inputs."""
        return super().in_size if self.begins else 0

    @property
    def out_size(self) -> int:
        """Elements of a group's results."""
        return self.group * self.y_width if self.ends else 0

    @property
    def sent_size(self) -> int:
        """Elements of a packet."""
        return self.y_width if self.ends else 0

    def ahead_of(self, step: int) -> bool:
        """Whether a gate's inputs of the next group are multiplied behind this step."""
        group, at = divmod(step, GROUP)
        return at < len(self.spec.gates) and GROUP * (group + 1) < self.steps

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        found = [f"const {p.c_type} (&{p.name})[{p.size}]" for p in self.parameters]
        if self.begins:
            found.insert(0, f"adf::input_async_buffer<{self.x_type}> &__restrict x")
        found.append("input_pktstream *h")
        if not self.begins:
            found.append("input_cascade<accfloat> *from")
        if not self.ends:
            return (*found, "output_cascade<accfloat> *to")
        return (
            *found,
            f"adf::output_async_buffer<{self.out_type}> &__restrict y",
            f"adf::output_async_buffer<{self.h_type}> &__restrict sent",
        )


def chain_of(call: GatesCall) -> tuple[GatesCall, ...]:
    """The functions of a chain, from the tile with the state on."""
    symbol = call.symbol.removesuffix(f"_gates{call.at}")
    return tuple(
        replace(
            call,
            symbol=f"{symbol}_gates{at}" if at else symbol,
            at=at,
            group=_group(call) if at == 0 else GROUP,
        )
        for at in range(call.depth)
    )


def _group(call: RecurrentCall) -> int:
    """Steps whose results leave together: as many as a run has, at most the longest group."""
    return min(GROUPS[0], GROUP * -(-call.steps // GROUP))


def gates_calls(call: JoinedCall) -> Iterator[GatesCall]:
    """The functions of tiles with the state, by every split, of the units that `call` has.

    None for a single step, which has no packets.
    """
    if call.hidden != LANES or call.spec.cell not in ORDER or call.steps == 1:
        return
    same = {field.name: getattr(call, field.name) for field in fields(JoinedCall)}
    same["spec"] = QuarteredSpec(call.spec.cell)
    for split in SPLITS[call.spec.cell]:
        yield chain_of(GatesCall(**same, split=split))[0]


def sequence(call: GatesCall) -> tuple[Doing, ...]:
    """A run of one of the tiles.

    The first one of a chain sends what the next step begins with before it goes on with inputs, so
    that nobody waits for these; but for the last of a group's four gates, which are an LSTM's.
    """
    found: list[Doing] = [("inputs", 0), ("send", 0)] if call.begins else []
    for step in range(call.steps):
        if not call.ends and not call.begins:
            found.append(("send", step))
        found.append(("step", step))
        if not call.begins:
            continue
        then: list[Doing] = [("send", step + 1)] * (step + 1 < call.steps)
        then += [("ahead", step)] * call.ahead_of(step)
        found += then[::-1] if step % GROUP == GROUP - 1 else then
    return tuple(found)
