"""Operations of a step in block floating point: what makes bfloat16 blocks, and their products.

A tile of 64 elements becomes floats in an accumulator, a half at a time, and those become blocks.
Halves come by a load that widens, which only load A has, or are loaded as vectors and widened by
the move slot: tiles take the one and the other way in turn. Tiles that are turned first are loaded
as vectors, of which a shuffle makes each half (modes 52 and 53, llvm-aie: `T16_8x8_lo`, `_hi`); all
others have loads that widen then. What the vendor's compiler makes of
`aie::accum<accfloat, 64>(vector)` is its own affair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES, Kernel
from match_aie.targets.aie_ml.schedule.lanes import load
from match_aie.targets.aie_ml.schedule.machine import LOAD_A, MOVE, STORE, VECTOR, Machine
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.registers import Placed
from match_aie.targets.aie_ml.schedule.table import Table

#: First letter of floats that become blocks.
WIDENED = "g"

#: Cycles for which a vector may wait in its register until it is widened, or turned.
WAITING = 4


def blocked_step(kernel: Kernel, core: Machine) -> tuple[Operation, ...]:
    """One step of the reduction: every tile becomes blocks once.

    Raises:
        TargetError: it is not known how long that takes, or sums leave no accumulator for it.
    """
    if kernel.rows * kernel.columns >= core.accumulators:
        raise TargetError(f"no accumulator of {core.name} is left in which operands become blocks")
    tiles = [f"a{i}" for i in range(kernel.rows)] + [f"w{j}" for j in range(kernel.columns)]
    ops = [op for at, tile in enumerate(tiles) for op in _made(at, tile, kernel, core)]
    for i in range(kernel.rows):
        for j in range(kernel.columns):
            reads = f"da{i}", f"dw{j}"
            where = (VECTOR,), reads, f"c{i}.{j}", core.float_product
            ops.append(Operation("product", "p0", *where))
    return tuple(ops)


def _made(at: int, tile: str, kernel: Kernel, core: Machine) -> Iterator[Operation]:
    """Blocks "d..." of a tile, by way of floats "g..."."""
    if core.wide_load is None or core.wide_move is None or core.to_blocks is None:
        raise TargetError(f"what makes block floating point is not known of {core.name}")
    t, wide = kernel.tiling, f"{WIDENED}{tile}"
    size = t.k * ELEMENT_BYTES[kernel.a] * (t.m if tile[0] == "a" else t.n)
    bank = "A" if tile[0] == "a" else "W"
    names = tuple(f"{tile}.{part}" for part in range(ceil(size / core.load_bytes)))
    turns, widens = kernel.turned and tile[0] == "w", kernel.turned or at % 2 == 0
    for part, name in enumerate(names):
        if bank == "W" and kernel.weight_banks > 1:
            bank = f"W{part % 2}"
        if widens and not turns:
            where = (LOAD_A,), (), wide, core.wide_load, bank, core.load_bytes
            yield Operation("load_accumulator", name, *where)
            continue
        yield load(name, bank, core, core.load_bytes)
        half = f"{tile}.turned{part}" if turns else name
        if turns:
            yield Operation("shuffle", f"turn{part}", (MOVE,), names, half, core.move)
        yield Operation("copy", f"widen{part}", (MOVE,), (half,), wide, core.wide_move)
    yield Operation("srs", "blocks", (STORE,), (wide,), f"d{tile}", core.to_blocks)


def place_made(
    operands: Sequence[Operation],
    products: Sequence[Placed],
    table: Table,
    interval: int,
    free: int,
) -> tuple[Placed, ...] | None:
    """What makes blocks, tile after tile, each as late as it can be; None where it has no room.

    A tile's halves land one after the other, and are blocks at once: it has an accumulator for
    as many cycles as it has halves.

    Args:
        operands: of all tiles.
        products: that read their blocks.
        table: what is taken; grows.
        interval: of a step.
        free: accumulators beside the block's own.
    """
    placed, taken = list(products), [0] * interval
    tiles = [op for op in operands if op.name == "blocks"]
    needed = {op.writes: _needed(op.writes, products) - op.latency for op in tiles}
    for op in sorted(tiles, key=lambda op: -needed[op.writes]):
        halves = [half for half in operands if half.writes == op.reads[0]]
        feeders = {feed.writes: feed for feed in operands if feed.kind in ("load", "shuffle")}
        latest = needed[op.writes]
        for at in range(latest, latest - 2 * interval, -1):
            lives = [cycle % interval for cycle in range(at - len(halves) + 1, at + 1)]
            if any(taken[cycle] + lives.count(cycle) > free for cycle in lives):
                continue
            found = _at(op, halves, feeders, table, at)
            if found is not None:
                break
        else:
            return None
        placed += found
        for cycle in lives:
            taken[cycle] += 1
    return tuple(placed)


def _needed(name: str, products: Sequence[Placed]) -> int:
    return min(p.cycle for p in products if name in p.operation.reads)


def _at(
    op: Operation,
    halves: Sequence[Operation],
    feeders: Mapping[str, Operation],
    table: Table,
    at: int,
) -> list[Placed] | None:
    """Blocks made in cycle `at` of halves that have landed; None, nothing taken, without room."""
    found: list[Placed] = []
    wanted = [(op, at, 1)]
    wanted += [(half, at - half.latency - back, 1) for back, half in enumerate(reversed(halves))]
    feeding = [feeders[half.reads[0]] for half in halves if half.reads]
    unread = Counter(name for each in (*halves, *feeding) for name in each.reads)
    needed: dict[str, int] = {}
    while wanted:
        one, latest, waits = wanted.pop(0)
        placed = table.search(one, range(latest, latest - waits, -1), 0)
        if placed is None:
            for done in found:
                table.release(done.operation, done.cycle, done.slot)
            return None
        found.append(placed)
        for name in one.reads if one is not op else ():
            # What several read has landed when the first of them needs it.
            needed[name] = min(placed.cycle, needed.get(name, placed.cycle))
            unread[name] -= 1
            if not unread[name]:
                fed = feeders[name]
                wanted.insert(0, (fed, needed[name] - fed.latency, WAITING))
    return found
