"""Streams whose data come round: what a core stores reaches what it reads.

Elsewhere all transfers of a stream follow its first without a gap, so that the way through the
switches is paid once. Here the next transfer waits for what the one before has brought about, and
every one pays it.
"""

from __future__ import annotations

from collections import defaultdict

from match_aie.targets.aie_ml.array.program import ArrayProgram, Tile

#: What comes over a tile's cascade, as if it were a buffer.
CASCADE = "cascade"

#: A buffer: its tile, and its name there.
Place = tuple[Tile, str]


def returning_routes(program: ArrayProgram) -> frozenset[int]:
    """Numbers of the routes on circles of buffers, and on ways from one circle to another."""
    after: dict[Place, set[Place]] = defaultdict(set)
    ends: list[tuple[Place, tuple[Place, ...]]] = []
    for route in program.routes:
        source = route.source.tile, route.reads
        pairs = zip((sink.tile for sink in route.sinks), route.writes, strict=True)
        sinks = tuple(pair for pair in pairs if pair[1])
        ends.append((source, sinks))
        if route.reads:  # interface tiles have no buffers: what comes in is not what went out
            after[source] |= set(sinks)
    east = {cascade.source: cascade.sink for cascade in program.cascades}
    for core in program.cores:
        made = {(core.tile, "out")}
        if core.tile in east:
            made.add((east[core.tile], CASCADE))
        for name in (*core.buffers, CASCADE):
            if name not in ("out", "sent"):
                after[core.tile, name] |= made
    before: dict[Place, set[Place]] = defaultdict(set)
    for place, others in after.items():
        for other in others:
            before[other].add(place)
    left = _peeled(_peeled({*after, *before}, before, after), after, before)
    return frozenset(
        number
        for number, (source, sinks) in enumerate(ends)
        if source in left and any(sink in left for sink in sinks)
    )


def _peeled(
    places: set[Place], into: dict[Place, set[Place]], out: dict[Place, set[Place]]
) -> set[Place]:
    """What is left of `places` when those without anything `into` them go, one after the other."""
    left = set(places)
    waiting = {place: len(into.get(place, set()) & left) for place in left}
    gone = [place for place, many in waiting.items() if not many]
    while gone:
        place = gone.pop()
        left.discard(place)
        for other in out.get(place, set()) & left:
            waiting[other] -= 1
            if not waiting[other]:
                gone.append(other)
    return left
