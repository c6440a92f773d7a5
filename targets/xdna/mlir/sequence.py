"""The host's sequence of transfers: all of a program's data once, or rounds of some of it.

A round begins a transfer of each way of some columns. Rounds of other data follow each other
without a stop, such as further windows or parts of a result's columns, until an interface tile has
no descriptor left, or a channel's queue no place; then the sequence waits for the results of the
oldest round that has some, which gives them back. In the end it waits for all that is left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel, Way
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.forms import numbers
from match_aie.targets.xdna.mlir.host import HostArgument, Packed, host_arguments

#: The host's transfers of a program that has a text of its own.
SEQUENCE = "sequence"

_MOVED = re.compile(r"dma_memcpy_nd\(%(\w+)\[0, 0, 0, (\d+)\].*metadata = @(\w+)\}")


@dataclass(frozen=True)
class Round:
    """Data of a program that a sequence moves once.

    Attributes:
        moved: names of the ways; all where None.
        offsets: argument, and words by which its ways begin further than those of the program.
    """

    moved: frozenset[str] | None = None
    offsets: tuple[tuple[str, int], ...] = ()

    def ways(self, program: ArrayProgram) -> tuple[Way, ...]:
        """What moves, in the program's order."""
        return tuple(
            way for way in program.ways if self.moved is None or way.outside.name in self.moved
        )

    def offset(self, argument: str) -> int:
        """Of an argument's ways."""
        return dict(self.offsets).get(argument, 0)


#: All data once.
ONCE = (Round(),)


@dataclass(frozen=True)
class Limits:
    """Of an interface tile.

    Attributes:
        descriptors: of it.
        queue: transfers that a channel has at once.
    """

    descriptors: int
    queue: int


#: Descriptors by column, places of queues by channel.
_Taken = Counter[int | Channel]


class _Sequence:
    """One sequence of a program."""

    def __init__(self, program: ArrayProgram, rounds: Sequence[Round], limits: Limits) -> None:
        self.program, self.rounds, self.limits = program, rounds, limits
        self.args = host_arguments(program, moved_by(program, rounds))
        self.words = {
            arg.name: arg.words + max(each.offset(arg.name) for each in rounds) for arg in self.args
        }
        self._held: dict[str, tuple[HostArgument, Packed]] = {
            one.way.outside.name: (arg, one) for arg in self.args for one in arg.ways
        }
        self._given: Counter[int] = Counter()

    def lines(self) -> Iterator[str]:
        """Transfers and waits.

        Raises:
            TargetError: a round moves nothing, or too much at once.
        """
        begun: list[tuple[Round, _Taken]] = []
        for each in self.rounds:
            ways = each.ways(self.program)
            if not ways:
                raise TargetError("a sequence that moves nothing", hint="ways of a layer")
            needs: _Taken = Counter(way.channel.tile[0] for way in ways)
            needs.update(way.channel for way in ways)
            while short := self._short(needs, begun):
                oldest = next((one for one in begun if short & one[1].keys()), None)
                if oldest is None:
                    raise TargetError("more transfers at once than an interface tile has room for")
                yield from self._waits(oldest[0])
                begun.remove(oldest)
            for way in ways:
                yield self._transfer(way, each)
            begun.append((each, needs))
        for one, _ in begun:
            yield from self._waits(one)

    def _short(
        self, needs: _Taken, begun: Sequence[tuple[Round, _Taken]]
    ) -> frozenset[int | Channel]:
        """Where there is no room for as many more."""
        return frozenset(
            key
            for key, many in needs.items()
            if many + sum(taken[key] for _, taken in begun)
            > (self.limits.descriptors if isinstance(key, int) else self.limits.queue)
        )

    def _transfer(self, way: Way, each: Round) -> str:
        arg, one = self._held[way.outside.name]
        column = way.channel.tile[0]
        number = self._given[column] % self.limits.descriptors
        self._given[column] += 1
        token = ", issue_token = true" if way.channel.direction == "s2mm" else ""
        return (
            f"aiex.npu.dma_memcpy_nd(%{arg.name}[0, 0, 0, {one.begin + each.offset(arg.name)}]"
            f"{numbers(one.sizes)}{numbers(one.steps)}) "
            f"{{id = {number} : i64{token}, metadata = @{way.outside.name}}}"
            f" : memref<{self.words[arg.name]}xi32>"
        )

    def _waits(self, one: Round) -> Iterator[str]:
        for way in one.ways(self.program):
            if way.channel.direction == "s2mm":
                yield f"aiex.npu.dma_wait {{symbol = @{way.outside.name}}}"


