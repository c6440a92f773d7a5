"""The kernels of a GRU or LSTM in float32 whose matrices' columns lie along a cascade.

A published way. Tiles of a row have some columns each, those of the inputs first, then those of the
state. Sums go from tile to tile, a chunk of eight units at a time, a word of eight floats for each
gate; every tile adds its products, so that sums are added in the order of a single tile. The last
tile has gates and state, and sends each step's state to all tiles that multiply it.

Words of a chunk are the gates' in the order in which their products are computed; behind those of
tiles with a state comes what the inputs add to a GRU's last gate, to which the reset gate does not
belong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent import Arrays
from match_aie.targets.aie_ml.kernels.recurrent_single import LANES, SingleCall, single_values


@dataclass(frozen=True)
class LinkCall(SingleCall):
    """The function of a tile of the chain; `parts` says whose columns it has.

    Attributes:
        at: its place.
        chain: tiles.
        inputs_of: tiles of them that have columns of the inputs.
    """

    at: int = 0
    chain: int = 2
    inputs_of: int = 1

    @property
    def begins(self) -> bool:
        """Whether it is the first one."""
        return self.at == 0

    @property
    def ends(self) -> bool:
        """Whether it is the last one."""
        return self.at == self.chain - 1

    @property
    def sees(self) -> bool:
        """Whether it has columns of the inputs."""
        return self.at < self.inputs_of

    @property
    def columns(self) -> range:
        """Of the inputs, or of the state: whole vectors but for the last ones."""
        total = self.inputs if self.sees else self.hidden
        many = self.inputs_of if self.sees else self.chain - self.inputs_of
        at = self.at if self.sees else self.at - self.inputs_of
        each, more = divmod(-(-total // LANES), many)
        first = LANES * (at * each + min(at, more))
        return range(first, min(total, first + LANES * (each + (at < more))))

    @property
    def beside(self) -> bool:
        """Whether what inputs add to a GRU's last gate is apart from its sums behind it."""
        return self.spec.cell == "gru" and not self.sees

    @property
    def apart(self) -> bool:
        """Whether sums of a GRU's last gate begin here."""
        return self.beside and self.at == self.inputs_of

    @property
    def came(self) -> int:
        """Words of a chunk that come."""
        return 0 if self.begins else len(self.spec.gates) + (self.beside and not self.apart)

    @property
    def input_sizes(self) -> tuple[int, ...]:
        """Elements of its buffer: a group's inputs, or a state."""
        if self.sees:
            return (self.group * self.x_width,)
        return () if self.ends else (self.units,)

    @property
    def output_size(self) -> int:
        """Elements of results that it stores at a time."""
        return self.group * self.units if self.ends else 0

    @property
    def sent_size(self) -> int:
        """Elements of a state that it sends to other tiles."""
        return self.units if self.ends and self.chain - self.inputs_of > 1 else 0

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_single_link.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """States twice, and cells; or a state of zeros: local arrays."""
        if self.ends:
            return 4 * self.units * (3 if self.spec.cell == "lstm" else 2)
        return 0 if self.sees else 4 * self.units

    @property
    def products(self) -> int:
        """Vectors of weights."""
        return self.chunks * len(self.spec.gates) * len(self.columns)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Weights; what sums begin with, and numbers of functions, where they are of use."""
        found = [Parameter("w", "float", LANES * self.products)]
        if self.begins or self.apart:
            many = len(self.spec.gates) if self.begins else 1
            found.append(Parameter("bias", "float", many * self.units))
        if self.ends:
            found.append(super().parameters[-1])
        return tuple(found)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        return (
            *("adf::input_async_buffer<float> &__restrict x" for _ in self.input_sizes),
            *(f"const {p.c_type} (&{p.name})[{p.size}]" for p in self.parameters),
            *(() if self.begins else ("input_cascade<accfloat> *from",)),
            *(() if self.ends else ("output_cascade<accfloat> *to",)),
            *(("adf::output_async_buffer<float> &__restrict y",) if self.ends else ()),
            *(("adf::output_async_buffer<float> &__restrict sent",) if self.sent_size else ()),
        )


def chain_of(call: LinkCall) -> tuple[LinkCall, ...]:
    """The functions of all tiles, in their order; `call` is the last one."""
    others = (
        replace(
            call,
            symbol=f"{call.symbol}_{at}",
            at=at,
            parts=("inputs",) if at < call.inputs_of else ("steps",),
        )
        for at in range(call.chain - 1)
    )
    return (*others, call)


def link_call(call: SingleCall, seen: int, states: int) -> LinkCall | None:
    """The function of the last tile of a chain; None where a tile would have no columns.

    Args:
        call: the function of one tile.
        seen: tiles that have columns of the inputs.
        states: tiles that have columns of the state.
    """
    if call.spec.cell == "gru_before" or LANES * (seen - 1) >= call.inputs or states > call.chunks:
        return None
    same = call.symbol, call.header, call.spec, call.steps, call.inputs, call.hidden, call.units
    place = seen + states - 1, seen + states, seen
    return LinkCall(*same, call.group, ("steps",), "link", 0, *place)


def link_values(call: LinkCall, constants: Mapping[str, np.ndarray]) -> Arrays:
    """The values of `call.parameters`.

    Args:
        call: the function.
        constants: weight, recurrent and bias of the layer, float32.
    """
    name, mine = ("weight" if call.sees else "recurrent"), call.columns
    rows = constants[name].reshape(len(call.spec.gates) * call.hidden, -1)
    return single_values(call, 0, {**constants, name: rows[:, mine.start : mine.stop]})
