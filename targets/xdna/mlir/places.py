"""Addresses of buffers: a program says banks, the text says bytes.

The stack lies at address 0 of a core, where the dialect puts it: banks are counted from the one
that the program has for it. It is made larger where its bank has room: what the compiler of kernels
puts on it is not known, and nothing tells when it is too much. Copies of a ping-pong pair with
banks of their own stay in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Tile
from match_aie.targets.aie_ml.devices import Device

#: Bytes to whole numbers of which buffers of memory tiles begin. In a core it is a load's.
ALIGNED = 32
#: Bytes of a stack where there is room; the public examples have up to 3328.
STACK = 4096

#: Address of each copy of a buffer.
Addresses = Mapping[tuple[Tile, str], tuple[int, ...]]


def addresses(program: ArrayProgram, device: Device) -> Addresses:
    """Of all buffers but stacks, which begin at 0.

    Raises:
        InfeasibleError: buffers do not fit behind each other in their banks.
    """
    tiles: dict[Tile, list[Buffer]] = {}
    for buffer in program.buffers:
        tiles.setdefault(buffer.tile, []).append(buffer)
    found: dict[tuple[Tile, str], tuple[int, ...]] = {}
    for tile, buffers in tiles.items():
        core = tile[1] >= device.shim_rows + device.mem_rows
        placed = _core(buffers, device) if core else _memory(buffers, device)
        found |= {(tile, name): places for name, places in placed.items()}
    return found


def stack_bytes(program: ArrayProgram, at: Addresses, tile: Tile, scratch: int) -> int:
    """How far a core's stack goes: to its scratch, which lies in front of the first buffer.

    Args:
        program: whose core it is.
        at: where its buffers are.
        tile: the core's.
        scratch: bytes that its calls keep; it shares the stack's buffer.
    """
    stack = next(b for b in program.buffers if b.tile == tile and b.role == "stack")
    others = (place for (owner, _), places in at.items() if owner == tile for place in places)
    return min(others, default=stack.bytes) - scratch


def _memory(buffers: Sequence[Buffer], device: Device) -> dict[str, tuple[int, ...]]:
    """In a memory tile: one after the other."""
    mem = device.architecture.mem
    most = mem.bytes if mem is not None else 0
    found, at = {}, 0
    for buffer in buffers:
        size = _aligned(buffer.bytes)
        found[buffer.name] = tuple(at + copy * size for copy in range(buffer.copies))
        at += buffer.copies * size
    if at > most:
        raise InfeasibleError(_lack(buffers[0].tile, at, most), where=str(buffers[0].tile))
    return found


def _core(buffers: Sequence[Buffer], device: Device) -> dict[str, tuple[int, ...]]:
    """In a core: each in its banks, counted from the stack's.

    In the program's order, or the largest ones first where small ones leave these no room.
    """
    found = _ordered(buffers, device)
    if isinstance(found, Infeasible):
        large = _ordered(sorted(buffers, key=lambda b: -b.bytes), device)
        found = found if isinstance(large, Infeasible) else large
    if isinstance(found, Infeasible):
        raise InfeasibleError(found, where=str(buffers[0].tile))
    return found


def _ordered(buffers: Sequence[Buffer], device: Device) -> dict[str, tuple[int, ...]] | Infeasible:
    """One behind the other, behind the stack; or the first that finds no room."""
    (count, size), unit = logical_banks(device), device.architecture.core.loads.bits // 8
    first = next((min(b.banks) for b in buffers if b.role == "stack"), 0)
    ends = [bank * size for bank in range(count)]
    found: dict[str, tuple[int, ...]] = {}
    for buffer in sorted(buffers, key=lambda b: b.role != "stack"):
        banks = sorted((bank - first) % count for bank in buffer.banks)
        halves = [banks] * buffer.copies
        if buffer.copies == 2 and len(banks) % 2 == 0:
            halves = [banks[: len(banks) // 2], banks[len(banks) // 2 :]]
        need, places = _aligned(buffer.bytes, unit), []
        for half in halves:
            place = _place(need, (half, banks), ends, size)
            if place is None:
                room = max((bank + 1) * size - ends[bank] for bank in banks)
                return _lack(buffer.tile, need, room)
            places.append(place)
        if buffer.role != "stack":
            found[buffer.name] = tuple(places)
    stack = sum(b.bytes for b in buffers if b.role == "stack")
    spare = max(0, min(size - ends[0], STACK - stack)) // unit * unit
    return {
        name: tuple(place + spare if place < size else place for place in places)
        for name, places in found.items()
    }


def _place(need: int, groups: Sequence[Sequence[int]], ends: list[int], size: int) -> int | None:
    """The first room in one of several groups of banks, the first ones first.

    Args:
        need: bytes.
        groups: of banks.
        ends: how far each bank is taken.
        size: of a bank.
    """
    places = (_put(need, banks, ends, size) for banks in groups)
    return next((place for place in places if place is not None), None)


def _put(need: int, banks: Sequence[int], ends: list[int], size: int) -> int | None:
    """The first room in `banks`, of which `ends` says how far each is taken."""
    for bank in banks:
        if (bank + 1) * size - ends[bank] >= need:
            begin, ends[bank] = ends[bank], ends[bank] + need
            return begin
    for first in range(len(banks)):
        row = banks[first:]
        begin, left = ends[row[0]], need
        for bank in row:
            free = ends[bank] == bank * size or bank == row[0]
            if bank != row[0] + row.index(bank) or not free:
                break
            left -= (bank + 1) * size - ends[bank]
            if left <= 0:
                _take(row[: row.index(bank) + 1], begin + need, ends, size)
                return begin
    return None


def _take(row: Sequence[int], end: int, ends: list[int], size: int) -> None:
    """Mark banks in a row as taken up to `end`."""
    for bank in row:
        ends[bank] = min(end, (bank + 1) * size)


def _aligned(size: int, unit: int = ALIGNED) -> int:
    return -(-size // unit) * unit


def _lack(tile: Tile, need: int, most: int) -> Infeasible:
    return Infeasible(f"the memory of tile {tile}", need, most, "bytes", ("smaller calls",))
