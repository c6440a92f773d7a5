"""A mapping as the sequence of its kernel calls, in which equal ones stand in loops.

What a cost model reads that prices a whole layer call after call (`SequenceCostModel`), where
adding tiles up says too little: which transfers hide behind which calls. `match_aie.mapping`
makes the sequence.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from match_aie.hardware.cost import Array, Block, Direction, Tile, TileCostModel
from match_aie.workload import Workload

if TYPE_CHECKING:
    from match_aie.hardware.memory import Memory

#: (first index, elements) of every loop dimension.
Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the kernel, and the tiles that move for it.

    Attributes:
        work: what the model's `call_price` said of the kernel.
        loads: what its `transfer_price` said of the tiles of inputs that are new at this call, in
            the order of the workload's operands.
        store: the same of the output's tile; None where it does not move.
        opens: whether the output's tile is new: the one before it, if any, is complete.
    """

    work: Hashable
    loads: tuple[Hashable, ...]
    store: Hashable | None
    opens: bool


@dataclass(frozen=True, slots=True)
class Repeat:
    """`body`, `times` times in a row."""

    body: tuple[Call | Repeat, ...]
    times: int


@runtime_checkable
class SequenceCostModel(TileCostModel, Protocol):
    """A `TileCostModel` that also prices whole layers, for modules with one tier of memories.

    The search then minimises `sequence_cycles`. What it prunes with is a lower bound of it,
    `combine(compute, moves, exposed)`, where

    - `compute` is the largest of `call_bounds` of all calls plus `layer_bounds`, plus the
      `held_cycles` of all transfers but the first loads; in place of the last store's, its
      `transfer_cycles`;
    - `moves` are the `transfer_cycles` of all transfers, `exposed` those of the first loads.

    For no mapping may the bound be larger than `sequence_cycles`. Tiles that may see padding
    count in it as if they saw all of it, in one chunk: a transfer of fewer bytes in fewer chunks
    may not take longer.
    """

    def call_bounds(self, workload: Workload, tile: Tile) -> tuple[Array, ...]:
        """Cycles of one call of the kernel on `tile`, at least, as several units see it.

        The kernel's own unit comes first. Where the controller, which starts it, comes behind, its
        cycles are those in which no other layer's kernel can be started.
        """

    def layer_bounds(self, calls: Array) -> tuple[Array, ...]:
        """Cycles of a layer of so many calls beside them, at least, for each of these units."""

    def held_cycles(self, workload: Workload, block: Block) -> Array:
        """Cycles of a transfer in which nothing else of the layer goes on, at least."""

    def call_price(self, workload: Workload, ranges: Ranges) -> Hashable:
        """What one call of the kernel takes, in the model's own form.

        Args:
            workload: the layer.
            ranges: of the call. Calls that differ only in how far they are from the border, beyond
                the padding, are priced once.
        """

    def transfer_price(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Hashable:
        """What a transfer takes, in the model's own form."""

    def sequence_cycles(self, workload: Workload, calls: Sequence[Call | Repeat]) -> float:
        """Cycles of the layer."""


@runtime_checkable
class SharedCostModel(SequenceCostModel, Protocol):
    """One that also says when a unit needs no controller; a module with `beside` needs it.

    Attributes:
        waited: whether the controller waits for the kernel where no other layer runs beside.
    """

    waited: bool

    def free_cycles(self, workload: Workload, tile: Tile) -> float:
        """Cycles at the end of a call of the kernel on `tile` in which its unit works by itself."""

    def unit_cycles(self, workload: Workload, tile: Tile) -> float:
        """Cycles of a call in which its unit works, the controller being there or not."""

    def ahead_cycles(self) -> tuple[float, float]:
        """The controller's, to start a load for the next layer, and to see that one is over."""
