"""Register tiles of float32 products: which one a layer gets, and what it costs.

A product is rows (m) by columns (n) by a reduction (r). Columns lie along vectors, in panels as
wide as the tile; each element of a row is spread over a vector. A tile of mr rows and v vectors
holds mr * v sums, v vectors of the panel and one spread element in registers (with one row the
panel is read from memory by the multiply-add itself).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from match_aie.hardware import Array
from match_aie.targets.cpu.fetch import LINE
from match_aie.targets.cpu.machine import Machine

#: Rows that a tile has at most: more only lengthen the code.
MOST_ROWS = 12

#: The same with `MANY` registers, where 14 rows of two vectors still fit.
MOST_TALL = 14

#: Registers from which on tiles have a choice of shapes: fewer hold the sums and no more.
MANY = 32

#: Modelled cycles of calling a register tile, before and after its reduction: the call and its
#: arguments, the latency of the last sums, and the end of the loop, which is mispredicted (about 15
#: cycles; Agner Fog, microarchitecture, on Zen and Ice Lake). An assumption in sum.
CALL_CYCLES = 40.0

#: Share of the shorter of two things that go on at once which the longer does not hide: hardware
#: prefetches along lines, not over the ends of blocks. An assumption, to rank register tiles.
EXPOSED = 0.25


#: Part of a cache that a panel may fill to come from there for every row of tiles: rows of the
#: other factor lie there, too. An assumption; it was tried with two networks on one machine only.
PANEL_SHARE = 0.5


#: Ways of a set of the first cache that a tile's rows leave to what goes past them: the panel's
#: lines, and those of the rows that come next. An assumption. (13 rows that share a set of eight
#: took 1.17 times as long as 6 of them, on Zen 4.)
WAYS_LEFT = 2


def panel_rate(machine: Machine, nbytes: float, share: float) -> float:
    """Bytes per cycle of a panel, from the first cache behind the innermost that it fits.

    Args:
        machine: the core.
        nbytes: of the panel.
        share: part of a cache that it may fill.
    """
    fitting = (cache for cache in machine.caches[1:] if nbytes <= share * cache.bytes)
    return next(fitting, machine.caches[-1]).bytes_per_cycle


def overlapped(a: Array, b: Array) -> Array:
    """The longer of two things that go on at once, and the exposed share of the shorter."""
    return np.asarray(np.maximum(a, b) + EXPOSED * np.minimum(a, b))


@dataclass(frozen=True)
class Tile:
    """A register tile.

    Attributes:
        mr: rows.
        vectors: per row.
        lanes: elements of a vector.
    """

    mr: int
    vectors: int
    lanes: int

    @property
    def width(self) -> int:
        """Columns."""
        return self.vectors * self.lanes


def fits(rows: int, vectors: int, registers: int) -> bool:
    """Whether the sums and what is multiplied fit the registers.

    Of 32 two more stay free where three vectors or more are loaded in a step: compilers load those
    of the next step early (gcc 12 spilled sums of 9 by 3; half the speed of 8 by 3, measured).
    """
    held = 0 if rows == 1 else vectors
    spare = 2 if vectors > 2 and registers >= MANY and rows > 1 else 0
    return rows * vectors + held + 1 + spare <= registers


def rows_kept(machine: Machine, stride: int) -> int:
    """Rows of a tile whose lines stay in the first cache while the tile goes along them.

    Rows that lie a multiple of a way apart, or nearly, share a set, and put each other out where
    they are more than the set has ways: each of their elements then comes from the second cache.

    Args:
        machine: the core.
        stride: bytes from one row to the next; 0 where they do not lie apart.
    """
    first = machine.caches[0]
    if not stride or not first.way:
        return MOST_TALL
    most = max(1, first.bytes // first.way - WAYS_LEFT)
    sets = [row * stride % first.way // LINE for row in range(MOST_TALL)]
    full = (row for row, at in enumerate(sets) if sets[: row + 1].count(at) > most)
    return next(full, MOST_TALL)


def step_cycles(machine: Machine, rows: Array, vectors: Array) -> Array:
    """Cycles of one step of the reduction in a tile of `rows` by `vectors`.

    The slowest of the multiply-adds, the loads (a vector or a spread element each), and the
    latency of a multiply-add, which the next step of the same sum waits for.
    """
    peaks = machine.peaks
    arithmetic = rows * vectors / peaks.fmas
    loads = (rows + vectors) / peaks.loads
    return np.maximum(np.maximum(arithmetic, loads), peaks.fma_latency)


def product_cycles(machine: Machine, tile: Tile, m: Array, n: Array, r: Array) -> Array:
    """Modelled cycles of a product of m rows, n columns and a reduction of r, from the first cache.

    Remainder tiles have as many rows and vectors as are left. Vectorised over candidates.

    Args:
        machine: with its vectors.
        tile: rows and vectors of sums.
        m: rows.
        n: columns.
        r: length of the reduction.
    """
    rows, columns = np.asarray(m), -(-np.asarray(n) // tile.lanes)
    tall, low = rows // tile.mr, rows % tile.mr
    wide, narrow = columns // tile.vectors, columns % tile.vectors
    total = np.zeros(np.broadcast(rows, columns, r).shape)
    for count, mr in ((tall, tile.mr), (low > 0, low)):
        for panels, vectors in ((wide, tile.vectors), (narrow > 0, narrow)):
            step = step_cycles(machine, np.asarray(mr), np.asarray(vectors))
            # Each sum is loaded (or cleared) and stored once.
            ends = CALL_CYCLES + 2.0 * mr * vectors / machine.peaks.stores
            total = total + count * panels * (np.asarray(r) * step + ends)
    return np.asarray(total)


@lru_cache(maxsize=4096)
def choose(machine: Machine, m: int, n: int, r: int, rows: int = 0, stride: int = 0) -> Tile:
    """The tile of fewest modelled cycles; of equal ones that with fewer loads per product.

    Args:
        machine: the core.
        m: rows.
        n: columns.
        r: reduction.
        rows: of the tile, where they are given.
        stride: bytes between rows where they are read as they lie, else 0.
    """

    def price(tile: Tile) -> tuple[float, float]:
        cycles = product_cycles(machine, tile, np.asarray(m), np.asarray(n), np.asarray(r))
        # A panel comes for every row of tiles, unless blocks are short.
        rate = panel_rate(machine, 4.0 * tile.width * r, PANEL_SHARE)
        panels = padded(tile, n) * r * 4.0 * -(-m // tile.mr) / rate
        total = float(overlapped(cycles, np.asarray(panels)))
        if machine.vector_registers >= MANY:
            # Of tiles that multiply as fast, those with fewer loads leave room for what is late.
            steps = -(-m // tile.mr) * (padded(tile, n) / tile.width) * r
            total += EXPOSED * steps * (tile.mr + tile.vectors) / machine.peaks.loads
        return total, (tile.mr + tile.vectors) / (tile.mr * tile.vectors)

    registers = machine.vector_registers
    most = min(MOST_TALL if registers >= MANY else MOST_ROWS, rows_kept(machine, stride))
    tiles = [
        Tile(mr, vectors, machine.lanes)
        for mr in ([rows] if rows else range(1, min(most, m) + 1))
        for vectors in range(1, registers)
        if fits(mr, vectors, registers)
    ]
    return min(tiles, key=price)


@dataclass(frozen=True)
class Panel:
    """Panels of one width: columns `start` to `stop`, each of `vectors` vectors.

    `valid` elements of the last vector exist.
    """

    start: int
    stop: int
    vectors: int
    valid: int
    lanes: int

    @property
    def width(self) -> int:
        """Columns of a panel as packed."""
        return self.vectors * self.lanes

    @property
    def mark(self) -> str:
        """Tells the functions of panels apart that differ in their last vector only."""
        return "" if self.valid == self.lanes else "p"

    @property
    def elements(self) -> int:
        """Columns of a panel that exist."""
        return self.width - self.lanes + self.valid


def panels(tile: Tile, columns: int) -> tuple[Panel, ...]:
    """The panels that cover `columns`: whole ones, then the one with the rest."""
    whole = columns - columns % tile.width
    found = []
    if whole:
        found.append(Panel(0, whole, tile.vectors, tile.lanes, tile.lanes))
    if whole < columns:
        rest = columns - whole
        vectors = -(-rest // tile.lanes)
        valid = rest - (vectors - 1) * tile.lanes
        found.append(Panel(whole, columns, vectors, valid, tile.lanes))
    return tuple(found)


def padded(tile: Tile, columns: int) -> int:
    """Columns of all panels together, padding included."""
    return sum(-(-(p.stop - p.start) // p.width) * p.width for p in panels(tile, columns))


def row_tiles(tile: Tile, rows: int) -> tuple[int, ...]:
    """Rows of the tiles that cover `rows`: the whole ones, then the one with the rest."""
    found = [tile.mr] if rows >= tile.mr else []
    return (*found, rows % tile.mr) if rows % tile.mr else tuple(found)


def halving(tile: Tile) -> tuple[int, ...]:
    """Heights of tiles that cover any number of rows with few calls: each half of the one before.

    >>> halving(Tile(6, 4, 16))
    (6, 3, 1)
    """
    found = [tile.mr]
    while found[-1] > 1:
        found.append(found[-1] // 2)
    return tuple(found)


def pack_panels(matrix: np.ndarray, tile: Tile) -> np.ndarray:
    """matrix[r, n] in panels: [panel][r][width], flat, zeros where columns are missing."""
    inner, columns = matrix.shape
    parts = []
    for panel in panels(tile, columns):
        count = -(-(panel.stop - panel.start) // panel.width)
        wide = np.zeros((inner, count * panel.width), np.float32)
        wide[:, : panel.stop - panel.start] = matrix[:, panel.start : panel.stop]
        parts.append(wide.reshape(inner, count, panel.width).transpose(1, 0, 2).reshape(-1))
    return np.concatenate(parts)


def pack_rows(matrix: np.ndarray, tile: Tile) -> np.ndarray:
    """matrix[m, r] in row tiles: [tile][r][rows of the tile], flat."""
    rows = matrix.shape[0]
    whole = rows - rows % tile.mr
    parts = [
        matrix[:whole].reshape(-1, tile.mr, matrix.shape[1]).transpose(0, 2, 1).reshape(-1),
        matrix[whole:].T.reshape(-1),
    ]
    return np.ascontiguousarray(np.concatenate(parts), np.float32)
