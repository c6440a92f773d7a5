"""Whether a dense layer in passes fits: links of switches, room and locks of memory tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from match_aie.targets.aie_ml.array.semaphores import counted
from match_aie.targets.aie_ml.graph.room import Need, hold, may_hold
from match_aie.targets.aie_ml.graph.slots import Slot
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

if TYPE_CHECKING:
    from match_aie.targets.aie_ml.graph.timed import Timed

WORD = 4

#: Parts in which activations of a pass are tried to come. More take more descriptors and gain less.
PARTS = range(2, 10)


def fits(timed: Timed) -> bool:
    """Whether columns have the memory, and their switches the links."""
    m = timed.mapping
    if not timed.device.mem_rows:  # rows go straight to a tile and on, in one call of it each
        return timed.tiles == 1 and timed.walks_passes and m.row_steps == 1 and timed.fills == 1
    if not timed.divides or not _linked(timed):
        return False
    locks = timed.mem.locks.value_bits
    if timed.direct and not _passes_by(timed):
        return False
    walks = timed.w_repeats if timed.told else max(timed.x_repeats, timed.w_repeats)
    if locks is not None and walks > 2**locks - 1:
        return False
    if not all(_moves(timed, slot) for slot in _unlike(timed)):
        return False
    if timed.told and not timed.double and not all(_numbered(timed, s) for s in _unlike(timed)):
        return False
    held = timed.memory == "ddr" and timed.double  # there are two where they are held
    return held or holds(timed, timed.x_copies)


def _passes_by(timed: Timed) -> bool:
    """Whether weights may come straight to the tiles: each part by a way of its own, once.

    Only where the text says what is counted: other graphs are as the vendor's tool has them.
    """
    chip = timed.told and timed.memory == "ddr" and timed.mapping.streamed
    return chip and timed.w_repeats == 1 and all(len(piece) == 1 for *_, piece in timed.w_ways)


def cuts(timed: Timed) -> tuple[int, ...]:
    """Numbers of parts in which activations of a pass may come, whole turns each.

    A call that reads all rows of a chain reads one part after the other. Parts of what tiles share
    a way for do not lie side by side, and who has room for two passes needs none; where weights
    stay passes are as short as that asks. The vendor's tool has no such buffers: only where the
    text says what is counted.
    """
    m = timed.mapping
    told = timed.told and timed.memory == "ddr" and timed.passes > 1
    if not (told and m.streamed) or m.row_steps > 1 or timed.shared > 1 or timed.double:
        return (1,)
    return (1, *(n for n in PARTS if m.reduction_steps % n == 0))


def _x_again(timed: Timed, rows: int) -> int:
    """Descriptors for each read of a single copy of x: several where no lock counts all.

    A descriptor reads as often as a lock counts, those behind it do so again. Readers of rows of
    their own have a lock each, all others share one.

    Args:
        timed: the layer.
        rows: readers of the copy, each of which the lock tells apart.
    """
    if not timed.told:  # the vendor's tool says what counts reads
        return 1
    apart = _rows_apart(timed)
    ahead = timed.cut if rows > 1 else 1
    return timed.x_repeats // counted(timed.x_repeats, 1 if apart else max(rows, ahead))


def _rows_apart(timed: Timed) -> bool:
    """Whether no row of x is read for two parts of the rows."""
    return timed.computed_rows <= timed.mapping.part_rows


def _numbered(timed: Timed, slot: Slot) -> bool:
    """Whether a memory tile has the descriptors that read a single copy of x again.

    Readers that share a lock pass on whose turn it is behind a piece of their own, as chains do
    that store results; for readers of rows of their own who writes has a piece for each. Weights
    and results are taken to lie in the same tile. Each parity of channels has half of the
    descriptors: readers and chains alternate, so what both halves hold is taken to be even.
    """
    have = timed.device.architecture.descriptors["mem"]
    w = sum(2 * (1 + len(piece) * timed.w_repeats) for piece in timed.held_pieces(slot))
    y = max(timed.y_copies * (2 * part.chains + 1) for part in timed.gathered(slot))
    for parts in timed.x_parts(slot):
        again = _x_again(timed, len(parts))
        many = timed.cut > 1 or counted(timed.x_repeats, len(parts)) < timed.x_repeats
        if many and timed.cut * (len(parts) * (again + 1) + 1) + w + y > have:
            return False
    return True


def may_fit(timed: Timed) -> bool:
    """Asked of a split's smallest calls: whether any of its calls may `fits`.

    Others have the same links and channels, and their buffers are as large or larger.
    """
    return not timed.device.mem_rows or (_linked(timed) and holds(timed, 1, least=True))


def _linked(timed: Timed) -> bool:
    """Whether switches have the links: which hangs on the split, not on its calls."""
    m = timed.mapping
    floor = timed.floor
    if floor.distinct_a + floor.distinct_w > floor.lanes_up:
        return False
    if m.streamed and timed.memory == "ddr" and not all(s.rectangular for s in timed.slots):
        return False
    if (m.row_parts - 1) * m.part_rows >= m.layer.rows:
        return False
    return max(len(s.parts) for s in timed.slots) <= floor.lanes_down


def _unlike(timed: Timed) -> tuple[Slot, ...]:
    """A slot of each shape."""
    return tuple({slot.shape: slot for slot in timed.slots}.values())


def _moves(timed: Timed, slot: Slot) -> bool:
    """Whether descriptors of a slot's memory tiles move its buffers."""
    m, length = timed.mapping, timed.device.architecture.addressing["mem"].length_bits
    if length is None:
        return True
    size = timed.x_width * ELEMENT_BYTES[m.layer.a]
    x = [timed.x_rows(parts) * size for parts in timed.x_parts(slot)]
    ends = (0, m.cas_length - 1)
    w = [timed.w_bytes(at, piece) for piece in timed.held_pieces(slot) for at in ends]
    return bool(max([*x, *w]) < WORD * 2**length)


