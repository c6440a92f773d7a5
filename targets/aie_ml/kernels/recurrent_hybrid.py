"""The kernels of a GRU or LSTM whose gates are in programmable logic: a published way.

Every tile has some rows of the matrices. It sends what it has summed of a step to logic, which
applies the functions of the gates out of tables, forms the state, and sends it to all tiles.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.recurrent import LANES, Cell, RecurrentSpec
from match_aie.targets.aie_ml.kernels.recurrent_joined import (
    AnyJoined,
    JoinedCall,
    JoinedIntegerCall,
    OneOfSeveral,
)
from match_aie.workload.recurrent_bfloat16 import sigmoid_lines, tanh_lines

#: Bytes of a word of a stream between the array and logic.
WORD_BYTES = 16

#: Units of which logic forms a state in one cycle at most.
ABREAST = 32


class OneOfHybrid(OneOfSeveral):
    """The function of one of the tiles, which all run the same: products, and no gates."""

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_hybrid_layer.cpp.mako"

    @property
    def sent(self) -> tuple[str, ...]:
        """Gates whose sums are sent, rounded, in their order."""
        return self.spec.gates if self.spec.cell == "lstm" else ("r", "n", "z")

    @property
    def beside(self) -> int:
        """Sums of 32 bits of a unit behind these: of the inputs, where a gate waits for another."""
        return 0 if self.spec.cell == "lstm" else 1

    #: C++ type of sums.
    out_type = "bfloat16"

    @property
    def out_size(self) -> int:
        """Elements of 16 bits that a step's sums take."""
        return (len(self.sent) + 2 * self.beside) * self.y_width

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of a layer without tables."""
        return tuple(p for p in super().parameters if p.name not in ("ab", "cd"))

    @property
    def stack_bytes(self) -> int:
        """The inputs' sums of a group, and zeros that the first step reads."""
        return 4 * self.seen_size + self.h_bytes * self.whole


@dataclass(frozen=True)
class HybridCall(OneOfHybrid, JoinedCall):
    """With products of bfloat16."""


@dataclass(frozen=True)
class IntegerHybridCall(OneOfHybrid, JoinedIntegerCall):
    """With products of 8 bits: sums are multiplied by their rows' scales before they are sent."""


#: The functions of tiles whose gates are in logic.
AnyHybrid = HybridCall | IntegerHybridCall


def hybrid_call(call: AnyJoined) -> AnyHybrid:
    """The function of tiles that have the units of `call`."""
    kind = IntegerHybridCall if isinstance(call, JoinedIntegerCall) else HybridCall
    known = {field.name: getattr(call, field.name) for field in fields(call)}
    if (
        kind is HybridCall and call.spec.cell == "lstm"
    ):  # all gates are rounded sooner than quarters
        known["spec"] = RecurrentSpec(call.spec.cell)
    return kind(**known)


@dataclass(frozen=True)
class LogicCall:
    """The kernel of programmable logic: a step each time it runs, without end.

    Attributes:
        symbol: its name, a C identifier.
        cell: which.
        tiles: that send sums, each of as many units.
        units: of a tile, filled up.
        steps: of a run, the first of which begins with a state of zeros.
        narrow: whether products read states in steps of 1/128, which leave apart from results.
    """

    symbol: str
    cell: Cell
    tiles: int
    units: int
    steps: int
    narrow: bool = False

    #: Its template, which reads it under the name `call`.
    template = "aie/recurrent_logic.cpp.mako"

    @property
    def tables(self) -> dict[str, object]:
        """Lines of its functions, by name."""
        return {"sigmoid": sigmoid_lines(), "tanh": tanh_lines()}

    @property
    def turns(self) -> int:
        """Times that it runs in a step."""
        return 1

    @property
    def sends(self) -> int:
        """Times that it runs in a run of the graph."""
        return self.steps * self.turns

    @property
    def sent(self) -> int:
        """Rounded sums of a unit."""
        return 4 if self.cell == "lstm" else 3

    @property
    def words(self) -> int:
        """That come from a tile in a step."""
        return self.units * (2 * self.sent + (0 if self.cell == "lstm" else 4)) // WORD_BYTES

    @property
    def whole(self) -> int:
        """Units of all tiles."""
        return self.tiles * self.units

    @property
    def results(self) -> int:
        """Words of a step's results, which are the state unless products read it in steps."""
        return 2 * self.whole // WORD_BYTES

    @property
    def back(self) -> tuple[int, ...]:
        """Words of each stream that leaves: states as products read them, then results."""
        return (self.whole // WORD_BYTES, self.results) if self.narrow else (self.results,)

    @property
    def chunks(self) -> int:
        """Of sixteen units that a tile has."""
        return self.units // LANES

    @property
    def abreast(self) -> int:
        """Units whose states are formed together, one such part a cycle."""
        return next(n for n in (ABREAST, LANES) if self.whole % n == 0)


def logic_call(call: AnyHybrid) -> LogicCall:
    """The kernel that has the gates of such tiles."""
    name = call.symbol.removesuffix("_steps")
    tiles = call.whole // call.hidden
    narrow = isinstance(call, IntegerHybridCall)
    return LogicCall(f"{name}_logic", call.spec.cell, tiles, call.y_width, call.steps, narrow)
