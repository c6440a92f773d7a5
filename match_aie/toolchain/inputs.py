"""What users hand to `run`: one array, or arrays by the model's own names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.errors import OptionError, shorten
from match_aie.toolchain.record import element_dtype

Inputs = np.ndarray | Mapping[str, np.ndarray]


def match_inputs(inputs: Inputs, ports: Sequence[PortRecord]) -> dict[str, np.ndarray]:
    """`inputs` by name, each of exactly the dtype and shape that the network takes.

    Raises:
        OptionError: a name, dtype or shape that the network does not have.
    """
    if isinstance(inputs, np.ndarray):
        if len(ports) != 1:
            raise OptionError(
                f"one array for a network with {len(ports)} inputs",
                hint="give a dict of arrays by name: " + _names(ports),
            )
        inputs = {ports[0].name: inputs}
    if not isinstance(inputs, Mapping):
        raise OptionError(
            f"inputs are a {type(inputs).__name__}, not a numpy array or a dict of arrays",
            hint="numpy.asarray(..., dtype) makes an array of a list",
        )
    known = {port.name for port in ports}
    unknown = [str(name) for name in inputs if name not in known]
    if unknown:
        raise OptionError(
            f"the network has no input {shorten(unknown[0], 60)!r}",
            hint="its inputs are " + _names(ports),
        )
    return {port.name: _checked(inputs, port) for port in ports}


def _names(ports: Sequence[PortRecord]) -> str:
    return (
        ", ".join(f"{shorten(p.name, 60)!r} ({p.dtype}{list(p.shape)})" for p in ports[:10])
        or "none"
    )


def _checked(inputs: Mapping[str, np.ndarray], port: PortRecord) -> np.ndarray:
    if port.name not in inputs:
        raise OptionError("an input is missing", where=port.name, hint="give " + _names([port]))
    array = inputs[port.name]
    if not isinstance(array, np.ndarray):
        raise OptionError(
            f"the input is a {type(array).__name__}, not a numpy array",
            where=port.name,
            hint=f"numpy.asarray(..., numpy.{port.dtype})",
        )
    if array.dtype != element_dtype(port.dtype):
        raise OptionError(
            f"the input is {array.dtype}, the network takes {port.dtype}",
            where=port.name,
            hint=f"array.astype(numpy.{port.dtype}) if no value is lost by it",
        )
    if array.shape != port.shape:
        raise OptionError(
            f"the input has shape {list(array.shape)}, the network takes {list(port.shape)}",
            where=port.name,
        )
    return array