def holds(timed: Timed, copies: int, *, least: bool = False, chunk: int = 0) -> bool:
    """Whether memory tiles hold the buffers of every slot.

    Args:
        timed: whose.
        copies: of the activations, or parts of them.
        least: whether the least of all calls of the split is asked for, of its smallest: what
            comes for other tiles, too, and how many turns' weights, hangs on the calls.
        chunk: as of `Timed.w_turns`.
    """
    able, tiles = may_hold if least else hold, timed.device.mem_rows * timed.mapping.cas_length
    channels, descriptors = timed.mem.dma, timed.device.architecture.descriptors["mem"]
    room = timed.mem.bytes, channels.s2mm, channels.mm2s, descriptors
    return all(
        able(_needs(timed, s, copies, least=least, chunk=chunk), room, tiles)
        for s in _unlike(timed)
    )


def _needs(timed: Timed, slot: Slot, x: int, *, least: bool, chunk: int) -> Iterator[Need]:
    """Of each buffer of a slot: ways that repeat what is double take descriptors again.

    Args:
        timed: the layer.
        slot: whose buffers.
        x: copies of the activations.
        least: as of `holds`.
        chunk: likewise.
    """
    taken: list[Need] = []
    for parts in timed.x_parts(slot):
        rows = len(parts)
        double = x > 1 and timed.cut == 1
        again = 1 if least else timed.x_repeats if double else _x_again(timed, rows)
        size = timed.x_bytes(parts) // (timed.shared if least else 1)
        taken.append((x * size, 1, rows, x * (1 + rows * again)))
    length, pieces = timed.mapping.cas_length, timed.held_pieces(slot)
    # Tiles between the ends of a chain are alike.
    for at, times in ((0, 1), (1, length - 2), (length - 1, min(1, length - 1))):
        if times < 1:
            continue
        mine = list(taken)
        for piece in pieces:
            many = 2 * (1 + len(piece) * timed.w_repeats)
            size = 0 if least else timed.w_bytes(at, piece, chunk)
            mine.append((2 * size, 1, len(piece), many))
        yield from mine * times
    for part in timed.gathered(slot):
        many = timed.y_copies
        yield (many * timed.y_bytes(part), part.chains, 1, many * (part.chains + 1))
