"""Kernel functions of image layers: bands of output rows one after the other, pools, sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.call import LayerCall, Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.lanes import (
    AddNumbers,
    AddSpec,
    MaxPoolSpec,
    add_reference,
)
from match_aie.targets.aie_ml.kernels.pairs import PairCall
from match_aie.targets.aie_ml.kernels.spec import KernelSpec


@dataclass(frozen=True)
class Bands:
    """A gathered kernel that fetches one band of the image after the other.

    All bands have one size. Where the kernel has a border bias, `bias_of` holds `tables` tables of
    a band's rows, and `band_of` says where each band's begins.

    Attributes:
        call: the function of one band; its own `bias_of` is empty.
        count: bands.
        tables: different tables of `bias_of`; 0 where the kernel has no border bias.
    """

    call: LayerCall
    count: int
    tables: int = 0

    def __post_init__(self) -> None:
        """Refuse kernels whose tables are elsewhere."""
        s = self.call.spec
        if not s.gathered or s.row_bias or s.resumes or self.call.bias_of:
            raise TargetError(f"kernel {self.call.symbol} does not walk bands of an image")
        if self.count < 1 or (self.tables > 0) != s.border_bias:
            raise TargetError(f"{self.count} bands of {self.call.symbol}, {self.tables} tables")

    @property
    def symbol(self) -> str:
        """The function's name."""
        return self.call.symbol

    #: Its template, which reads it under the name `call`.
    template = "aie/bands.cpp.mako"

    #: It has no local arrays.
    stack_bytes = 0

    @property
    def headers(self) -> tuple[KernelSpec, ...]:
        """Kernels that its source includes."""
        return (self.call.spec,)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Run-time parameters, in the order of the arguments."""
        if not self.tables:
            return self.call.parameters
        tables = Parameter("bias_of", "int32", self.tables * self.call.spec.m)
        return (*self.call.parameters, tables, Parameter("band_of", "int32", self.count))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: x, parameters, cascade, y."""
        s = self.call.spec
        return arguments_of(((s.a, "x"),), self.parameters, s, fetches=True)

    @property
    def fields(self) -> tuple[tuple[str, object], ...]:
        """The kernel's call in band `band`, field by field."""
        at = {"bias_of": "bias_of + band_of[band]"}
        return tuple((name, at.get(name, value)) for name, value in self.call.fields)


@dataclass(frozen=True)
class PoolCall:
    """A maximum pool's function: buffers x and y, no parameters.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        spec: the kernel.
        origins: of tiles of pixels.
        offsets: of taps.
        x_n_step: elements of x from one channel block to the next.
        blocks: of channels.
    """

    symbol: str
    header: str
    spec: MaxPoolSpec
    origins: tuple[int, ...]
    offsets: tuple[int, ...]
    x_n_step: int
    blocks: int

    def __post_init__(self) -> None:
        """Refuse tiles of pixels that are no whole groups."""
        if len(self.origins) % self.spec.rows or not self.offsets:
            raise TargetError(f"pool {self.symbol} takes {self.spec.rows} tiles at a time")

    #: Its template, which reads it under the name `call`.
    template = "aie/pool_layer.cpp.mako"

    #: It has no local arrays.
    stack_bytes = 0

    @property
    def headers(self) -> tuple[MaxPoolSpec, ...]:
        """Kernels that its source includes."""
        return (self.spec,)

    #: It has none.
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        return arguments_of(((self.spec.dtype, "x"),), (), self.spec.dtype)


@dataclass(frozen=True)
class AddCall(PairCall[AddSpec, AddNumbers]):
    """A sum of two activations."""

    template = "aie/add_layer.cpp.mako"

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores of elements of both; it has no parameters."""
        del values
        a, b = inputs
        return add_reference(self.spec, a, b, self.numbers)
