"""The kernels of a GRU or LSTM whose matrices' columns lie along a cascade of tiles, in bfloat16.

The first tile has the columns of the inputs, each other one some of the state's. Sums of a step go
from tile to tile, every one adds its products, and the last one has the gates and the state, which
goes back to the others. Sums are added in the order of a single tile.

Units are walked in equal parts whose sums accumulators hold. The words of a part are sixteen floats
each: the sums to which products of the state are added, chunk by chunk and gate by gate as
`spec.products` has them; behind those, chunk by chunk, what a GRU's inputs add to the last gate, to
which no product of the state is added.
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
    Part,
    RecurrentCall,
    RecurrentSpec,
    parameter_values,
)

#: Words that accumulators hold beside what gates are made of.
SUMS = 12

Role = Literal["first", "middle", "last"]

#: What a function does next: inputs of a group, send a step's sums, a step, take the last state.
Doing = tuple[Literal["inputs", "send", "step", "end"], int]


@dataclass(frozen=True)
class CascadeCall(RecurrentCall):
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

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""
        return "aie/recurrent_cascade_layer.cpp.mako"

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

    @property
    def in_type(self) -> str:
        """C++ type of what it reads: inputs, or states."""
        return "bfloat16"

    @property
    def in_size(self) -> int:
        """Elements that it reads together: inputs of a group, or a whole state; 0 of the last."""
        return {"first": self.group * self.x_width, "middle": self.y_width, "last": 0}[self.role]

    @property
    def in_bytes(self) -> int:
        """Likewise."""
        return 2 * self.in_size

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


def chain(call: RecurrentCall, tiles: int) -> tuple[CascadeCall, ...]:
    """The functions of so many tiles, in their order; none where a tile has no octet of the state.

    Octets are spread evenly, those that are left over from the first tile with a state on.
    """
    octets = ceil(call.hidden / TILE_K)
    each, more = divmod(octets, tiles - 1)
    if not each:
        return ()
    spec = RecurrentSpec(call.spec.cell)  # words are of all gates
    names = call.symbol, call.header, spec, call.steps, call.inputs, call.hidden, GROUP
    found = [CascadeCall(*names, "first", tiles, 0, 0)]
    first = 0
    for at in range(tiles - 1):
        own = each + (at < more)
        role: Role = "last" if at == tiles - 2 else "middle"
        found.append(CascadeCall(*names, role, tiles, first, own))
        first += own
    return tuple(
        replace(one, symbol=f"{call.symbol}_{at}") if one.role != "last" else one
        for at, one in enumerate(found)
    )


def sequence(call: CascadeCall) -> tuple[Doing, ...]:
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


def cascade_values(call: CascadeCall, constants: Arrays) -> Arrays:
    """The values of `call.parameters` by name.

    Args:
        call: the function.
        constants: weight, recurrent and bias of the layer, float32.
    """
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
