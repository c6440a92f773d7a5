"""Rules about tiles, channels and stream switches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from match_aie.targets.aie_ml.array.program import ArrayProgram, Hop, Merge, Route, Tile
from match_aie.targets.aie_ml.array.rules_memory import is_core
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.devices import Device

#: Where a stream that leaves through a side arrives, and by which side.
ACROSS = {"N": (0, 1, "S"), "S": (0, -1, "N"), "E": (1, 0, "W"), "W": (-1, 0, "E")}

#: Packet-switched streams that one slave port can tell apart (facts: packet_switching, AIERT).
PACKET_SLOTS = 4


def inside(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Cores sit on tiles with cores, one each."""
    top = device.shim_rows + device.mem_rows + device.core_rows
    seen: set[Tile] = set()
    for core in program.cores:
        column, row = core.tile
        if not 0 <= column < device.columns:
            yield Violation(
                f"tile {core.tile}", "as column", column, device.columns - 1, "fewer chains"
            )
        if not is_core(core.tile, device):
            yield Violation(f"tile {core.tile}", "kernels on a tile without a core", 1, 0, "a core")
        if row >= top:
            yield Violation(f"tile {core.tile}", "as row", row, top - 1, "another row")
        if core.tile in seen:
            yield Violation(f"tile {core.tile}", "kernels on one tile", 2, 1, "another tile")
        seen.add(core.tile)


