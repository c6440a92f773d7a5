"""Banks of a tile that runs a recurrent layer (`kernels.recurrent`): two sides of two banks.

Halves of the weights lie on both sides, so that a product loads a vector from each; so do both
arrays of the tables. Within a side, whatever is accessed counts as one bank. Where there is room,
the inner bank of each side has one copy of every buffer that streams fill or empty, and nothing
else: they move one copy while the core works on the other, in another bank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.program import Buffer, Work
from match_aie.targets.aie_ml.array.stacked import Banked
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, NEAR, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_apart import StatesCall
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket
from match_aie.targets.aie_ml.kernels.spec import BYTES

#: Banks of the first copies of what streams move, and of the second ones.
TURNS = (1, 2)

LEVERS = ("fewer hidden units", "fewer inputs")


def recurrent_banks(call: RecurrentCall, device: Device) -> tuple[Banked, ...] | Infeasible:
    """Everything in the tile's memory, side by side; why it does not fit."""
    count, size = logical_banks(device)
    if count < 4:
        return Infeasible("memory banks of a tile", 4, count, "banks", ("another device",))
    near, far = tuple(range(count // 2)), tuple(range(count // 2, count))
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    found = [Banked("stack", far, stack + call.stack_bytes, 1, "stack")]
    if call.in_bytes:
        side = near if "inputs" in call.parts else far
        found.append(Banked("in0", side, call.in_bytes, 2, "a"))
    if call.out_bytes:
        found.append(Banked("out", near, call.out_bytes, 2, "out"))
    if isinstance(call, AnyJoined) and not isinstance(call, AnyPacket | AnyNeighbour):
        found.append(Banked("in1", far, call.h_size * call.h_bytes, 2, "a"))
    if call.sent_bytes:
        side = near if isinstance(call, AnyNeighbour | GatesCall) else far
        found.append(Banked("sent", side, call.sent_bytes, 2, "out"))
    for p in call.parameters:
        role = "w" if p.name in ("w", "v") else "bias"
        much = p.size * BYTES[p.c_type]
        found.append(Banked(p.name, near if p.name in NEAR else far, much, 1, role))
    turns = _in_turns(found, size) if count == 4 else None
    if turns is not None:
        return turns
    if isinstance(call, StatesCall | AnyNeighbour):
        found = _set_apart(found, far, size)
    return in_halves(found, (near, far), size, call.symbol)


def in_halves(
    found: Sequence[Banked], sides: Sequence[tuple[int, ...]], size: int, symbol: str
) -> tuple[Banked, ...] | Infeasible:
    """All of it, where each side has room for what lies there; else why not.

    Args:
        found: everything in the tile.
        sides: banks of both.
        size: bytes of a bank.
        symbol: of the tile's kernel.
    """
    for side in sides:
        taken = sum(one.bytes * one.copies for one in found if set(one.banks) <= set(side))
        if taken > len(side) * size:
            what = f"half of the memory of the tile of kernel {symbol}"
            return Infeasible(what, taken, len(side) * size, "bytes", LEVERS)
    return tuple(found)


def _in_turns(found: Sequence[Banked], size: int) -> tuple[Banked, ...] | None:
    """Each copy of what streams move in a bank without anything else; None where that has no room.

    Args:
        found: everything in the tile, on two sides of two banks.
        size: bytes of a bank.
    """
    placed, taken = [], Counter[int]()
    for one in found:
        outer = (0,) if 0 in one.banks else (3,)
        banks = TURNS if one.copies == 2 else outer
        placed.append(replace(one, banks=banks))
        taken.update(dict.fromkeys(banks, one.bytes))
    return tuple(placed) if max(taken.values()) <= size else None


def in_turns(banked: Sequence[Banked]) -> bool:
    """Whether copies of what streams move have banks of their own."""
    return all((one.banks == TURNS) == (one.copies == 2) for one in banked)


def _set_apart(found: list[Banked], far: tuple[int, ...], size: int) -> list[Banked]:
    """The sums that streams bring in a bank of their own, where they and all else fit."""
    taken = {
        mine: sum(
            one.bytes * one.copies
            for one in found
            if one.banks == far and (one.name == "in0") is mine
        )
        for mine in (True, False)
    }
    if max(taken[True], -(-taken[False] // (len(far) - 1))) > size:
        return found
    places = {True: far[:1], False: far[1:]}
    return [
        replace(one, banks=places[one.name == "in0"]) if one.banks == far else one for one in found
    ]


def recurrent_uses(
    call: RecurrentCall, near: tuple[str, ...], far: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """What is used, on both sides."""
    here = (*near, *(p.name for p in call.parameters if p.name in NEAR))
    there = (*far, "stack", *(p.name for p in call.parameters if p.name not in NEAR))
    return (*(("a", name) for name in here), *(("w", name) for name in there))


def used_in_turns(work: Sequence[Work], buffers: Sequence[Buffer]) -> tuple[Work, ...]:
    """Calls whose uses say what has banks of its own; calls that were one still are."""
    apart = {one.name for one in buffers if one.copies == 2 and one.banks == TURNS}
    known: dict[int, Work] = {}
    for one in work:
        if id(one) not in known:
            uses = tuple(("moved" if name in apart else role, name) for role, name in one.uses)
            known[id(one)] = replace(one, uses=uses)
    return tuple(known[id(one)] for one in work)


def met_cycles(call: RecurrentCall, device: Device) -> float:
    """Cycles that a call loses to streams at most, as the simulator counts them."""
    banked = recurrent_banks(call, device)
    return 0.0 if isinstance(banked, Infeasible) else device.lost_cycles(met_bytes(call, banked))


def met_bytes(call: RecurrentCall, banked: Sequence[Banked]) -> int:
    """Bytes of a call that streams move while the core loads from their banks, at most.

    Of sums in a bank of their own the core loads 256 bits at a time, and each load meets one
    access of 128 bits at most. Where a call is a step, its units leave once for each reader, and
    streams bring a group's inputs once in all of the group's steps. Between steps such tiles have
    calls for inputs, charged as much: the last step's units leave then, and the others' come. The
    first tile of a cascade gets a group's inputs in the call that multiplies them and in those of
    the group's steps. Of tiles whose gates are spread, one has a packet and a share of a group's
    results in each step, one a share of a group's inputs.
    """
    if isinstance(call, GatesCall):
        into = 0 if in_turns(banked) else call.in_bytes
        return call.sent_bytes + ceil((call.out_bytes + into) / call.group)
    if in_turns(banked):
        return _met_in_turns(call)
    mine = {bank for one in banked if one.name == "in0" for bank in one.banks}
    alone = all(one.name == "in0" or not set(one.banks) & mine for one in banked)
    into = call.in_bytes // 2 if alone else call.in_bytes
    if isinstance(call, AnyCascade) and call.role == "first":
        return ceil(into / (GROUP + 1))
    if isinstance(call, AnyNeighbour):
        return call.sent_bytes + ceil((call.out_bytes + into) / call.group)
    if isinstance(call, AnyJoined):
        return readers_of(call) * call.out_bytes + call.sent_bytes + ceil(into / call.group)
    return call.out_bytes + call.sent_bytes + into


def _met_in_turns(call: RecurrentCall) -> int:
    """Likewise, where copies of what streams move have banks of their own.

    Streams of one pace are on one copy while the core is on the other. A call's stores may meet its
    loads of what came, and streams of a group's pace what each step loads. A neighbour's loads of
    units meet what its tile moves, and those of its own tile meet them.
    """
    if isinstance(call, AnyNeighbour):
        loaded = call.sent_bytes + call.h_bytes * call.h_size
        return loaded + ceil(call.out_bytes / call.group)
    if isinstance(call, AnyPacket):  # states lie elsewhere
        return call.out_bytes + call.sent_bytes
    if isinstance(call, AnyJoined):
        return call.out_bytes + ceil(call.in_bytes / call.group)
    return call.out_bytes if call.in_bytes else 0


def readers_of(call: AnyJoined) -> int:
    """Readers of a step's units in the tile's memory: DMA channels, or the core next to it.

    Results leave by one channel. Packets go by another, which reads the results where products do,
    too; what is joined or exchanged is the same transfer. A neighbour loads the units itself, and
    results lie elsewhere.
    """
    return 2 if isinstance(call, AnyPacket) and not call.sent_size else 1
