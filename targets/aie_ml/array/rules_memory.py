"""Rules about memories, descriptors and locks."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Core, Tile
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.devices import Device


def is_core(tile: Tile, device: Device) -> bool:
    """Whether `tile` has a core."""
    return tile[1] >= device.shim_rows + device.mem_rows


def _by_tile(program: ArrayProgram) -> dict[Tile, list[Buffer]]:
    found: dict[Tile, list[Buffer]] = defaultdict(list)
    for buffer in program.buffers:
        found[buffer.tile].append(buffer)
    return found


def banks(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """What shares banks fits them, and banks exist."""
    core = device.architecture.core
    count = core.banks.logical or core.banks.count
    size = core.data_memory_bytes // count
    for tile, buffers in _by_tile(program).items():
        if not is_core(tile, device):
            continue
        groups: dict[tuple[int, ...], int] = defaultdict(int)
        for buffer in buffers:
            for group in _halves(buffer):
                groups[group] += buffer.bytes * buffer.copies // len(_halves(buffer))
            for bank in buffer.banks:
                if not 0 <= bank < count:
                    yield Violation(
                        f"tile {tile}", "as number of a bank", bank, count - 1, "smaller calls"
                    )
        for group in _unions(set(groups)):
            demand = sum(much for part, much in groups.items() if set(part) <= set(group))
            if demand > len(group) * size:
                yield Violation(
                    f"tile {tile}, banks {group}",
                    "bytes",
                    demand,
                    len(group) * size,
                    "fewer rows or columns a call",
                )


def _halves(buffer: Buffer) -> tuple[tuple[int, ...], ...]:
    """Banks of each copy of a pair that has an even number of them; of all of it else."""
    half, odd = divmod(len(buffer.banks), 2)
    if buffer.copies != 2 or odd or not half:
        return (buffer.banks,)
    return buffer.banks[:half], buffer.banks[half:]


def _unions(groups: set[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The groups, and those that share banks, together: what must fit them as a whole."""
    found = {frozenset(group) for group in groups}
    grown = True
    while grown:
        more = {a | b for a in found for b in found if a & b} - found
        grown = bool(more)
        found |= more
    return sorted(tuple(sorted(group)) for group in found)