def sequence(
    program: ArrayProgram,
    dialect: Dialect,
    limits: Limits,
    writes: Mapping[str, Sequence[int]] | None = None,
    rounds: Sequence[Round] = ONCE,
) -> Iterator[str]:
    """All transfers are begun, then the host waits for those out of the array.

    Args:
        program: whose ways.
        dialect: of the text.
        limits: of an interface tile.
        writes: words that it writes before them into buffers of cores, by the buffers' names.
        rounds: what it moves, one behind the other.

    Raises:
        TargetError: a round moves nothing, or too much at once.
    """
    one = _Sequence(program, rounds, limits)
    given = ", ".join(f"%{name}: memref<{words}xi32>" for name, words in one.words.items())
    yield f"{dialect.sequence} @{SEQUENCE}({given}) {{"
    yield from (f"  {line}" for line in _written(writes or {}, dialect))
    yield from (f"  {line}" for line in one.lines())
    yield "}"


def rounds_of(program: ArrayProgram, text: str) -> tuple[Round, ...]:
    """What the sequence in a text moves; transfers that are none of the program's do not count."""
    seen = {name for _, _, name in _MOVED.findall(text)}
    apart = parts(program)
    mine = [name for part in apart if part & seen for name in part]
    held = {
        one.way.outside.name: (at, arg.name, one)
        for arg in host_arguments(program, mine)
        for one in arg.ways
        for at, way in enumerate(program.ways)
        if way.outside.name == one.way.outside.name
    }
    found: list[tuple[list[int], dict[str, int]]] = []
    for argument, begin, name in _MOVED.findall(text):
        if name not in held or held[name][1] != argument:
            continue
        at, offset = held[name][0], int(begin) - held[name][2].begin
        last = found[-1] if found else ([len(program.ways)], {})
        if at <= last[0][-1] or last[1].get(argument, offset) != offset:
            last = [], {}
            found.append(last)
        last[0].append(at)
        last[1][argument] = offset
    return tuple(_round(program, apart, *each) for each in found) or ONCE


def moved_by(program: ArrayProgram, rounds: Sequence[Round]) -> frozenset[str]:
    """Ways of all rounds: arguments hold what goes through these, and nothing else."""
    return frozenset(way.outside.name for each in rounds for way in each.ways(program))


def _round(
    program: ArrayProgram,
    apart: Sequence[frozenset[str]],
    ways: Sequence[int],
    offsets: Mapping[str, int],
) -> Round:
    """A round of these ways, and of all that hang together with them."""
    seen = {program.ways[at].outside.name for at in ways}
    names = frozenset(name for part in apart if part & seen for name in part)
    further = tuple((name, words) for name, words in offsets.items() if words)
    return Round(None if len(names) == len(program.ways) else names, further)


def parts(program: ArrayProgram) -> tuple[frozenset[str], ...]:
    """Names of ways that hang together: none waits for one of another part."""
    nodes = _Joined()
    for route in program.routes:
        ends = [(route.source, route.reads), *zip(route.sinks, route.writes, strict=True)]
        for channel, buffer in ends:
            nodes.join(route.source, channel)
            if buffer:
                nodes.join(channel, (channel.tile, buffer))
    for core in program.cores:
        for name in core.buffers:
            nodes.join(core.tile, (core.tile, name))
    for link in program.cascades:
        nodes.join(link.source, link.sink)
    found: dict[Hashable, list[str]] = {}
    for way in program.ways:
        found.setdefault(nodes.first(way.channel), []).append(way.outside.name)
    return tuple(map(frozenset, found.values()))


class _Joined:
    """What hangs together."""

    def __init__(self) -> None:
        self._before: dict[Hashable, Hashable] = {}

    def first(self, node: Hashable) -> Hashable:
        """One of all that hang together with a node."""
        while (before := self._before.get(node, node)) != node:
            node = before
        return node

    def join(self, one: Hashable, other: Hashable) -> None:
        """Two of them do."""
        self._before[self.first(one)] = self.first(other)


def through(program: ArrayProgram, columns: Collection[int]) -> frozenset[str]:
    """Names of ways through interface tiles of some columns."""
    return frozenset(w.outside.name for w in program.ways if w.channel.tile[0] in columns)


def _written(writes: Mapping[str, Sequence[int]], dialect: Dialect) -> Iterator[str]:
    """Numbers into first words of buffers."""
    if not dialect.numbers_written:
        for value in sorted({value for words in writes.values() for value in words}):
            yield f"%number{value} = arith.constant {value} : i32"
    for name, words in writes.items():
        for at, value in enumerate(words):
            given = str(value) if dialect.numbers_written else f"%number{value}"
            kind = "" if dialect.numbers_written else " : i32"
            yield f"aiex.npu.rtp_write(@{name}, {at}, {given}){kind}"
