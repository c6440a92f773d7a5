"""The kernels of a GRU or LSTM whose matrices' columns lie along a cascade of tiles.

The first tile has the columns of the inputs, each other one some of the state's. Sums of a step go
from tile to tile, every one adds its products, and the last one has the gates and the state, which
goes back to the others. Sums are added in the order of a single tile.

Units are walked in equal parts whose sums accumulators hold. The words of a part are sixteen floats
each: the sums to which products of the state are added, chunk by chunk and gate by gate as
`spec.products` has them; behind those, chunk by chunk, what a GRU's inputs add to the last gate, to
which no product of the state is added.

With products of 8 bits sums of the state are integers, which go on as the bits of floats that their
kernels count in, and what inputs add to each gate goes beside them: it is scaled otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent import (
    GROUP,
    LANES,
    TILE_K,
    Arrays,
    Cell,
    Part,
    RecurrentCall,
    RecurrentSpec,
    parameter_values,
)
from match_aie.targets.aie_ml.kernels.recurrent_int8 import (
    QUARTERS,
    IntegerCall,
    integer_values,
)
from match_aie.workload import Operand

#: See `IntegerCascadeCall.passed`; in the order in which gates need it.
PASSED: dict[Cell, tuple[tuple[tuple[str, ...], ...], ...]] = {
    "gru": ((("r", "n"),), (("z",),)),
    "lstm": ((("i", "f", "g"), ("o",)),),
}

#: Words that accumulators hold beside what gates are made of.
SUMS = 12

Role = Literal["first", "middle", "last"]

#: What a function does next: inputs of a group, send a step's sums, a step, take the last state.
Doing = tuple[Literal["inputs", "send", "step", "end"], int]


@dataclass(frozen=True)
class OneOfChain(RecurrentCall):
    """The function of one tile of the chain.

    Attributes:
        role: where in the chain.
        tiles: of the chain.
        first_octet: of the state that it multiplies.
        own_octets: so many of them.
    """

    role: Role = "last"
    tiles: int = 2
    first_octet: int = 0
    own_octets: int = 1

    @property
    def parts(self) -> tuple[Part, ...]:
        """Of a layer's code."""
        return ("inputs",) if self.role == "first" else ("steps",)

    @property
    def walks(self) -> int:
        """Parts of the units."""
        raise NotImplementedError

    @property
    def words(self) -> int:
        """Of a step."""
        raise NotImplementedError

    @property
    def came(self) -> int:
        """Words of a step that come."""
        return self.words

    @property
    def in_type(self) -> str:
        """C++ type of what it reads: inputs, or states."""
        return self.x_type if self.role == "first" else self.h_type

    @property
    def in_size(self) -> int:
        """Elements that it reads together: inputs of a group, or a whole state; 0 of the last."""
        return {"first": self.group * self.x_width, "middle": self.y_width, "last": 0}[self.role]

    @property
    def out_size(self) -> int:
        """A step's states, of the last."""
        return self.y_width if self.role == "last" else 0

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        found = [f"const {p.c_type} (&{p.name})[{p.size}]" for p in self.parameters]
        if self.role != "last":
            name = "x" if self.role == "first" else "h"
            found.insert(0, f"adf::input_async_buffer<{self.in_type}> &__restrict {name}")
        if self.role != "first":
            found.append("input_cascade<accfloat> *from")
        if self.role != "last":
            return (*found, "output_cascade<accfloat> *to")
        return (*found, f"adf::output_async_buffer<{self.out_type}> &__restrict results")


