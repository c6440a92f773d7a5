"""Outputs of a network that are inputs of its next call."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.codegen.weights import little_endian
from match_aie.errors import InternalError


class StateLike(Protocol):
    """What `match_aie.frontend.state.State` has."""

    @property
    def input(self) -> str:
        """The model's name of the input."""

    @property
    def output(self) -> str:
        """The model's name of the output that it is in the next call."""

    @property
    def initial(self) -> np.ndarray:
        """What the input is at first."""


@dataclass(frozen=True)
class StateRecord:
    """An output that is an input of the next call.

    Attributes:
        input: index of the input.
        output: index of the output.
        offset: where its bytes begin among those of all states.
        nbytes: of its buffer.
        initial: what the input is at first: its bytes, little-endian, as base64.
    """

    input: int
    output: int
    offset: int
    nbytes: int
    initial: str

    @property
    def first(self) -> bytes:
        """What the input is at first."""
        return base64.b64decode(self.initial)

    @property
    def fill(self) -> int | None:
        """The byte that all of the first value are; None where they differ."""
        found = set(self.first)
        return (found or {0}).pop() if len(found) < 2 else None


@dataclass(frozen=True)
class States:
    """All states of a network.

    Attributes:
        records: one after the other, each at a multiple of the network's alignment.
        nbytes: of all of them, once; a stream holds them twice.
    """

    records: tuple[StateRecord, ...] = ()
    nbytes: int = 0


def state_records(
    states: Sequence[StateLike],
    ports: tuple[Sequence[PortRecord], Sequence[PortRecord]],
    alignment: int,
) -> States:
    """The states one after the other.

    Args:
        states: by the names of their ports.
        ports: inputs and outputs.
        alignment: in bytes, of each.

    Raises:
        InternalError: a state without its ports, of another size, or two of one output.
    """
    if len({state.output for state in states}) < len(states):
        raise InternalError("two states of a network are one output")
    inputs, outputs = ([port.name for port in side] for side in ports)
    found, offset = [], 0
    for state in states:
        if state.input not in inputs or state.output not in outputs:
            raise InternalError("a state has no ports", where=state.input)
        places = inputs.index(state.input), outputs.index(state.output)
        taken, given = ports[0][places[0]], ports[1][places[1]]
        data = little_endian(state.initial)
        if taken.nbytes != given.nbytes or len(data) not in (taken.nbytes, 0):
            raise InternalError("the bytes of a state are not those of its ports", where=taken.name)
        text = base64.b64encode(data).decode("ascii")
        found.append(StateRecord(*places, offset, taken.nbytes, text))
        offset += -(-taken.nbytes // alignment) * alignment
    return States(tuple(found), offset)
