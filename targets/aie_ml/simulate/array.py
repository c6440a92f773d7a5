"""The array at work: cores, DMA channels, memory tiles, streams, locks, cascades, ways in and out.

It executes an `ArrayProgram`. A buffer is the unit of transfer; a stream waits until every
destination has room (back-pressure), a core until its locks are free and until the cascade has
room or data. It knows no cost model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from math import ceil

from match_aie.simulation import (
    Acquire,
    Channel,
    Command,
    Delay,
    Event,
    Get,
    Put,
    Release,
    Resource,
    Simulator,
)
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.program import ArrayProgram, Core, Route, Tile
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.simulate.core import Moment, Step, moments, steps

#: A process of this simulator: nothing is sent to it, it returns nothing.
Run = Generator[Command, object, None]


@dataclass(frozen=True)
class Ways:
    """Ways between the array and what is around it: how many, and bytes per cycle of each."""

    inputs: int
    input_rate: float
    outputs: int
    output_rate: float


def ways(device: Device) -> Ways:
    """Streams of programmable logic (128 bits at its clock), else DMA channels to memory.

    Raises:
        TargetError: neither is known of the device.
    """
    if device.plio_in is not None and device.plio_out is not None:
        clock = device.need(device.pl_clock_mhz, "clock of programmable logic") / 1000
        rate = 16 * clock / device.clock_ghz
        inputs, outputs = device.plio_in, device.plio_out
        if device.if_to_array_gbps is not None:
            inputs = min(inputs, int(device.if_to_array_gbps / device.clock_ghz / rate))
        if device.array_to_if_gbps is not None:
            outputs = min(outputs, int(device.array_to_if_gbps / device.clock_ghz / rate))
        return Ways(inputs, rate, outputs, rate)
    inputs = device.need(device.gmio_in, "DMA channels from memory")
    outputs = device.need(device.gmio_out, "DMA channels to memory")
    rate = float(device.architecture.shim_dma.bytes_per_cycle)
    if device.dram_gbps is None:
        return Ways(inputs, rate, outputs, rate)
    # Reading and writing share the memory: half each, as long as both are at work.
    half = device.dram_gbps / device.clock_ghz / 2
    return Ways(inputs, min(rate, half / inputs), outputs, min(rate, half / outputs))


@dataclass
class Books:
    """What a run has counted: when each call's results were in memory tiles, and tiles' time."""

    done: list[float] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    busy: dict[Tile, float] = field(default_factory=lambda: defaultdict(float))
    stalled: dict[Tile, float] = field(default_factory=lambda: defaultdict(float))


class ArraySimulation:
    """One run of a program, for a number of calls of every core."""

    def __init__(
        self,
        program: ArrayProgram,
        device: Device,
        assumed: Assumed,
        calls: int,
        *,
        trace: bool = False,
    ) -> None:
        """Processes are set up, nothing has run."""
        self.program = program
        self.device = device
        self.assumed = assumed
        self.calls = calls
        self.trace = trace
        self.books = Books(missing=[program.mapping.chains] * calls)
        self.sim = Simulator(record=trace)
        arch = device.architecture
        self.rate = arch.core.dma.bytes_per_cycle
        self.hop = arch.hop_cycles
        self.ways = ways(device)
        self._way_in = Resource("ways in", self.ways.inputs)
        self._way_out = Resource("ways out", self.ways.outputs)
        self._empty: dict[tuple[Tile, str, int], Resource] = {}
        self._full: dict[tuple[Tile, str, int], Resource] = {}
        self._feeds: dict[Tile, list[tuple[str, int]]] = defaultdict(list)
        self._cascades: dict[Tile, Channel] = {}
        self._lanes: dict[tuple[int, str, int], Resource] = {}
        mapping = program.mapping
        self._steps = steps(
            mapping.row_steps,
            mapping.column_steps,
            rows_outer=mapping.outer == "m",
            streamed=mapping.streamed,
            turns=mapping.reduction_steps,
        )
        self._set_up()

    def run(self) -> Books:
        """Simulate.

        Raises:
            DeadlockError: the program cannot go on.
        """
        self.timeline = self.sim.run()
        return self.books

    def _set_up(self) -> None:
        for number, route in enumerate(self.program.routes):
            ends = (route.source,) if route.role == "out" else route.sinks
            for tile in (end.tile for end in ends):
                self._empty[tile, route.role, number] = Resource(f"empty {route.name}", 2, 2)
                self._full[tile, route.role, number] = Resource(f"full {route.name}", 2, 0)
                self._feeds[tile].append((route.role, number))
        for cascade in self.program.cascades:
            self._cascades[cascade.source] = Channel(f"cascade {cascade.source}", 1)
        lanes: dict[tuple[Tile, int, str], list[tuple[int, Route]]] = defaultdict(list)
        for number, route in enumerate(self.program.routes):
            if route.role == "out":
                self._spawn_result(number, route)
            else:
                key = (route.source.tile, route.source.index, route.role)
                lanes[key].append((number, route))
        for members in lanes.values():
            self._spawn_lane(members)
        west = {cascade.sink: cascade.source for cascade in self.program.cascades}
        plans: dict[int, tuple[tuple[Moment, ...], ...]] = {}
        for core in self.program.cores:
            if core.at not in plans:
                plans[core.at] = tuple(moments(t, self.assumed.cascade) for t in core.turns)
            process = self._core(
                core, plans[core.at], self._cascades.get(west.get(core.tile, core.tile))
            )
            self.sim.spawn(f"core {core.tile}", process)

    def _sends(self, role: str) -> int:
        """Transfers that the simulated calls need."""
        takes = [step.takes_a if role == "a" else step.takes_w for step in self._steps]
        whole, rest = divmod(self.calls * self.program.mapping.reduction_steps, len(takes))
        return whole * sum(takes) + sum(takes[:rest])

    def _spawn_lane(self, members: list[tuple[int, Route]]) -> None:
        """Slices that take turns on a lane, in order; or a route with a lane of its own."""
        mapping = self.program.mapping
        role = members[0][1].role
        count = self._sends(role)
        if not count:
            return
        streams = []
        for number, route in members:
            tokens = None
            if role == "a" or mapping.home == "chip":
                depth = 2 * self._fresh if self._holds(route) else 2
                tokens = Channel(f"slices for {route.name}", depth)
                feeds = self._feed_count(route, count)
                self.sim.spawn(f"feed {route.name}", self._feed(route, tokens, feeds))
            streams.append(self._stream(number, route, tokens, count))
        self.sim.spawn(members[0][1].name, self._turns(streams, members[0][1]))

    def _turns(self, streams: list[list[tuple[Command, ...]]], route: Route) -> Run:
        """One transfer of each stream after the other."""
        yield Delay(self.hop * len({hop.tile for hop in route.hops}))
        for transfers in zip(*streams, strict=True):
            for transfer in transfers:
                yield from transfer

    @property
    def _fresh(self) -> int:
        """Slices of activations that differ, of one tile in one run of the layer."""
        return self.program.mapping.row_steps * self.program.mapping.reduction_steps

    def _holds(self, route: Route) -> bool:
        return route.role == "a" and self.program.inputs_held

    def _feed_count(self, route: Route, count: int) -> int:
        """Slices that come from outside: once a run of the layer where they are kept."""
        if not self._holds(route):
            return count
        per_run = self.program.mapping.input_sends()
        fresh = self._fresh
        whole, rest = divmod(count, per_run)
        return whole * fresh + min(rest, fresh)

    def _feed(self, route: Route, tokens: Channel, count: int) -> Run:
        """Slices come in through any free way."""
        take, give, put = Acquire(self._way_in), Release(self._way_in), Put(tokens)
        move = Delay(ceil(route.bytes / self.ways.input_rate), f"feed {route.name}", "in", "dma")
        for _ in range(count):
            yield take
            yield move
            yield give
            yield put

    def _stream(
        self, number: int, route: Route, tokens: Channel | None, count: int
    ) -> list[tuple[Command, ...]]:
        """A memory tile's channel: what each transfer to all sinks at once takes."""
        ready = [Acquire(self._empty[s.tile, route.role, number]) for s in route.sinks]
        done = [Release(self._full[s.tile, route.role, number]) for s in route.sinks]
        name = f"dma {route.source.tile} {route.source.index}"
        cycles = self.assumed.descriptor + ceil(route.bytes / self.rate)
        again: tuple[Command, ...] = (*ready, Delay(cycles, name, route.name, "dma"), *done)
        if tokens is None:
            return [again] * count
        per_run, fresh = self.program.mapping.input_sends(), self._fresh
        new: tuple[Command, ...] = (Get(tokens), *again)
        held = self._holds(route)
        return [new if not held or at % per_run < fresh else again for at in range(count)]

    def _spawn_result(self, number: int, route: Route) -> None:
        kept = Channel(f"results of {route.name}", 2)
        self.sim.spawn(route.name, self._result(number, route, kept))
        self.sim.spawn(f"leave {route.name}", self._leave(route, kept))

    def _result(self, number: int, route: Route, kept: Channel) -> Run:
        """Results of a chain go down to a memory tile."""
        books = self.books
        lane = None
        if route.packet:
            down = (route.hops[-1].tile[0], *route.hops[-2].master)
            lane = self._lanes.setdefault(down, Resource(f"lane {down}"))
        key = (route.source.tile, "out", number)
        full, empty = Acquire(self._full[key]), Release(self._empty[key])
        cycles = self.assumed.descriptor + ceil(route.bytes / self.rate)
        move = Delay(cycles, f"dma {route.source.tile} out", route.name, "dma")
        hops = self.hop * len({hop.tile for hop in route.hops})
        for call in range(self.calls):
            yield full
            if lane is not None:
                yield Acquire(lane)
            yield move
            if lane is not None:
                yield Release(lane)
            yield empty
            yield Put(kept)
            books.missing[call] -= 1
            if not books.missing[call]:
                books.done.append(self.sim.now + hops)

    def _leave(self, route: Route, kept: Channel) -> Run:
        """Results leave the memory tile."""
        move = Delay(ceil(route.bytes / self.ways.output_rate), f"leave {route.name}", "out", "dma")
        for _ in range(self.calls):
            yield Get(kept)
            yield Acquire(self._way_out)
            yield move
            yield Release(self._way_out)

    def _core(self, core: Core, plans: tuple[tuple[Moment, ...], ...], west: Channel | None) -> Run:
        """Call after call: start, then turn by turn locks, body, locks."""
        assumed = self.assumed
        ports = len(core.buffers)
        start = Delay(assumed.start + assumed.start_port * ports)
        feeds = self._feeds[core.tile]
        bodies = [turn.body + self._bank_stall() for turn in core.turns]
        waits = [
            self._waits(core, plan, west, body) for plan, body in zip(plans, bodies, strict=True)
        ]
        for turn in range(self.calls * len(bodies)):
            step, of_call = self._steps[turn % len(self._steps)], turn % len(bodies)
            if step.begins:
                yield start
            taken = _taken(feeds, step)
            for role, number in taken:
                state = self._empty if role == "out" else self._full
                yield Acquire(state[core.tile, role, number])
            yield Delay(assumed.acquire * len({role for role, _ in taken}))
            begun = self.sim.now
            yield from waits[of_call]
            self._note(core, begun, bodies[of_call])
            given = _given(feeds, step)
            yield Delay(assumed.release * len({role for role, _ in given}))
            for role, number in given:
                state = self._full if role == "out" else self._empty
                yield Release(state[core.tile, role, number])

    def _note(self, core: Core, begun: float, body: float) -> None:
        taken = self.sim.now - begun
        self.books.busy[core.tile] += body
        self.books.stalled[core.tile] += taken - body
        if self.trace:
            self.sim.record(Event(f"tile {core.tile}", "call", begun, self.sim.now, "kernel"))

    def _bank_stall(self) -> int:
        """Cycles that the core loses where the DMA writes into a bank that it loads from."""
        shared = self.program.shared_bytes
        if not shared:
            return 0
        arch = self.device.architecture
        width = self.device.need(arch.core.banks.width_bits, "width of a memory bank") // 8
        return ceil(shared / width) * arch.latency("bank_conflict_penalty")

    def _waits(
        self, core: Core, plan: tuple[Moment, ...], west: Channel | None, body: int
    ) -> tuple[Command, ...]:
        """Commands of a call's body; cascade waits shift all that follows."""
        commands: list[Command] = []
        now = 0
        east = self._cascades.get(core.tile)
        for moment in plan:
            if moment.cycle > now:
                commands.append(Delay(moment.cycle - now))
                now = moment.cycle
            if moment.action == "get" and west is not None:
                commands.append(Get(west))
            elif moment.action == "put" and east is not None:
                commands.append(Put(east))
        if body > now:
            commands.append(Delay(body - now))
        return tuple(commands)


def _taken(feeds: list[tuple[str, int]], step: Step) -> list[tuple[str, int]]:
    wanted = {"a": step.takes_a, "w": step.takes_w, "out": step.begins}
    return [feed for feed in feeds if wanted[feed[0]]]


def _given(feeds: list[tuple[str, int]], step: Step) -> list[tuple[str, int]]:
    wanted = {"a": step.gives_a, "w": step.gives_w, "out": step.ends}
    return [feed for feed in feeds if wanted[feed[0]]]