def channels(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Channels exist; those of cores serve one stream each."""
    arch = device.architecture
    streams: dict[tuple[Tile, str, int], int] = defaultdict(int)
    for route in program.routes:
        for end in (route.source, *route.sinks):
            streams[end.tile, end.direction, end.index] += 1
    for end in (source for merge in program.merges for source in merge.sources):
        streams[end.tile, end.direction, end.index] += 1
    for end in (end for each in program.logics for end in (*each.sources, *each.sinks)):
        streams[end.tile, end.direction, end.index] += 1
    for d in program.descriptors:
        streams.setdefault((d.channel.tile, d.channel.direction, d.channel.index), 0)
    for (tile, direction, index), many in streams.items():
        kind = _kind(tile, device)
        core = kind == "core_tile"
        dma = arch.core.dma if core or arch.mem is None else arch.mem.dma
        if kind == "shim_tile":
            dma = arch.shim_dma
            if tile[0] not in (device.shim_noc_columns or ()):
                yield Violation(f"tile {tile}", "DMAs to memory", 1, 0, "another column")
        count = dma.s2mm if direction == "s2mm" else dma.mm2s
        where = f"tile {tile}, {direction} channel {index}"
        if not 0 <= index < count:
            yield Violation(
                where, "as number of a channel", index, count - 1, "one input channel, no streams"
            )
        if kind != "mem_tile" and many > 1:
            yield Violation(where, "streams on one channel", many, 1, "another channel")


def _kind(tile: Tile, device: Device) -> str:
    if is_core(tile, device):
        return "core_tile"
    return "shim_tile" if tile[1] < device.shim_rows else "mem_tile"


def ports(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Switch ports exist and are not shared, but by packets.

    A merged stream is alone on its ports: identifiers tell its own sources apart, and no others.
    """
    table = device.architecture.switch_ports
    shim = device.architecture.shim_dma
    drivers: dict[tuple[Tile, tuple[str, int]], set[tuple[str, int]]] = defaultdict(set)
    users: dict[tuple[Tile, tuple[str, int]], set[str]] = defaultdict(set)
    packets = {route.name for route in program.routes if route.packet}
    streams: tuple[Route | Merge, ...] = (*program.routes, *program.merges)
    for route in streams:
        for hop in route.hops:
            kind = _kind(hop.tile, device)
            for role, (side, lane) in (("slave", hop.slave), ("master", hop.master)):
                count = table.get((kind, role, side), 0)
                if kind == "shim_tile" and side == "dma":
                    count = shim.mm2s if role == "slave" else shim.s2mm
                if not 0 <= lane < count:
                    yield Violation(
                        f"{route.name}, tile {hop.tile}",
                        f"as {role} port {side}",
                        lane,
                        count - 1,
                        "fewer parts of rows in a column, or one input channel",
                    )
            drivers[hop.tile, hop.master].add(hop.slave)
            users[hop.tile, hop.master].add(route.name)
    for (tile, port), names in users.items():
        if len(names) > 1 and not names <= packets:
            yield Violation(
                f"tile {tile}, port {port}", "streams", len(names), 1, "packets or another lane"
            )
        if len(drivers[tile, port]) > PACKET_SLOTS:
            many = len(drivers[tile, port])
            yield Violation(
                f"tile {tile}, port {port}", "sources merged", many, PACKET_SLOTS, "another lane"
            )


def routes(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Hops join up, from the source's channel to every sink's."""
    for route in program.routes:
        reached = {(route.source.tile, ("dma", route.source.index))}
        for hop in route.hops:
            if (hop.tile, hop.slave) not in reached:
                yield Violation(
                    f"{route.name}, tile {hop.tile}", "hops that nothing reaches", 1, 0, "a hop"
                )
            reached.add(_next(hop))
        missing = [s for s in route.sinks if (s.tile, ("to dma", s.index)) not in reached]
        if missing:
            yield Violation(route.name, "sinks not reached", len(missing), 0, "more hops")
    for merge in program.merges:
        yield from _merged(merge)
    del device


def _merged(merge: Merge) -> Iterator[Violation]:
    """Packets of every source reach all cores that read them, and none comes twice."""
    for source in merge.sources:
        waiting, seen = [(source.tile, ("dma", source.index))], list[tuple[Tile, str]]()
        while waiting:
            place = waiting.pop()
            seen.append((place[0], place[1][0]))
            waiting += [_next(hop) for hop in merge.hops if (hop.tile, hop.slave) == place]
            if len(seen) > len(merge.hops) + 1:
                break
        for sink in merge.sinks:
            times = seen.count((sink, "to core"))
            if times != 1:
                where = f"{merge.name} from {source.tile} to the core of {sink}"
                yield Violation(where, "ways", times, 1, "hops of a tree")


def _next(hop: Hop) -> tuple[Tile, tuple[str, int]]:
    side, lane = hop.master
    if side in ("dma", "core"):
        return hop.tile, (f"to {side}", lane)
    dx, dy, arrives = ACROSS[side]
    return (hop.tile[0] + dx, hop.tile[1] + dy), (arrives, lane)


def ways(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Programmable logic has the streams, and a column the links below its memory tiles.

    From which column of programmable logic a stream comes is not known, so not laid out. Without
    memory tiles streams go up a column to their cores, beside routes from core to core: there are
    links for all of them in every row, so that they can be laid out.
    """
    ports = device.architecture.switch_ports
    below = "mem_tile" if device.mem_rows else "core_tile"
    if not device.mem_rows:
        yield from _upward(program, device)
    for direction, most, links in (
        ("s2mm", device.plio_in, ports.get((below, "slave", "S"), 0)),
        ("mm2s", device.plio_out, ports.get((below, "master", "S"), 0)),
    ):
        columns = [c.channel.tile[0] for c in program.crossings if c.channel.direction == direction]
        for logic in program.logics:  # switches lead a stream in to all of its sinks
            into = dict(zip(reversed(logic.streams), reversed(logic.sinks), strict=True))
            ends = tuple(into.values()) if direction == "s2mm" else logic.sources
            columns += [end.tile[0] for end in ends]
        kind = "in" if direction == "s2mm" else "out"
        if len(columns) > (most or 0):
            remedy = "fewer parts of rows, or longer chains"
            yield Violation(f"streams {kind}", "streams", len(columns), most or 0, remedy)
        for column in sorted(set(columns)):
            if columns.count(column) > links:
                where, many = f"streams {kind}, column {column}", columns.count(column)
                yield Violation(where, "links below memory tiles", many, links, "another column")


def _upward(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Links between the rows of cores of a column, which streams from outside share with routes."""
    ports = device.architecture.switch_ports
    taken: dict[tuple[str, Tile], int] = defaultdict(int)
    for route in program.routes:
        for tile, side in dict.fromkeys((hop.tile, hop.master) for hop in route.hops):
            taken[side[0], tile] += 1
    for crossing in program.crossings:
        column, top = crossing.channel.tile
        into = crossing.channel.direction == "s2mm"
        for row in range(device.shim_rows, top):
            taken[("N", (column, row)) if into else ("S", (column, row + 1))] += 1
    for (way, tile), many in taken.items():
        links = ports.get(("core_tile", "master", way), 0)
        if way in ("N", "S") and is_core(tile, device) and many > links:
            yield Violation(f"tile {tile}, side {way}", "streams", many, links, "another column")


def pass_through(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Through a memory tile, north to south or back, a stream keeps its lane."""
    for route in program.routes:
        for hop in route.hops:
            through = {hop.slave[0], hop.master[0]} == {"N", "S"}
            mem = _kind(hop.tile, device) == "mem_tile"
            if through and mem and hop.slave[1] != hop.master[1]:
                yield Violation(
                    f"{route.name}, memory tile {hop.tile}",
                    "lanes changed",
                    1,
                    0,
                    "the same lane on both sides",
                )
