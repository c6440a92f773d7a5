"""A recurrent operator of a TFLite file where it stands: its operands, attributes and states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx

Expr = Any
Array = np.ndarray[Any, np.dtype[Any]]

#: Operands of each operator that it keeps from call to call; LiteRT calls them variable tensors.
STATES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "RNN": (4,),
        "SVDF": (4,),
        "UNIDIRECTIONAL_SEQUENCE_RNN": (4,),
        "BIDIRECTIONAL_SEQUENCE_RNN": (4, 8),
        "LSTM": (18, 19),
        "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19),
        "BIDIRECTIONAL_SEQUENCE_LSTM": (35, 36, 37, 38),
    }
)

#: Table of the attributes of each.
OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "RNN": "RNNOptions",
        "SVDF": "SVDFOptions",
        "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
        "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNNOptions",
        "LSTM": "LSTMOptions",
        "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
        "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTMOptions",
    }
)

#: Operands of one direction: the other's are behind them.
SPAN = {"BIDIRECTIONAL_SEQUENCE_RNN": 4, "BIDIRECTIONAL_SEQUENCE_LSTM": 17}


@dataclass(frozen=True)
class Site:
    """One operator, and how to reach what it works with.

    Attributes:
        kind: its name.
        given: its attributes, as the schema has them.
        constant: content of an operand by position; None where it is left out.
        value: expression of an operand.
        keep: says what the variable at a position is in the next call.
        emit: binds a call to a variable.
        hybrid: whether weights are int8; activations are floats, or `integers`.
        stored: integers of an operand by position as they are in the file; None where it is left
            out or no constant.
        quantised: scale and zero point of an operand by position.
        inner: the same of what the operator says of its inner results.
        layer: calls an LSTM in ONNX's terms, given as a model of that one node and its inputs; its
            states and, behind them, the last cell: [T + 1, 1, B, H].
    """

    kind: str
    given: Any
    constant: Callable[[int], Array | None]
    value: Callable[[int], Expr]
    keep: Callable[[int, Expr], None]
    emit: Callable[[Expr], Expr]
    hybrid: bool
    stored: Callable[[int], Array | None]
    quantised: Callable[[int], tuple[np.float32, int]]
    inner: Sequence[tuple[np.float32, int]]
    layer: Callable[[onnx.ModelProto, Sequence[Expr]], Expr]

    @property
    def integers(self) -> bool:
        """Whether activations are integers: an LSTM then says how its inner results are."""
        return self.hybrid and bool(self.quantised(0)[0])


def steps_of(kind: str, given: Any, shape: Sequence[int]) -> int:
    """How many steps are written out, from the input's shape."""
    if len(shape) < 3:
        return 1
    return shape[0] if is_time_major(kind, given) else shape[1]


def is_time_major(kind: str, given: Any) -> bool:
    """Whether steps come before rows."""
    return "SEQUENCE" in kind and bool(given.TimeMajor())


def states_of(kind: str, operands: Sequence[int]) -> Iterator[int]:
    """Tensors that an operator keeps; none for one that keeps nothing, or lacks operands."""
    for position in STATES.get(kind, ()):
        if position < len(operands) and operands[position] >= 0:
            yield operands[position]
