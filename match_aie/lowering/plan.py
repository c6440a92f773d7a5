"""The memory plan: which tensors live when, which may share storage, and where each one lies.

Network inputs and outputs are the caller's buffers and are not placed. Everything else that a
step touches gets an offset in one arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from match_aie.errors import Infeasible, InternalError
from match_aie.hardware.first_fit import Block, lower_bound
from match_aie.lowering.packing import pack
from match_aie.lowering.program import MemoryPlan, Placement, Schedule, Step, Stream


@dataclass(frozen=True)
class Life:
    """From the first to the last step, inclusive, that touches a storage of `nbytes` bytes."""

    first: int
    last: int
    nbytes: int


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: in whose storage, and from which of its bytes on."""

    owner: str
    offset: int


def places(schedule: Schedule) -> dict[str, Place]:
    """Where every tensor lies: in its own storage, or in that of what it is a view of.

    Raises:
        InternalError: views form a circle, reach beyond their base, or an output is one.
    """
    base = {alias.view: alias for alias in schedule.aliases}
    sizes = {tensor.name: tensor.nbytes for tensor in schedule.tensors}
    found = {}
    for name in sizes:
        owner, offset, seen = name, 0, {name}
        while owner in base:
            offset += base[owner].offset
            owner = base[owner].base
            if owner in seen:
                raise InternalError(f"views form a circle through {name}")
            seen.add(owner)
        if offset < 0 or offset + sizes[name] > sizes[owner]:
            raise InternalError(f"view {name} reaches beyond its base {owner}")
        found[name] = Place(owner, offset)
    for output in schedule.outputs:
        if found[output].owner != output:
            raise InternalError(f"output {output} is a view of {found[output].owner}")
    return found


def storages(schedule: Schedule) -> dict[str, str]:
    """The tensor that owns the storage, for every tensor; see `places`."""
    return {name: place.owner for name, place in places(schedule).items()}


def divided(schedule: Schedule, owners: Mapping[str, str]) -> frozenset[str]:
    """Storages of which some tensor is a part only."""
    sizes = {tensor.name: tensor.nbytes for tensor in schedule.tensors}
    return frozenset(owner for name, owner in owners.items() if sizes[name] != sizes[owner])


def lifetimes(schedule: Schedule, owners: Mapping[str, str]) -> dict[str, Life]:
    """When each storage is alive that is neither input nor output, in order of first use.

    What stays in an inner memory has no storage.

    Raises:
        InternalError: a tensor is read before it is written, or a network input is written.
    """
    sizes = {tensor.name: tensor.nbytes for tensor in schedule.tensors}
    inputs = {owners[name] for name in schedule.inputs}
    elsewhere = {owners[name] for step in schedule.steps for name in step.stays()}
    elsewhere |= set(schedule.outputs)
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for index, step in enumerate(schedule.steps):
        begin, end = schedule.span(index)
        for name in step.reads():
            owner = owners[name]
            if owner not in inputs and owner not in first:
                raise InternalError(f"step {step.symbol} reads {name} before it is written")
            last[owner] = end
        for name in step.writes():
            owner = owners[name]
            if owner in inputs:
                raise InternalError(f"step {step.symbol} writes {name}, a network input")
            first.setdefault(owner, begin)
            last[owner] = end
    return {
        owner: Life(at, last[owner], sizes[owner])
        for owner, at in first.items()
        if owner not in elsewhere
    }


def _takes_over(
    step: Step,
    index: int,
    pair: tuple[str, str],
    owners: Mapping[str, str],
    lives: Mapping[str, Life],
) -> bool:
    """Whether the written tensor of `pair` may have the storage of the read one."""
    read, written = (owners[name] for name in pair)
    if read not in lives or written not in lives or read == written:
        return False
    touching = [name for name in (*step.reads(), *step.writes()) if owners[name] == read]
    return (
        touching == [pair[0]]
        and lives[read].last == index
        and lives[written].first == index
        and [owners[name] for name in step.writes()].count(written) == 1
    )


def sharing(
    schedule: Schedule, owners: Mapping[str, str], lives: Mapping[str, Life], alignment: int
) -> tuple[tuple[str, str], ...]:
    """(read, written) storages that get one place; every storage is given and taken once at most.

    Only storages of equally many aligned bytes share: a small tensor in a large block would hold
    all of it. Those in parts do not: a step that may write onto its input wants both at one place.

    Args:
        schedule: the calls of a network.
        owners: the storage of each tensor.
        lives: when storages are in use, and their bytes.
        alignment: of every placement, in bytes.
    """
    pairs: list[tuple[str, str]] = []
    parts = divided(schedule, owners)
    given: set[str] = set()
    taken: set[str] = set()
    for index, step in enumerate(schedule.steps):
        if schedule.span(index) != (index, index):
            continue  # what it reads, the step beside it may read too
        for pair in step.in_place:
            read, written = (owners[name] for name in pair)
            if read in given or written in taken or {read, written} & parts:
                continue
            if not _takes_over(step, index, pair, owners, lives):
                continue
            if _units(lives[read].nbytes, alignment) == _units(lives[written].nbytes, alignment):
                pairs.append((read, written))
                given.add(read)
                taken.add(written)
    return tuple(pairs)