def apart(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Activations, weights and all else lie in different banks, as schedules assume."""
    for tile, buffers in _by_tile(program).items():
        if not is_core(tile, device):
            continue
        core = program.core_at.get(tile)
        for used in _used(core, buffers):
            roles = sorted(used)
            for at, first in enumerate(roles):
                for second in roles[at + 1 :]:
                    common = used[first] & used[second]
                    if common:
                        yield Violation(
                            f"tile {tile}",
                            f"banks with both {first} and {second}",
                            len(common),
                            0,
                            "fewer rows a call, or weights by stream",
                        )


def _counted(core: Core | None, buffers: Sequence[Buffer]) -> list[Buffer]:
    """Without what may share a bank with activations or weights.

    The stack, since no schedule touches it between a call's entry and its exit; results whose
    stores are among the conflicts that the core pays for: half of their bytes, in one of the turns.
    All but weights, where every word that the DMA moves and that results are stored in is paid for.
    """
    if core is None:
        return list(buffers)
    if not any(b.name == "sums" for b in buffers):
        met = core.shared_bytes >= max(1.0, _moved_beside(buffers))
        return _without_near(buffers) if met else list(buffers)
    stored = sum("out" in work.gives for work in core.work)
    paid = core.shared_bytes * len(core.work) / max(1, stored)
    return [
        b
        for b in buffers
        if b.role != "stack" and not (b.name == "out" and paid >= _stored_beside(b, buffers))
    ]


def _moved_beside(buffers: Sequence[Buffer]) -> float:
    """Bytes of activations, and of results twice: stores take two words of 16 bytes at once."""
    taken = sum(b.bytes for b in buffers if b.role == "a")
    return taken + 1.5 * sum(b.bytes for b in buffers if b.role == "out")


def _without_near(buffers: Sequence[Buffer]) -> list[Buffer]:
    """Without what lies with activations; what lies with weights stays."""
    loaded = {role: {bank for b in buffers if b.role == role for bank in b.banks} for role in "aw"}
    return [
        b
        for b in buffers
        if b.role in ("a", "w") or not loaded["a"] & set(b.banks) or loaded["w"] & set(b.banks)
    ]


def _stored_beside(out: Buffer, buffers: Sequence[Buffer]) -> float:
    """Bytes that a call's stores cost, a cycle for 16, at a load in every fourth cycle or more."""
    loaded = {bank for b in buffers if b.role in ("a", "w") for bank in b.banks}
    return out.bytes / 2 / 4 if loaded & set(out.banks) else 0.0


def _used(core: Core | None, buffers: Sequence[Buffer]) -> Iterator[dict[str, set[int]]]:
    """Banks by role: of a tile's buffers, or of each call where calls differ in what they use.

    Of those that count (`_counted`). The stack is apart from the latter: a layer's results may lie
    beside it, and be the next layer's activations, but no schedule touches it between a call's
    entry and its exit.

    Raises:
        InternalError: a call uses a buffer that the tile has not.
    """
    counted = _counted(core, buffers)
    roles = {b.name: b.role if b.role in ("a", "w") else "other" for b in counted}
    banks = {b.name: set[int]() for b in buffers} | {b.name: set(b.banks) for b in counted}
    uses = {one.uses for one in core.work} if core is not None else {()}
    for each in sorted(uses):
        used: dict[str, set[int]] = defaultdict(set)
        for role, name in each or [(role, name) for name, role in roles.items()]:
            if name not in banks:
                raise InternalError(f"a call uses {name!r}, which its tile has not")
            used[role] |= banks[name]
        yield used


def ping_pong(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Buffers of cores that streams fill or empty are double, or empty while calls go on."""
    moved = {
        (core.tile, name)
        for core in program.cores
        for name in core.buffers
        if not _only_last(core, name)
    }
    for buffer in program.buffers:
        if (buffer.tile, buffer.name) in moved and buffer.copies < 2:
            yield Violation(
                f"buffer {buffer.name!r} of tile {buffer.tile}",
                "copies missing of a ping-pong pair",
                2 - buffer.copies,
                0,
                "two copies",
            )
    del device


def _only_last(core: Core, name: str) -> bool:
    """Whether calls that use a buffer have calls between them that do not, of results alone."""
    using = [name in work.takes and name in work.gives for work in core.work]
    held = any((name in work.takes) != (name in work.gives) for work in core.work)
    next_to = any(a and b for a, b in itertools.pairwise(using))
    return name == "out" and not held and not next_to and not all(using)


def stack(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Every core has the stack that the vendor's tools give it: overflow is silent."""
    least = device.need(device.architecture.core.stack_default_bytes, "default stack")
    stacks = {b.tile: b.bytes for b in program.buffers if b.role == "stack"}
    for core in program.cores:
        if stacks.get(core.tile, 0) < least:
            yield Violation(
                f"tile {core.tile}",
                "bytes of stack missing",
                least - stacks.get(core.tile, 0),
                0,
                "a larger stack buffer",
            )


def memory_tiles(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Memory tiles hold what lies in them."""
    mem = device.architecture.mem
    bound = mem.bytes if mem is not None else 0
    for tile, buffers in _by_tile(program).items():
        demand = sum(b.bytes * b.copies for b in buffers)
        if not is_core(tile, device) and demand > bound:
            yield Violation(
                f"memory tile {tile}", "bytes", demand, bound, "single calls instead of whole parts"
            )


def descriptors(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Descriptors suffice; in memory tiles each half serves the channels of one parity."""
    arch = device.architecture
    seen: set[tuple[Tile, int]] = set()
    for d in program.descriptors:
        tile = d.channel.tile
        core = is_core(tile, device)
        count = arch.descriptors["core" if core else "mem"]
        low, high = 0, count
        if not core:
            half = count // 2
            low, high = (half, count) if d.channel.index % 2 else (0, half)
        if d.index < low:
            where = f"tile {tile}, channel {d.channel.index}"
            yield Violation(where, "descriptors of the other parity", 1, 0, "the upper half")
        if (tile, d.index) in seen:
            where = f"tile {tile}, descriptor {d.index}"
            yield Violation(where, "uses of one descriptor", 2, 1, "another number")
        if d.index >= high:
            yield Violation(
                f"tile {tile}, {d.channel.direction} channel {d.channel.index}",
                "as number of a descriptor",
                d.index,
                high - 1,
                "fewer slices in the column: fewer parts of rows, or order by the other dimension",
            )
        seen.add((tile, d.index))


def addressing(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Dimensions, steps, wraps and lengths fit a descriptor's fields."""
    arch = device.architecture
    for d in program.descriptors:
        core = is_core(d.channel.tile, device)
        limits = arch.addressing["core" if core else "mem"]
        where = f"{d.buffer!r} of tile {d.channel.tile}"
        checks = [("dimensions", len(d.dims), limits.dims)]
        if limits.length_bits is not None:
            checks.append(("words", d.words, 2**limits.length_bits - 1))
        if limits.step_bits is not None:
            checks += [("words a step", step, 2**limits.step_bits) for _, step in d.dims]
        if d.iteration is not None and limits.iteration_wrap_bits is not None:
            checks.append(("uses of an iteration", d.iteration[0], 2**limits.iteration_wrap_bits))
        if limits.step_bits is not None and d.iteration is not None:
            checks.append(("words an iteration", d.iteration[1], 2**limits.step_bits))
        if limits.wrap_bits is not None:
            inner = d.dims[: limits.dims - 1]
            checks += [("elements a wrap", size, 2**limits.wrap_bits - 1) for size, _ in inner]
        for at, (before, after) in enumerate(d.pad):
            most = limits.pad[at] if at < len(limits.pad) else 0
            checks.append(("words of padding", max(before, after), most))
        for what, demand, bound in checks:
            if demand > bound:
                yield Violation(where, what, demand, bound, "smaller calls, or another split")


def locks(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Locks exist, hold their value, and begin with every buffer empty.

    A binary lock knows a copy's state, and so one writer and one reader.
    """
    arch = device.architecture
    if not arch.core.locks.semaphore:
        users: dict[tuple[Tile, str, str], set[int]] = defaultdict(set)
        for d in program.descriptors:
            users[d.channel.tile, d.buffer, d.channel.direction].add(d.channel.index)
        for core in program.cores:
            for _, tile, name in core.lent:
                users[tile, name, "mm2s"].add(-1 - len(users[tile, name, "mm2s"]))
        for (tile, name, direction), who in users.items():
            if len(who) > 1:
                where = f"buffer {name!r} of tile {tile}, {direction}"
                yield Violation(where, "users of a binary lock", len(who), 1, "a buffer for each")
    copies = {(b.tile, b.name): b.copies for b in program.buffers}
    for lock in program.locks:
        facts = arch.core.locks
        if not is_core(lock.tile, device) and arch.mem is not None:
            facts = arch.mem.locks
        where = f"lock {lock.index} of tile {lock.tile}"
        if not 0 <= lock.index < facts.count:
            remedy = "fewer slices or results in one memory tile"
            yield Violation(where, "as number of a lock", lock.index, facts.count - 1, remedy)
        most = 2**facts.value_bits - 1 if facts.value_bits is not None else 1
        if lock.initial > most:
            yield Violation(where, "as its value", lock.initial, most, "fewer copies")
        if lock.highest > most:
            remedy = "calls of more columns, so that a buffer is read less often"
            yield Violation(where, "as its highest value", lock.highest, most, remedy)
        wanted = copies.get((lock.tile, lock.buffer), 0) if lock.state == "empty" else 0
        if lock.initial != wanted:
            yield Violation(where, "as first value", lock.initial, wanted, "the number of copies")
