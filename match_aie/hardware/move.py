"""Handing a tensor from one execution module to another."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.hardware.core import TensorType
from match_aie.hardware.facet import facet
from match_aie.hardware.module import ExecModule
from match_aie.hardware.module_facets import CORE, Concurrent
from match_aie.workload import ITEMSIZE


@dataclass(frozen=True, eq=False)
class Move:
    """A tensor that one module writes and another reads.

    Attributes:
        tensor: what it is.
        source: who writes it; None for the core, where the fallback runs and inputs arrive.
        destination: who reads it; None for the core, which also takes the outputs.
    """

    tensor: TensorType
    source: ExecModule | None
    destination: ExecModule | None

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor."""
        return self.tensor.size * ITEMSIZE.get(self.tensor.dtype, 8)

    @property
    def stays(self) -> bool:
        """Whether both are one unit of the chip, so that nothing is handed over."""
        return unit(self.source) == unit(self.destination)

    @property
    def ways(self) -> tuple[ExecModule, ...]:
        """Modules whose outermost memories the bytes cross; none where that is one memory.

        The core addresses every module's outermost memory itself.
        """
        if self.source is None or self.destination is None:
            return ()
        if not self.source.memories or not self.destination.memories:
            return ()
        if self.source.memories[-1].name == self.destination.memories[-1].name:
            return ()
        return (self.source, self.destination)


def unit(module: ExecModule | None) -> str:
    """Which unit of the chip a module is; the core for None."""
    return CORE if module is None else facet(module, Concurrent).unit or module.name
