"""Reads a printed text back into its `ArrayProgram`.

What the reader takes from the text it needs; all else (lock values, addresses, order of blocks)
must be what the program that it found is printed as, line by line. So a text that it takes says
exactly what the program says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Buffer,
    Cascade,
    Channel,
    Core,
    Descriptor,
    Direction,
    Lock,
    Route,
    State,
    Tile,
    Way,
    Work,
)
from match_aie.targets.aie_ml.array.router import ORDERS, routed
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.xdna.mlir.chains import joined
from match_aie.targets.xdna.mlir.dialect import Dialect, dialect_of
from match_aie.targets.xdna.mlir.dmas import moved
from match_aie.targets.xdna.mlir.kernels import Kernels
from match_aie.targets.xdna.mlir.sequence import rounds_of
from match_aie.targets.xdna.mlir.syntax import (
    Line,
    TextError,
    as_number,
    attributes_of,
    ending,
    held_to,
    lines,
)
from match_aie.targets.xdna.mlir.text import text as printed
from match_aie.targets.xdna.mlir.turns import turns_symbol

#: Attributes that every buffer has.
_NEEDED = tuple(f"match.{n}" for n in ("at", "banks", "bytes", "copy", "fills", "name", "role"))

_PORTS = r"\(%(\w+), DMA : (\d+), %(\w+), DMA : (\d+)\)"

#: What the sequence writes into a buffer; an operand has its value in its name.
_WRITTEN = re.compile(r"aiex\.npu\.rtp_write\(@(\w+), 0, (?:%number)?(\d+)\)")

_MODULE = re.compile(r'module attributes \{match\.mlir = "([^"]*)"\} \{\n')


def read(text: str, device: Device, kernels: Kernels) -> ArrayProgram:
    """The program that `text` says, its streams routed anew.

    Args:
        text: as `text` prints it, in any of its dialects.
        device: that it is for.
        kernels: what it refers to.

    Raises:
        TextError: it says something else than any program is printed as; names the line.
        TargetError: a function or way is not among `kernels`.
    """
    module = _MODULE.match(text)
    if module is None:
        raise TextError("no module of this project", where="line 1")
    dialect = dialect_of(module[1])
    program = _Reader(kernels, dialect).read(text)
    if program.device != dialect.device(device):
        raise TargetError(f"a text for {program.device}, read for {device.name}")
    program = replace(program, device=device.name)
    says = rounds_of(program, text)
    again = printed(program, device, dialect, turned=bool(_WRITTEN.search(text)), rounds=says)
    held_to(text, again)
    places = [tile[0] for tile in (*program.core_at, *(b.tile for b in program.buffers))]
    region = min(places), max(places)
    return replace(program, routes=tuple(routed(list(program.routes), device, region, ORDERS)))


class _Reader:
    """One text."""

    def __init__(self, kernels: Kernels, dialect: Dialect) -> None:
        self.kernels, self.dialect = kernels, dialect
        self.tiles: dict[str, Tile] = {}
        self.buffers: dict[int, Buffer] = {}
        self.copies: dict[str, tuple[str, int]] = {}
        #: Copies of each buffer that there are.
        self.held: dict[int, set[int]] = {}
        self.locks: dict[str, Lock] = {}
        #: Buffers of all semaphores.
        self.counted: dict[str, str] = {}
        self.descriptors: dict[int, Descriptor] = {}
        self.flows: list[tuple[Channel, Channel, Line]] = []
        self.cascades: list[Cascade] = []
        self.ways: list[Way] = []
        self.cores: list[Core] = []
        self.tile: Tile = (0, 0)
        self.channel: Channel | None = None
        self.works: list[Work] = []
        self.takes: list[str] = []
        #: Loops of a core that are open: turns, and calls before them.
        self.open: list[tuple[int, int]] = []
        #: Numbers that the sequence writes, by buffer.
        self.written: Mapping[str, int] = {}
        self.device = ""

    def read(self, text: str) -> ArrayProgram:
        """All lines, one after the other."""
        self.written = {name: int(value) for name, value in _WRITTEN.findall(text)}
        closing: Line | None = None
        opened: list[str] = []
        for line in lines(text):
            if line.name == "}":
                if not opened:
                    raise line.fail("nothing is open")
                self._close(opened.pop(), line)
                closing = line
                continue
            if line.opens:
                opened.append(line.name)
            self._line(line, core="aie.core" in opened)
        if closing is None or not self.device:
            raise TextError("no device")
        for at, held in self.held.items():
            if held != set(range(self.buffers[at].copies)):
                raise TextError(f"copies {sorted(held)} of buffer {self.buffers[at].name}")
        return ArrayProgram(
            device=self.device,
            cores=tuple(self.cores),
            buffers=tuple(self.buffers[at] for at in sorted(self.buffers)),
            locks=tuple(self._counted(lock) for lock in self.locks.values()),
            descriptors=tuple(self.descriptors[at] for at in sorted(self.descriptors)),
            routes=self._routes(),
            cascades=tuple(self.cascades),
            crossings=(),
            macs=closing.integer("match.macs"),
            core_macs=closing.integer("match.core_macs"),
            walks=self.kernels.walks,
            ways=tuple(self.ways),
        )

    def _line(self, line: Line, *, core: bool) -> None:
        """One operation; those of which nothing is read must be printed alike."""
        if line.name == "aie.device":
            (self.device,) = line.match(r"\((\w+)\)")
        elif line.name == "aie.tile":
            column, row = line.match(r"\((\d+), (\d+)\)")
            self.tiles[line.result] = int(column), int(row)
        elif line.name == "aie.lock":
            self._lock(line)
        elif line.name == "aie.buffer":
            self._buffer(line)
        elif line.name == "aie.flow":
            self._flow(line)
        elif line.name == "aie.cascade_flow":
            names = line.match(r"\(%(\w+), %(\w+)\)")
            self.cascades.append(Cascade(*(self._tile(line, name) for name in names)))
        elif line.name in ("aie.mem", "aie.memtile_dma", "aie.core"):
            (name,) = line.match(r"\(%(\w+)\)")
            self.tile, self.works, self.takes, self.open = self._tile(line, name), [], [], []
        elif line.name == "aie.dma_start":
            way, index = line.match(r"\((S2MM|MM2S), (\d+),")
            self.channel = Channel(self.tile, cast(Direction, way.lower()), int(index))
        elif line.name == "aie.dma_bd":
            self._descriptor(line)
        elif line.name == "aie.shim_dma_allocation":
            self._way(line)
        elif core:
            self._in_core(line)

    def _in_core(self, line: Line) -> None:
        if line.name == "aie.use_lock":
            self._used(line)
        elif line.name == "func.call":
            self._called(line)
        elif line.name == "scf.for":
            (turns,) = line.match(r"%\w+ = %first to %(\w+) step %step \{")
            if turns == "forever":
                turns = "count1"
            if turns == "turns":
                turns = f"count{self._pairs(line)}"
            many = turns.removeprefix("count")
            if not many.isdigit():
                raise line.fail("not of the form that is printed")
            self.open.append((int(many), len(self.works)))

    def _close(self, name: str, line: Line) -> None:
        """The end of a region."""
        if name == "scf.for":
            turns, first = self.open.pop()
            self.works[first:] = self.works[first:] * turns
        elif name == "aie.core":
            self._end_core(line)

    def _tile(self, line: Line, name: str) -> Tile:
        if name not in self.tiles:
            raise line.fail(f"no tile {name}")
        return self.tiles[name]

    # ------------------------------------------------------------ declarations

    def _lock(self, line: Line) -> None:
        (name,) = line.match(r"\(%(\w+), \d+\)")
        buffer = line.string("match.buffer")
        self.counted[line.result] = buffer
        if "match.state" not in line.attributes:
            return  # one more semaphore of the buffer
        state = cast(State, line.string("match.state"))
        index, highest = line.integer("match.index"), line.integer("match.highest")
        tile = self._tile(line, name)
        # What an empty one begins with are the buffer's copies, which come behind. What the
        # hardware counts follows from the whole program, and is compared with the text in the end.
        self.locks[line.result] = Lock(tile, index, buffer, state, 0, highest)

    def _counted(self, lock: Lock) -> Lock:
        """With what it begins with."""
        named = {(b.tile, b.name): b.copies for b in self.buffers.values()}
        copies = named.get((lock.tile, lock.buffer), 0)
        return replace(lock, initial=copies) if lock.state == "empty" else lock

    def _buffer(self, line: Line) -> None:
        (name,) = line.match(r"\(%(\w+)\)")
        tile, given = self._tile(line, name), attributes_of(line)
        if "match.scratch" in given:
            return  # a part of the stack's buffer
        lacking = [name for name in _NEEDED if name not in given]
        if lacking:
            raise line.fail(f"a buffer without {lacking[0]}")
        at = as_number(given["match.at"])
        held = self.buffers.get(at)
        one = None if held is None else replace(held, copies=held.copies + 1)
        self.buffers[at] = one or self._declared(line, tile)
        copy = as_number(given["match.copy"])
        self.copies[line.result] = self.buffers[at].name, copy
        self.held.setdefault(at, set()).add(copy)

    def _declared(self, line: Line, tile: Tile) -> Buffer:
        given = attributes_of(line)
        written, dtype = given.get("match.written"), given.get("match.dtype")
        values = None
        if isinstance(dtype, str):
            (content,) = ending(line, r'= dense<"0x([0-9A-F]*)">')
            values = np.frombuffer(bytes.fromhex(content), np.dtype(dtype)).copy()
        banks = given["match.banks"]
        return Buffer(
            name=str(given["match.name"]),
            tile=tile,
            banks=banks if isinstance(banks, tuple) else (),
            bytes=as_number(given["match.bytes"]),
            copies=1,
            role=str(given["match.role"]),
            fills=as_number(given["match.fills"]),
            laps=as_number(given.get("match.laps", 1)),
            written=None if written is None else as_number(written),
            values=values,
        )

    def _way(self, line: Line) -> None:
        if self.dialect.allocation_tile:
            form = r"@(\w+) \(%(\w+), (S2MM|MM2S), (\d+)\)"
            name, tile, way, index = line.match(form)
        else:
            name, way, index, column = line.match(r"@(\w+)\((S2MM|MM2S), (\d+), (\d+)\)")
            tile = f"tile_{column}_0"
        if name not in self.kernels.outsides:
            raise TargetError(f"nothing says what the way {name!r} carries")
        channel = Channel(self._tile(line, tile), cast(Direction, way.lower()), int(index))
        self.ways.append(Way(channel, self.kernels.outsides[name]))

    # ------------------------------------------------------------ streams

    def _flow(self, line: Line) -> None:
        source, out, sink, into = line.match(_PORTS)
        begin = Channel(self._tile(line, source), "mm2s", int(out))
        self.flows.append((begin, Channel(self._tile(line, sink), "s2mm", int(into)), line))

    def _descriptor(self, line: Line) -> None:
        name, offset, words, made = moved(line, self.dialect)
        if name not in self.copies or self.channel is None:
            raise line.fail(f"no buffer {name}")
        buffer, copy = self.copies[name]
        turns = line.listed("match.iteration")
        if len(turns) not in (0, 2):
            raise line.fail("no iteration")
        descriptor = Descriptor(
            self.channel,
            line.integer("bd_id"),
            buffer,
            copy,
            words,
            made.dims,
            made.pads,
            offset,
            (turns[0], turns[1]) if turns else None,
        )
        if "match.rest" in line.attributes:
            self._rest(line, descriptor)
        elif "match.at" in line.attributes:
            self.descriptors[line.integer("match.at")] = descriptor

    def _rest(self, line: Line, rest: Descriptor) -> None:
        """All but the first piece of a descriptor."""
        at, split = line.integer("match.rest"), line.integer("match.split")
        first = self.descriptors.get(at)
        alike = first is not None and len(first.pad) == len(rest.pad) <= len(rest.dims)
        if first is None or not alike or split >= max(1, len(rest.dims)):
            raise line.fail("the rest of no descriptor")
        self.descriptors[at] = joined(first, rest, split)

    def _routes(self) -> tuple[Route, ...]:
        """Flows of one source are one stream."""
        found: dict[Channel, list[tuple[Channel, Line]]] = {}
        for source, sink, line in self.flows:
            found.setdefault(source, []).append((sink, line))
        touched = {one.channel: one.buffer for one in self.descriptors.values()}
        return tuple(
            Route(
                name=sinks[0][1].string("match.name"),
                source=source,
                sinks=tuple(sink for sink, _ in sinks),
                hops=(),
                bytes=sinks[0][1].integer("match.bytes"),
                sends=sinks[0][1].integer("match.sends"),
                packet=False,
                role=cast(Literal["a", "w", "out"], sinks[0][1].string("match.role")),
                reads=touched.get(source, ""),
                writes=tuple(touched.get(sink, "") for sink, _ in sinks),
            )
            for source, sinks in found.items()
        )

    # ------------------------------------------------------------ cores

    def _used(self, line: Line) -> None:
        name, action = line.match(r"\(%(\w+), (AcquireGreaterEqual|Release),")
        if name not in self.counted:
            raise line.fail(f"no lock {name}")
        buffer = self.counted[name]
        if action != "Release":
            self.takes.append(buffer)
        elif self.works:
            self.works[-1] = replace(self.works[-1], gives=(*self.works[-1].gives, buffer))

    def _called(self, line: Line) -> None:
        (name,) = line.match(r"@(\w+)\(")
        if name not in self.kernels.functions:
            raise TargetError(f"no object file has the function {name!r}")
        f = self.kernels.functions[name]
        self.works.append(Work(f.schedule, tuple(self.takes), (), f.starts, f.uses, f.result))
        self.takes = []

    def _pairs(self, line: Line) -> int:
        """Pairs of turns that the host's sequence writes into the core."""
        name = turns_symbol(self.tile)
        if name not in self.written:
            raise line.fail(f"no sequence writes {name}")
        return self.written[name]

    def _run(self, line: Line) -> tuple[Work, ...]:
        """The calls of one run, of a core whose attributes are these."""
        if "match.blocks" not in line.attributes:
            return _first(self.works, line.integer("match.runs"), line)
        whole = self.works * line.integer("match.blocks")
        each, rest = divmod(len(whole), max(1, line.integer("match.firings")))
        if rest or not each:
            raise line.fail(f"{len(whole)} calls of so many firings")
        return tuple(replace(one, starts=at % each == 0) for at, one in enumerate(whole))

    def _end_core(self, line: Line) -> None:
        """The attributes of a core are behind its body."""
        banks, name = line.integers("match.banks"), line.string("match.name")
        at, size = line.integer("match.at"), line.integer("match.bytes")
        self.buffers[at] = Buffer(name, self.tile, banks, size, 1, "stack")
        linked = self.kernels.linked.get(self.tile)
        if linked is None:
            raise line.fail(f"no object file for core {self.tile}")
        work = self._run(line)
        self.cores.append(
            Core(self.tile, work, linked.program_bytes, linked.shared_bytes, linked.call)
        )


def _first(works: Sequence[Work], runs: int, line: Line) -> tuple[Work, ...]:
    """The calls of one of so many runs."""
    if runs < 1 or len(works) % runs:
        raise line.fail(f"{len(works)} calls are not {runs} runs")
    return tuple(works[: len(works) // runs])
