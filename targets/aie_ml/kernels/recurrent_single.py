"""The kernels of a GRU or LSTM in float32, for cores of the first AI Engine.

A vector is eight floats; sums of products lie in vector registers, of which there are eight. So
hidden units go in chunks of eight, and a step's products of a chunk are one vector of weights times
one element of the state after the other, two gates in turn, since products on one sum keep a
distance of two cycles (UG1079, "Floating-Point Operations"); those of a gate alone leave every
other cycle to the functions of other gates. Products of inputs are of all gates in turn.

A tile may do all of a layer, or products of inputs, or steps whose inputs' sums a tile next to it
has: each buffer has one writer and one reader, as binary locks want it. Or two to sixteen tiles
have some of the rows each, and send their units as packets of one stream that all of them read, and
a tile that collects states until a group of them leaves, so that no step waits for what is outside:
a published way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent import Arrays, Part, RecurrentSpec
from match_aie.targets.aie_ml.kernels.recurrent_packets import IDENTIFIERS, PLACE_BYTES
from match_aie.workload.recurrent_single import (
    FACTORS,
    HELD,
    HELD_SQUARE,
    LOGISTIC,
    RECIPROCAL_BITS,
)

#: Floats of a vector, and hidden units of a chunk.
LANES = 8

#: Steps of a call at most, largest first.
GROUPS = (8, 4, 2, 1)

#: Bytes of the table of places of packets, by their identifiers.
PLACES_BYTES = IDENTIFIERS * PLACE_BYTES

#: What a tile does of steps: all, or some rows; or it collects what tiles with rows send; or it has
#: some columns (`recurrent_single_cascade`); or it sends sums to programmable logic, or collects
#: what comes from there (`recurrent_single_hybrid`).
Role = Literal["alone", "rows", "gather", "link", "sent", "keep"]

#: What a function does next of a run: a group's inputs, steps of a group, a tile's own units of a
#: step, the last state of the others, which no step reads, all units of a step that leaves, some
#: columns of a step, or sums of a step's first or second turn of logic.
Doing = Literal["inputs", "group", "own", "end", "gather", "link", "sent", "then"]

#: A step's turns of logic.
TURNS: tuple[Doing, ...] = ("sent", "then")

#: Vectors of numbers that functions read, each of one number, by their names in the template.
NUMBERS: dict[str, float] = {
    "least": -HELD,
    "most": HELD,
    "square": HELD_SQUARE,
    **FACTORS,
    "bits": float(np.int32(RECIPROCAL_BITS).view(np.float32)),
    "one": 1.0,
    "half": 0.5,
}


class SingleSpec(RecurrentSpec):
    """A step's code in float32."""

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"recurrent_single_{self.cell}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/recurrent_single.hpp.mako"

    @property
    def products(self) -> tuple[tuple[str, ...], ...]:
        """Gates whose products of the state are computed together, in turn."""
        return (("f", "i"), ("o", "g")) if self.cell == "lstm" else (("r", "z"), ("n",))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the vectors of numbers."""
        return tuple(NUMBERS)


@dataclass(frozen=True)
class SingleCall:
    """The function of a tile; one that collects has no parts.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        spec: the kernel.
        steps: of a run.
        inputs: of a step.
        hidden: units of the layer.
        units: of the tile, a multiple of `LANES`.
        group: steps whose inputs' sums come together, or of a call.
        parts: of the layer that it does.
        role: what it does of steps.
        senders: tiles that send each other packets; 0 elsewhere.
    """

    symbol: str
    header: str
    spec: SingleSpec
    steps: int
    inputs: int
    hidden: int
    units: int
    group: int
    parts: tuple[Part, ...] = ("inputs", "steps")
    role: Role = "alone"
    senders: int = 0

    @property
    def turns(self) -> tuple[tuple[str, ...], ...]:
        """Gates whose products of the state are computed together, in turn."""
        return self.spec.products

    @property
    def exchanges(self) -> int:
        """Times in a step that tiles with rows send each other packets.

        A reset gate before the product sends what it lets through, and then states.
        """
        return len(self.turns) if self.spec.cell == "gru_before" else 1

    @property
    def passes(self) -> int:
        """Groups of steps."""
        return ceil(self.steps / self.group)

    @property
    def last(self) -> int:
        """Steps of the last group."""
        return self.steps - (self.passes - 1) * self.group

    @property
    def chunks(self) -> int:
        """Of the tile's units."""
        return self.units // LANES

    @property
    def x_width(self) -> int:
        """Elements of x, filled up."""
        return LANES * ceil(self.inputs / LANES)

    @property
    def tiles(self) -> int:
        """That share the steps."""
        return self.senders or 1

    @property
    def whole(self) -> int:
        """Units of all tiles, filled up."""
        return self.tiles * self.units

    @property
    def sums(self) -> int:
        """Sums of a group's inputs."""
        return self.group * len(self.spec.gates) * self.units

    @property
    def input_sizes(self) -> tuple[int, ...]:
        """Elements of its buffers: x or sums."""
        if self.role == "gather":
            return ()
        return (self.group * self.x_width if "inputs" in self.parts else self.sums,)

    @property
    def output_size(self) -> int:
        """Elements that it stores at a time."""
        if self.role == "gather":
            return self.group * self.whole
        if "steps" not in self.parts:
            return self.sums
        return self.units * (self.group if self.role == "alone" else 1)

    @property
    def sent_size(self) -> int:
        """Elements that it stores beside these, for other tiles."""
        return 0

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""
        kind: str = "layer" if self.role == "alone" else self.role
        kind = "inputs" if self.parts == ("inputs",) else kind
        return f"aie/recurrent_single_{kind}.cpp.mako"

    @property
    def headers(self) -> tuple[SingleSpec, ...]:
        """Kernels that its source includes."""
        return (self.spec,)

    @property
    def stack_bytes(self) -> int:
        """Local arrays: states twice, zeros, cells, what gates keep, sums, places of packets."""
        if "steps" not in self.parts:
            return PLACES_BYTES if self.role == "gather" else 0
        floats = 2 * self.units + (self.exchanges * self.whole if self.role == "rows" else 0)
        floats += self.units if self.spec.cell == "lstm" else 0
        floats += 2 * self.units if self.spec.cell == "gru_before" else 0
        floats += self.sums if "inputs" in self.parts else 0
        return 4 * floats + (PLACES_BYTES if self.senders else 0)

    @property
    def products(self) -> int:
        """Vectors of weights."""
        elements: dict[Part, int] = {"inputs": self.inputs, "steps": self.hidden}
        return self.chunks * len(self.spec.gates) * sum(elements[part] for part in self.parts)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Weights, what sums begin with, and numbers of functions."""
        if not self.parts:
            return ()
        found = [Parameter("w", "float", LANES * self.products)]
        begins = len(self.spec.gates) * self.units if "inputs" in self.parts else 0
        if "steps" in self.parts and self.spec.cell == "gru":
            begins += self.units
        if begins:
            found.append(Parameter("bias", "float", begins))
        if "steps" in self.parts:
            found.append(Parameter("numbers", "float", LANES * len(NUMBERS)))
        return tuple(found)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        return (
            *("adf::input_async_buffer<float> &__restrict x" for _ in self.input_sizes),
            *(f"const {p.c_type} (&{p.name})[{p.size}]" for p in self.parameters),
            *(("input_pktstream *h",) if self.role in ("rows", "gather") else ()),
            "adf::output_async_buffer<float> &__restrict y",
        )


def sequence(call: SingleCall) -> tuple[tuple[Doing, int], ...]:
    """A run of a tile: what it does, and of which step or group."""
    spread = TURNS[1 : call.exchanges]
    if call.role == "gather":
        return _each(call, ("gather", *spread))
    if call.role == "link":
        reads = call.parts == ("steps",) and call.input_sizes  # the state of another tile
        return (*(("link", step) for step in range(call.steps)), *(("end", 0),) * bool(reads))
    if call.role in ("sent", "keep"):
        turns = _each(call, TURNS[: len(call.turns)])
        return (*turns, *(("end", 0),) * (call.role == "sent"))
    if "steps" not in call.parts:
        return tuple(("inputs", group) for group in range(call.passes))
    if call.role == "alone":
        return tuple(("group", group) for group in range(call.passes))
    return (*_each(call, ("own", *spread)), ("end", 0))


def _each(call: SingleCall, turns: tuple[Doing, ...]) -> tuple[tuple[Doing, int], ...]:
    """All of these in every step."""
    return tuple((doing, step) for step in range(call.steps) for doing in turns)


def single_values(call: SingleCall, tile: int, constants: Mapping[str, np.ndarray]) -> Arrays:
    """The values of `call.parameters`.

    Args:
        call: the function.
        tile: which of those that share the units, from the first units on.
        constants: weight, recurrent and bias of the layer, float32.
    """
    if not call.parts:
        return {}
    gates, first = len(call.spec.gates), tile * call.units
    kind = "lstm" if call.spec.cell == "lstm" else "gru"
    halves = np.ones((gates, 1), np.float32)
    halves[list(LOGISTIC[kind])] = 0.5
    of_state = halves.copy()

    def mine(values: np.ndarray) -> np.ndarray:
        """Rows [gates, units, columns] of this tile's units, filled up."""
        rows = values.astype(np.float32).reshape(gates, call.hidden, -1)
        rows = rows[:, first : first + call.units]
        return np.pad(rows, ((0, 0), (0, call.units - rows.shape[1]), (0, 0)))

    bias = [mine(each)[..., 0] for each in constants["bias"].reshape(2, -1)]
    begins = (bias[0] + bias[1]) * halves
    apart = np.zeros(0, np.float32)
    if call.spec.cell == "gru":
        of_state[2] = 0.5  # the reset gate multiplies halves
        begins[2], apart = bias[0][2], bias[1][2] * of_state[2]
    weights = []
    if "inputs" in call.parts:
        weights.append(_turned(mine(constants["weight"]) * halves[..., None], call))
    if "steps" in call.parts:
        rows = mine(constants["recurrent"]) * of_state[..., None]
        weights.append(_in_turns(rows, call))
    parts = [begins.reshape(-1)] if "inputs" in call.parts else []
    known = {
        "w": np.concatenate(weights),
        "bias": np.concatenate([*parts, *([apart] if "steps" in call.parts else [])] or [apart]),
        "numbers": np.repeat(np.array(list(NUMBERS.values()), np.float32), LANES),
    }
    return {p.name: np.ascontiguousarray(known[p.name], np.float32) for p in call.parameters}


def _in_turns(rows: np.ndarray, call: SingleCall) -> np.ndarray:
    """Weights of the state's products in the order in which they are read.

    Chunk by chunk, and turn by turn in each; but for a reset gate before the product all chunks of
    a turn come first.
    """
    places = [[call.spec.gates.index(name) for name in names] for names in call.turns]
    turns = [_turned(rows[each], call) for each in places]
    if call.spec.cell == "gru_before":
        return np.concatenate(turns)
    parts = [turn.reshape(call.chunks, -1) for turn in turns]
    return np.concatenate(parts, axis=1).reshape(-1)


def _turned(rows: np.ndarray, call: SingleCall) -> np.ndarray:
    """Weights [gates, units, elements] as [chunk][element][gate][8], flat."""
    gates, _, elements = rows.shape
    parts = rows.reshape(gates, call.chunks, LANES, elements)
    return np.ascontiguousarray(parts.transpose(1, 3, 0, 2)).reshape(-1)
