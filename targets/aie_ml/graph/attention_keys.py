"""Keys and values between stages of a pipeline: two stages write a buffer, tiles of a third read.

Keys come from a transpose, values from a dense layer. A buffer has whole heads, of each its keys
and then its values, in tiles of 8 x 8: [elements / 8][keys / 8] of keys, [keys / 8][elements / 8]
of values. Whoever writes puts tiles there, so that a head's keys and values leave in one piece.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import Infeasible, InternalError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.attention_stage import AttentionStage
from match_aie.targets.aie_ml.graph.faces import DenseFace, Face, Key, Piece, TurnedFace
from match_aie.targets.aie_ml.kernels.attention import TILE_COLUMNS
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.turned import SIDE

#: Operands of attention that come so: keys and values.
PAIRED = ("x1", "x2")


@dataclass(frozen=True)
class Heads:
    """Which heads' keys and values a buffer holds, and how pieces of them lie there.

    Attributes:
        stage: that reads them.
        first: head.
        count: of heads.
    """

    stage: AttentionStage
    first: int
    count: int

    @property
    def _each(self) -> int:
        """Rows of eight elements from head to head."""
        return 2 * self.stage.held

    def _along(self, columns: tuple[int, int], step: int) -> tuple[tuple[int, int, int], ...]:
        """Loops over tiles of elements of heads, `step` apart, and over heads."""
        size = self.stage.size
        wide = columns[1] - columns[0]
        inside = min(wide, size) // TILE_COLUMNS
        loops = ((1, step, inside),)
        return loops if wide <= size else (*loops, (1, self._each, wide // size))

    def _begin(self, element: int, step: int) -> int:
        """Row of eight elements where the tile of an element begins; tiles are `step` apart."""
        head, inside = divmod(element, self.stage.size)
        return (head - self.first) * self._each + inside // TILE_COLUMNS * step

    def keys(self, piece: Piece, *, by_row: bool = False) -> Access:
        """Rows `piece` of transposed keys: tile by tile as a transpose stores, or by row."""
        elements, (key, end) = (piece.first, piece.first + piece.high), piece.columns
        down = self._along(elements, self.stage.keys)
        across = (1, SIDE, (end - key) // SIDE)
        begin = self._begin(piece.first, self.stage.keys) + key
        if by_row:
            return self._access((SIDE, 1), begin, (across, (1, 1, SIDE), *down))
        return self._access((SIDE, SIDE), begin, (*down, across))

    def values(self, piece: Piece, rows: int, *, by_row: bool = False) -> Access:
        """Rows `piece` of values: tile of `rows` by tile as products are stored, or by row.

        Args:
            piece: whose.
            rows: of a tile of a dense layer's result.
            by_row: whether rows of the matrix leave one after the other.
        """
        begin = self.stage.held + self._begin(piece.columns[0], SIDE)
        begin += piece.first * (self.stage.size // SIDE)
        along = self._along(piece.columns, SIDE)
        down: tuple[tuple[int, int, int], ...] = ((1, self.stage.size, piece.high // SIDE),)
        if piece.passes > 1:
            step = piece.period // SIDE * self.stage.size
            down = (*down, (1, step, piece.passes))
        if by_row:
            return self._access((SIDE, 1), begin, (*along, (1, 1, SIDE), *down))
        parts = ((1, rows, SIDE // rows),) if rows < SIDE else ()
        return self._access((SIDE, rows), begin, (*along, *parts, *down))

    def _access(
        self, tile: tuple[int, int], begin: int, loops: tuple[tuple[int, int, int], ...]
    ) -> Access:
        kept = tuple(loop for loop in loops if loop[2] > 1)
        return Access(self.stage.pair(self.count), tile, (0, begin), kept)


@dataclass(frozen=True)
class KeyGate:
    """A buffer of keys and values.

    Attributes:
        keys: kernels of the transpose, and what they store.
        values: of the dense layer, likewise.
        parts: of the stage's heads that read it, each by a way of its own.
        heads: that it holds.
    """

    keys: dict[Key, Piece]
    values: dict[Key, Piece]
    parts: tuple[int, ...]
    heads: Heads


def key_gates(
    keys: Face, values: Face, stage: AttentionStage, copies: int = 2
) -> tuple[KeyGate, ...] | Infeasible:
    """The buffers before attention; why there are none where they do not fit.

    Args:
        keys: the stage that writes transposed keys.
        values: that writes values.
        stage: that reads both.
        copies: of each buffer.
    """
    refused = _unlike(keys, values, stage)
    if refused is not None:
        return refused
    found: list[KeyGate] = []
    for part in range(stage.column_parts):
        before = found[-1] if found else None
        wider = _gate(keys, values, stage, (*before.parts, part)) if before else None
        if wider is not None and _refused(wider, stage.device, copies) is None:
            found[-1] = wider
            continue
        gate = _gate(keys, values, stage, (part,))
        refused = _refused(gate, stage.device, copies)
        if refused is not None:
            return refused
        found.append(gate)
    return tuple(found)


def _unlike(keys: Face, values: Face, stage: AttentionStage) -> Infeasible | None:
    """Why the two do not store what attention reads."""
    if not isinstance(keys, TurnedFace) or not isinstance(values, DenseFace):
        return Infeasible("transposed keys and projected values", 1, 0, "stages")
    turned = keys.stage
    rows, wide = turned.padded, stage.wide
    for what, wanted, given in (
        ("keys that are transposed", stage.keys, rows),
        ("rows of transposed keys", wide, turned.turned),
        ("rows of values", stage.keys, values.given[1]),
        ("columns of values", wide, max(p.columns[1] for p in values.writers.values())),
    ):
        if wanted != given:
            return Infeasible(what, wanted, given, "elements")
    m = values.timed.mapping
    tile = m.tiling.n == SIDE and SIDE % m.tiling.m == 0
    split = m.call_rows % SIDE or m.call_columns % SIDE or values.copies > 1
    if not tile or split or not by_heads(m.call_columns, stage.size):
        return Infeasible("columns of a chain's values", stage.size, m.call_columns, "columns")
    if not by_heads(turned.part_columns, stage.size):
        return Infeasible("rows of a tile's keys", stage.size, turned.part_columns, "rows")
    return None


def by_heads(part: int, size: int) -> bool:
    """Whether parts of matrices are parts of one head each, or whole heads."""
    return part % size == 0 or size % part == 0


def _gate(keys: Face, values: Face, stage: AttentionStage, parts: tuple[int, ...]) -> KeyGate:
    """The buffer of some parts of the heads, with everybody who writes something of them."""
    wide, size = stage.part_columns, stage.size
    first, end = parts[0] * wide, (parts[-1] + 1) * wide

    def met(spans: dict[Key, tuple[int, int]]) -> list[Key]:
        return [key for key, (a, b) in spans.items() if a < end and b > first]

    rows = {key: (p.first, p.first + p.high) for key, p in keys.writers.items()}
    columns = {key: p.columns for key, p in values.writers.items()}
    mine = [rows[key] for key in met(rows)] + [columns[key] for key in met(columns)]
    low = min(a for a, _ in mine) // size
    high = -(-max(b for _, b in mine) // size)
    return KeyGate(
        {key: keys.writers[key] for key in met(rows)},
        {key: values.writers[key] for key in met(columns)},
        parts,
        Heads(stage, low, high - low),
    )


def _refused(gate: KeyGate, device: Device, copies: int) -> Infeasible | None:
    """What a memory tile lacks for a buffer."""
    mem, ports = device.architecture.mem, device.architecture.switch_ports
    if mem is None:
        raise InternalError(f"{device.name} has no memory tiles")
    into = min(mem.dma.s2mm, ports[("core_tile", "master", "S")])
    stage = gate.heads.stage
    wide, high = stage.pair(gate.heads.count)
    streams = len(gate.parts) * (2 if stage.apart else 1)
    for what, demand, bound, unit in (
        ("streams into a memory tile", len(gate.keys) + len(gate.values), into, "streams"),
        ("streams out of a memory tile", streams, mem.dma.mm2s, "streams"),
        ("a memory tile", copies * wide * high, mem.bytes, "bytes"),
    ):
        if demand > bound:
            levers = ("fewer parts of keys and values", "more heads a tile")
            return Infeasible(what, demand, bound, unit, levers)
    return None
