"""How operands lie: blocks of dimensions, in an order, as data that all stages read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from match_aie.errors import TargetError
from match_aie.workload import ITEMSIZE, Operand

#: What stands at the end of an order for bytes that only `pack` knows.
REST = "..."


@dataclass(frozen=True, init=False)
class Blocked:
    """An operand in blocks: a packed constant, or a tensor in an order of the module's own.

    `Blocked(K=16, C=16, order="K FY FX C c k")` is 16 output channels by 16 input channels a
    block, output channels innermost. An axis of the operand goes by any loop dimension that
    indexes it; in capitals it counts blocks, in small letters the elements of one. Axes that are
    not cut into blocks stand in capitals only. Images in NCHW with blocks of 16 channels are
    `Blocked("B C OY OX c", C=16)` as an input, and `Blocked("B K OY OX k", K=16)` as an output.

    An order that ends in "..." names the axes whose blocks lie one after the other, and leaves the
    `cell` bytes of each to the module's `pack`: `Blocked(K=16, order="K ...", cell=2304)`.

    Attributes:
        blocks: (dimension, elements of a block).
        order: of what lies in memory, outermost first.
        ragged: what fills the last block of a dimension that is no multiple: "zeros", or "none"
            where there may be no such dimension.
        cell: bytes behind the axes that `order` names; None where it names everything.
    """

    blocks: tuple[tuple[str, int], ...]
    order: tuple[str, ...]
    ragged: Literal["zeros", "none"]
    cell: int | None

    def __init__(
        self,
        order: str,
        *,
        ragged: Literal["zeros", "none"] = "zeros",
        cell: int | None = None,
        **blocks: int,
    ) -> None:
        """Refuse what says two things, or nothing.

        Raises:
            TargetError: a block of no elements, an order with a name twice, or without a name that
                a block needs, a `cell` without "..." or the other way round.
        """
        names = tuple(order.split())
        object.__setattr__(self, "blocks", tuple(blocks.items()))
        object.__setattr__(self, "order", names)
        object.__setattr__(self, "ragged", ragged)
        object.__setattr__(self, "cell", cell)
        wrong = self._wrong()
        if wrong:
            raise TargetError(
                f"Blocked({order!r}): {wrong}",
                hint='such as Blocked("K FY FX C c k", K=16, C=16), or Blocked("K ...", K=16, '
                "cell=bytes)",
            )

    @classmethod
    def rows(cls, operand: Operand, cell: int, block: int = 1) -> Blocked:
        """Blocks along the operand's first axis, of `cell` bytes each as `pack` makes them.

        One for all where no loop indexes that axis: a value that all channels share.
        """
        terms = operand.axes[0].terms
        if not terms:
            return cls(REST, cell=cell)
        dim = terms[-1][0]
        blocks: dict[str, int] = {dim: block}
        return cls(f"{dim} {REST}", ragged="zeros", cell=cell, **blocks)

    def _wrong(self) -> str:
        names = [name for name in self.order if name != REST]
        if len(set(names)) < len(names):
            return "a name stands there twice"
        if REST in self.order[:-1]:
            return "'...' stands at the end"
        if (self.cell is None) == (self.order[-1:] == (REST,)):
            return "'...' needs the bytes of a cell, and nothing else does"
        if self.cell is not None and self.cell < 1:
            return f"a cell of {self.cell} bytes"
        if self.ragged not in ("zeros", "none"):
            return f"ragged is {self.ragged!r}, not 'zeros' or 'none'"
        for dim, size in self.blocks:
            if not isinstance(size, int) or size < 1:
                return f"a block of {size} elements of {dim}"
            if dim not in names or (self.cell is None and dim.lower() not in names):
                return f"{dim} comes in blocks, and the order lacks {dim} or {dim.lower()}"
        for name in names:
            if name.islower() and name.upper() not in dict(self.blocks):
                return f"{name} counts elements of a block, and {name.upper()} has none"
        return ""

    def on(self, operand: Operand) -> Packing:
        """The same for one operand, by its axes.

        Raises:
            TargetError: the order names no axis of the operand, leaves one out, or the operand has
                a ragged block where there may be none.
        """
        sizes = dict(self.blocks)
        axes = [self._axis(operand, name) for name in self.order if name != REST]
        outer = {
            at: sizes.get(name, 1)
            for at, name in zip(axes, self.order, strict=False)
            if not name.islower()
        }
        if self.ragged == "none":
            for at, block in outer.items():
                if operand.shape[at] % block:
                    raise TargetError(
                        f"{operand.name} of shape {operand.shape} is no whole number of blocks "
                        f"of {block}",
                        hint='refuse such layers in the pattern\'s check, or say ragged="zeros"',
                    )
        if self.cell is None:
            left = [n for at, n in enumerate(operand.shape) if at not in outer and n > 1]
            if left:
                raise TargetError(
                    f"{operand.name} of shape {operand.shape}: the order {' '.join(self.order)!r} "
                    "leaves an axis out",
                    hint=f"its axes are {', '.join(_named(operand))}",
                )
        places = tuple((at, not name.islower()) for at, name in zip(axes, self.order, strict=False))
        return Packing(places, tuple(outer.items()), self.cell)

    def _axis(self, operand: Operand, name: str) -> int:
        wanted = name.upper()
        for at, axis in enumerate(operand.axes):
            if wanted in dict(axis.terms):
                return at
        raise TargetError(
            f"{operand.name} has no axis {wanted}",
            hint=f"its axes are {', '.join(_named(operand)) or 'none'}",
        )


def _named(operand: Operand) -> list[str]:
    return ["/".join(dim for dim, _ in axis.terms) for axis in operand.axes if axis.terms]


@dataclass(frozen=True)
class Packing:
    """A `Blocked` by the axes of one operand.

    Attributes:
        places: (axis, whether blocks of it are counted, or elements of one), outermost first.
        blocks: (axis, elements of a block), in the order of places.
        cell: bytes behind the places; None where they are all there is.
    """

    places: tuple[tuple[int, bool], ...]
    blocks: tuple[tuple[int, int], ...]
    cell: int | None

    def block(self, axis: int) -> int:
        """Elements of a block along an axis; 1 where it comes in none."""
        return dict(self.blocks).get(axis, 1)

    def shape(self, operand: Operand) -> tuple[int, ...]:
        """Of all places, outermost first."""
        return tuple(
            -(-operand.shape[at] // self.block(at)) if counted else self.block(at)
            for at, counted in self.places
        )

    def cell_bytes(self, operand: Operand) -> int:
        """Bytes of one block: of the elements in it, or of what only `pack` knows."""
        if self.cell is not None:
            return self.cell
        return ITEMSIZE[operand.dtype] * prod(block for _, block in self.blocks)

    def nbytes(self, operand: Operand) -> int:
        """Of the whole operand, packed."""
        counted = [-(-operand.shape[at] // block) for at, block in self.blocks]
        return prod(counted) * self.cell_bytes(operand)

    def extents(self, extents: Sequence[Any]) -> list[Any]:
        """Rows along every place of a tile with these elements along the operand's axes.

        Numbers or arrays of them. Blocks of one element have no place of their own.
        """
        return [
            -(-extents[at] // self.block(at)) if counted else extents[at] * 0 + self.block(at)
            for at, counted in self.places
        ]

    def unpack(self, operand: Operand, packed: np.ndarray) -> np.ndarray:
        """The array of the operand's shape that `pack` made `packed` of; for no cells."""
        numbers = np.arange(prod(operand.shape)).reshape(operand.shape)
        places = self.pack(operand, numbers + 1).reshape(-1)
        found = np.empty(prod(operand.shape), packed.dtype)
        found[places[places > 0] - 1] = packed.reshape(-1)[places > 0]
        return found.reshape(operand.shape)

    def pack(self, operand: Operand, value: np.ndarray) -> np.ndarray:
        """`value`, an array of the operand's shape, as it lies; ragged blocks get zeros."""
        rest = [at for at in range(value.ndim) if at not in dict(self.blocks)]
        pads = [(0, -size % self.block(at)) for at, size in enumerate(value.shape)]
        padded = np.pad(value, pads)
        split: list[int] = []
        for at, size in enumerate(padded.shape):
            split += [size // self.block(at), self.block(at)]
        order = [2 * at + (0 if counted else 1) for at, counted in self.places]
        # Blocks of one element have no name of their own, and axes of one element need none.
        order += [2 * at + 1 for at, _ in self.blocks if (at, False) not in self.places]
        order += [each for at in rest for each in (2 * at, 2 * at + 1)]
        turned = padded.reshape(split).transpose(order)
        return np.ascontiguousarray(turned).reshape(self.shape(operand))
