"""Reads a printed text back into its `ArrayProgram`.

What the reader takes from the text it needs; all else (lock values, addresses, order of blocks)
must be what the program that it found is printed as, line by line. So a text that it takes says
exactly what the program says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
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
from match_aie.targets.xdna.mlir.kernels import Kernels
from match_aie.targets.xdna.mlir.syntax import Line, TextError, attributes, lines, pairs
from match_aie.targets.xdna.mlir.text import text as printed

#: Attributes that every buffer has.
_NEEDED = ("match.at", "match.banks", "match.bytes", "match.name", "match.role", "match.fills")

_PORTS = r"\(%(\w+), DMA : (\d+), %(\w+), DMA : (\d+)\)"


def read(text: str, device: Device, kernels: Kernels) -> ArrayProgram:
    """The program that `text` says, its streams routed anew.

    Args:
        text: as `text` prints it.
        device: that it is for.
        kernels: what it refers to.

    Raises:
        TextError: it says something else than any program is printed as; names the line.
        TargetError: a function or way is not among `kernels`.
    """
    program = _Reader(kernels).read(text)
    if program.device != device.name:
        raise TargetError(f"a text for {program.device}, read for {device.name}")
    pairs_of = zip_longest(text.splitlines(), printed(program, device).splitlines(), fillvalue="")
    for number, (given, wanted) in enumerate(pairs_of, start=1):
        if given != wanted:
            raise TextError(
                f"{given.strip()[:100]!r}, where the program says {wanted.strip()[:100]!r}",
                where=f"line {number}",
            )
    columns = [core.tile[0] for core in program.cores]
    columns += [buffer.tile[0] for buffer in program.buffers]
    region = min(columns), max(columns)
    return replace(program, routes=tuple(routed(list(program.routes), device, region, ORDERS)))


class _Reader:
    """One text."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.tiles: dict[str, Tile] = {}
        self.buffers: dict[int, Buffer] = {}
        self.copies: dict[str, tuple[str, int]] = {}
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
        self.device = ""

    def read(self, text: str) -> ArrayProgram:
        """All lines, one after the other."""
        closing: Line | None = None
        open_core = False
        for line in lines(text):
            if line.name == "}":
                if open_core:
                    self._end_core(line)
                open_core, closing = False, line
                continue
            if line.name == "aie.core":
                (name,) = line.match(r"\(%(\w+)\)")
                self.tile, self.works, self.takes, open_core = self._tile(line, name), [], [], True
            self._line(line, core=open_core)
        if closing is None or not self.device:
            raise TextError("no device")
        return ArrayProgram(
            device=self.device,
            cores=tuple(self.cores),
            buffers=tuple(self.buffers[at] for at in sorted(self.buffers)),
            locks=tuple(self.locks.values()),
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
        elif line.name in ("aie.mem", "aie.memtile_dma"):
            (name,) = line.match(r"\(%(\w+)\)")
            self.tile = self._tile(line, name)
        elif line.name == "aie.dma_start":
            way, index = line.match(r"\((S2MM|MM2S), (\d+),")
            self.channel = Channel(self.tile, cast(Direction, way.lower()), int(index))
        elif line.name == "aie.dma_bd":
            self._descriptor(line)
        elif line.name == "aie.shim_dma_allocation":
            self._way(line)
        elif core and line.name == "aie.use_lock":
            self._used(line)
        elif core and line.name == "func.call":
            self._called(line)

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

    def _buffer(self, line: Line) -> None:
        (name,) = line.match(r"\(%(\w+)\)")
        at, tile = _number(_given(line)["match.at"]), self._tile(line, name)
        held = self.buffers.get(at)
        if held is not None:
            self.buffers[at] = replace(held, copies=held.copies + 1)
        else:
            self.buffers[at] = self._declared(line, tile)
        self.copies[line.result] = self.buffers[at].name, self.buffers[at].copies - 1
        for key, lock in self.locks.items():
            if (lock.tile, lock.buffer, lock.state) == (tile, self.buffers[at].name, "empty"):
                self.locks[key] = replace(lock, initial=self.buffers[at].copies)

    def _declared(self, line: Line, tile: Tile) -> Buffer:
        given = _given(line)
        written, dtype = given.get("match.written"), given.get("match.dtype")
        values = None
        if isinstance(dtype, str):
            (content,) = _last(line, r'= dense<"0x([0-9A-F]*)">')
            values = np.frombuffer(bytes.fromhex(content), np.dtype(dtype)).copy()
        banks = given["match.banks"]
        return Buffer(
            name=str(given["match.name"]),
            tile=tile,
            banks=banks if isinstance(banks, tuple) else (),
            bytes=_number(given["match.bytes"]),
            copies=1,
            role=str(given["match.role"]),
            fills=_number(given["match.fills"]),
            written=None if written is None else _number(written),
            values=values,
        )

    def _way(self, line: Line) -> None:
        name, tile, way, index = line.match(r"@(\w+) \(%(\w+), (S2MM|MM2S), (\d+)\)")
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
        form = (
            r"\(%(\w+) : memref<[^>]*>, (\d+), (\d+)(?:, (\[<size[^\]]*\]))?(?:, (\[<c[^\]]*\]))?"
        )
        name, offset, words, sizes, pads = line.match(form)
        if name not in self.copies or self.channel is None:
            raise line.fail(f"no buffer {name}")
        buffer, copy = self.copies[name]
        dims, pad = pairs(sizes), pairs(pads)
        made = Descriptor(
            self.channel,
            line.integer("bd_id"),
            buffer,
            copy,
            int(words),
            dims,
            pad,
            int(offset),
        )
        if "match.rest" in line.attributes:
            self._rest(line, made)
        elif "match.again" not in line.attributes:
            self.descriptors[line.integer("match.at")] = made

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

    def _end_core(self, line: Line) -> None:
        """The attributes of a core are behind its body."""
        banks, name = line.integers("match.banks"), line.string("match.name")
        at, size = line.integer("match.at"), line.integer("stack_size")
        self.buffers[at] = Buffer(name, self.tile, banks, size, 1, "stack")
        linked = self.kernels.linked.get(self.tile)
        if linked is None:
            raise line.fail(f"no object file for core {self.tile}")
        work = _first(self.works, line.integer("match.runs"), line)
        self.cores.append(
            Core(self.tile, work, linked.program_bytes, linked.shared_bytes, linked.call)
        )


def _given(line: Line) -> dict[str, int | str | tuple[int, ...]]:
    """Attributes of a buffer, which its type and values follow."""
    (inside,) = line.match(r"[^{]*(\{[^}]*\})")
    given = dict(attributes(inside))
    lacking = [name for name in _NEEDED if name not in given]
    if lacking:
        raise line.fail(f"a buffer without {lacking[0]}")
    return given


def _last(line: Line, pattern: str) -> tuple[str, ...]:
    return line.match(r".*" + pattern)


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TextError(f"{value!r} is no number")
    return value


def _first(works: Sequence[Work], runs: int, line: Line) -> tuple[Work, ...]:
    """The calls of one of so many runs."""
    if runs < 1 or len(works) % runs:
        raise line.fail(f"{len(works)} calls are not {runs} runs")
    return tuple(works[: len(works) // runs])
