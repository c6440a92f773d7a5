"""The kernel of a GRU or LSTM with products of 8 bits: as `kernels.recurrent`, gates and all.

Integer tiles of `mmul` have eight columns: the products of a state fill an accumulator with 32
units side by side, so units go in chunks of 32, whose halves are the sixteen lanes of gates. Chunks
are walked one after the other, by the same code.

Sums begin with the bits of a float whose last bit means 1, so that what is summed has the bits of a
float, and is one less that number. An octet of a state gets to a row of the operand by turning the
vector of four octets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.layout import pack_weights
from match_aie.targets.aie_ml.kernels.recurrent import (
    LANES,
    TILE_K,
    Arrays,
    Cell,
    RecurrentCall,
    RecurrentSpec,
)
from match_aie.targets.aie_ml.kernels.recurrent_tables import (
    LINE_FLOATS,
    biases,
    padded,
    signs_of,
    tables,
)
from match_aie.workload.bfloat16 import starting
from match_aie.workload.recurrent_bfloat16 import LINES
from match_aie.workload.recurrent_int8 import STATE_STEPS, Rows, scales

#: Hidden units of a chunk: lanes of 32 bits in an accumulator.
WIDE = 2 * LANES

#: Columns of a tile of weights.
COLUMNS = 8

#: Quarters of a chunk, and octets of a vector of a state.
QUARTERS = WIDE // COLUMNS

#: Gates whose products of the state are computed together, in turn. What gates are needed for last
#: is computed while others are looked up.
PRODUCTS: dict[Cell, tuple[tuple[str, ...], ...]] = {
    "gru": (("r", "n"), ("z",)),
    "gru_before": (("r", "z"), ("n",)),
    "lstm": (("i", "f", "g", "o"),),
}

#: Tiles of the reduction over the inputs from which on their code is a loop over gates, too: beside
#: a step's, program memory does not hold it for all of them.
LOOPED_OCTETS = 20

#: The bits of 1.5 * 2**23, whose last bit means 1.
LARGE = 0x4B400000


@dataclass(frozen=True)
class IntegerSpec(RecurrentSpec):
    """A step's code.

    Attributes:
        x: element type of the inputs.
    """

    x: str

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"recurrent_{self.cell}_{self.x}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/recurrent_int8.hpp.mako"

    @property
    def products(self) -> tuple[tuple[str, ...], ...]:
        """Gates whose products of the state are computed together, in turn."""
        return PRODUCTS[self.cell]

    #: See `LOOPED_OCTETS`.
    looped_octets = LOOPED_OCTETS


@dataclass(frozen=True)
class IntegerCall(RecurrentCall):
    """The function of a layer; its spec is an `IntegerSpec`."""

    @property
    def wides(self) -> int:
        """Chunks of 32 units."""
        return -(-self.hidden // WIDE)

    @property
    def chunks(self) -> int:
        """Halves of them."""
        return 2 * self.wides

    @property
    def vectors(self) -> int:
        """Of 32 units that products read of a state."""
        return self.wides

    @property
    def h_octets(self) -> int:
        """Tiles of the reduction over the state, filled up to whole vectors."""
        return QUARTERS * self.vectors

    @property
    def looped(self) -> bool:
        """Whether the inputs' code is of one gate."""
        return self.x_octets >= LOOPED_OCTETS

    @property
    def input_parts(self) -> int:
        """Chunks, which are walked anyway, or their gates."""
        return self.wides * (len(self.spec.gates) if self.looped else 1)

    @property
    def order(self) -> tuple[tuple[int, int], ...]:
        """Products of a step as they come: chunks of units, and turns of gates.

        What a GRU's reset gate is applied to before the product waits for all chunks.
        """
        turns, chunks = range(len(self.spec.products)), range(self.wides)
        if self.spec.cell == "gru_before":
            return tuple((chunk, turn) for turn in turns for chunk in chunks)
        return tuple((chunk, turn) for chunk in chunks for turn in turns)

    @property
    def x_type(self) -> str:
        """C++ type of the inputs."""
        assert isinstance(self.spec, IntegerSpec)
        return self.spec.x

    #: C++ type of whole states as products read them.
    h_type = "int8"

    @property
    def stack_bytes(self) -> int:
        """The inputs' sums of a call, states, and what gates keep: local arrays."""
        state, steps = 4, 2
        kept = 2 + 2 + 1 if self.spec.cell == "gru_before" else 0
        return 4 * self.seen_size + self.y_width * (state + steps + kept)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Halves of the weights, what sums begin with and are multiplied by, tables."""
        gates = len(self.spec.gates) * self.y_width
        half = self.y_width * self.octets * TILE_K // 2
        table = 2 * LINES * LINE_FLOATS
        return (
            Parameter("w", "int8", half),
            Parameter("v", "int8", half),
            Parameter("begin", "int32", gates),
            Parameter("bias", "float", 2 * gates + self.y_width),
            Parameter("scale", "bfloat16", 3 * gates),
            Parameter("ab", "float", table),
            Parameter("cd", "float", table),
        )


def integer_values(
    call: IntegerCall, constants: Arrays, x_scale: float, zero_point: int, first_octet: int = 0
) -> dict[str, np.ndarray]:
    """The values of `call.parameters` by name.

    Args:
        call: the function.
        constants: weight, recurrent and bias of the layer, float32.
        x_scale: of the inputs.
        zero_point: likewise.
        first_octet: of the state that the function multiplies.
    """
    gates, hidden = len(call.spec.gates), call.hidden
    x_rows, h_rows = (Rows.of(constants[name]) for name in ("weight", "recurrent"))
    x_part = padded(x_rows.codes.reshape(gates, hidden, -1), call.y_width, call.x_width)
    first, h_width = TILE_K * first_octet, WIDE * call.vectors
    columns = h_rows.codes.reshape(gates, hidden, -1)[..., first : first + h_width]
    h_part = padded(columns, call.y_width, h_width)
    parts = {"inputs": [_x_tiles(x_part, call.wides)], "steps": _h_tiles(h_part, call)}
    tiles = np.concatenate([each for part in call.parts for each in parts[part]])
    halves = tiles.astype(np.int8).reshape(-1, 2, TILE_K * COLUMNS // 2)

    def by_gate(values: np.ndarray) -> np.ndarray:
        """[gates, units], filled up."""
        signed = values.reshape(gates, hidden) * signs_of(call.spec.gates)
        return _wide(starting(signed), call.y_width)

    both = constants["bias"].reshape(2, gates, hidden)
    bias, apart = biases(both, call.y_width, apart=call.spec.cell == "gru")
    x_scales = _by_octet(by_gate(scales(x_rows, x_scale)), call.wides)
    h_scales = by_gate(scales(h_rows, 1.0 / STATE_STEPS)).reshape(-1)
    begin = LARGE - zero_point * x_part.sum(axis=2)
    table = tables()
    known: Arrays = {
        "w": np.ascontiguousarray(halves[:, 0]).reshape(-1),
        "v": np.ascontiguousarray(halves[:, 1]).reshape(-1),
        "begin": _by_chunk(begin, call.wides).reshape(-1).astype(np.int32),
        "bias": np.concatenate([_by_octet(by_gate(bias), call.wides), apart]),
        "scale": pack_weights(np.concatenate([x_scales, h_scales])),
        "ab": table,
        "cd": table,
    }
    return {p.name: known[p.name] for p in call.parameters}


def _wide(values: np.ndarray, units: int) -> np.ndarray:
    return np.pad(values, ((0, 0), (0, units - values.shape[1]))).astype(np.float32)


def _by_chunk(values: np.ndarray, wides: int) -> np.ndarray:
    """[gates, units] as [chunk][gate][32]."""
    return values.reshape(len(values), wides, WIDE).transpose(1, 0, 2)


def _by_octet(values: np.ndarray, wides: int) -> np.ndarray:
    """[gates, units] as [chunk][gate][octet], each octet twice: for two steps."""
    octets = _by_chunk(values, wides).reshape(-1, 1, COLUMNS)
    return np.repeat(octets, 2, axis=1).reshape(-1)


def _x_tiles(rows: np.ndarray, wides: int) -> np.ndarray:
    """Weights [gates, units, inputs] as tiles of 8x8, [chunk][gate][octet][quarter]."""
    gates, _, inputs = rows.shape
    parts = rows.reshape(gates, wides, QUARTERS, COLUMNS, inputs // TILE_K, TILE_K)
    return np.ascontiguousarray(parts.transpose(1, 0, 4, 2, 5, 3)).reshape(-1, TILE_K * COLUMNS)


def turned(vectors: int) -> np.ndarray:
    """Octets of a state [vector][turn][quarter]: which one is in which row, turn by turn."""
    turn, quarter = np.meshgrid(np.arange(QUARTERS), np.arange(QUARTERS), indexing="ij")
    return QUARTERS * np.arange(vectors)[:, None, None] + (quarter + turn) % QUARTERS


def _h_tiles(rows: np.ndarray, call: IntegerCall) -> list[np.ndarray]:
    """Likewise, in the products' order, each as [vector][turn][quarter][gate] tiles."""
    names, found = call.spec.gates, []
    octets = turned(call.vectors)
    for chunk, turn in call.order:
        gates = call.spec.products[turn]
        mine = rows[[names.index(name) for name in gates], WIDE * chunk : WIDE * (chunk + 1)]
        shape = (len(gates), QUARTERS, COLUMNS, call.h_octets, TILE_K)
        parts = mine.reshape(shape).transpose(3, 1, 0, 4, 2)  # [octet][quarter][gate]
        chosen = parts[octets, np.arange(QUARTERS)]
        found.append(np.ascontiguousarray(chosen).reshape(-1, TILE_K * COLUMNS))
    return found
