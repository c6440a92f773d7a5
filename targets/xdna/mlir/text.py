"""Prints an `ArrayProgram` as MLIR-AIE: one operation a line, the same bytes always."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import cast

import numpy as np

from match_aie.errors import Infeasible, InfeasibleError, InternalError, TargetError
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Buffer,
    Channel,
    Core,
    Descriptor,
    Route,
    State,
    Tile,
)
from match_aie.targets.aie_ml.array.semaphores import (
    Amount,
    Handshake,
    Semaphore,
    User,
    handshakes,
    semaphores,
)
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.xdna.mlir.body import body
from match_aie.targets.xdna.mlir.chains import Block, chains
from match_aie.targets.xdna.mlir.kernels import arguments, names
from match_aie.targets.xdna.mlir.places import Addresses, addresses
from match_aie.targets.xdna.mlir.rules import verified

#: How often one transfer of an interface tile may be repeated (facts: six bits).
MOST_REPEATS = 64

#: The object file that all cores link.
OBJECT = "kernels.o"


def text(program: ArrayProgram, device: Device) -> str:
    """The module.

    Args:
        program: laid out on a Ryzen AI processor, fed by the chip's memory.
        device: that processor.

    Raises:
        TargetError: the program is of another device, or has what the text does not say.
        InfeasibleError: semaphores, descriptors, addresses or calls do not fit.
    """
    if program.device != device.name or not device.architecture.name.startswith("XDNA"):
        raise TargetError(f"a program for {program.device} is no text for {device.name}")
    if program.crossings or any(route.packet for route in program.routes):
        raise TargetError("programmable logic and packets are not in the text")
    for one in program.descriptors:
        if one.iteration is not None:
            raise TargetError(
                f"descriptor {one.index} of tile {one.channel.tile} has an iteration, which the "
                "dialect of March 2026 does not say",
                hint="another plan of the layer",
            )
    found = handshakes(program)
    _refuse(semaphores(found, device))
    printer = _Printer(program, device, found)
    _refuse(verified(program, device, printer.chains))
    lines = printer.lines()
    return "\n".join(("module {", *(f"  {line}" for line in lines), "}")) + "\n"


def _refuse(violations: Iterator[Violation]) -> None:
    """Say the first of them, if there is one."""
    for wrong in violations:
        what = f"{wrong.where}: {wrong.what}"
        raise InfeasibleError(Infeasible(what, wrong.demand, wrong.bound, "", (wrong.remedy,)))


def memref(size: int) -> str:
    """Type of a buffer of so many bytes: words where it has whole ones."""
    return f"memref<{size // WORD}xi32>" if size % WORD == 0 else f"memref<{size}xi8>"


class _Printer:
    """One program."""

    def __init__(self, program: ArrayProgram, device: Device, found: Sequence[Handshake]) -> None:
        self.program, self.device = program, device
        self.handshakes = {(one.buffer.tile, one.buffer.name): one for one in found}
        self.chains: Mapping[Channel, tuple[Block, ...]] = chains(program, device, found)
        self.at: Addresses = addresses(program, device)
        self.names = names(program)
        self.bank = logical_banks(device)[1]

    def lines(self) -> Iterator[str]:
        """Of the device."""
        p = self.program
        yield f"aie.device({p.device}) {{"
        parts = (self._functions(), self._tiles(), self._locks(), self._buffers(), self._flows())
        for part in (*parts, self._dmas(), *map(self._core, p.cores), self._sequence()):
            yield from (f"  {line}" for line in part)
        yield f"}} {{match.core_macs = {p.core_macs} : i64, match.macs = {p.macs} : i64}}"

    # ------------------------------------------------------------ declarations

    def _functions(self) -> Iterator[str]:
        seen: dict[str, str] = {}
        for core in self.program.cores:
            types = [memref(b.bytes) for b in arguments(self.program, core.tile)]
            for name in self.names[core.tile]:
                seen[name] = ", ".join((*types, "i32"))
        for name, given in seen.items():
            yield f"func.func private @{name}({given})"

    def _tiles(self) -> Iterator[str]:
        p = self.program
        found = {b.tile for b in p.buffers} | {core.tile for core in p.cores}
        for route in p.routes:
            found |= {channel.tile for channel in (route.source, *route.sinks)}
        for tile in sorted(found):
            yield f"%{_tile(tile)} = aie.tile({tile[0]}, {tile[1]})"

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
                given.append(f'sym_name = "{_lock(each)[1:]}"')
                place = f"(%{_tile(each.tile)}, {each.index})"
                yield f"{_lock(each)} = aie.lock{place} {_attributes(tuple(given))}"

    def _buffers(self) -> Iterator[str]:
        for number, buffer in enumerate(self.program.buffers):
            if buffer.role == "stack":
                continue
            for copy, address in enumerate(self.at[buffer.tile, buffer.name]):
                name = _buffer(buffer, copy)
                given = (f"address = {address} : i32", *_facts(buffer, number))
                if buffer.banks:
                    given = (*given, f"mem_bank = {address // self.bank} : i32")
                given = (*given, f'sym_name = "{name[1:]}"')
                value = "" if buffer.values is None else f" = {_dense(buffer.values)}"
                yield (
                    f"{name} = aie.buffer(%{_tile(buffer.tile)}) {_attributes(given)} "
                    f": {memref(buffer.bytes)}{value}"
                )

    def _flows(self) -> Iterator[str]:
        for route in self.program.routes:
            for number, sink in enumerate(route.sinks):
                yield f"aie.flow({_port(route.source)}, {_port(sink)})" + (
                    "" if number else f" {_attributes(_moved(route))}"
                )
        for link in self.program.cascades:
            yield f"aie.cascade_flow(%{_tile(link.source)}, %{_tile(link.sink)})"

    # ------------------------------------------------------------ descriptors

    def _dmas(self) -> Iterator[str]:
        for tile in sorted({channel.tile for channel in self.chains}):
            core = tile[1] >= self.device.shim_rows + self.device.mem_rows
            kind = "mem" if core else "memtile_dma"
            yield f"%{kind}_{tile[0]}_{tile[1]} = aie.{kind}(%{_tile(tile)}) {{"
            channels = [channel for channel in self.chains if channel.tile == tile]
            block = 0
            for number, channel in enumerate(channels):
                if number:
                    yield f"^dma{number}:"
                last = number == len(channels) - 1
                yield (
                    f"  %{number} = aie.dma_start({channel.direction.upper()}, {channel.index}, "
                    f"^bd{block}, {'^end' if last else f'^dma{number + 1}'})"
                )
                yield from self._chain(channel, block)
                block += len(self.chains[channel])
            yield "^end:"
            yield "  aie.end"
            yield "}"

    def _chain(self, channel: Channel, first: int) -> Iterator[str]:
        """Blocks of a channel, the last of which leads to the first."""
        blocks = self.chains[channel]
        for at, block in enumerate(blocks):
            yield f"^bd{first + at}:"
            if block.takes is not None:
                yield f"  {_use(block.takes, 'AcquireGreaterEqual')}"
            yield f"  {self._descriptor(block)}"
            if block.gives is not None:
                yield f"  {_use(block.gives, 'Release')}"
            yield f"  aie.next_bd ^bd{first + (at + 1) % len(blocks)}"

    def _descriptor(self, block: Block) -> str:
        one = block.descriptor
        buffer = self.program.buffer_at[one.channel.tile, one.buffer]
        where = f"{_buffer(buffer, one.copy)} : {memref(buffer.bytes)}"
        dims = _dims(one)
        sizes = ", ".join(f"<size = {size}, stride = {step}>" for size, step in reversed(dims))
        text = f"aie.dma_bd({where}, {one.offset}, {one.words}"
        text += f", [{sizes}]" if dims else ""
        if one.pad:
            pads = (*one.pad, *((0, 0),) * (len(dims) - len(one.pad)))
            text += ", [" + ", ".join(_pad(*pad) for pad in reversed(pads)) + "]"
        role = "again" if block.again else "at" if block.split is None else "rest"
        given = [f"bd_id = {one.index} : i32", f"match.{role} = {block.at} : i32"]
        if role == "rest":
            given.append(f"match.split = {block.split} : i32")
        return f"{text}) {_attributes(tuple(given))}"

    # ------------------------------------------------------------ cores

    def _core(self, core: Core) -> Iterator[str]:
        buffers, calls = arguments(self.program, core.tile), body(self.program, core)
        tile = _tile(core.tile)
        yield f"%core_{tile[5:]} = aie.core(%{tile}) {{"
        yield "  %first = arith.constant 0 : index"
        yield "  %step = arith.constant 1 : index"
        yield "  %forever = arith.constant 4294967295 : index"
        for at in range(len(core.work)):
            yield f"  %at{at} = arith.constant {at} : i32"
        yield "  scf.for %run = %first to %forever step %step {"
        types = ", ".join((*(memref(b.bytes) for b in buffers), "i32"))
        for one in calls:
            held = {b.name: copy for b, copy in zip(buffers, one.copies, strict=True)}
            for name in one.takes:
                takes = self._user(core.tile, name).takes[held[name]]
                yield f"    {_use(takes, 'AcquireGreaterEqual')}"
            given = [_buffer(b, copy) for b, copy in zip(buffers, one.copies, strict=True)]
            called = ", ".join((*given, f"%at{one.at}"))
            name = self.names[core.tile][one.at]
            yield f"    func.call @{name}({called}) : ({types}) -> ()"
            for name in one.gives:
                gives = self._user(core.tile, name).gives[held[name]]
                yield f"    {_use(gives, 'Release')}"
        yield "  }"
        yield "  aie.end"
        yield f"}} {_attributes(self._stack(core, len(calls) // max(1, len(core.work))))}"

    def _user(self, tile: Tile, name: str) -> User:
        """A core, of one of its buffers."""
        one = self.handshakes[tile, name]
        users = one.writers if name == "out" else one.readers
        return next(user for user in users if user.who == tile)

    def _stack(self, core: Core, runs: int) -> tuple[str, ...]:
        found = [f'link_with = "{OBJECT}"']
        for number, buffer in enumerate(self.program.buffers):
            if buffer.tile == core.tile and buffer.role == "stack":
                banks = ", ".join(map(str, buffer.banks))
                found += [f"match.at = {number} : i32", f"match.banks = [{banks}]"]
                found.append(f'match.name = "{buffer.name}"')
                found.append(f"match.runs = {runs} : i32")
                return (*found, f"stack_size = {buffer.bytes} : i32")
        raise InternalError(f"core {core.tile} has no stack")

    # ------------------------------------------------------------ host

    def _sequence(self) -> Iterator[str]:
        """Ways into the array, then out of it; the host waits for the latter."""
        ways = self.program.ways
        ids: dict[int, int] = {}
        for way in ways:
            direction = way.channel.direction.upper()
            place = f"(%{_tile(way.channel.tile)}, {direction}, {way.channel.index})"
            yield f"aie.shim_dma_allocation @{way.outside.name} {place}"
        sizes = [way.outside.elements * BYTES[way.outside.dtype] // WORD for way in ways]
        given = ", ".join(f"%arg{n}: memref<{size}xi32>" for n, size in enumerate(sizes))
        yield f"aie.runtime_sequence @sequence({given}) {{"
        for number, (way, size) in enumerate(zip(ways, sizes, strict=True)):
            repeats, column = way.outside.repeats, way.channel.tile[0]
            if repeats > MOST_REPEATS:
                raise TargetError(f"the way {way.outside.name} goes {repeats} times in a run")
            ids[column] = ids.get(column, -1) + 1
            token = ", issue_token = true" if way.channel.direction == "s2mm" else ""
            yield (
                f"  aiex.npu.dma_memcpy_nd(%arg{number}[0, 0, 0, 0][{repeats}, 1, 1, {size}]"
                f"[0, 0, 0, 1]) {{id = {ids[column]} : i64{token}, metadata = @{way.outside.name}}}"
                f" : memref<{size}xi32>"
            )
        for way in ways:
            if way.channel.direction == "s2mm":
                yield f"  aiex.npu.dma_wait {{symbol = @{way.outside.name}}}"
        yield "}"


def _tile(tile: Tile) -> str:
    return f"tile_{tile[0]}_{tile[1]}"


def _buffer(buffer: Buffer, copy: int) -> str:
    return f"%b_{buffer.tile[0]}_{buffer.tile[1]}_{buffer.name}_{copy}"


def _lock(lock: Semaphore) -> str:
    return f"%l_{lock.tile[0]}_{lock.tile[1]}_{lock.name}"


def _use(amount: Amount, action: str) -> str:
    lock, many = amount
    return f"aie.use_lock({_lock(lock)}, {action}, {many})"


def _port(channel: Channel) -> str:
    return f"%{_tile(channel.tile)}, DMA : {channel.index}"


def _attributes(given: tuple[str, ...]) -> str:
    return "{" + ", ".join(given) + "}"


def _moved(route: Route) -> tuple[str, ...]:
    return (
        f"match.bytes = {route.bytes} : i64",
        f'match.name = "{route.name}"',
        f'match.role = "{route.role}"',
        f"match.sends = {route.sends} : i64",
    )


def _facts(buffer: Buffer, number: int) -> Iterator[str]:
    """What a program says of a buffer beside its place."""
    yield f"match.at = {number} : i32"
    yield f"match.banks = [{', '.join(map(str, buffer.banks))}]"
    yield f"match.bytes = {buffer.bytes} : i32"
    if buffer.values is not None:
        yield f'match.dtype = "{buffer.values.dtype.name}"'
    yield f"match.fills = {buffer.fills} : i32"
    yield f'match.name = "{buffer.name}"'
    yield f'match.role = "{buffer.role}"'
    if buffer.written is not None:
        yield f"match.written = {buffer.written} : i32"


def _dims(one: Descriptor) -> tuple[tuple[int, int], ...]:
    """Sizes and steps, innermost first; those of padding alone where it is linear."""
    if one.pad and not one.dims:
        return ((one.words - sum(map(sum, one.pad)), 1),)
    pads = (*one.pad, *((0, 0),) * (len(one.dims) - len(one.pad)))
    moved = prod(size + sum(pad) for (size, _), pad in zip(one.dims, pads, strict=True))
    if one.dims and moved != one.words:
        raise TargetError(
            f"descriptor {one.index} of tile {one.channel.tile} moves {moved} words by its sizes, "
            f"and {one.words} by its length"
        )
    return one.dims


def _pad(before: int, after: int) -> str:
    return f"<const_pad_before = {before}, const_pad_after = {after}>"


def _dense(values: np.ndarray) -> str:
    """Initial values, little-endian, as bytes."""
    return f'dense<"0x{np.ascontiguousarray(values).tobytes().hex().upper()}">'