@dataclass(frozen=True)
class CascadeCall(OneOfChain):
    """With products of bfloat16."""

    @property
    def h_octets(self) -> int:
        """Tiles of the reduction over its part of the state."""
        return self.own_octets

    @property
    def together(self) -> int:
        """Chunks of a part of the units."""
        most = SUMS // len(self.spec.gates)
        return max(many for many in range(1, most + 1) if self.chunks % many == 0)

    @property
    def walks(self) -> int:
        """Parts of the units."""
        return self.chunks // self.together

    @property
    def sums(self) -> int:
        """Words of a part to which products of the state are added."""
        return self.together * len(self.spec.products[0])

    @property
    def beside(self) -> int:
        """Words of a part behind them."""
        return self.together if self.spec.cell == "gru" else 0

    @property
    def words(self) -> int:
        """Of a step."""
        return self.walks * (self.sums + self.beside)

    @property
    def part(self) -> CascadeCall:
        """The function of a part of the units."""
        return replace(self, hidden=LANES * self.together)

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_cascade_layer.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """Inputs' sums, a state of zeros, or the state and twice its rounded form: local arrays."""
        of_unit = {"first": 0, "middle": 2, "last": 4 + 2 * 2}[self.role]
        return of_unit * self.y_width + (4 * self.seen_size if self.role == "first" else 0)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Weights; what sums begin with is the first tile's, tables are the last one's."""
        names = {"first": ("bias",), "middle": (), "last": ("ab", "cd")}[self.role]
        return tuple(p for p in super().parameters if p.name in ("w", "v", *names))


@dataclass(frozen=True)
class IntegerCascadeCall(OneOfChain, IntegerCall):
    """With products of 8 bits: a tile has whole vectors of the state's columns.

    The last tile stores its units twice: as results, and as products read them.
    """

    @property
    def vectors(self) -> int:
        """Of the state that products of this tile read."""
        return self.own_octets // QUARTERS

    @property
    def walks(self) -> int:
        """Parts of the units."""
        return self.wides

    @property
    def words(self) -> int:
        """Of a step, if sums of the state are in them."""
        return 2 * self._beside

    @property
    def came(self) -> int:
        """Words of a step that come: the first tile has no sums of the state."""
        return self.words if self.first_octet else self._beside

    @property
    def _beside(self) -> int:
        return len(self.spec.gates) * self.chunks

    @property
    def passed(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """What inputs add to gates, as it is passed on behind the sums of each turn of products.

        By turns: gates that are passed together, for one half of a chunk's units and then for the
        other.
        """
        return PASSED[self.spec.cell]

    @property
    def sent_size(self) -> int:
        """Elements of a state that leave apart from results."""
        return self.y_width if self.role == "last" and self.tiles > 2 else 0

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_cascade_int8_layer.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """Inputs' sums, a state of zeros, or the state and twice its steps: local arrays."""
        of_unit = {"first": 0, "middle": 1, "last": 4 + 2}[self.role]
        return of_unit * self.y_width + (4 * self.seen_size if self.role == "first" else 0)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Weights; what a role needs beside them."""
        names = {
            "first": ("begin", "bias", "scale"),
            "middle": (),
            "last": ("bias", "scale", "ab", "cd"),
        }[self.role]
        return tuple(p for p in super().parameters if p.name in ("w", "v", *names))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: what other tiles read behind the results."""
        if not self.sent_size:
            return super().arguments
        return (*super().arguments, f"adf::output_async_buffer<{self.h_type}> &__restrict sent")


#: The functions of tiles along a cascade.
AnyCascade = CascadeCall | IntegerCascadeCall


def chain(call: RecurrentCall, tiles: int) -> tuple[AnyCascade, ...]:
    """The functions of so many tiles, in their order; none where a tile has no octet of the state.

    Octets, or vectors of four with products of 8 bits, are spread evenly, those that are left over
    from the first tile with a state on.
    """
    integers = isinstance(call, IntegerCall)
    kind, many = (IntegerCascadeCall, QUARTERS) if integers else (CascadeCall, 1)
    each, more = divmod(ceil(call.hidden / (many * TILE_K)), tiles - 1)
    if not each:
        return ()
    spec = call.spec if integers else RecurrentSpec(call.spec.cell)  # words are of all gates
    names = call.symbol, call.header, spec, call.steps, call.inputs, call.hidden, GROUP
    found: list[AnyCascade] = [kind(*names, "first", tiles, 0, 0)]
    first = 0
    for at in range(tiles - 1):
        own = many * (each + (at < more))
        role: Role = "last" if at == tiles - 2 else "middle"
        found.append(kind(*names, role, tiles, first, own))
        first += own
    return tuple(
        replace(one, symbol=f"{call.symbol}_{at}") if one.role != "last" else one
        for at, one in enumerate(found)
    )


def sequence(call: AnyCascade) -> tuple[Doing, ...]:
    """A run of one of the tiles."""
    if call.role != "first":
        steps: tuple[Doing, ...] = tuple(("step", step) for step in range(call.steps))
        return (*steps, ("end", 0)) if call.role == "middle" else steps
    found: list[Doing] = []
    for step in range(call.steps):
        if step % GROUP == 0:
            found.append(("inputs", step // GROUP))
        found.append(("send", step))
    return tuple(found)


def cascade_values(call: AnyCascade, constants: Arrays, x: Operand) -> Arrays:
    """The values of `call.parameters` by name.

    Args:
        call: the function.
        constants: weight, recurrent and bias of the layer, float32.
        x: the layer's input, quantised where its products are of 8 bits.
    """
    if isinstance(call, IntegerCascadeCall):
        return integer_values(call, constants, x.scale or 1.0, x.zero_point, call.first_octet)
    if call.role == "first":
        return parameter_values(call, *(constants[n] for n in ("weight", "recurrent", "bias")))
    gates, units = len(call.spec.gates), LANES * call.together
    first = TILE_K * call.first_octet
    mine = constants["recurrent"][:, first : first + TILE_K * call.own_octets]
    known = constants["weight"], mine, constants["bias"].T
    found = []
    for begin in range(0, call.hidden, units):
        some = min(units, call.hidden - begin)
        weight, recurrent, bias = (
            each.reshape(gates, call.hidden, -1)[:, begin : begin + some].reshape(gates * some, -1)
            for each in known
        )
        part = replace(call, hidden=some)
        found.append(parameter_values(part, weight, recurrent, np.ascontiguousarray(bias.T)))
    whole = {name: np.concatenate([each[name] for each in found]) for name in ("w", "v")}
    return {p.name: whole.get(p.name, found[0][p.name]) for p in call.parameters}
