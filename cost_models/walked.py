"""Whole layers on a scratchpad, call after call: a building block of cost models.

`MemoryTransfers` adds up what tiles take, and takes transfers to hide behind kernels as if both
went on without end. Here the calls of a mapping are followed in order (`BlockingWalk`): a load that
is not there yet is waited for, and the last kernel hides nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.cost_models.walk import BlockingWalk, Controller, Jobs, Move
from match_aie.hardware import Array, Block, Call, Direction, Memory, Ranges, Repeat, Tile
from match_aie.workload import Workload


@dataclass(frozen=True)
class _Even(Controller):
    """A controller whose walk takes the same for all calls."""

    def walk(self, calls: Array) -> tuple[Array, Array]:
        """Cycles to enter a layer of so many tiles, and around each of them."""
        return np.full(np.shape(calls), self.layer), np.full(np.shape(calls), self.visit)


class WalkedTransfers(MemoryTransfers, ABC):
    """Inherit, and add `kernel_cycles`: of a kernel that the controller starts and waits for.

    A `SharedCostModel`, for one tier of memories in which every tile is there twice. Where there
    are memories in between, or partial sums leave the innermost one, tiles are added up.

    Attributes:
        layer: cycles of the controller to enter a layer.
        visit: of its walk, around each call.
        start: to start the kernel; `kernel_cycles` holds them too.
        program: to start a transfer.
        wait: of a wait for what is over.
        waited: see `SharedCostModel`.
    """

    layer: float = 0.0
    visit: float = 0.0
    start: float = 0.0
    program: float = 0.0
    wait: float = 0.0
    waited: bool = True

    @abstractmethod
    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one call, `start` among them."""

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """A lower bound: the controller's time after the first loads, or the engine's.

        The walk to the first call hides behind the first loads, or they behind it.
        """
        loads = exposed[0]
        for more in exposed[1:]:
            loads = loads + more
        engine = moves[0]
        for more in moves[1:]:
            engine = np.maximum(engine, more)
        walked = compute - self.visit + np.maximum(loads, self.visit)
        return np.asarray(np.maximum(walked, engine + self.layer))

    def call_bounds(self, workload: Workload, tile: Tile) -> tuple[Array, ...]:
        """The kernel and the walk around it."""
        return (np.asarray(self.kernel_cycles(workload, tile) + self.visit),)

    def layer_bounds(self, calls: Array) -> tuple[Array, ...]:
        """Entering it."""
        return (np.full(np.shape(calls), self.layer),)

    def held_cycles(self, workload: Workload, block: Block) -> Array:
        """The controller starts each transfer; the last stores may be waited for together."""
        load = block.operand.name != workload.output.name
        held = self.program + (self.wait if load else 0.0)
        return np.asarray(np.where(block.nbytes > 0, held, 0.0))

    def call_price(self, workload: Workload, ranges: Ranges) -> tuple[Jobs, ...]:
        """One job, which the controller starts."""
        tile = {dim: np.asarray(length) for dim, (_, length) in ranges.items()}
        return (Jobs(0.0, float(self.kernel_cycles(workload, tile))),)

    def transfer_price(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Move:
        """What the controller takes to start it, and the engine to do it."""
        engine = self.transfer_cycles(workload, block, outer, inner, direction)
        return Move(self.program, float(engine))

    def sequence_cycles(self, workload: Workload, calls: Sequence[Call | Repeat]) -> float:
        """Call after call."""
        del workload
        controller = _Even(layer=self.layer, visit=self.visit, wait=self.wait)
        return BlockingWalk(controller).cycles(calls)

    def free_cycles(self, workload: Workload, tile: Tile) -> float:
        """The kernel, once it was started."""
        return float(self.kernel_cycles(workload, tile)) - self.start

    def unit_cycles(self, workload: Workload, tile: Tile) -> float:
        """The same."""
        return self.free_cycles(workload, tile)

    def ahead_cycles(self) -> tuple[float, float]:
        """To start a transfer, and to see that it is over."""
        return self.program, self.wait
