"""A dense layer whose operands go by: sizes of what lies where, and when it is sent again.

A run is several passes over rows; in a pass each chain of tiles walks its columns call by call, and
a call its reduction turn by turn (`array.layer.ArrayMapping`). Weights come by stream from the
chip's memory, once in every pass, or stay in the tiles. Activations of a pass lie in memory tiles,
and are sent again for every call along the columns where a tile cannot keep them.

Chains of a slot share memory tiles: what one column of tiles reads of x is in one buffer, its
weights in one or a few, and what the slot stores in one, or two where channels are too few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.devices import Device, MemTile
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

WORD = 4

#: Bytes of activations that one buffer holds at most, where fewer ways than one for each part of
#: the reduction bring them: who shares a way holds what comes for the others, too.
JOINED = 128 * 1024

#: Bytes of weights of one column of tiles that a memory tile takes at once, where more calls fit.
CHUNK = 64 * 1024


@dataclass(frozen=True)
class Rectangle:
    """Chains of a slot: all of these parts of the rows with all of these parts of the columns."""

    slot: int
    rows: range
    columns: range

    @property
    def chains(self) -> int:
        """How many."""
        return len(self.rows) * len(self.columns)

    def halves(self) -> tuple[Rectangle, Rectangle]:
        """Its rows in two, or its columns where there is one part of the rows."""
        rows, columns = self.rows, self.columns
        if len(rows) > 1:
            at = len(rows) // 2
            cut = ((rows[:at], columns), (rows[at:], columns))
        else:
            at = len(columns) // 2
            cut = ((rows, columns[:at]), (rows, columns[at:]))
        first, second = (Rectangle(self.slot, *parts) for parts in cut)
        return first, second


@dataclass(frozen=True)
class _Need:
    """What buffers take of a memory tile, or what it has left."""

    bytes: int
    s2mm: int
    mm2s: int
    descriptors: int

    def without(self, other: _Need) -> _Need:
        """What is left after `other`."""
        return _Need(
            self.bytes - other.bytes,
            self.s2mm - other.s2mm,
            self.mm2s - other.mm2s,
            self.descriptors - other.descriptors,
        )

    def holds(self, other: _Need) -> bool:
        """Whether anything is left then, or nothing needed."""
        left = self.without(other)
        return min(left.bytes, left.s2mm, left.mm2s, left.descriptors) >= 0


@dataclass(frozen=True)
class Timed:
    """A dense layer in passes.

    Attributes:
        mapping: of the rows of one pass.
        device: with as many columns as the layer takes, and rows of cores as chains stand above
            each other.
        rows: of the layer.
        feeds: ways for the weights of one column of tiles, at most.
    """

    mapping: ArrayMapping
    device: Device
    rows: int
    feeds: int

    @property
    def passes(self) -> int:
        """Over the rows."""
        return ceil(self.rows / self.mapping.layer.rows)

    @property
    def computed_rows(self) -> int:
        """Rows that a chain computes in a pass, those that belong to the next chain included."""
        return self.mapping.row_steps * self.mapping.call_rows

    @property
    def width(self) -> int:
        """Columns of the results that all chains compute in one call."""
        return self.mapping.column_parts * self.mapping.call_columns

    @cached_property
    def floor(self) -> Floor:
        """Where the chains sit."""
        return Floor(self.mapping, self.device)

    @cached_property
    def slots(self) -> tuple[Rectangle, ...] | None:
        """The parts of each slot; None where those of one are no rectangle."""
        found = []
        for slot in range(self.floor.slots):
            parts = [self.mapping.chain(chain) for chain in self.floor.members(slot)]
            rows, columns = sorted({r for r, _ in parts}), sorted({c for _, c in parts})
            made = Rectangle(slot, range(rows[0], rows[-1] + 1), range(columns[0], columns[-1] + 1))
            if sorted(parts) != list(product(made.rows, made.columns)):
                return None
            found.append(made)
        return tuple(found)

    @property
    def rectangles(self) -> tuple[Rectangle, ...]:
        """`slots`, where all of them are rectangles."""
        if self.slots is None:
            raise InternalError("chains of a slot are no rectangle")
        return self.slots

    def chain(self, row: int, column: int) -> int:
        """Index of the chain with these parts."""
        m = self.mapping
        return row * m.column_parts + column if m.order == "m" else column * m.row_parts + row

    @property
    def mem(self) -> MemTile:
        """Of the device."""
        mem = self.device.architecture.mem
        if mem is None:
            raise InternalError("a device without memory tiles")
        return mem

    # ------------------------------------------------------------ activations

    @property
    def x_repeats(self) -> int:
        """How often a pass sends a tile its activations: once where it can keep them."""
        m = self.mapping
        return m.column_steps if m.row_steps > 1 or m.reduction_steps > 1 else 1

    @cached_property
    def shared(self) -> int:
        """Tiles of a chain whose activations come by one way: as many as a buffer holds."""
        m = self.mapping
        one = m.part_reduction * self.computed_rows * m.row_parts * ELEMENT_BYTES[m.layer.a]
        able = (n for n in range(1, m.cas_length + 1) if m.cas_length % n == 0)
        return max(n for n in able if n == 1 or n * one <= JOINED)

    @property
    def x_width(self) -> int:
        """Columns of x in one buffer."""
        return self.mapping.part_reduction * self.shared

    def x_rows(self, parts: range) -> int:
        """Rows of x that a pass brings to who has these parts, whole tiles of them."""
        m = self.mapping
        left = ceil(m.layer.rows / m.tiling.m) * m.tiling.m - parts[0] * m.part_rows
        return min(len(parts) * m.part_rows, left)

    def held_rows(self, parts: range) -> int:
        """Rows of a buffer that chains with these parts read or write."""
        return (len(parts) - 1) * self.mapping.part_rows + self.computed_rows

    @property
    def x_copies(self) -> int:
        """Of x in memory tiles: one pass is brought while another is read."""
        return 2 if self.passes > 1 and self.x_repeats == 1 else 1

    def x_bytes(self, parts: range) -> int:
        """Of one copy."""
        return self.held_rows(parts) * self.x_width * ELEMENT_BYTES[self.mapping.layer.a]

    # ------------------------------------------------------------ weights

    def pieces(self, columns: range) -> tuple[range, ...]:
        """Parts of the columns by the way that brings their weights."""
        if not self.mapping.streamed:
            return ()
        size = ceil(len(columns) / min(self.feeds, len(columns)))
        return tuple(columns[at : at + size] for at in range(0, len(columns), size))

    @property
    def w_repeats(self) -> int:
        """How often a buffer of weights is read: once for each call along the rows, in turns."""
        return self.mapping.row_steps if self.mapping.reduction_steps > 1 else 1

    @property
    def call_weights(self) -> int:
        """Elements of the weights of a call of one tile, all turns."""
        m = self.mapping
        return m.call_reduction * m.reduction_steps * m.call_columns

    def w_calls(self, piece: range) -> int:
        """Calls whose weights are in one copy of a buffer."""
        m = self.mapping
        if self.w_repeats > 1:
            return 1
        each = len(piece) * self.call_weights * ELEMENT_BYTES[m.layer.w]
        most = max(1, CHUNK // each)
        return max(n for n in range(1, min(most, m.column_steps) + 1) if m.column_steps % n == 0)

    def w_bytes(self, piece: range) -> int:
        """Of one copy."""
        size = ELEMENT_BYTES[self.mapping.layer.w]
        return len(piece) * self.w_calls(piece) * self.call_weights * size

    # ------------------------------------------------------------ results

    @cached_property
    def results(self) -> tuple[Rectangle, ...]:
        """Chains whose results are gathered in one buffer."""
        found: list[Rectangle] = []
        for slot in self.rectangles:
            found += [slot] if slot.chains <= self.mem.dma.s2mm else slot.halves()
        return tuple(found)

    def y_rows(self, parts: range) -> int:
        """Rows that leave in a pass."""
        m = self.mapping
        return min(len(parts) * m.part_rows, m.layer.rows - parts[0] * m.part_rows)

    def y_bytes(self, part: Rectangle) -> int:
        """Of one copy."""
        m = self.mapping
        wide = len(part.columns) * m.call_columns
        return self.held_rows(part.rows) * wide * ELEMENT_BYTES[m.layer.out]

    # ------------------------------------------------------------ ways

    @cached_property
    def x_ways(self) -> tuple[tuple[int, range], ...]:
        """(first tile of the chains, parts of the rows) of each way that brings activations."""
        tiles = range(0, self.mapping.cas_length, self.shared)
        slots = dict.fromkeys(slot.rows for slot in self.rectangles)
        return tuple((at, rows) for rows in slots for at in tiles)

    @cached_property
    def w_ways(self) -> tuple[tuple[int, range], ...]:
        """(tile of the chains, parts of the columns) of each way that brings weights."""
        pieces = dict.fromkeys(p for slot in self.rectangles for p in self.pieces(slot.columns))
        return tuple((at, piece) for at in range(self.mapping.cas_length) for piece in pieces)

    @property
    def ways(self) -> tuple[int, int]:
        """Channels from the chip's memory, and back."""
        return len(self.x_ways) + len(self.w_ways), len(self.results)

    # ------------------------------------------------------------ whether it fits

    @property
    def fits(self) -> bool:
        """Whether columns have the memory, and their switches the links."""
        m = self.mapping
        if self.slots is None or self.floor.shares != (1, 1):
            return False
        most = m.layer.rows - 1 - (m.row_parts - 1) * m.part_rows
        if most < 0 or max(s.chains for s in self.rectangles) > self.floor.lanes_down:
            return False
        locks = self.mem.locks.value_bits
        if locks is not None and max(self.x_repeats, self.w_repeats) > 2**locks - 1:
            return False
        return all(self._column_fits(slot) for slot in self.rectangles)

    def _longest(self, slot: Rectangle) -> int:
        """Bytes that one descriptor of a slot moves at most."""
        m = self.mapping
        x = self.x_rows(slot.rows) * self.x_width * ELEMENT_BYTES[m.layer.a]
        return max([x, *(self.w_bytes(piece) for piece in self.pieces(slot.columns))])

    def _column_fits(self, slot: Rectangle) -> bool:
        """Whether memory tiles of a slot's columns hold its buffers, the largest first."""
        length = self.device.architecture.addressing["mem"].length_bits
        if length is not None and self._longest(slot) >= WORD * 2**length:
            return False
        rooms = [_Need(self.mem.bytes, self.mem.dma.s2mm, self.mem.dma.mm2s, self._descriptors)]
        rooms *= self.device.mem_rows * self.mapping.cas_length
        for need in sorted(self._needs(slot), key=lambda n: (-n.bytes, -n.s2mm)):
            at = next((at for at, room in enumerate(rooms) if room.holds(need)), None)
            if at is None:
                return False
            rooms[at] = rooms[at].without(need)
        return True

    @property
    def _descriptors(self) -> int:
        return self.device.architecture.descriptors["mem"]

    def _needs(self, slot: Rectangle) -> Iterator[_Need]:
        """Of each buffer of a slot: ways that repeat what is double take descriptors again."""
        x, rows = self.x_copies, len(slot.rows)
        again = self.x_repeats if x > 1 else 1
        for _ in range(self.mapping.cas_length):
            yield _Need(x * self.x_bytes(slot.rows), 1, rows, x * (1 + rows * again))
            for piece in self.pieces(slot.columns):
                many = 2 * (1 + len(piece) * self.w_repeats)
                yield _Need(2 * self.w_bytes(piece), 1, len(piece), many)
        for part in self.results:
            if part.slot == slot.slot:
                yield _Need(2 * self.y_bytes(part), part.chains, 1, 2 * (part.chains + 1))
