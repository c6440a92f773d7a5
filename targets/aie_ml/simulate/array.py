"""The array at work: cores, DMA channels, memory tiles, streams, locks, cascades, ways in and out.

It executes an `ArrayProgram`. A buffer is the unit of transfer; a stream waits until every
destination has room (back-pressure), a core until its locks are free,
and in the middle of a call until a cascade has a word, or room for one. It knows no cost model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from math import ceil

from match_aie.simulation import Acquire, Command, Delay, Event, Release, Resource, Simulator
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.neighbours import readers
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Core,
    Crossing,
    Route,
    Tile,
)
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.simulate.cascade import Chain, Known, Words, moments
from match_aie.targets.aie_ml.simulate.logic import Logics, streams
from match_aie.targets.aie_ml.simulate.merging import Packets
from match_aie.targets.aie_ml.simulate.outside import Beyond, ChipMemory, ways
from match_aie.targets.aie_ml.simulate.progress import Books, Progress
from match_aie.targets.aie_ml.simulate.returning import returning_routes
from match_aie.targets.aie_ml.simulate.store import End, Run, Store

#: A buffer: whose tile, and its name.
Place = tuple[Tile, str]


def leaving(program: ArrayProgram, device: Device) -> list[Route | Crossing]:
    """Streams that leave the array: to interface tiles, or to programmable logic."""
    routes = (r for r in program.routes if any(s.tile[1] < device.shim_rows for s in r.sinks))
    crossings = (c for c in program.crossings if c.channel.direction == "mm2s")
    return [*routes, *crossings]


def _on(_: list[float]) -> bool:
    """To the end."""
    return False


class ArraySimulation:
    """Runs of a program, one after the other as fast as buffers allow.

    Args:
        program: what runs.
        device: where.
        assumed: times that no document states.
        runs: of the layer.
        enough: asked after each result whether to stop, with the times of all.
        trace: whether to keep a timeline.
        beyond: what is assumed of the world outside the array.
    """

    def __init__(
        self,
        program: ArrayProgram,
        device: Device,
        assumed: Assumed,
        runs: int,
        *,
        enough: Callable[[list[float]], bool] = _on,
        trace: bool = False,
        beyond: Beyond | None = None,
    ) -> None:
        """Processes are set up, nothing has run."""
        self.program = program
        self.device = device
        self.assumed = assumed
        self.runs = runs
        self.trace = trace
        self.books = Books()
        self.sim = Simulator(record=trace)
        arch = device.architecture
        self._rates = {
            True: arch.core.dma.bytes_per_cycle,
            False: (arch.mem.dma if arch.mem is not None else arch.core.dma).bytes_per_cycle,
        }
        self._memory = ChipMemory(device, beyond or Beyond())
        self._lanes: dict[tuple[object, ...], Resource] = {}
        self._chains: dict[Tile, tuple[Chain, int]] = {}
        self._known = Known()
        self._stores: dict[Place, Store] = {}
        self._ends: dict[tuple[str, int, Place], End] = {}
        self._of_core: dict[Place, End] = {}
        self._writes_itself: set[Place] = set()
        self._returning, self._readers = returning_routes(program), readers(program)
        self._connect()
        finals = leaving(program, device)
        sends = [way.sends for way in finals]
        self.progress = Progress(sends, runs, enough, lambda: self._memory.moved)
        self._final = {way.name: number for number, way in enumerate(finals)}
        self._set_up()

    def run(self) -> Progress:
        """Simulate.

        Raises:
            DeadlockError: the program cannot go on.
        """
        self.timeline = self.sim.run()
        return self.progress

    @property
    def memory_bytes(self) -> int:
        """That a run takes from the chip's memory, and brings there."""
        return sum(
            route.bytes * route.sends
            for route in self.program.routes
            if any(self._is_shim(end.tile) for end in (route.source, *route.sinks))
        )

    def is_core(self, tile: Tile) -> bool:
        """Whether it is a core's."""
        return tile[1] >= self.device.shim_rows + self.device.mem_rows

    def _is_shim(self, tile: Tile) -> bool:
        return tile[1] < self.device.shim_rows

    def _connect(self) -> None:
        """Stores with their writers and readers in order."""
        writers: dict[Place, list[tuple[str, int, int]]] = defaultdict(list)
        readers: dict[Place, list[tuple[str, int, int]]] = defaultdict(list)
        for number, route in enumerate(self.program.routes):
            if not self._is_shim(route.source.tile):
                readers[route.source.tile, route.reads].append(("route", number, route.sends))
            for sink, name in zip(route.sinks, route.writes, strict=True):
                if not self._is_shim(sink.tile):
                    writers[sink.tile, name].append(("route", number, route.sends))
        for number, crossing in enumerate(self.program.crossings):
            place = crossing.channel.tile, crossing.buffer
            into = crossing.channel.direction == "s2mm"
            (writers if into else readers)[place].append(("crossing", number, crossing.sends))
        for place, writes, of in streams(self.program):
            (writers if writes else readers)[place].append(of)
        lent = {(core.tile, name) for core in self.program.cores for name, _, _ in core.lent}
        for number, core in enumerate(self.program.cores):
            for _, tile, name in core.lent:
                readers[tile, name].append(("lent", number, 0))
        for core in self.program.cores:
            for name in core.buffers:
                if (core.tile, name) in lent:
                    continue
                side = writers if (core.tile, name) in readers else readers
                side[core.tile, name].append(("core", 0, 0))
                if side is writers:
                    self._writes_itself.add((core.tile, name))
        for place in {**writers, **readers}:
            self._store(place, writers[place], readers[place])

    def _store(
        self,
        place: Place,
        writers: list[tuple[str, int, int]],
        readers: list[tuple[str, int, int]],
    ) -> None:
        buffer = self.program.buffer_at[place]
        into = writers if self.is_core(place[0]) or buffer.fills else []
        name = f"{buffer.name} of {place[0]}"
        store = Store(name, buffer.copies, len(into), len(readers))
        self._stores[place] = store
        for side in (into, readers):
            for index, (kind, number, sends) in enumerate(side):
                fills = buffer.fills or sends
                laps = buffer.laps if side is readers else 1
                many = max(1, sends // fills) if fills else 1
                end = End(store, index, many, laps, buffer.copies if laps > 1 else 1)
                if kind == "core":
                    self._of_core[place] = end
                elif kind == "lent":
                    core = self.program.cores[number]
                    (name,) = (n for n, *at in core.lent if tuple(at) == place)
                    self._of_core[core.tile, name] = end
                else:
                    self._ends[kind, number, place] = end

    def _set_up(self) -> None:
        self._chain_up()
        lanes: dict[object, list[tuple[int, Route]]] = defaultdict(list)
        for number, route in enumerate(self.program.routes):
            lanes[route.source].append((number, route))
        for members in lanes.values():
            self.sim.spawn(members[0][1].name, self._lane(members))
        free = self._free_ways()
        for number, crossing in enumerate(self.program.crossings):
            into = crossing.channel.direction == "s2mm"
            self.sim.spawn(crossing.name, self._cross(number, crossing, *free[into]))
        self._packets = Packets(self.program, self.device, self.assumed)
        beyond = Logics(self.program, self.device, self.assumed, self._wrote)
        for source in (self._packets, beyond):
            for name, process in source.processes(self._ends, self.runs):
                self.sim.spawn(name, process)
        for core in self.program.cores:
            self.sim.spawn(f"core {core.tile}", self._core(core))

    def _chain_up(self) -> None:
        """Which chain each tile with a cascade is in, and at which place."""
        east = {cascade.source: cascade.sink for cascade in self.program.cascades}
        room = 2 * self.device.architecture.core.cascade_fifo
        for tile in set(east) - set(east.values()):
            tiles = [tile]
            while tiles[-1] in east:
                tiles.append(east[tiles[-1]])
            chain = Chain(len(tiles), room, self.assumed.cascade, self._known)
            self._chains.update({each: (chain, at) for at, each in enumerate(tiles)})

    def _free_ways(self) -> dict[bool, tuple[Resource, float]]:
        """(ways, bytes per cycle of each) into the array, and out of it."""
        if not self.program.crossings:
            return {}
        known = ways(self.device)
        return {
            True: (Resource("ways in", known.inputs), known.input_rate),
            False: (Resource("ways out", known.outputs), known.output_rate),
        }

    def _cross(self, number: int, crossing: Crossing, way: Resource, rate: float) -> Run:
        """Data between a memory tile and programmable logic, through any free way."""
        end = self._ends["crossing", number, (crossing.channel.tile, crossing.buffer)]
        into = crossing.channel.direction == "s2mm"
        ready = end.store.to_write(end.index) if into else end.store.to_read(end.index)
        done = end.store.wrote if into else end.store.read
        take, give = Acquire(way), Release(way)
        category = "in" if into else "out"
        move = Delay(ceil(crossing.bytes / rate), crossing.name, category, "dma")
        # Straight to a core: through the switches of all rows below it.
        above = crossing.channel.tile[1] if not self.device.mem_rows else 0
        hops = Delay(self.device.architecture.hop_cycles * above)
        for at in range(self.runs * crossing.sends):
            if end.begins(at):
                yield from ready
            if at == 0 and above:
                yield hops
            yield take
            yield move
            yield give
            if into:
                self.books.written[crossing.channel.tile, crossing.buffer] = self.sim.now
            if end.ends(at):
                yield from done(end.index)
            self._left(crossing.name, at)

    def _lane(self, members: list[tuple[int, Route]]) -> Run:
        """Streams of one DMA channel take turns."""
        streams = [self._stream(number, route) for number, route in members]
        for at in range(self.runs * max(route.sends for _, route in members)):
            for (_, route), stream in zip(members, streams, strict=True):
                if at < self.runs * route.sends:
                    yield from stream(at)

    def _stream(self, number: int, route: Route) -> Callable[[int], Iterator[Command]]:
        """What transfer number `at` of a stream takes."""
        source = None
        if not self._is_shim(route.source.tile):
            source = self._ends["route", number, (route.source.tile, route.reads)]
        places = [
            (sink.tile, name)
            for sink, name in zip(route.sinks, route.writes, strict=True)
            if not self._is_shim(sink.tile)
        ]
        sinks = [self._ends["route", number, place] for place in places]
        lane = self._shared_lane(route)
        move = self._move(route)
        hops = self.device.architecture.hop_cycles * len({hop.tile for hop in route.hops})
        returning = number in self._returning

        def transfer(at: int) -> Iterator[Command]:
            if source is not None and source.begins(at):
                yield from source.store.to_read(source.index)
            for end in sinks:
                if end.begins(at):
                    yield from end.store.to_write(end.index)
            if at == 0 or returning:  # else data follow the first without a gap
                yield Delay(hops)
            if lane is not None:
                yield Acquire(lane)
            yield from move()
            if lane is not None:
                yield Release(lane)
            for place, end in zip(places, sinks, strict=True):
                self.books.written[place] = self.sim.now
                if end.ends(at):
                    yield from end.store.wrote(end.index)
            if source is not None and source.ends(at) and not source.store.resident:
                yield from source.store.read(source.index)
            self._left(route.name, at)

        return transfer

    def _wrote(self, place: Place) -> None:
        self.books.written[place] = self.sim.now

    def _left(self, name: str, at: int) -> None:
        """Transfer number `at` of a way is done: one that leaves the array counts."""
        final = self._final.get(name)
        if final is not None:
            self.progress.sent(final, at, self.sim.now)
            if self.progress.stop:
                self.sim.stop()

    def _move(self, route: Route) -> Callable[[], Iterator[Command]]:
        """The transfer itself."""
        core = self.is_core(route.source.tile)
        name = f"dma {route.source.tile} {'out' if core else route.source.index}"
        cycles = self.assumed.descriptor + ceil(route.bytes / self._rates[core])
        whole = (Delay(cycles, name, route.name, "dma"),)
        beyond = self._is_shim(route.source.tile)
        if not beyond and not any(self._is_shim(sink.tile) for sink in route.sinks):
            return lambda: iter(whole)
        switch = Delay(self.assumed.descriptor)

        def through_memory() -> Iterator[Command]:
            yield switch
            yield from self._memory.move(route.bytes, name, route.name, not beyond)

        return through_memory

    def _shared_lane(self, route: Route) -> Resource | None:
        """The last link of a packet-switched route from a core, which others use too."""
        if not route.packet or not self.is_core(route.source.tile) or len(route.hops) < 2:
            return None
        link = (route.hops[-1].tile[0], *route.hops[-2].master)
        return self._lanes.setdefault(link, Resource(f"lane {link}"))

    def _core(self, core: Core) -> Run:
        """Call after call: start, locks, the call of a turn's function, body, locks."""
        calls, (chain, at) = self._calls(core), self._chains.get(core.tile, (None, 0))
        for _ in range(self.runs):
            for work in core.work:
                start, taken, words, body, given = calls[id(work)]
                yield start
                yield from taken
                begun = self.sim.now
                late = (yield from chain.play(at, words, begun)) if chain and words.cycles else 0.0
                yield Delay(begun + late + body - self.sim.now)
                self._note(core, begun, body)
                if work.result:
                    self.books.kept[work.result] = self.sim.now
                yield given
                for name in work.gives:
                    place = core.tile, name
                    end = self._of_core[place]
                    writes = place in self._writes_itself
                    yield from (end.store.wrote if writes else end.store.read)(end.index)

    def _calls(self, core: Core) -> dict[int, tuple[Delay, tuple[Command, ...], Words, int, Delay]]:
        """What each kind of work takes, by its identity: around a call, and its words."""
        assumed, found = self.assumed, {}
        words: dict[int, Words] = {}
        chain, at = self._chains.get(core.tile, (None, 0))
        into, out = chain is not None and at > 0, chain is not None and at + 1 < chain.cores
        for work in core.work:
            if id(work) in found:
                continue
            ports = len(core.buffers)
            cycles = assumed.start + assumed.start_port * ports
            start = Delay(cycles if work.starts else 0)
            taken = self._packets.taken(core.tile, work.packets)
            for name in work.takes:
                place = core.tile, name
                end = self._of_core[place]
                writes = place in self._writes_itself
                taken += (end.store.to_write if writes else end.store.to_read)(end.index)
            # A lock for every reader: DMA channels, and cores next to this one.
            more = sum(max(0, self._readers[core.tile, name] - 1) for name in work.gives)
            # What starts a kernel calls its function: that is in the cycles of a start.
            called = 0 if work.starts else self.device.call_cycles
            taken.append(Delay(assumed.acquire * (len(work.takes) + more) + called))
            body = work.schedule.body + self.device.lost_cycles(core.shared_bytes)
            if id(work.schedule) not in words:
                words[id(work.schedule)] = self._known.words(
                    moments(work.schedule, reads=into, writes=out)
                )
            given = Delay(assumed.release * (len(work.gives) + more))
            found[id(work)] = start, tuple(taken), words[id(work.schedule)], body, given
        return found

    def _note(self, core: Core, begun: float, body: float) -> None:
        taken = self.sim.now - begun
        if self.books.first is None:
            self.books.first = begun
        self.books.busy[core.tile] += body
        self.books.stalled[core.tile] += taken - body
        if self.trace:
            self.sim.record(Event(f"tile {core.tile}", "call", begun, self.sim.now, "kernel"))
