"""Prints an `ArrayProgram` as MLIR-AIE: one operation a line, the same bytes always."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np

from match_aie.errors import Infeasible, InfeasibleError, InternalError, TargetError
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Buffer,
    Channel,
    Core,
    Route,
    State,
    Tile,
)
from match_aie.targets.aie_ml.array.semaphores import Handshake, User, handshakes, semaphores
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.xdna.mlir.body import body
from match_aie.targets.xdna.mlir.chains import Block, chains
from match_aie.targets.xdna.mlir.cores import CoreText, lock_values
from match_aie.targets.xdna.mlir.dialect import DEFAULT, Dialect
from match_aie.targets.xdna.mlir.dmas import DmaText
from match_aie.targets.xdna.mlir.forms import (
    attributes,
    lock_symbol,
    memref,
    numbers,
    port,
    symbol,
    tile_name,
)
from match_aie.targets.xdna.mlir.host import allocations, global_symbols, host_arguments
from match_aie.targets.xdna.mlir.kernels import arguments, names
from match_aie.targets.xdna.mlir.loops import looped
from match_aie.targets.xdna.mlir.objects import initial, object_name, scratch_bytes
from match_aie.targets.xdna.mlir.places import Addresses, addresses, stack_bytes
from match_aie.targets.xdna.mlir.rules import distinct, transferred, verified
from match_aie.targets.xdna.mlir.sequence import ONCE, Limits, Round, moved_by, sequence
from match_aie.targets.xdna.mlir.turns import (
    TURNS_BYTES,
    TurnsText,
    functions,
    reads_turns,
    room_for_turns,
    told_of,
    told_shift,
    turned,
    turned_names,
    turns_symbol,
)


def text(
    program: ArrayProgram,
    device: Device,
    dialect: Dialect = DEFAULT,
    *,
    turned: bool = False,
    rounds: Sequence[Round] = ONCE,
) -> str:
    """The module.

    Args:
        program: laid out on a Ryzen AI processor, fed by the chip's memory.
        device: that processor.
        dialect: version of the text.
        turned: whether cores of products read at run time how many turns a call has (`turns`).
        rounds: what the sequence moves, one behind the other.

    Raises:
        TargetError: the program is of another device, or has what the text does not say.
        InfeasibleError: semaphores, descriptors, transfers, addresses or calls do not fit.
    """
    if program.device != device.name or not device.architecture.name.startswith("XDNA"):
        raise TargetError(f"a program for {program.device} is no text for {device.name}")
    if program.crossings or program.logics:
        raise TargetError("streams of programmable logic are not in the text")
    if program.merges or any(route.packet for route in program.routes):
        raise TargetError("packets are not in the text")
    if any(core.lent for core in program.cores):
        raise TargetError("buffers that a neighbour reads are not in the text")
    found = handshakes(program)
    _refuse(semaphores(found, device))
    printer = _Printer(program, device, found, dialect, turned=turned, rounds=rounds)
    _refuse(verified(program, device, printer.chains, dialect))
    _refuse(transferred(host_arguments(program, moved_by(program, rounds)), device))
    lines = list(printer.lines())
    _refuse(distinct(lines, dialect))
    head = f'module attributes {{match.mlir = "{dialect.name}"}} {{'
    return "\n".join((head, *(f"  {line}" for line in lines), "}")) + "\n"


def _refuse(violations: Iterator[Violation]) -> None:
    """Say the first of them, if there is one."""
    for wrong in violations:
        what = f"{wrong.where}: {wrong.what}"
        raise InfeasibleError(Infeasible(what, wrong.demand, wrong.bound, "", (wrong.remedy,)))


class _Printer:
    """One program."""

    def __init__(
        self,
        program: ArrayProgram,
        device: Device,
        found: Sequence[Handshake],
        dialect: Dialect,
        *,
        turned: bool,
        rounds: Sequence[Round],
    ) -> None:
        self.program, self.device, self.dialect = program, device, dialect
        self.turned, self.rounds = turned, rounds
        self.handshakes = {(one.buffer.tile, one.buffer.name): one for one in found}
        self.chains: Mapping[Channel, tuple[Block, ...]] = chains(program, device, found)
        self.at: Addresses = addresses(program, device)
        self.names = turned_names(program) if turned else names(program)
        self.bank = logical_banks(device)[1]

    def lines(self) -> Iterator[str]:
        """Of the device."""
        p = self.program
        yield f"aie.device({self.dialect.device(self.device)}) {{"
        yield from (f"  {line}" for line in self._inside())
        yield f"}} {{match.core_macs = {p.core_macs} : i64, match.macs = {p.macs} : i64}}"

    def _inside(self) -> Iterator[str]:
        yield from self._functions()
        yield from global_symbols(self.program, self.dialect)
        parts = (self._tiles(), self._locks(), self._buffers(), self._flows(), self._dmas())
        for part in (*parts, *map(self._core, self.program.cores)):
            yield from part
        yield from allocations(self.program, self.dialect)
        writes = told_of(self.program) if self.turned else {}
        named = {turns_symbol(tile): value for tile, value in writes.items()}
        arch = self.device.architecture
        depth = self.device.need(arch.shim_dma.queue_depth, "queues of interface tiles")
        limits = Limits(arch.descriptors["shim"], depth)
        yield from sequence(self.program, self.dialect, limits, named, self.rounds)

    def _reads(self, core: Core) -> bool:
        """Whether a core reads its number of turns."""
        return self.turned and reads_turns(core)

    # ------------------------------------------------------------ declarations

    def _functions(self) -> Iterator[str]:
        seen: dict[str, tuple[str, str]] = {}
        for core in self.program.cores:
            types = [memref(b.bytes) for b in arguments(self.program, core.tile)]
            extra = scratch_bytes(core.function)
            types += [memref(extra)] if extra else []
            for name in functions(core) if self._reads(core) else self.names[core.tile]:
                seen[name] = ", ".join((*types, "i32")), object_name(core)
            if self._reads(core) and told_shift(core) is not None:
                seen[functions(core)[-1]] = ", ".join((*types, "i32", "i32")), object_name(core)
        for name, (given, file) in seen.items():
            link = "" if self.dialect.core_links else f' attributes {{link_with = "{file}"}}'
            yield f"func.func private @{name}({given}){link}"

    def _tiles(self) -> Iterator[str]:
        p = self.program
        found = {b.tile for b in p.buffers} | {core.tile for core in p.cores}
        for route in p.routes:
            found |= {channel.tile for channel in (route.source, *route.sinks)}
        for tile in sorted(found):
            yield f"%{tile_name(tile)} = aie.tile({tile[0]}, {tile[1]})"

    def _locks(self) -> Iterator[str]:
        """Semaphores; the first ones that count empty and full copies are the program's locks."""
        counted = {(lock.tile, lock.buffer, lock.state): lock for lock in self.program.locks}
        for key, one in self.handshakes.items():
            if not (one.writers and one.readers):
                raise TargetError(f"buffer {key[1]} of tile {key[0]} lacks a writer or a reader")
            states = {"empty": one.writers[0].takes[0][0], "full": one.readers[0].takes[0][0]}
            for each in one.semaphores:
                given = [f"init = {each.initial} : i32", f'match.buffer = "{key[1]}"']
                for state in (name for name, first in states.items() if first == each):
                    lock = counted.get((*key, cast(State, state)))
                    if lock is None:
                        raise TargetError(f"buffer {key[1]} of tile {key[0]} lacks a lock")
                    given.append(f"match.highest = {lock.highest} : i32")
                    given.append(f"match.index = {lock.index} : i32")
                    given.append(f'match.state = "{state}"')
                given.append(f'sym_name = "{lock_symbol(each)}"')
                place = f"(%{tile_name(each.tile)}, {each.index})"
                yield f"%{lock_symbol(each)} = aie.lock{place} {attributes(given)}"

    def _buffers(self) -> Iterator[str]:
        """Tile after tile by address, as allocators of older versions want those that have one."""
        found: list[tuple[Tile, int, str]] = []
        for number, buffer in enumerate(self.program.buffers):
            if buffer.role == "stack":
                continue
            for copy, address in enumerate(self.at[buffer.tile, buffer.name]):
                line = self._buffer(buffer, number, copy, address)
                found.append((buffer.tile, address, line))
        for core in self.program.cores:
            if (extra := self._extra(core)) > 0:
                address = stack_bytes(self.program, self.at, core.tile, extra)
                if self._reads(core):
                    room_for_turns(self.program, core.tile, address)
                name = turns_symbol(core.tile) if self._reads(core) else _scratch(core.tile)
                given = attributes(
                    (
                        f"address = {address} : i32",
                        f"match.scratch = {extra} : i32",
                        f"mem_bank = {address // self.bank} : i32",
                        f'sym_name = "{name}"',
                    )
                )
                line = f"%{name} = aie.buffer(%{tile_name(core.tile)}) {given} : {memref(extra)}"
                found.append((core.tile, address, line))
        yield from (line for *_, line in sorted(found))

    def _extra(self, core: Core) -> int:
        """Bytes behind a core's stack: what calls keep, or how many turns they have."""
        return TURNS_BYTES if self._reads(core) else scratch_bytes(core.function)

    def _buffer(self, buffer: Buffer, number: int, copy: int, address: int) -> str:
        name, values = symbol(buffer, copy), initial(self.program, buffer)
        given = [f"address = {address} : i32", *_facts(buffer, number, copy, values)]
        if buffer.banks:
            given.append(f"mem_bank = {address // self.bank} : i32")
        given.append(f'sym_name = "{name}"')
        value = "" if values is None else f" = {_dense(values)}"
        declared = f"%{name} = aie.buffer(%{tile_name(buffer.tile)}) {attributes(given)}"
        return f"{declared} : {memref(buffer.bytes)}{value}"

    def _flows(self) -> Iterator[str]:
        for route in self.program.routes:
            for number, sink in enumerate(route.sinks):
                yield f"aie.flow({port(route.source)}, {port(sink)})" + (
                    "" if number else f" {attributes(_moved(route))}"
                )
        for link in self.program.cascades:
            yield f"aie.cascade_flow(%{tile_name(link.source)}, %{tile_name(link.sink)})"

    # ------------------------------------------------------------ descriptors

    def _dmas(self) -> Iterator[str]:
        dmas = DmaText(self.program, self.dialect)
        for tile in sorted({channel.tile for channel in self.chains}):
            core = tile[1] >= self.device.shim_rows + self.device.mem_rows
            kind = "mem" if core else "memtile_dma"
            yield f"%{kind}_{tile[0]}_{tile[1]} = aie.{kind}(%{tile_name(tile)}) {{"
            channels = [channel for channel in self.chains if channel.tile == tile]
            yield from (f"  {line}" for line in lock_values(self._values(channels), self.dialect))
            block = 0
            for number, channel in enumerate(channels):
                if number:
                    yield f"^dma{number}:"
                last = number == len(channels) - 1
                yield (
                    f"  %{number} = aie.dma_start({channel.direction.upper()}, {channel.index}, "
                    f"^bd{block}, {'^end' if last else f'^dma{number + 1}'})"
                )
                blocks = self.chains[channel]
                for at, each in enumerate(blocks):
                    yield f"^bd{block + at}:"
                    yield from (f"  {line}" for line in dmas.block(each, core=core))
                    yield f"  aie.next_bd ^bd{block + (at + 1) % len(blocks)}"
                block += len(blocks)
            yield "^end:"
            yield "  aie.end"
            yield "}"

    def _values(self, channels: Sequence[Channel]) -> list[int]:
        """What blocks take and give of semaphores."""
        blocks = [block for channel in channels for block in self.chains[channel]]
        return [one[1] for block in blocks for one in (block.takes, block.gives) if one is not None]

    # ------------------------------------------------------------ cores

    def _core(self, core: Core) -> Iterator[str]:
        buffers = arguments(self.program, core.tile)
        extra = scratch_bytes(core.function)
        scratch = (f"%{_scratch(core.tile)}", memref(extra)) if extra else None
        users = {name: self._user(core.tile, name) for name in core.buffers}
        locks = {name: (user.takes, user.gives) for name, user in users.items()}
        tile = tile_name(core.tile)
        yield f"%core_{tile[5:]} = aie.core(%{tile}) {{"
        says: tuple[str, ...]
        if self._reads(core):
            one = turned(self.program, core, self.names[core.tile])
            shifts = told_shift(core) is not None
            found = TurnsText(buffers, scratch, locks, self.dialect)
            lines = found.blocks(one, core.tile, shifts=shifts)
            says = f"match.blocks = {one.blocks} : i32", f"match.firings = {one.firings} : i32"
        else:
            calls = body(self.program, core, self.names[core.tile])
            runs = len(calls) // max(1, len(core.work))
            lines = CoreText(buffers, scratch, locks, self.dialect).lines(
                looped(calls), f"core {core.tile}"
            )
            says = (f"match.runs = {runs} : i32",)
        yield from (f"  {line}" for line in lines)
        yield f"}} {attributes(self._stack(core, says))}"

    def _user(self, tile: Tile, name: str) -> User:
        """A core, of one of its buffers."""
        one = self.handshakes[tile, name]
        users = one.writers if name == "out" else one.readers
        return next(user for user in users if user.who == tile)

    def _stack(self, core: Core, says: tuple[str, ...]) -> tuple[str, ...]:
        found = [f'link_with = "{object_name(core)}"'] if self.dialect.core_links else []
        for number, buffer in enumerate(self.program.buffers):
            if buffer.tile == core.tile and buffer.role == "stack":
                found.append(f"match.at = {number} : i32")
                found.append(f"match.banks = {numbers(buffer.banks)}")
                found.append(f"match.bytes = {buffer.bytes} : i32")
                found.append(f'match.name = "{buffer.name}"')
                size = stack_bytes(self.program, self.at, core.tile, self._extra(core))
                return (*found, *says, f"stack_size = {size} : i32")
        raise InternalError(f"core {core.tile} has no stack")


