"""The kernel of a GRU or LSTM in bfloat16: one tile holds weights and state, and walks the steps.

The products of the input do not wait for the state: those of `GROUP` steps are computed together,
as rows of `mmul`; a call has several such groups. The products of the state are of a single row.
Its four octets of lanes become four rows of an operand that are zero elsewhere, so that four
columns of tiles of the weights add to one accumulator: sixteen outputs side by side, as the gates
need them, and no product is computed twice. What is added are products with zero. A single chunk
of a GRU has an accumulator for each quarter instead (`recurrent_quarters`).

Hidden units go in chunks of 16. A tile of the weights is 8x4; its first four rows lie in one bank
and its last four in another (parameters "w" and "v"), so that a product's weights are loaded in
one cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.layout import pack_weights
from match_aie.targets.aie_ml.kernels.recurrent_tables import (
    LINE_FLOATS,
    biases,
    padded,
    signs_of,
    tables,
)
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.workload.bfloat16 import starting
from match_aie.workload.recurrent_bfloat16 import LINES

Cell = Literal["gru", "gru_before", "lstm"]

#: Of a layer's code: the products of the inputs of a group, and the steps.
Part = Literal["inputs", "steps"]

#: Steps whose inputs' products are computed together: the rows of `mmul`.
GROUP = 4

#: Steps of a call at most, largest first: a call has locks and a start of its own.
GROUPS = (16, 8, GROUP)

#: Hidden units of a chunk: lanes of floats.
LANES = 16

#: Reduction and outputs of a tile of weights.
TILE_K, TILE_N = 8, 4

#: Gates of a step in ONNX's order.
GATES: dict[Cell, tuple[str, ...]] = {
    "gru": ("z", "r", "n"),
    "gru_before": ("z", "r", "n"),
    "lstm": ("i", "o", "f", "g"),
}

#: Gates whose products of the state are computed together, in turn.
PRODUCTS: dict[Cell, tuple[tuple[str, ...], ...]] = {
    "gru": (("r", "n", "z"),),
    "gru_before": (("z", "r"), ("n",)),
    "lstm": (("i", "f", "g", "o"),),
}

#: Chunks of units, and products of a step's state, from which on the inputs' code is a loop.
LOOPED, LOOPED_PRODUCTS = 4, 512

#: Gates of chunks whose products of the inputs are computed together: half of the accumulators.
TOGETHER = 2

#: Parameters in the banks of x and y; the others are in those of the stack.
NEAR = ("w", "begin", "bias", "ab")


@dataclass(frozen=True)
class RecurrentSpec:
    """A step's code.

    Attributes:
        cell: which.
    """

    cell: Cell

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"recurrent_{self.cell}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/recurrent.hpp.mako"

    @property
    def gates(self) -> tuple[str, ...]:
        """In the order of the weights."""
        return GATES[self.cell]

    @property
    def products(self) -> tuple[tuple[str, ...], ...]:
        """Gates whose products of the state are computed together, in turn."""
        return PRODUCTS[self.cell]

    #: Whether each quarter of a chunk has an accumulator.
    quartered = False

    #: Whether a step leaves in registers what the next one begins with.
    held = False


@dataclass(frozen=True)
class RecurrentCall:
    """The function of a layer: buffers x and y of a group of steps, and its parameters.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        spec: the kernel.
        steps: of a run.
        inputs: elements of x, before they are filled up.
        hidden: units.
        group: steps of a call, a multiple of `GROUP`.
    """

    symbol: str
    header: str
    spec: RecurrentSpec
    steps: int
    inputs: int
    hidden: int
    group: int = GROUP

    @property
    def tiles(self) -> int:
        """That a layer takes."""
        return 1

    @property
    def whole(self) -> int:
        """Units of all tiles, filled up."""
        return self.y_width

    @property
    def passes(self) -> int:
        """Groups of steps."""
        return -(-self.steps // self.group)

    @property
    def last(self) -> int:
        """Steps of the last group."""
        return self.steps - (self.passes - 1) * self.group

    @property
    def parts(self) -> tuple[Part, ...]:
        """Of a layer's code that it has."""
        return ("inputs", "steps")

    @property
    def products(self) -> tuple[tuple[str, ...], ...]:
        """Gates whose products of the state it has, together and in turn."""
        return self.spec.products

    @property
    def seen_size(self) -> int:
        """Sums of a group's inputs."""
        return self.group * len(self.spec.gates) * self.y_width

    @property
    def x_octets(self) -> int:
        """Tiles of the reduction over the inputs."""
        return -(-self.inputs // TILE_K)

    @property
    def h_octets(self) -> int:
        """Likewise over the state."""
        return -(-self.hidden // TILE_K)

    @property
    def octets(self) -> int:
        """Of those whose weights it has, of every gate."""
        steps = sum(len(turn) for turn in self.products) * self.h_octets
        sizes: dict[Part, int] = {"inputs": len(self.spec.gates) * self.x_octets, "steps": steps}
        return sum(sizes[part] for part in self.parts)

    @property
    def chunks(self) -> int:
        """Of hidden units."""
        return -(-self.hidden // LANES)

    @property
    def input_parts(self) -> int:
        """Parts of the units that the inputs' products are computed for in turn, by the same code.

        One where program memory holds the code for all units.
        """
        if not self.looped:
            return 1
        return next((n for n in range(2, self.chunks + 1) if self.chunks % n == 0), 1)

    #: Gates of chunks whose products of the inputs are computed together at most.
    abreast = TOGETHER

    @property
    def looped(self) -> bool:
        """Whether program memory has no room for the inputs' code for all units."""
        products = len(self.spec.gates) * self.chunks * TILE_N * self.h_octets
        return self.chunks >= LOOPED or products >= LOOPED_PRODUCTS

    @property
    def x_width(self) -> int:
        """Elements of x, filled up."""
        return self.x_octets * TILE_K

    @property
    def y_width(self) -> int:
        """Hidden units, filled up."""
        return self.chunks * LANES

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_layer.cpp.mako"

    @property
    def headers(self) -> tuple[RecurrentSpec, ...]:
        """Kernels that its source includes."""
        return (self.spec,)

    @property
    def stack_bytes(self) -> int:
        """The inputs' sums of a group, states, and what gates keep: local arrays."""
        state, rounded = 4, 0 if self.spec.held else 2 * 2
        kept = 2 * 2 if self.spec.cell == "gru_before" else 0
        return 4 * self.seen_size + self.y_width * (state + rounded + kept)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Halves of the weights, what sums begin with, and both arrays of both tables."""
        tiles = self.chunks * TILE_N * self.octets
        half = tiles * TILE_K * TILE_N // 2
        table = 2 * LINES * LINE_FLOATS
        begins = len(self.spec.gates) * self.y_width
        return (
            Parameter("w", "bfloat16", half),
            Parameter("v", "bfloat16", half),
            Parameter("bias", "float", begins + self.y_width),
            Parameter("ab", "float", table),
            Parameter("cd", "float", table),
        )

    @property
    def x_type(self) -> str:
        """C++ type of the inputs."""
        return "bfloat16"

    @property
    def x_bytes(self) -> int:
        """Of an element of the inputs."""
        return BYTES[self.x_type]

    @property
    def h_type(self) -> str:
        """C++ type of whole states as products read them."""
        return "bfloat16"

    @property
    def h_bytes(self) -> int:
        """Of an element of them."""
        return BYTES[self.h_type]

    @property
    def in_type(self) -> str:
        """C++ type of what it reads of a group."""
        return self.x_type

    @property
    def in_size(self) -> int:
        """Elements that it reads together."""
        return self.group * self.x_width

    @property
    def in_bytes(self) -> int:
        """Likewise."""
        return BYTES[self.in_type] * self.in_size

    @property
    def out_type(self) -> str:
        """C++ type of what it stores."""
        return "bfloat16"

    @property
    def out_size(self) -> int:
        """Elements that it stores together."""
        return self.group * self.y_width

    @property
    def out_bytes(self) -> int:
        """Likewise."""
        return BYTES[self.out_type] * self.out_size

    @property
    def sent_size(self) -> int:
        """Elements of a step that leave apart from its results, for those who read them as such."""
        return 0

    @property
    def sent_bytes(self) -> int:
        """Likewise."""
        return self.h_bytes * self.sent_size

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        return (
            f"adf::input_async_buffer<{self.in_type}> &__restrict x",
            *(f"const {p.c_type} (&{p.name})[{p.size}]" for p in self.parameters),
            f"adf::output_async_buffer<{self.out_type}> &__restrict y",
        )


Arrays = dict[str, np.ndarray]


def parameter_values(
    call: RecurrentCall, weight: np.ndarray, recurrent: np.ndarray, bias: np.ndarray
) -> Arrays:
    """The values of `call.parameters` by name.

    Args:
        call: the function.
        weight: [gates * hidden, inputs], float32.
        recurrent: [gates * hidden, units of the whole state].
        bias: [2, gates * hidden], of the inputs' and of the state's products.
    """
    gates, hidden = len(call.spec.gates), call.hidden
    signs = signs_of(call.spec.gates)[..., None]
    found: list[np.ndarray] = []
    if "inputs" in call.parts:
        rows = weight.reshape(gates, hidden, -1) * signs
        found += _x_tiles(padded(rows, call.y_width, call.x_width), call)
    if "steps" in call.parts:
        rows = recurrent.reshape(gates, hidden, -1) * signs
        found += _h_tiles(padded(rows, call.y_width, call.h_octets * TILE_K), call)
    halves = pack_weights(np.concatenate(found)).reshape(-1, 2, TILE_K * TILE_N // 2)
    table = tables()
    known = {
        "w": np.ascontiguousarray(halves[:, 0]).reshape(-1),
        "v": np.ascontiguousarray(halves[:, 1]).reshape(-1),
        "bias": _begins(call, bias.reshape(2, gates, hidden)),
        "ab": table,
        "cd": table,
    }
    return {p.name: known[p.name] for p in call.parameters}


def _x_tiles(rows: np.ndarray, call: RecurrentCall) -> list[np.ndarray]:
    """Weights [gates, units, inputs] as tiles of 8x4, [tiles, 32] each.

    Turn after turn of the inputs' code, as [octet][gate][quarter].
    """
    gates, _, wide = rows.shape
    chunks = call.chunks
    parts = rows.reshape(gates, chunks, TILE_N, TILE_N, wide // TILE_K, TILE_K)
    order = parts.transpose(1, 0, 4, 2, 5, 3).reshape(chunks * gates, wide // TILE_K, TILE_N, -1)
    return [
        order[turn.start : turn.stop].transpose(1, 0, 2, 3).reshape(-1, TILE_K * TILE_N)
        for turn in input_turns(call)
    ]


def input_turns(call: RecurrentCall) -> list[range]:
    """Gates of chunks whose products of the inputs are computed together, in turn.

    At most `call.abreast`, all of a part of the units.
    """
    total = len(call.spec.gates) * call.chunks
    each = total // call.input_parts
    return [
        range(at, min(at + call.abreast, begin + each))
        for begin in range(0, total, each)
        for at in range(begin, begin + each, call.abreast)
    ]


def _h_tiles(rows: np.ndarray, call: RecurrentCall) -> list[np.ndarray]:
    """Likewise, turn after turn of the products, as [octet][quarter][chunk][gate] tiles."""
    names, found = call.spec.gates, []
    for turn in call.products:
        mine = rows[[names.index(name) for name in turn]]
        shape = (len(turn), call.chunks, TILE_N, TILE_N, call.h_octets, TILE_K)
        order = mine.reshape(shape).transpose(4, 2, 1, 0, 5, 3)
        found.append(np.ascontiguousarray(order).reshape(-1, TILE_K * TILE_N))
    return found


def _begins(call: RecurrentCall, bias: np.ndarray) -> np.ndarray:
    """What sums of the inputs begin with, [chunk][gate][16]; then what a GRU's of the state do."""
    both, state = biases(bias, call.y_width, apart=call.spec.cell == "gru")
    first = starting(starting(both) * signs_of(call.spec.gates))
    wide = np.pad(first, ((0, 0), (0, call.y_width - call.hidden)))
    parts = wide.reshape(-1, call.chunks, LANES).transpose(1, 0, 2)
    return np.concatenate([parts.reshape(-1), state]).astype(np.float32)