def _units(nbytes: int, alignment: int) -> int:
    return -(-nbytes // alignment)


def _groups(
    lives: Mapping[str, Life], pairs: Sequence[tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """Storages that share one place, as chains in order of time; alone ones are chains of one."""
    heir = dict(pairs)
    taken = set(heir.values())
    chains = []
    for name in lives:
        if name in taken:
            continue
        chain = [name]
        while chain[-1] in heir:
            chain.append(heir[chain[-1]])
        chains.append(tuple(chain))
    return tuple(chains)


def _with_workspaces(schedule: Schedule, lives: Mapping[str, Life]) -> dict[str, Life]:
    every = dict(lives)
    for index, step in enumerate(schedule.steps):
        for space in step.workspaces:
            if space.name in every:
                raise InternalError(f"workspace name {space.name} is not unique")
            every[space.name] = Life(*schedule.span(index), max(1, space.nbytes))
    return every


def at_the_peak(
    schedule: Schedule, result: MemoryPlan, streams: Sequence[Stream] = ()
) -> tuple[tuple[str, float], ...]:
    """(who, bytes) of all that lies in a plan at its fullest step, most bytes first.

    Args:
        schedule: the calls of a network.
        result: their plan.
        streams: constants that are fetched into it.
    """
    labels = {tensor.name: tensor.label or tensor.name for tensor in schedule.tensors}
    for stream in streams:
        step = schedule.steps[stream.step]
        labels[stream.space] = f"constants of {step.label or step.symbol}"
    alive = [p for p in result.placements if p.first <= result.peak_step <= p.last]
    given = {written: read for read, written in result.in_place}
    names = {p.name for p in alive}
    # Of a pair that shares its storage, only the written one is listed: the bytes count once.
    replaced = {given[name] for name in names if name in given}
    rows = [
        (labels.get(p.name, f"scratch {p.name}"), float(p.nbytes))
        for p in alive
        if p.name not in replaced
    ]
    return tuple(sorted(rows, key=lambda row: (-row[1], row[0])))


def _refusal(
    schedule: Schedule, result: MemoryPlan, limit: int, streams: Sequence[Stream]
) -> Infeasible:
    step = schedule.steps[result.peak_step]
    levers = [
        f"raise memory_limit to {result.nbytes} bytes or more",
        f"split or shrink the layer at the peak ({step.label or step.symbol})",
        "use a smaller input",
    ]
    if any(schedule.tensor(name).dtype in ("float32", "float64") for name in step.writes()):
        levers.insert(1, "quantise the model to 8 bits")
    parts = at_the_peak(schedule, result, streams)
    return Infeasible(result.memory, result.nbytes, limit, "bytes", tuple(levers), parts)


def plan(
    schedule: Schedule,
    *,
    alignment: int = 64,
    memory: str = "arena",
    limit: int | None = None,
    streams: Sequence[Stream] = (),
) -> MemoryPlan | Infeasible:
    """Place every tensor and workspace of `schedule` in one memory.

    Args:
        schedule: the calls of a network.
        alignment: of every placement, in bytes.
        memory: what the memory is called in reports.
        limit: bytes available; None for no limit.
        streams: constants that are fetched into the memory.

    Returns:
        The plan, or why it does not fit `limit`, naming what is alive at the peak.

    Raises:
        InternalError: the schedule is not well formed.
    """
    owners = storages(schedule)
    tensors = lifetimes(schedule, owners)
    pairs = sharing(schedule, owners, tensors, alignment)
    lives = _with_workspaces(schedule, tensors)
    lives |= {s.space: Life(s.start, s.step, s.nbytes) for s in streams}
    groups = _groups(lives, pairs)
    blocks = [
        Block(lives[g[0]].first, lives[g[-1]].last, _units(lives[g[0]].nbytes, alignment))
        for g in groups
    ]
    offsets = pack(blocks)
    placements = sorted(
        (
            Placement(name, at * alignment, lives[name].nbytes, lives[name].first, lives[name].last)
            for chain, at in zip(groups, offsets, strict=True)
            for name in chain
        ),
        key=lambda p: (p.first, p.last, p.offset, p.name),
    )
    bound, peak = lower_bound(blocks)
    top = max((at + b.size for at, b in zip(offsets, blocks, strict=True)), default=0)
    result = MemoryPlan(
        memory, top * alignment, alignment, bound * alignment, tuple(placements), pairs, peak
    )
    if limit is not None and result.nbytes > limit:
        return _refusal(schedule, result, limit, streams)
    return result
