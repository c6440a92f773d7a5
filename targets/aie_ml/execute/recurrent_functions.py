"""What the functions of a recurrent layer's tiles do, call after call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.logic import IntegerSumsCell, SumsCell
from match_aie.targets.aie_ml.execute.merging import in_order
from match_aie.targets.aie_ml.execute.recurrent import Cell, IntegerCell
from match_aie.targets.aie_ml.execute.recurrent_cascade import ChainCell, IntegerChainCell
from match_aie.targets.aie_ml.execute.recurrent_gates import GatesTile
from match_aie.targets.aie_ml.execute.recurrent_single import SingleCell
from match_aie.targets.aie_ml.execute.recurrent_single_cascade import LinkCell
from match_aie.targets.aie_ml.execute.recurrent_single_hybrid import KeptStates, SentCell
from match_aie.targets.aie_ml.execute.sums import Function, Grouped, Handed, Lent, Whole
from match_aie.targets.aie_ml.kernels.numeric import to_bfloat16
from match_aie.targets.aie_ml.kernels.recurrent import (
    GROUP,
    RecurrentCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_apart import InputsCall
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade, IntegerCascadeCall
from match_aie.targets.aie_ml.kernels.recurrent_cascade import sequence as linked_sequence
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import AnyHybrid
from match_aie.targets.aie_ml.kernels.recurrent_int8 import IntegerCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined, sequence
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket
from match_aie.targets.aie_ml.kernels.recurrent_single import SingleCall
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import LinkCall
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import KeepCall, SentCall


def cell_of(call: RecurrentCall, values: Mapping[str, np.ndarray]) -> Cell:
    """The cell whose tile has this function."""
    integers = isinstance(call, IntegerCall)
    if isinstance(call, AnyHybrid):
        return (IntegerSumsCell if integers else SumsCell)(call, values)
    return (IntegerCell if integers else Cell)(call, values)


class JoinedTile(Whole):
    """A kernel function of one of several tiles, call after call of its `sequence` of them."""

    def __init__(self, call: AnyJoined, values: Mapping[str, np.ndarray]) -> None:
        """See `Cell`."""
        self._call, self._cell = call, cell_of(call, values)
        self._sequence = sequence(call)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | Lent | None:
        """What it stores: its units of a step, which may be in two forms."""
        doing, at = self._sequence[number]
        if doing == "end":
            return None
        if doing == "inputs":
            if at == 0:
                self._cell.clear()
            self._cell.see(inputs[0])
            return None
        came = inputs[1] if at else None
        if isinstance(self._call, AnyPacket) and came is not None:
            came = in_order(came, self._call.tiles)
        if self._call.sent_size:
            return Lent(*self._cell.lent_step(at % GROUP, came))
        return self._cell.joined_step(at % GROUP, came)


class Linked(Whole):
    """A kernel function of one of the tiles of a cascade, call after call of its sequence."""

    def __init__(self, call: AnyCascade, values: Mapping[str, np.ndarray]) -> None:
        """See `Cell`."""
        cell = IntegerChainCell if isinstance(call, IntegerCascadeCall) else ChainCell
        self._call, self._cell = call, cell(call, values)
        self._sequence = linked_sequence(call)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Handed | None:
        """The words that it takes and sends, and the last tile's states."""
        doing, at = self._sequence[number]
        call, cell = self._call, self._cell
        if doing == "inputs":
            cell.see(inputs[0])
        if doing == "send":
            return Handed(0, lambda _: (cell.words(at % GROUP), None))
        if doing != "step":
            return None
        takes = call.came
        if call.role == "last":
            if at == 0:
                cell.clear()
            return Handed(takes, lambda came: (None, cell.gated(came)))
        h = inputs[0] if at else None
        return Handed(takes, lambda came: (cell.added(came, h), None))


class Seen(Whole):
    """A kernel function: the sums of a group's inputs, for a tile that has the state."""

    def __init__(self, call: InputsCall, values: Mapping[str, np.ndarray]) -> None:
        """See `Cell`."""
        self._cell = cell_of(call, values)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """Group `number` of a run: [steps, gates, units], float32."""
        del number
        sums = self._cell.seen(inputs[0]).transpose(1, 0, 2)
        return np.ascontiguousarray(sums, np.float32).reshape(-1)


class Steps(Whole):
    """A kernel function: a group of steps; the state stays."""

    def __init__(self, call: RecurrentCall, values: Mapping[str, np.ndarray]) -> None:
        """See `Cell`."""
        self._call, self._cell = call, cell_of(call, values)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """Group `number` of a run, the first of which begins with a state of zero."""
        if number == 0:
            self._cell.clear()
        return self._cell.group(number, inputs[0])


def _rounded(words: np.ndarray) -> np.ndarray:
    """Words of a cascade as bfloat16 patterns, as bytes."""
    return to_bfloat16(words.reshape(-1), "conv_even").view(np.uint8)


class Neighbouring(Whole):
    """A kernel function of one of two tiles that read each other's memory, step by step."""

    def __init__(self, call: AnyNeighbour, values: Mapping[str, np.ndarray]) -> None:
        """See `Cell`."""
        self._call, self._cell = call, cell_of(call, values)
        self._results = Grouped(call.steps, call.group, call.y_width, np.uint16)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Handed | Lent | None:
        """Its units of a step, and with the last of a group the group's.

        Sums of a group's inputs are there until its end.
        """
        call = self._call
        if call.takes:
            words = call.chunks if number else 0
            return Handed(words, lambda came: (None, self._step(number, inputs[0], _rounded(came))))
        h = inputs[1] if number else None
        if not call.hands:
            return self._step(number, inputs[0], h)
        if number == call.steps:
            return None
        made = self._step(number, inputs[0], h)
        words_out, stored = self._cell.handed(), made.stored if made is not None else None
        return Handed(0, lambda _: (words_out, stored))

    def _step(self, number: int, sums: np.ndarray, h: np.ndarray | None) -> Lent | None:
        """Of the other tile's units as bytes; the last ones no step reads."""
        if number == self._call.steps:
            return None
        if number == 0:
            self._cell.clear()
        at = number % self._call.group
        if at == 0:
            self._cell.heed(sums)
        sent, results = self._cell.lent_step(at, h if number else None)
        return Lent(sent, self._results.put(number, results))


def recurrent(call: RecurrentCall | SingleCall, values: Mapping[str, np.ndarray]) -> Function:
    """The meaning of a recurrent layer's function with these values of its parameters."""
    if isinstance(call, KeepCall):
        return KeptStates(call)
    if isinstance(call, SentCall):
        return SentCell(call, values)
    if isinstance(call, SingleCall):
        return (LinkCell if isinstance(call, LinkCall) else SingleCell)(call, values)
    if isinstance(call, AnyNeighbour):
        return Neighbouring(call, values)
    if isinstance(call, AnyJoined):
        return JoinedTile(call, values)
    if isinstance(call, AnyCascade):
        return Linked(call, values)
    if isinstance(call, GatesCall):
        return GatesTile(call, values)
    return Seen(call, values) if isinstance(call, InputsCall) else Steps(call, values)
