"""What a network keeps from one call to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from match_aie.errors import OptionError, shorten

if TYPE_CHECKING:
    from match_aie.frontend.model import Model, Port


@dataclass(frozen=True, eq=False)
class State:
    """An output of one call that is an input of the next.

    Attributes:
        input: name of the input port.
        output: name of the output port, of the input's shape, element type and quantisation.
        initial: what the input is in the first call, in its shape and element type.
    """

    input: str
    output: str
    initial: np.ndarray


def with_states(model: Model, pairs: Mapping[str, str]) -> Model:
    """`model` that keeps outputs for its next call; each is real zero in the first one.

    Args:
        model: loaded and normalised.
        pairs: name of an input -> name of the output that it is in the next call.

    Raises:
        OptionError: no such port, one that is in two pairs, or ports that differ.
    """
    kept = {name for state in model.states for name in (state.input, state.output)}
    outputs = list(pairs.values())
    for name in (*pairs, *outputs):
        if name in kept or outputs.count(name) > 1:
            raise OptionError(f"port {shorten(name, 80)!r} is in two states")
    made = tuple(
        State(source, result, np.full(port.shape, port.zero_point, port.dtype))
        for source, result in pairs.items()
        for port in [_port(model.inputs, source, "input")]
    )
    return checked(replace(model, states=(*model.states, *made)))


def checked(model: Model) -> Model:
    """`model` whose states fit their ports; first values follow a port that became an integer.

    Raises:
        OptionError: an output is not what the input of its name takes.
    """
    states = []
    for state in model.states:
        taken = _port(model.inputs, state.input, "input")
        given = _port(model.outputs, state.output, "output")
        facts = [(port.dtype, port.shape, port.scale, port.zero_point) for port in (taken, given)]
        if facts[0] != facts[1]:
            raise OptionError(
                f"output {shorten(state.output, 80)!r} cannot be input "
                f"{shorten(state.input, 80)!r} of the next call: "
                f"{given.dtype}{list(given.shape)} is not {taken.dtype}{list(taken.shape)}, or "
                "their scales differ",
                hint="without integer_io both stay what the model says",
            )
        states.append(replace(state, initial=_initial(state.initial, taken)))
    return replace(model, states=tuple(states))


def _initial(value: np.ndarray, port: Port) -> np.ndarray:
    """A first value in the port's element type."""
    if value.dtype.name == port.dtype or port.scale is None:
        return value.astype(port.dtype)
    steps = np.rint(value / port.scale) + port.zero_point
    limits = np.iinfo(port.dtype)
    return np.clip(steps, limits.min, limits.max).astype(port.dtype)


def _port(ports: tuple[Port, ...], name: str, kind: str) -> Port:
    """The port of this name.

    Raises:
        OptionError: there is none.
    """
    for port in ports:
        if port.name == name:
            return port
    raise OptionError(
        f"the model has no {kind} called {shorten(name, 80)!r}",
        hint=f"its {kind}s are " + ", ".join(shorten(port.name, 60) for port in ports),
    )