def _scratch(tile: Tile) -> str:
    return f"b_{tile[0]}_{tile[1]}_scratch_0"


def _moved(route: Route) -> tuple[str, ...]:
    return (
        f"match.bytes = {route.bytes} : i64",
        f'match.name = "{route.name}"',
        f'match.role = "{route.role}"',
        f"match.sends = {route.sends} : i64",
    )


def _facts(buffer: Buffer, number: int, copy: int, values: np.ndarray | None) -> Iterator[str]:
    """What a program says of a buffer beside its place."""
    yield f"match.at = {number} : i32"
    yield f"match.banks = {numbers(buffer.banks)}"
    yield f"match.bytes = {buffer.bytes} : i32"
    yield f"match.copy = {copy} : i32"
    if values is not None:
        yield f'match.dtype = "{values.dtype.name}"'
    yield f"match.fills = {buffer.fills} : i32"
    if buffer.laps > 1:
        yield f"match.laps = {buffer.laps} : i32"
    yield f'match.name = "{buffer.name}"'
    yield f'match.role = "{buffer.role}"'
    if buffer.written is not None:
        yield f"match.written = {buffer.written} : i32"


def _dense(values: np.ndarray) -> str:
    """Initial values, little-endian, as bytes."""
    return f'dense<"0x{np.ascontiguousarray(values).tobytes().hex().upper()}">'
