"""Cores of the text: an endless loop of calls, with the locks that they take and give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.targets.aie_ml.array.program import Buffer
from match_aie.targets.aie_ml.array.semaphores import Amount
from match_aie.targets.xdna.mlir.body import Called
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.forms import lock_symbol, memref, symbol
from match_aie.targets.xdna.mlir.loops import Loop, Node, leaves, loops

#: Calls that are written down in a core. ASSUMPTION: 64 bytes each, with their locks, take 8 of the
#: 16 KB of program memory.
MOST_CALLS = 128

#: Turns of the endless loop: all that fit the dialect's 32-bit index.
FOREVER = 4294967295


def use(amount: Amount, action: str, dialect: Dialect) -> str:
    """Take or give semaphores."""
    lock, many = amount
    value = str(many) if dialect.lock_values else f"%value{many}"
    return f"aie.use_lock(%{lock_symbol(lock)}, {action}, {value})"


def lock_values(amounts: Sequence[int], dialect: Dialect) -> Iterator[str]:
    """Constants that `use` refers to."""
    if not dialect.lock_values:
        for many in sorted(set(amounts)):
            yield f"%value{many} = arith.constant {many} : i32"


class CoreText:
    """The body of one core.

    Args:
        buffers: arguments of its functions.
        extra: the argument behind them, as a value and its type; None for none.
        locks: semaphores that a buffer's call takes, and that it gives, by name and copy.
        dialect: of the text.
    """

    def __init__(
        self,
        buffers: Sequence[Buffer],
        extra: tuple[str, str] | None,
        locks: dict[str, tuple[tuple[Amount, ...], tuple[Amount, ...]]],
        dialect: Dialect,
    ) -> None:
        """Of a core."""
        self._buffers, self._locks, self._dialect = buffers, locks, dialect
        self._extra = (extra[0],) if extra else ()
        types = [memref(b.bytes) for b in buffers] + ([extra[1]] if extra else [])
        self._types = ", ".join((*types, "i32"))
        self._number = 0

    def lines(self, nodes: Sequence[Node], where: str) -> Iterator[str]:
        """Constants, then the loop.

        Raises:
            InfeasibleError: too many calls do not repeat.
        """
        written = list(leaves(nodes))
        if len(written) > MOST_CALLS:
            levers = ("larger calls", "fewer rows")
            reason = Infeasible("calls of a core", len(written), MOST_CALLS, "calls", levers)
            raise InfeasibleError(reason, where=where)
        inner = list(loops(nodes))
        yield "%first = arith.constant 0 : index"
        yield "%step = arith.constant 1 : index"
        yield f"%forever = arith.constant {FOREVER} : index"
        for count in sorted({loop.count for loop in inner}):
            yield f"%count{count} = arith.constant {count} : index"
        for at in sorted(
            {0, *(c.at for c in written), *(n for p in inner for n in (p.at, p.step))}
        ):
            yield f"%at{at} = arith.constant {at} : i32"
        amounts = [many for one in written for many in self._amounts(one)]
        yield from lock_values(amounts, self._dialect)
        yield "scf.for %run = %first to %forever step %step {"
        yield from (f"  {line}" for line in self._nodes(nodes, ""))
        yield "}"
        yield "aie.end"

    def _amounts(self, one: Called) -> Iterator[int]:
        held = self._held(one)
        yield from (self._locks[name][0][held[name]][1] for name in one.takes)
        yield from (self._locks[name][1][held[name]][1] for name in one.gives)

    def _held(self, one: Called) -> dict[str, int]:
        return {b.name: copy for b, copy in zip(self._buffers, one.copies, strict=True)}

    def _nodes(self, nodes: Sequence[Node], base: str) -> Iterator[str]:
        """Calls and loops of a turn that begins with call number `base`; of a run where empty."""
        for node in nodes:
            if isinstance(node, Loop):
                yield from self._loop(node, base)
                continue
            at = f"%at{node.at}"
            if base and node.at:
                at = self._value("call")
                yield f"{at} = arith.addi {base}, %at{node.at} : i32"
            yield from self._call(node, base if base and not node.at else at)

    def _loop(self, loop: Loop, base: str) -> Iterator[str]:
        turn, index, far = self._value("turn"), self._value("index"), self._value("far")
        begin = self._value("begin")
        yield f"scf.for {turn} = %first to %count{loop.count} step %step {{"
        yield f"  {index} = arith.index_cast {turn} : index to i32"
        yield f"  {far} = arith.muli {index}, %at{loop.step} : i32"
        yield f"  {begin} = arith.addi {far}, %at{loop.at} : i32"
        inside = begin
        if base:
            inside = self._value("inside")
            yield f"  {inside} = arith.addi {base}, {begin} : i32"
        yield from (f"  {line}" for line in self._nodes(loop.body, inside))
        yield "}"

    def _value(self, name: str) -> str:
        self._number += 1
        return f"%{name}{self._number}"

    def _call(self, one: Called, at: str, more: Sequence[str] = ()) -> Iterator[str]:
        held = self._held(one)
        for name in one.takes:
            yield use(self._locks[name][0][held[name]], "AcquireGreaterEqual", self._dialect)
        given = [f"%{symbol(b, held[b.name])}" for b in self._buffers]
        called = ", ".join((*given, *self._extra, at, *more))
        types = ", ".join((self._types, *("i32" for _ in more)))
        yield f"func.call @{one.name}({called}) : ({types}) -> ()"
        for name in one.gives:
            yield use(self._locks[name][1][held[name]], "Release", self._dialect)
