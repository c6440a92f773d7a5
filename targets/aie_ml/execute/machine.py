"""Execution of an `ArrayProgram`: what its channels, locks, streams, cascades and kernels do.

It reads the program alone. Processes take turns until all are done; who wins a race does not
matter, since locks and streams block. Time does not exist here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from match_aie.errors import OptionError
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Channel,
    Core,
    Crossing,
    Route,
    Tile,
    Way,
)
from match_aie.targets.aie_ml.array.semaphores import Handshake
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute.cascade import (
    Added,
    Continued,
    Fifo,
    from_words,
    in_words,
    through,
)
from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.execute.functions import function, wrapped
from match_aie.targets.aie_ml.execute.logic import running
from match_aie.targets.aie_ml.execute.memory import POISON, Memory, memories, place
from match_aie.targets.aie_ml.execute.merging import mailboxes, sending
from match_aie.targets.aie_ml.execute.passes import carry, handed
from match_aie.targets.aie_ml.execute.result import Executed
from match_aie.targets.aie_ml.execute.streams import (
    Clock,
    End,
    Inlet,
    Outlet,
    Process,
    Wait,
    ends_of,
    stream,
)
from match_aie.targets.aie_ml.execute.sums import Carried, Function, Handed, Lent, Sums
from match_aie.targets.aie_ml.graph.plan import Outside
from match_aie.targets.aie_ml.kernels.numeric import as_tensor, carried_as

#: What a call sees of a buffer that it does not hold.
NOTHING = np.zeros(0, np.uint8)

#: Buffers that a core writes.
STORED = ("out", "sent")

#: Waiting processes that an error names.
NAMED = 6


def execute(
    program: ArrayProgram,
    device: Device,
    inputs: Mapping[str, np.ndarray] | Sequence[Mapping[str, np.ndarray]],
    *,
    poison: int = POISON,
    semaphores: Sequence[Handshake] | None = None,
    slow: Collection[Channel] = (),
) -> Executed:
    """Run `program` on real data.

    Args:
        program: what runs.
        device: where.
        inputs: tensors by the operand that a way carries, or by the way's own name; one mapping for
            each run.
        poison: what bytes hold that nobody has written.
        semaphores: in front of buffers, where they and not counts of each user's own say who waits.
        slow: sources of streams that make a transfer only where nothing else goes on.

    Raises:
        ExecutionError: it would hang, or reads what nobody wrote; names who and where.
        OptionError: a tensor is missing.
    """
    runs = (inputs,) if isinstance(inputs, Mapping) else tuple(inputs)
    return _Machine(program, device, runs, memories(program, poison, semaphores), slow).run()


def _words(values: np.ndarray, name: str, total: int) -> np.ndarray:
    """The words of one run that a way brings."""
    words = np.ascontiguousarray(values).reshape(-1).view(np.uint8).view(np.uint32)
    if words.size != total:
        raise ExecutionError(f"the way {name!r} brings {words.size} words, its stream {total}")
    return words


class _Machine:
    """One execution."""

    def __init__(
        self,
        program: ArrayProgram,
        device: Device,
        runs: Sequence[Mapping[str, np.ndarray]],
        held: dict[tuple[object, str], Memory],
        slow: Collection[Channel],
    ) -> None:
        self.program, self.device, self.runs = program, device, runs
        self.clock = Clock()
        self.memories = held
        self.outlets: dict[str, Outlet] = {}
        self._ways = {way.channel: way for way in program.ways}
        self._fifos = {link.source: Fifo(link, device) for link in program.cascades}
        self._west = {link.sink: self._fifos[link.source] for link in program.cascades}
        self.calls = 0
        self.processes: list[Process] = []
        self.slow: list[Process] = []
        for route in program.routes:
            late = route.source in slow
            (self.slow if late else self.processes).append(self._stream(route, slow=late))
        self._boxes = mailboxes(program)
        for late, process in sending(program, held, self._boxes, len(runs), self.clock, slow):
            (self.slow if late else self.processes).append(process)
        self.processes += running(program, held, len(runs), self.clock)
        self.processes += [self._cross(crossing) for crossing in program.crossings]
        self.processes += [self._core(core) for core in program.cores]

    def run(self) -> Executed:
        """All processes to their ends.

        Raises:
            ExecutionError: they wait for each other.
        """
        fast, slow = self.processes, self.slow
        while fast or slow:
            before, many = self.clock.events, len(fast) + len(slow)
            fast, blocked = self._turn(fast)
            if self.clock.events == before:
                slow, more = self._turn(slow)
                blocked += more
            if self.clock.events == before and many == len(fast) + len(slow):
                self._deadlock(blocked)
        return Executed(
            {name: self._carried(name, outlet) for name, outlet in self.outlets.items()},
            tuple(memory.use() for memory in self.memories.values()),
            self.calls,
            tuple(way for way in self.program.outsides if way.name in self.outlets),
        )

    def _turn(self, left: list[Process]) -> tuple[list[Process], list[Wait]]:
        """Each of them once, as far as it goes: those that are not done, and what they wait for."""
        waiting, blocked = [], []
        for process in left:
            wait = next(process, None)
            if wait is not None:
                waiting.append(process)
                blocked.append(wait)
        return waiting, blocked

    def _deadlock(self, blocked: Sequence[Wait]) -> None:
        named = dict.fromkeys(str(wait) for wait in blocked)
        shown = "; ".join(list(named)[:NAMED])
        more = f"; and {len(named) - NAMED} more" if len(named) > NAMED else ""
        raise ExecutionError(
            f"the program hangs. Waiting are {shown}{more}",
            hint="locks that are given as often as they are taken, on every way round",
        )

    def _carried(self, name: str, outlet: Outlet) -> np.ndarray:
        """Elements of a way, as a tensor has them."""
        dtype = next(way.dtype for way in self.program.outsides if way.name == name)
        return as_tensor(np.concatenate(outlet.words).view(np.uint8), dtype)

    # ------------------------------------------------------------ streams

    def _is_shim(self, tile: Tile) -> bool:
        return tile[1] < self.device.shim_rows

    def _stream(self, route: Route, *, slow: bool) -> Process:
        """A route with its ends."""
        total = route.bytes * route.sends // WORD
        source: End | Inlet
        if self._is_shim(route.source.tile):
            source = Inlet(self._sent(self._way(route.source).outside, total))
        else:
            (source,) = ends_of(
                self.program, self.memories, [self._end(route, route.source, route.reads, False)]
            )
        sinks: list[End | Outlet] = []
        for sink, name in zip(route.sinks, route.writes, strict=True):
            if self._is_shim(sink.tile):
                outlet = self.outlets.setdefault(self._way(sink).outside.name, Outlet())
                sinks.append(outlet)
            else:
                sinks += ends_of(self.program, self.memories, [self._end(route, sink, name, True)])
        many = len(self.runs) * route.sends
        return stream(source, sinks, route.bytes, many, self.clock, slow=slow)

    def _end(
        self, route: Route, channel: Channel, name: str, sink: bool
    ) -> tuple[Channel, str, int | None, bool]:
        buffer = self.program.buffer_at[channel.tile, name]
        words = route.bytes * route.sends // WORD
        return channel, name, words // buffer.fills if buffer.fills else None, sink

    def _way(self, channel: Channel) -> Way:
        if channel not in self._ways:
            raise ExecutionError(f"nothing says what {channel} carries")
        return self._ways[channel]

    def _sent(self, outside: Outside, total: int) -> np.ndarray:
        """Words of all runs."""
        found = []
        for tensors in self.runs:
            held = outside.part or outside.blocks
            if outside.values is not None:
                carried = outside.values.reshape(-1)
            else:
                names = (outside.name, held.operand if held is not None else "x")
                name = next((name for name in names if name in tensors), None)
                if name is None:
                    raise OptionError(f"no tensor {names[1]!r} for the way {names[0]!r}")
                tensor = carried_as(tensors[name], outside.dtype)
                carried = tensor.reshape(-1) if held is None else held.cut(tensor)
            found.append(_words(np.tile(carried, outside.repeats), outside.name, total))
        return np.concatenate(found)

    def _cross(self, crossing: Crossing) -> Process:
        """A stream of programmable logic."""
        total = crossing.bytes * crossing.sends // WORD
        buffer = self.program.buffer_at[crossing.channel.tile, crossing.buffer]
        words = total // buffer.fills if buffer.fills else None
        into = crossing.channel.direction == "s2mm"
        (end,) = ends_of(
            self.program,
            self.memories,
            [(crossing.channel, crossing.buffer, words, into)],
        )
        unit, many = crossing.bytes, len(self.runs)
        if not into:
            outlet = self.outlets.setdefault(crossing.outside.name, Outlet())
            return stream(end, (outlet,), unit, many * crossing.sends, self.clock)
        inlet = Inlet(self._sent(crossing.outside, total))
        return stream(inlet, (end,), unit, many * crossing.sends, self.clock)

    # ------------------------------------------------------------ cores

    def _core(self, core: Core) -> Process:
        """Call after call of all runs."""
        mine = {name: m for (tile, name), m in self.memories.items() if tile == core.tile}
        values = {n: m.buffer.values for n, m in mine.items() if m.buffer.values is not None}
        mine |= {name: self.memories[tile, buffer] for name, tile, buffer in core.lent}
        meaning = function(core.function, values)
        inputs = sorted(name for name in core.buffers if name not in STORED)
        who = {n: mine[n].writer() if n in STORED else mine[n].reader() for n in core.buffers}
        return self._calls(core, meaning, mine, inputs, who)

    def _calls(
        self,
        core: Core,
        meaning: Function,
        mine: dict[str, Memory],
        inputs: Sequence[str],
        who: dict[str, int],
    ) -> Process:
        waits = {name: self._waits(core, mine[name], name) for name in core.buffers}
        held: dict[str, int] = {}
        label = f"the kernel of core {core.tile}"
        for number in range(len(self.runs) * len(core.work)):
            at = number % len(core.work)
            work = core.work[at]
            if work.packets:
                yield from self._boxes[core.tile].take(work.packets)
            for name in work.takes:
                memory = mine[name]
                ready = memory.empty if name in STORED else memory.full
                while not ready(who[name]):
                    yield waits[name]
                take = memory.begin if name in STORED else memory.taken
                held[name] = take(who[name])
            data = [
                mine[name].whole(held[name], label) if name in held else NOTHING for name in inputs
            ]
            if work.packets:
                data.append(self._boxes[core.tile].read())
            result = meaning.call(at, data)
            self.calls += 1
            self.clock.events += 1
            stored: np.ndarray | None
            if isinstance(result, Handed):
                west, east = self._west.get(core.tile), self._fifos.get(core.tile)
                result = yield from handed(result, west, east, self.clock)
            if isinstance(result, Carried):
                yield from self._carry(core.tile, result)
                stored = self._whole(at, result, meaning)
            elif isinstance(result, Sums):
                words = self._open(core.tile, result)
                yield from self._joined(core.tile, result, words)
                sums = wrapped(from_words(words, result.spec), result.spec)
                stored = None if result.sends else meaning.finish(at, sums)
            elif isinstance(result, Lent):
                mine["sent"].store(held["sent"], result.sent)
                stored = result.stored
            else:
                stored = result
            if stored is not None:
                mine["out"].store(held["out"], stored)
            for name in work.gives:
                (mine[name].wrote if name in STORED else mine[name].read)(who[name])
                held.pop(name, None)
                self.clock.events += 1

    def _carry(self, tile: Tile, made: Carried) -> Process:
        """Blocks of a kernel that goes on from call to call."""
        words = self._open(tile, made)
        west = self._west[tile] if made.receives else None
        east = self._fifos[tile] if made.sends else None
        yield from carry(words, made, west, east, self.clock)

    def _whole(self, at: int, made: Carried, meaning: Function) -> np.ndarray | None:
        """What is stored of a call whose blocks are all drained; None where some are not."""
        spec, drained = made.spec, made.kept.drained
        if len(drained) < spec.blocks[0] * spec.blocks[1]:
            return None
        sums = from_words(np.concatenate(drained), spec)
        drained.clear()
        return meaning.finish(at, wrapped(sums, spec))

    def _waits(self, core: Core, memory: Memory, name: str) -> Wait:
        state = "an empty" if name in STORED else "a full"
        return Wait(f"core {core.tile}: {state} copy of {{}}", place(memory.buffer))

    def _open(self, tile: Tile, sums: Sums | Carried) -> np.ndarray:
        """Sums as words of the cascade, whose ends agree on their order."""
        for fifo, used in (
            (self._west.get(tile), sums.receives),
            (self._fifos.get(tile), sums.sends),
        ):
            if used and fifo is None:
                raise ExecutionError(f"core {tile} has no cascade for its sums")
            if used and fifo is not None:
                fifo.agree(sums.spec, tile)
        return in_words(sums.values, sums.spec)

    def _joined(self, tile: Tile, sums: Sums, words: np.ndarray) -> Process:
        west = self._west[tile] if sums.receives else None
        east = self._fifos[tile] if sums.sends else None
        if west is not None or east is not None:
            how = Added() if sums.factors is None else Continued(sums.spec, *sums.factors)
            yield from through(words, west, east, self.clock, how)
