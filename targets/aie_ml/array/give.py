"""Hands out what is numbered in tiles: DMA channels, buffer descriptors, locks."""

from __future__ import annotations

from collections import defaultdict
from typing import get_args

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.access import Pattern
from match_aie.targets.aie_ml.array.program import (
    Buffer,
    Channel,
    Descriptor,
    Direction,
    Lock,
    State,
    Tile,
)
from match_aie.targets.aie_ml.array.semaphores import counted
from match_aie.targets.aie_ml.devices import Device


class NoRoomError(Exception):
    """Something ran out; carries why."""

    def __init__(self, reason: Infeasible) -> None:
        """Of `reason`."""
        super().__init__(str(reason))
        self.reason = reason


class Giver:
    """Numbers of one layer's tiles.

    Attributes:
        descriptors: given out.
        locks: likewise.
    """

    def __init__(self, device: Device) -> None:
        """Everything is free."""
        self._device = device
        self._channels: dict[tuple[Tile, Direction], set[int]] = defaultdict(set)
        self._numbers: dict[tuple[Tile, int], int] = defaultdict(int)
        self._uses: dict[tuple[Tile, int], int] = defaultdict(int)
        self._locks: dict[Tile, int] = defaultdict(int)
        self.descriptors: list[Descriptor] = []
        self.locks: list[Lock] = []

    def _is_core(self, tile: Tile) -> bool:
        return tile[1] >= self._device.shim_rows + self._device.mem_rows

    def locks_of(self, buffer: Buffer, repeats: int = 1) -> None:
        """Two locks for `buffer`, each copy of which is read `repeats` times: empty, full.

        Where locks are binary, one for each copy. Where the text says what is counted, descriptors
        are repeated where a lock cannot count all reads (`semaphores`).
        """
        if not self._device.architecture.core.locks.semaphore:
            # Binary: one for each copy, which says whether it is full.
            for copy in range(buffer.copies):
                number = self._locks[buffer.tile]
                self.locks.append(Lock(buffer.tile, number, buffer.name, "full", 0, copy=copy))
                self._locks[buffer.tile] += 1
            return
        for state in get_args(State):
            initial = buffer.copies if state == "empty" else 0
            index = self._locks[buffer.tile]
            told = self._device.dispatch_us is not None
            highest = buffer.copies * (counted(repeats, 1) if told else repeats)
            self.locks.append(Lock(buffer.tile, index, buffer.name, state, initial, highest))
            self._locks[buffer.tile] += 1

    def channel(self, tile: Tile | None, direction: Direction, near: Tile | None) -> Channel:
        """A free channel of `tile`; of the interface tile nearest to `near` where that is None.

        Raises:
            NoRoomError: all are in use.
        """
        if tile is None:
            return self._interface(direction, near)
        core = self._is_core(tile)
        arch = self._device.architecture
        dma = arch.core.dma if core or arch.mem is None else arch.mem.dma
        count = dma.s2mm if direction == "s2mm" else dma.mm2s
        taken = self._channels[tile, direction]
        free = [index for index in range(count) if index not in taken]
        if not free:
            what = f"{direction} channels of tile {tile}"
            levers = ("fewer buffers in a tile",)
            raise NoRoomError(Infeasible(what, count + 1, count, "channels", levers))
        # In memory tiles each parity has half of the descriptors: take the emptier one. Uses count,
        # since what is written as a text has a descriptor for each.
        index = min(free, key=lambda i: (0 if core else self._uses[tile, i % 2], i))
        taken.add(index)
        return Channel(tile, direction, index)

    def _interface(self, direction: Direction, near: Tile | None) -> Channel:
        device = self._device
        columns = device.need(device.shim_noc_columns, "columns with a DMA to memory")
        dma = device.architecture.shim_dma
        count = dma.s2mm if direction == "s2mm" else dma.mm2s
        wanted = near[0] if near is not None else 0
        for x in sorted(columns, key=lambda x: (abs(x - wanted), x)):
            taken = self._channels[(x, 0), direction]
            if len(taken) < count:
                taken.add(len(taken))
                return Channel((x, 0), direction, len(taken) - 1)
        bound = count * len(columns)
        levers = ("fewer operands", "fewer parts")
        what = "DMA channels to the chip's memory"
        raise NoRoomError(Infeasible(what, bound + 1, bound, "channels", levers))

    def descriptors_of(
        self, channel: Channel, buffer: str, copies: int, patterns: tuple[Pattern, ...]
    ) -> None:
        """Descriptors on `channel` for all copies of a buffer.

        In memory tiles even channels use the lower half of the descriptors, odd ones the upper.
        """
        half = 0 if self._is_core(channel.tile) else channel.index % 2
        base = half and self._device.architecture.descriptors["mem"] // 2
        for copy in range(copies):
            for p in patterns:
                linear = len(p.dims) == 1 and p.padding == ((0, 0),)
                number = base + self._numbers[channel.tile, half]
                self._numbers[channel.tile, half] += 1
                self._uses[channel.tile, half] += 1 if p.iteration is None else p.iteration[0]
                made = Descriptor(
                    channel,
                    number,
                    buffer,
                    copy,
                    p.size,
                    () if linear else p.dims,
                    p.padding if any(any(pad) for pad in p.padding) else (),
                    p.offset,
                    p.iteration,
                )
                self.descriptors.append(made)
