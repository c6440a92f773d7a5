"""The kernels of a GRU or LSTM in float32 whose gates are in programmable logic.

A published way. Tiles have some rows of the matrices each, and a tile next to each multiplies their
inputs. They send sums, float32, to logic, which applies the functions of the gates out of tables,
forms the state, and sends it to all tiles and to one that collects states until a group of them
leaves. A reset gate before the product takes two turns of this in a step: sums of r and z go over,
and r h comes back; then that of the new state, and its state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import WORD_BYTES, LogicCall
from match_aie.targets.aie_ml.kernels.recurrent_single import LANES, SingleCall
from match_aie.workload.recurrent_single_lines import logistic_single_lines, tanh_single_lines

#: Bytes of a float.
FLOAT = 4

#: Sums of a unit in one turn: a gate's each, and what inputs add to a GRU's last gate.
SENT = {"gru": 4, "lstm": 4, "gru_before": 2}

#: Units of which logic forms a state in one cycle at most.
ABREAST = 32


@dataclass(frozen=True)
class SentCall(SingleCall):
    """The function of a tile that sends sums; `senders` may be one."""

    @property
    def turns(self) -> tuple[tuple[str, ...], ...]:
        """Gates whose products of the state are computed together: those of a turn of logic."""
        return self.spec.products if self.spec.cell == "gru_before" else (self.spec.gates,)

    @property
    def width(self) -> int:
        """Floats of a unit that it sends in a turn."""
        return SENT[self.spec.cell]

    @property
    def beside(self) -> bool:
        """Whether what inputs add to a GRU's last gate is sent apart from its sums."""
        return self.spec.cell == "gru"

    @property
    def input_sizes(self) -> tuple[int, ...]:
        """Elements of its buffers: sums of a group's inputs, and what comes back."""
        return self.sums, self.whole

    @property
    def output_size(self) -> int:
        """Elements that it sends in a turn."""
        return self.width * self.units

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_single_sent.cpp.mako"

    @property
    def stack_bytes(self) -> int:
        """A state of zeros, which the first step reads."""
        return FLOAT * self.whole

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Weights, and what sums begin with."""
        return tuple(p for p in super().parameters if p.name != "numbers")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        return (
            "adf::input_async_buffer<float> &__restrict x",
            "adf::input_async_buffer<float> &__restrict h",
            *(f"const {p.c_type} (&{p.name})[{p.size}]" for p in self.parameters),
            "adf::output_async_buffer<float> &__restrict y",
        )


@dataclass(frozen=True)
class KeepCall(SingleCall):
    """The function of the tile that collects states; it has no parts."""

    @property
    def turns(self) -> tuple[tuple[str, ...], ...]:
        """As tiles with sums have them: what comes in all turns but the last is no state."""
        return self.spec.products if self.spec.cell == "gru_before" else (self.spec.gates,)

    @property
    def input_sizes(self) -> tuple[int, ...]:
        """Elements of its buffer: what comes back."""
        return (self.whole,)

    @property
    def output_size(self) -> int:
        """Elements that it stores at a time."""
        return self.group * self.whole

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_single_keep.cpp.mako"

    #: No local arrays.
    stack_bytes = 0

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        return (
            "adf::input_async_buffer<float> &__restrict h",
            "adf::output_async_buffer<float> &__restrict y",
        )


def sent_calls(call: SingleCall, most: int) -> Iterator[SentCall]:
    """The functions of tiles that have the units of `call`, one tile first.

    Args:
        call: the function of one tile.
        most: tiles that may send.
    """
    for senders in range(1, most + 1):
        units = LANES * ceil(call.hidden / (LANES * senders))
        if (senders - 1) * units < call.hidden:
            same = f"{call.symbol}_rows", call.header, call.spec, call.steps, call.inputs
            group = call.hidden, units, call.group
            yield SentCall(*same, *group, ("steps",), "sent", senders)


def keep_call(call: SentCall) -> KeepCall:
    """The function of the tile that collects the states of such tiles."""
    same = call.header, call.spec, call.steps, call.inputs, call.hidden, call.units, call.group
    name = call.symbol.replace("_steps_rows", "_steps_states")
    return KeepCall(name, *same, (), "keep", call.senders)


@dataclass(frozen=True)
class SingleLogicCall(LogicCall):
    """The kernel of programmable logic: a turn each time it runs, without end."""

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_single_logic.cpp.mako"

    @property
    def tables(self) -> dict[str, object]:
        """Lines of its functions, by name."""
        return {"logistic": logistic_single_lines(), "tanh": tanh_single_lines()}

    @property
    def turns(self) -> int:
        """Times that it runs in a step."""
        return 2 if self.cell == "gru_before" else 1

    @property
    def sent(self) -> int:
        """Floats of a unit that come in a turn."""
        return SENT[self.cell]

    @property
    def words(self) -> int:
        """That come from a tile in a turn."""
        return self.units * self.sent * FLOAT // WORD_BYTES

    @property
    def results(self) -> int:
        """Words of a state."""
        return self.whole * FLOAT // WORD_BYTES

    @property
    def chunks(self) -> int:
        """Of eight units that a tile has."""
        return self.units // LANES

    @property
    def abreast(self) -> int:
        """Units whose states are formed together, one such part a cycle."""
        return max(n for n in range(LANES, ABREAST + 1, LANES) if self.whole % n == 0)


def single_logic_call(call: SentCall) -> SingleLogicCall:
    """The kernel that has the gates of such tiles."""
    name = call.symbol.removesuffix("_steps_rows")
    return SingleLogicCall(f"{name}_logic", call.spec.cell, call.senders, call.units, call.steps)
