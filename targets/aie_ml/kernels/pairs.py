"""Kernel functions that compute every element of y from one of a and one of b."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.spec import C_TYPES


class PairSpec(Protocol):
    """What such a kernel says of itself."""

    @property
    def a(self) -> str:
        """Element type of both inputs."""

    @property
    def dtype(self) -> str:
        """Element type of the output."""

    @property
    def lanes(self) -> int:
        """Elements of a vector."""


Spec = TypeVar("Spec", bound=PairSpec)
Numbers = TypeVar("Numbers")


@dataclass(frozen=True)
class PairCall(ABC, Generic[Spec, Numbers]):
    """A function of buffers a, b and y, without parameters.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        spec: the kernel.
        numbers: factors or zero points, offset, shift, bounds.
        rows: vectors of a call.
    """

    symbol: str
    header: str
    spec: Spec
    numbers: Numbers
    rows: int = 1

    #: Its template, which reads it under the name `call`.
    template: ClassVar[str]

    @abstractmethod
    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores of elements of both; it has no parameters."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Operands that it reads."""
        return ("x", "x1")

    @property
    def width(self) -> int:
        """Elements of a row: of a vector."""
        return self.spec.lanes

    @property
    def stack_bytes(self) -> int:
        """It has no local arrays."""
        return 0

    @property
    def headers(self) -> tuple[Spec, ...]:
        """Kernels that its source includes."""
        return (self.spec,)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """None."""
        return ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        s = self.spec
        return (
            f"adf::input_buffer<{C_TYPES[s.a]}> &__restrict a",
            f"adf::input_buffer<{C_TYPES[s.a]}> &__restrict b",
            f"adf::output_buffer<{C_TYPES[s.dtype]}> &__restrict y",
        )
