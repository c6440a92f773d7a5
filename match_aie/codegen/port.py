"""Inputs and outputs of a network, as its users name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from match_aie.errors import InternalError
from match_aie.lowering import Schedule, Tensor
from match_aie.workload import ITEMSIZE
from match_aie.workload.extent import Elements


class PortLike(Protocol):
    """What `match_aie.frontend.model.Port` has."""

    @property
    def name(self) -> str:
        """The model's own name, any characters."""

    @property
    def dtype(self) -> str:
        """Numpy name of the element type."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements per axis."""

    @property
    def scale(self) -> float | None:
        """Real value of an integer step, None where not quantised."""

    @property
    def zero_point(self) -> int:
        """The integer that means real 0."""

    @property
    def extents(self) -> tuple[Elements, ...]:
        """Elements per axis as they depend on a run's sizes; () where they do not."""


@dataclass(frozen=True)
class PortRecord:
    """An input or output: the compiler's tensor and what the model calls it.

    Attributes:
        tensor: name of the tensor in the program.
        name: the model's own name, any characters.
        dtype: numpy name of the element type.
        shape: elements per axis.
        scale: real value of an integer step where known, also on the float side.
        zero_point: of that quantisation.
        extents: elements per axis as they depend on a run's sizes, where they do; `shape` is then
            the largest.
    """

    tensor: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None
    zero_point: int
    extents: tuple[Elements, ...] = ()

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the caller's buffer; at least 1."""
        return max(1, self.elements * ITEMSIZE[self.dtype])


def records(
    schedule: Schedule, names: Sequence[str], ports: Sequence[PortLike] | None
) -> tuple[PortRecord, ...]:
    """What users know the tensors `names` by: `ports` in the same order, or the tensors' labels.

    Raises:
        InternalError: ports do not fit the tensors, or two have one name.
    """
    tensors = [schedule.tensor(name) for name in names]
    if ports is None:
        made = tuple(_from_label(tensor) for tensor in tensors)
    elif len(ports) != len(tensors):
        raise InternalError(f"{len(ports)} ports for {len(tensors)} tensors")
    else:
        made = tuple(_from_port(t, p) for t, p in zip(tensors, ports, strict=True))
    if len({record.name for record in made}) != len(made):
        raise InternalError("two inputs or two outputs have one name")
    return made


def _from_label(tensor: Tensor) -> PortRecord:
    name = tensor.label or tensor.name
    return PortRecord(
        tensor.name, name, tensor.dtype, tensor.shape, tensor.scale, tensor.zero_point
    )


def _from_port(tensor: Tensor, port: PortLike) -> PortRecord:
    if port.dtype != tensor.dtype or prod(port.shape) != prod(tensor.shape):
        raise InternalError(
            f"port {port.dtype}{list(port.shape)} is not tensor {tensor.dtype}{list(tensor.shape)}",
            where=port.name,
        )
    return PortRecord(
        tensor.name,
        port.name,
        port.dtype,
        tuple(port.shape),
        port.scale,
        port.zero_point,
        tuple(port.extents),
    )
