"""The blocks of each channel: descriptors, with the semaphores that they take and give.

A block takes at most one semaphore and gives at most one. Who lets the next one begin, before it is
done itself, needs two blocks a copy: a single descriptor is cut behind its first piece. Who writes
words of several readers, each with semaphores of its own, has a block for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel, Descriptor
from match_aie.targets.aie_ml.array.semaphores import Amount, Gate, Handshake, User
from match_aie.targets.aie_ml.array.words import cut_at, uses
from match_aie.targets.aie_ml.devices import Device

#: Words of the first piece of a linear descriptor. ASSUMPTION: enough that the next descriptor is
#: there when they have moved (8 cycles), few enough that who waits for them hardly does.
FIRST_WORDS = 16


@dataclass(frozen=True)
class Block:
    """One descriptor of a chain.

    Attributes:
        at: number of the program's descriptor that it is, or is a part of.
        descriptor: what moves.
        takes: before it.
        gives: behind it.
        split: dimension along which this is all but the first piece of that descriptor, from the
            innermost outward; 0 for a linear one; None for all else.
        again: whether an earlier block has moved the same.
        turn: use of the descriptor that this is, where each begins a step further: the text has a
            block for each.
    """

    at: int
    descriptor: Descriptor
    takes: Amount | None
    gives: Amount | None
    split: int | None = None
    again: bool = False
    turn: int = 0


def chains(
    program: ArrayProgram, device: Device, found: Sequence[Handshake]
) -> Mapping[Channel, tuple[Block, ...]]:
    """Blocks of each channel, copy after copy, in their order; the last one leads to the first.

    Raises:
        TargetError: a core shares a buffer, or a descriptor that must be cut has no pieces.
        InfeasibleError: descriptors do not suffice.
    """
    groups = _by_channel(program)
    users = _users(found)
    made: dict[Channel, tuple[Block, ...]] = {}
    for channel, copies in groups.items():
        name = copies[0][0][1].buffer
        ways = [_copy(group, users.get((channel, group[0][1].buffer))) for group in copies]
        buffer = program.buffer_at.get((channel.tile, name))
        if buffer is not None and buffer.laps > 1:  # lap by lap; of a writer there is one
            ways = [list(lap) for lap in zip(*ways, strict=True)]
        made[channel] = tuple(block for way in ways for walk in way for block in walk)
    return _with_numbers(made, device)


def _by_channel(
    program: ArrayProgram,
) -> dict[Channel, list[list[tuple[int, Descriptor]]]]:
    """Descriptors of each channel with their numbers, copy after copy."""
    found: dict[Channel, list[list[tuple[int, Descriptor]]]] = {}
    for number, one in enumerate(program.descriptors):
        groups = found.setdefault(one.channel, [])
        if not groups or _copy_of(groups[-1][0][1]) != _copy_of(one):
            groups.append([])
        groups[-1].append((number, one))
    return found


def _copy_of(one: Descriptor) -> tuple[str, int]:
    return one.buffer, one.copy


def _users(found: Sequence[Handshake]) -> dict[tuple[Channel, str], User]:
    """Of channels, by buffer."""
    users: dict[tuple[Channel, str], User] = {}
    for one in found:
        for side in (one.writers, one.readers):
            for user in side:
                if isinstance(user.who, Channel):
                    users[user.who, one.buffer.name] = user
                elif len(side) > 1:
                    raise TargetError(
                        f"core {user.who} shares buffer {one.buffer.name!r} with a channel"
                    )
    return users


def _copy(group: list[tuple[int, Descriptor]], user: User | None) -> list[list[Block]]:
    """What moves one copy, once for each time that the chain goes through it."""
    turns = range(uses([one for _, one in group]))
    pieces = [_turn(number, one, turn) for turn in turns for number, one in group]
    if user is None:  # constants, which no lock guards
        return [pieces]
    copy = group[0][1].copy
    if user.gates:
        pieces = _at_gates(pieces[0], user.gates, copy)
    again = [replace(piece, again=True) for piece in pieces]
    if user.passes is not None:
        pieces = cut(pieces[0]) if len(pieces) == 1 else pieces
        pieces[0] = replace(pieces[0], gives=user.passes)
    walks = [pieces, *(list(again) for _ in range(user.again - 1))]
    walks[0][0] = replace(walks[0][0], takes=user.takes[copy])
    walks[-1][-1] = replace(walks[-1][-1], gives=user.gives[copy])
    return walks


def _at_gates(block: Block, gates: Sequence[Gate], copy: int) -> list[Block]:
    """A descriptor of a copy cut at gates, with what it takes and gives there."""
    found, rest, done, takes = [], block, 0, block.takes
    for gate in gates:
        first, rest = _cut_behind(rest, gate.words - done)
        found.append(replace(first, takes=takes, gives=gate.gives[copy]))
        done, takes = gate.words, gate.takes[copy]
    return [*found, replace(rest, takes=takes)]


def _cut_behind(block: Block, words: int) -> list[Block]:
    """A descriptor without padding cut behind so many words, whole elements of its last dimension.

    Raises:
        TargetError: they are none.
    """
    one = block.descriptor
    size = one.dims[-1][0] if one.dims else one.words
    many, left = divmod(words * size, one.words)
    if left or not 0 < many < size:
        raise TargetError(f"descriptor {one.index} of tile {one.channel.tile} has no {words} words")
    if one.dims:
        return _cut_along(block, len(one.dims) - 1, ((0, 0),) * len(one.dims), many)
    return _cut_line(block, many)


def _turn(number: int, one: Descriptor, turn: int) -> Block:
    """A use of a descriptor."""
    step = one.iteration[1] if one.iteration is not None else 0
    moved = replace(one, offset=one.offset + turn * step, iteration=None)
    return Block(number, moved, None, None, turn=turn)


def cut(block: Block) -> list[Block]:
    """The first piece of a descriptor, and the rest of it."""
    one, at = block.descriptor, cut_at(block.descriptor)
    if at is not None and not one.dims:
        return _cut_line(block, min(FIRST_WORDS, one.words // 2))
    if at is not None:
        pads = (*one.pad, *((0, 0),) * (len(one.dims) - len(one.pad)))
        return _cut_along(block, at, pads, 1)
    raise TargetError(
        f"descriptor {one.index} of tile {one.channel.tile} shares buffer {one.buffer!r} and has "
        "no pieces between which another one may begin"
    )


def _cut_line(block: Block, words: int) -> list[Block]:
    """A linear descriptor behind so many words."""
    one = block.descriptor
    rest = replace(one, words=one.words - words, offset=one.offset + words)
    return [
        replace(block, descriptor=replace(one, words=words)),
        replace(block, descriptor=rest, split=0),
    ]


def _cut_along(block: Block, at: int, pads: tuple[tuple[int, int], ...], first: int) -> list[Block]:
    """Behind the first elements of a dimension; all dimensions farther out have one.

    Args:
        block: whose descriptor.
        at: the dimension.
        pads: zeros in each of them.
        first: elements.
    """
    one = block.descriptor
    size, step = one.dims[at]
    before, after = pads[at]

    def piece(many: int, pad: tuple[int, int], offset: int) -> Descriptor:
        dims = (*one.dims[:at], (many, step), *one.dims[at + 1 :])
        padded = (*pads[:at], pad, *pads[at + 1 :]) if one.pad else ()
        wide = padded or ((0, 0),) * len(dims)
        words = prod(n + sum(zeros) for (n, _), zeros in zip(dims, wide, strict=True))
        return replace(one, dims=dims, pad=padded, words=words, offset=offset)

    behind = piece(size - first, (0, after), one.offset + first * step)
    return [
        replace(block, descriptor=piece(first, (before, 0), one.offset)),
        replace(block, descriptor=behind, split=at),
    ]


def joined(first: Descriptor, rest: Descriptor, split: int) -> Descriptor:
    """The descriptor that was cut into these."""
    words = first.words + rest.words
    if not rest.dims:
        return replace(first, words=words)
    size, step = rest.dims[split]
    dims = (*rest.dims[:split], (first.dims[split][0] + size, step), *rest.dims[split + 1 :])
    pad = rest.pad
    if pad:
        ends = first.pad[split][0], rest.pad[split][1]
        pad = (*pad[:split], ends, *pad[split + 1 :])
    return replace(first, words=words, dims=dims, pad=pad)


def _with_numbers(
    made: Mapping[Channel, tuple[Block, ...]], device: Device
) -> Mapping[Channel, tuple[Block, ...]]:
    """Rests, repeats and later uses take free numbers of their half, all others keep theirs."""
    taken = {(c.tile, block.descriptor.index) for c, blocks in made.items() for block in blocks}
    found = {}
    for channel, blocks in made.items():
        numbered = []
        for block in blocks:
            if block.split is not None or block.again or block.turn:
                index = _free(taken, channel, device)
                taken.add((channel.tile, index))
                block = replace(block, descriptor=replace(block.descriptor, index=index))
            numbered.append(block)
        found[channel] = tuple(numbered)
    return found


def _free(taken: set[tuple[tuple[int, int], int]], channel: Channel, device: Device) -> int:
    """The least free number of a descriptor that `channel` may use."""
    counts = device.architecture.descriptors
    low, high = 0, counts["core"]
    if channel.tile[1] < device.shim_rows + device.mem_rows:
        half = counts["mem"] // 2
        low, high = (half, 2 * half) if channel.index % 2 else (0, half)
    for index in range(low, high):
        if (channel.tile, index) not in taken:
            return index
    levers = ("fewer readers of a buffer", "buffers that are read in one piece")
    what = f"descriptors of {channel.direction} channel {channel.index}"
    reason = Infeasible(what, high - low + 1, high - low, "descriptors", levers)
    raise InfeasibleError(reason, where=f"tile {channel.tile}")
