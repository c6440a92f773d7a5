"""What a mapping costs, and what a target says about the cost of tiles.

A cost model prices one tile at a time, for many candidate tiles at once: every quantity is an
array over candidates. The search adds tiles up; `docs/mapping.md` says how.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from match_aie.errors import Infeasible, ProjectError
from match_aie.hardware.energy import Objective
from match_aie.hardware.mapping import Mapping
from match_aie.workload import Operand, Workload

if TYPE_CHECKING:
    from match_aie.hardware.memory import Memory

#: Numbers over candidates; the shapes of all arrays of one call broadcast.
Array = npt.NDArray[Any]

#: Elements of every loop dimension in a tile, by name.
Tile = MappingOf[str, Array]

Direction = Literal["load", "store"]

Mode = Literal["sum", "max", "pipelined"]


@dataclass(frozen=True)
class Cost:
    """A modelled cost.

    Attributes:
        cycles: of the module's clock, for the whole layer.
        parts: (name, cycles), adding up to `cycles`.
        picojoules: energy of the whole layer; None where the model has no energy.
    """

    cycles: float
    parts: tuple[tuple[str, float], ...] = ()
    picojoules: float | None = None

    def __post_init__(self) -> None:
        """Refuse parts that do not add up."""
        if self.parts and abs(sum(c for _, c in self.parts) - self.cycles) > 1e-6 * self.cycles:
            raise ValueError(f"parts {self.parts} do not add up to {self.cycles} cycles")


def measure(cost: Cost, objective: Objective) -> float:
    """What `objective` minimises of a cost; energy is 0 where the model has none."""
    if objective == "latency":
        return cost.cycles
    energy = cost.picojoules or 0.0
    return energy if objective == "energy" else energy * cost.cycles


def cost_to_json(cost: Cost) -> dict[str, Any]:
    """`cost` as a JSON object; `cost_from_json` gives an equal one (floats in hexadecimal)."""
    return {
        "cycles": float(cost.cycles).hex(),
        "parts": [[name, float(cycles).hex()] for name, cycles in cost.parts],
        "picojoules": None if cost.picojoules is None else float(cost.picojoules).hex(),
    }


def cost_from_json(data: dict[str, Any]) -> Cost:
    """The cost that `cost_to_json` wrote.

    Raises:
        ProjectError: `data` is not what `cost_to_json` writes.
    """
    try:
        energy = data["picojoules"]
        return Cost(
            float.fromhex(data["cycles"]),
            tuple((str(name), float.fromhex(cycles)) for name, cycles in data["parts"]),
            None if energy is None else float.fromhex(energy),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ProjectError(f"not a cost: {error}") from error


@dataclass(frozen=True)
class Block:
    """What a transfer moves: the tile of one operand.

    Attributes:
        operand: whose tile.
        nbytes: that move.
        chunks: contiguous pieces that these bytes are in the outer memory, where the operand (or
            the enclosing tile of it) lies row-major and dense.
        planes: sets of evenly spaced chunks that these are: one where all are the same distance
            apart, as a two-dimensional transfer moves them.
    """

    operand: Operand
    nbytes: Array
    chunks: Array
    planes: Array = field(default_factory=lambda: np.asarray(1))


@runtime_checkable
class CostModel(Protocol):
    """Prices a mapping of a workload on a module that has a single memory."""

    def cost(self, workload: Workload, mapping: Mapping) -> Cost | Infeasible:
        """Modelled cost of running `workload` as `mapping` says, or what the module lacks."""


@runtime_checkable
class TileCostModel(Protocol):
    """Prices tiles, vectorised over candidates: what a module with inner memories must have.

    Costs may not be negative, and `combine` may not decrease when any of its arguments grows:
    the bounds that prune the search rest on that.
    """

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one call of the kernel on `tile`, call overhead included."""

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """Cycles to move `block` from `outer` to `inner` ("load") or back ("store")."""

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """Cycles of the layer.

        Args:
            compute: cycles of all calls of the kernel.
            moves: cycles of all transfers, by tier of memories, innermost first.
            exposed: of these, the first load of every input and the last store, at full size.
        """

    def kernel_energy(self, workload: Workload, tile: Tile) -> Array:
        """Picojoules of one call of the kernel on `tile`."""

    def transfer_energy(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """Picojoules to move `block`."""


@runtime_checkable
class WalkedCostModel(TileCostModel, Protocol):
    """One that also says what the walk over a layer's calls takes, in the form it has for them."""

    def walk_cycles(self, calls: Array) -> Array:
        """Cycles of a layer of so many calls beside them; added to those of its kernel."""


def combine_cycles(
    mode: Mode, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]
) -> Array:
    """The usual ways for compute and transfers to overlap.

    `sum`: nothing overlaps. `max`: everything does. `pipelined`: everything does but the first
    loads and the last store of each tier (double buffering with prologue and epilogue).
    """
    total = compute
    if mode == "sum":
        for move in moves:
            total = total + move
        return total
    if mode == "max":
        for move in moves:
            total = np.maximum(total, move)
        return total
    for move, edge in zip(moves, exposed, strict=True):
        total = np.maximum(total, move - edge)
    for edge in exposed:
        total = total + edge
    return total
