"""A dense layer whose operands go by: sizes of what lies where, and when it is sent again.

A run is several passes over rows; in a pass each chain of tiles walks its columns call by call, and
a call its reduction turn by turn (`array.layer.ArrayMapping`). Weights come by stream from the
chip's memory, once in every pass, or stay in the tiles. Activations of a pass lie in memory tiles,
and are sent again for every call along the columns where a tile cannot keep them.

Chains of a slot share memory tiles: what one column of tiles reads of x is in one buffer, its
weights in one or a few, and what the slot stores in one, or two where channels are too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.devices import Device, MemTile
from match_aie.targets.aie_ml.graph.plan import MemoryKind
from match_aie.targets.aie_ml.graph.slots import Rectangle, Slot, pieces_of, slots_of
from match_aie.targets.aie_ml.graph.timed_room import cuts, fits, holds, may_fit
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

#: Bytes of activations that one buffer holds at most, where fewer ways than one for each part of
#: the reduction bring them: who shares a way holds what comes for the others, too.
JOINED = 128 * 1024

#: Bytes of weights of one column of tiles that a memory tile takes at once, where more turns fit:
#: the most for which there is room beside everything else. A request takes the time of some KB.
CHUNKS = tuple(kilo * 1024 for kilo in (64, 56, 48, 40, 32, 24, 16, 12, 8))

#: How often activations are read of a double buffer at most, where programmable logic fills it.
READ_AGAIN = 4


@dataclass(frozen=True)
class Timed:
    """A dense layer in passes.

    Ways from the chip's memory are few: what slots read alike comes by one way, and a way takes
    what one memory tile gathers. Streams of programmable logic are many: each buffer of activations
    has its own, and each chain's results where there are enough.

    Attributes:
        mapping: of the rows of one pass.
        device: with as many columns as the layer takes, and rows of cores as chains stand above
            each other.
        rows: of the layer.
        feeds: ways for the weights of one column of tiles, at most.
        memory: what is outside.
        fills: in which a memory tile takes, and gives, the rows of one part and pass: several where
            tiles need not wait for all rows.
        copies: of all of it side by side, each with so many rows.
        carries: whether a chain's kernels go on from pass to pass without an end between them, and
            hand results over a block after the next pass begins.
        spread: memory tiles over which results of a slot that leave for the chip's memory are
            spread, each with a way of its own: at most one in each of its columns.
        cut: parts of the reduction in which activations of a pass come, each into a buffer of its
            own: those of the next pass begin to come while the last call reads the others.
        direct: whether weights come straight to the tiles, past memory tiles, which then hold
            results once: all other room is the activations'.
    """

    mapping: ArrayMapping
    device: Device
    rows: int
    feeds: int
    memory: MemoryKind = "ddr"
    fills: int = 1
    copies: int = 1
    carries: bool = False
    spread: int = 1
    cut: int = 1
    direct: bool = False

    @property
    def told(self) -> bool:
        """Whether the text says what semaphores count, which else is the vendor's tool's."""
        return self.device.dispatch_us is not None

    @property
    def tiles(self) -> int:
        """Of all copies."""
        return self.copies * self.mapping.tiles

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

    @property
    def walks_passes(self) -> bool:
        """Whether a kernel is started once for all passes: rows go by, and nothing else changes."""
        m = self.mapping
        return not m.streamed and m.column_steps == 1 and m.reduction_steps == 1

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The parts of each slot."""
        m = self.mapping
        return slots_of(m.row_parts, m.column_parts, m.order, self.device.core_rows)

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
        if self.memory == "plio":
            return 1
        one = m.part_reduction * self.computed_rows * m.row_parts * ELEMENT_BYTES[m.layer.a]
        able = (n for n in range(1, m.cas_length + 1) if m.cas_length % n == 0)
        return max(n for n in able if n == 1 or n * one <= JOINED)

    @property
    def x_width(self) -> int:
        """Columns of x in one buffer."""
        return self.mapping.part_reduction * self.shared

    def x_parts(self, slot: Slot) -> tuple[range, ...]:
        """Parts of the rows that lie in one buffer, for all buffers of a column of a slot."""
        if self.memory == "ddr":
            return (slot.rows,)
        return tuple(band.rows for band in slot.bands)

    def x_rows(self, parts: range) -> int:
        """Rows of x that a pass brings to who has these parts, whole tiles of them."""
        m = self.mapping
        left = ceil(m.layer.rows / m.tiling.m) * m.tiling.m - parts[0] * m.part_rows
        return min(len(parts) * m.part_rows, left)

    def held_rows(self, parts: range) -> int:
        """Rows of a buffer that chains with these parts read or write."""
        if self.fills > 1:
            return self.computed_rows // self.fills
        return (len(parts) - 1) * self.mapping.part_rows + self.computed_rows

    @property
    def divides(self) -> bool:
        """Whether `fills` cut the rows of every pass evenly, into whole tiles of `mmul`."""
        m = self.mapping
        even = self.walks_passes and m.row_steps == 1 and self.memory == "plio"
        whole = m.layer.rows == m.row_parts * self.computed_rows
        return self.fills == 1 or (even and whole and not m.call_rows % (self.fills * m.tiling.m))

    @cached_property
    def x_copies(self) -> int:
        """Of x in memory tiles: one pass, or run, is brought while another is read.

        What is read again takes descriptors for each copy and time: where the chip's memory fills
        it, there are two as long as memory tiles have both.
        """
        if self.memory == "plio":
            return 2 if self.x_repeats <= READ_AGAIN else 1
        if self.cut > 1:
            return self.cut
        if self.passes == 1 or not self.device.mem_rows:
            return 1
        return 2 if holds(self, 2) else 1

    @property
    def double(self) -> bool:
        """Whether all activations of a pass come while those of another are read."""
        return self.cut == 1 and self.x_copies == 2

    def x_bytes(self, parts: range) -> int:
        """Of one copy, or part."""
        wide = self.x_width // self.cut
        return self.held_rows(parts) * wide * ELEMENT_BYTES[self.mapping.layer.a]

    @property
    def cuts(self) -> tuple[int, ...]:
        """Numbers of parts in which activations of a pass may come."""
        return cuts(self)

    # ------------------------------------------------------------ weights

    def pieces(self, columns: range) -> tuple[range, ...]:
        """Parts of the columns by the way that brings their weights."""
        if not self.mapping.streamed:
            return ()
        size = ceil(len(columns) / min(self.feeds, len(columns)))
        return tuple(columns[at : at + size] for at in range(0, len(columns), size))

    def held_pieces(self, slot: Slot) -> tuple[range, ...]:
        """Those whose weights the memory tiles of a slot have: all, for its own chains, or none."""
        return () if self.direct else self.pieces(slot.columns)

    @property
    def w_repeats(self) -> int:
        """How often a buffer of weights is read: once for each call along the rows, in turns."""
        return self.mapping.row_steps if self.mapping.reduction_steps > 1 else 1

    @property
    def number_turns(self) -> int:
        """Turns that bring all numbers by column behind their weights, each as many."""
        return 1

    def turn_weights(self, at: int) -> int:
        """Elements of the weights of a turn of tile `at`, with the numbers behind them."""
        m = self.mapping
        behind = 4 * m.numbers(at) * m.call_columns // ELEMENT_BYTES[m.layer.w]
        return m.call_reduction * m.call_columns + behind // self.number_turns

    @cached_property
    def chunk(self) -> int:
        """Bytes of weights of one column of tiles that a memory tile takes at once: of `CHUNKS`."""
        return next((size for size in CHUNKS if holds(self, self.cut, chunk=size)), CHUNKS[0])

    def w_turns(self, piece: range, chunk: int = 0) -> int:
        """Turns whose weights are in one copy of a buffer, which may belong to several calls.

        Where calls along the rows read them again, all turns of a call.

        Args:
            piece: parts of the columns.
            chunk: bytes of a copy, about; those for which there is room where 0.
        """
        m = self.mapping
        if self.direct:
            return 1
        if self.w_repeats > 1:
            return m.reduction_steps
        most = max(self.turn_weights(at) for at in (0, m.cas_length - 1))
        fit = (chunk or self.chunk) // (len(piece) * most * ELEMENT_BYTES[m.layer.w])
        whole = m.column_steps * m.reduction_steps
        return max(n for n in range(1, max(1, min(fit, whole)) + 1) if whole % n == 0)

    def w_fills(self, piece: range) -> int:
        """How often a pass fills a buffer of weights."""
        m = self.mapping
        return m.column_steps * m.reduction_steps // self.w_turns(piece)

    def w_bytes(self, at: int, piece: range, chunk: int = 0) -> int:
        """Of one copy, of tile `at` of the chains; as `w_turns`."""
        size = ELEMENT_BYTES[self.mapping.layer.w]
        return len(piece) * self.w_turns(piece, chunk) * self.turn_weights(at) * size

    # ------------------------------------------------------------ results

    @cached_property
    def results(self) -> tuple[Rectangle, ...]:
        """Chains whose results are gathered in one buffer."""
        return tuple(part for slot in self.slots for part in self.gathered(slot))

    def gathered(self, slot: Slot) -> Sequence[Rectangle]:
        """Of a slot; streams of programmable logic are many, and chains share few of them."""
        if self.memory == "plio" or not slot.rectangular:
            m = self.mapping
            most = self.mem.dma.s2mm if self.device.mem_rows else 1
            if self.memory == "plio":
                most = min(most, ceil(m.chains / (self.device.plio_out or 1)))
            shape = m.row_parts, m.column_parts, m.order, self.device.core_rows
            return pieces_of(*shape, most)[slot.number]
        whole = Rectangle(slot.number, slot.rows, slot.columns)
        return whole.pieces(max(self.spread, ceil(whole.chains / self.mem.dma.s2mm)))

    @property
    def y_copies(self) -> int:
        """Of a buffer of results in memory tiles."""
        return 1 if self.direct else 2

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

    def x_way(self, slot: Slot, at: int, parts: range) -> tuple[int, int, range]:
        """What tells the way apart that brings tile `at` of a slot's chains these parts."""
        return slot.number if self.memory == "plio" else 0, at - at % self.shared, parts

    @cached_property
    def x_ways(self) -> tuple[tuple[int, int, range], ...]:
        """(slot, first tile of the chains, parts of the rows) of each way for activations.

        From the chip's memory a way is for all slots with these parts.
        """
        found = (
            self.x_way(slot, at, parts)
            for slot in self.slots
            for parts in self.x_parts(slot)
            for at in range(self.mapping.cas_length)
        )
        return tuple(dict.fromkeys(found))

    def w_way(self, slot: Slot, at: int, piece: range) -> tuple[int, int, range]:
        """What tells the way apart that brings tile `at` of a slot's chains these weights."""
        return slot.number if self.memory == "plio" else 0, at, piece

    @cached_property
    def w_ways(self) -> tuple[tuple[int, int, range], ...]:
        """(slot, tile of the chains, parts of the columns) of each way that brings weights."""
        found = (
            self.w_way(slot, at, piece)
            for at in range(self.mapping.cas_length)
            for slot in self.slots
            for piece in self.pieces(slot.columns)
        )
        return tuple(dict.fromkeys(found))

    @cached_property
    def x_loads(self) -> tuple[int, ...]:
        """Bytes that each of `x_ways` brings in a pass."""
        each = self.x_width * ELEMENT_BYTES[self.mapping.layer.a]
        return tuple(self.x_rows(parts) * each for *_, parts in self.x_ways)

    @cached_property
    def w_loads(self) -> tuple[int, ...]:
        """Bytes that each of `w_ways` brings in a pass: of all columns whose weights it has."""
        m = self.mapping
        size = m.column_steps * m.reduction_steps * ELEMENT_BYTES[m.layer.w]
        return tuple(len(piece) * size * self.turn_weights(at) for _, at, piece in self.w_ways)

    @cached_property
    def y_loads(self) -> tuple[int, ...]:
        """Bytes that each way of `results` takes in a pass, a call along the columns at a time."""
        m = self.mapping
        each = m.column_steps * m.call_columns * ELEMENT_BYTES[m.layer.out]
        return tuple(self.y_rows(part.rows) * len(part.columns) * each for part in self.results)

    def least_bytes(self, times: int) -> int:
        """Of any such schedule's operands, without padding: x and y once, weights so many times."""
        layer = self.mapping.layer
        x, w, y = (ELEMENT_BYTES[dtype] for dtype in (layer.a, layer.w, layer.out))
        tensors = self.rows * (x * layer.reduction + y * layer.columns)
        return tensors + times * w * layer.reduction * layer.columns

    @property
    def ways(self) -> tuple[int, int]:
        """Streams from outside, and back, of all copies."""
        into = len(self.x_ways) + len(self.w_ways)
        return self.copies * into, self.copies * len(self.results)

    # ------------------------------------------------------------ whether it fits

    @property
    def fits(self) -> bool:
        """Whether columns have the memory, and their switches the links."""
        return fits(self)

    @property
    def may_fit(self) -> bool:
        """Asked of a split's smallest calls: whether any of its calls may `fits`.

        Others have the same links and channels, and their buffers are as large or larger.
        """
        return may_fit(self)
