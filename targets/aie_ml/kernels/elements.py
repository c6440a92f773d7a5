"""Kernel functions of buffers of elements: one kernel, no cascade, no local arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter, arguments_of


class ElementSpec(Protocol):
    """What such a kernel says of itself."""

    @property
    def a(self) -> str:
        """Element type of the inputs."""

    @property
    def dtype(self) -> str:
        """Element type of the output."""

    @property
    def lanes(self) -> int:
        """Elements of a vector."""


Spec = TypeVar("Spec", bound=ElementSpec, covariant=True)


@dataclass(frozen=True)
class ElementCall(ABC, Generic[Spec]):
    """A function of buffers, then of parameters, none by default, then of the buffer y.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        spec: the kernel.
        reads: operands that it reads.
        buffers: its arguments for them.
    """

    symbol: str
    header: str
    spec: Spec

    reads: ClassVar[tuple[str, ...]] = ("x",)
    buffers: ClassVar[tuple[str, ...]] = ("x",)

    @abstractmethod
    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores of elements of its inputs; `values` are those of the parameters."""

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
        return arguments_of([(s.a, name) for name in self.buffers], self.parameters, s.dtype)
