"""Prints an `ArrayProgram` as MLIR-AIE: one operation a line, the same bytes always."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from match_aie.errors import InternalError, TargetError
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.program import (
    ArrayProgram,
    Buffer,
    Channel,
    Core,
    Descriptor,
    Lock,
    Route,
    Tile,
)
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.xdna.mlir.body import body
from match_aie.targets.xdna.mlir.counts import Turns, by_channel, shared, turns
from match_aie.targets.xdna.mlir.kernels import arguments, names
from match_aie.targets.xdna.mlir.places import Addresses, addresses

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
        InfeasibleError: semaphores, addresses or calls do not fit.
    """
    if program.device != device.name or not device.architecture.name.startswith("XDNA"):
        raise TargetError(f"a program for {program.device} is no text for {device.name}")
    if program.crossings or any(route.packet for route in program.routes):
        raise TargetError("programmable logic and packets are not in the text")
    lines = _Printer(program, device).lines()
    danger = "one a copy ahead may take another one's share."
    remarks = [f"// Channels share the locks of {name}: {danger}" for name in shared(program)]
    return "\n".join((*remarks, "module {", *(f"  {line}" for line in lines), "}")) + "\n"


def memref(size: int) -> str:
    """Type of a buffer of so many bytes: words where it has whole ones."""
    return f"memref<{size // WORD}xi32>" if size % WORD == 0 else f"memref<{size}xi8>"


class _Printer:
    """One program."""

    def __init__(self, program: ArrayProgram, device: Device) -> None:
        self.program, self.device = program, device
        self.groups = by_channel(program)
        self.turns: Mapping[tuple[Tile, str], Turns] = turns(program)
        self.at: Addresses = addresses(program, device)
        self.names = names(program)
        self.locks = {(lock.tile, lock.buffer, lock.state): lock for lock in program.locks}
        self.bank = logical_banks(device)[1]
        self.order = {id(d): number for number, d in enumerate(program.descriptors)}

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
        for lock in self.program.locks:
            whole = self.turns[lock.tile, lock.buffer].whole
            given = (
                f"init = {lock.initial * whole} : i32",
                f'match.buffer = "{lock.buffer}"',
                f"match.highest = {lock.highest} : i32",
                f'match.state = "{lock.state}"',
                f'sym_name = "{_lock(lock)[1:]}"',
            )
            place = f"(%{_tile(lock.tile)}, {lock.index})"
            yield f"{_lock(lock)} = aie.lock{place} {_attributes(given)}"

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
        for tile in sorted({channel.tile for channel in self.groups}):
            core = tile[1] >= self.device.shim_rows + self.device.mem_rows
            kind = "mem" if core else "memtile_dma"
            yield f"%{kind}_{tile[0]}_{tile[1]} = aie.{kind}(%{_tile(tile)}) {{"
            channels = [channel for channel in self.groups if channel.tile == tile]
            block = 0
            for number, channel in enumerate(channels):
                if number:
                    yield f"^dma{number}:"
                last = number == len(channels) - 1
                yield (
                    f"  %{number} = aie.dma_start({channel.direction.upper()}, {channel.index}, "
                    f"^bd{block}, {'^end' if last else f'^dma{number + 1}'})"
                )
                many = sum(map(len, self.groups[channel]))
                yield from self._chain(channel, block)
                block += many
            yield "^end:"
            yield "  aie.end"
            yield "}"

    def _chain(self, channel: Channel, first: int) -> Iterator[str]:
        """Blocks of a channel, the last of which leads to the first."""
        groups = self.groups[channel]
        many, at = sum(map(len, groups)), 0
        for group in groups:
            for number, one in enumerate(group):
                yield f"^bd{first + at}:"
                if number == 0:
                    yield from self._use(one, taken=True)
                yield f"  {self._descriptor(one)}"
                if number == len(group) - 1:
                    yield from self._use(one, taken=False)
                at += 1
                yield f"  aie.next_bd ^bd{first + at % many}"

    def _use(self, one: Descriptor, *, taken: bool) -> Iterator[str]:
        """The lock before, or behind, all descriptors of a copy; none where constants lie."""
        tile, writes = one.channel.tile, one.channel.direction == "s2mm"
        if (tile, one.buffer, "empty") in self.locks:
            yield f"  {self._locked(tile, one.buffer, writes=writes, taken=taken)}"

    def _locked(self, tile: Tile, name: str, *, writes: bool, taken: bool) -> str:
        """A writer takes empty and gives full, a reader the other way round."""
        lock = self.locks[tile, name, "empty" if writes == taken else "full"]
        turn = self.turns[tile, name]
        action = "AcquireGreaterEqual" if taken else "Release"
        return f"aie.use_lock({_lock(lock)}, {action}, {turn.reads if writes else turn.writers})"

    def _descriptor(self, one: Descriptor) -> str:
        buffer = self.program.buffer_at[one.channel.tile, one.buffer]
        where = f"{_buffer(buffer, one.copy)} : {memref(buffer.bytes)}"
        dims = _dims(one)
        sizes = ", ".join(f"<size = {size}, stride = {step}>" for size, step in reversed(dims))
        text = f"aie.dma_bd({where}, {one.offset}, {one.words}"
        text += f", [{sizes}]" if dims else ""
        if one.pad:
            pads = (*one.pad, *((0, 0),) * (len(dims) - len(one.pad)))
            text += ", [" + ", ".join(_pad(*pad) for pad in reversed(pads)) + "]"
        given = f"bd_id = {one.index} : i32", f"match.at = {self.order[id(one)]} : i32"
        return f"{text}) {_attributes(given)}"

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
            for name in one.takes:
                yield f"    {self._locked(core.tile, name, writes=name == 'out', taken=True)}"
            given = [_buffer(b, copy) for b, copy in zip(buffers, one.copies, strict=True)]
            called = ", ".join((*given, f"%at{one.at}"))
            name = self.names[core.tile][one.at]
            yield f"    func.call @{name}({called}) : ({types}) -> ()"
            for name in one.gives:
                yield f"    {self._locked(core.tile, name, writes=name == 'out', taken=False)}"
        yield "  }"
        yield "  aie.end"
        yield f"}} {_attributes(self._stack(core, len(calls) // max(1, len(core.work))))}"

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


def _lock(lock: Lock) -> str:
    return f"%l_{lock.tile[0]}_{lock.tile[1]}_{lock.buffer}_{lock.state}"


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
