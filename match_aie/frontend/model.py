"""A loaded model: a Relax module and what users know its parts by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from match_aie.frontend.state import State
from match_aie.workload.extent import Elements


@dataclass(frozen=True)
class Port:
    """An input or output of a network, as the model names it.

    Attributes:
        name: the model's own name, any characters.
        dtype: numpy name of the element type.
        shape: elements per axis.
        scale: real value of an integer step where the port is quantised (or is the float side of
            a quantise/dequantise), else None.
        zero_point: of that quantisation.
        extents: elements per axis as they depend on a run's sizes, where they do; `shape` is then
            the largest.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    zero_point: int = 0
    extents: tuple[Elements, ...] = ()


@dataclass(frozen=True, eq=False)
class Model:
    """A model between the front end's stages.

    Attributes:
        module: a `tvm.IRModule`. Its `main` takes and gives the ports in order (a tuple where
            there are several outputs). GRU, LSTM and Attention are calls of private functions
            with attribute `Composite` ("onnx.GRU"), bodies in primitive operators.
        name: of the network, as given or taken from the file; not sanitised.
        inputs: ports in order.
        outputs: ports in order.
        source: the bytes the user gave (serialised where an object was given), for the hash and
            for comparison with other runtimes.
        format: what `source` is.
        labels: name of a Relax variable -> what users know the value by (an ONNX node name).
        warnings: what the front end assumed, a sentence each.
        states: outputs that are inputs of the next call.
    """

    module: Any
    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    source: bytes
    format: Literal["onnx", "tflite", "relax", "relay"]
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    warnings: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
