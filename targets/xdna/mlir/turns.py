"""Cores whose calls have as many turns as the host says: one program for several reductions.

The host also says by how many bits sums are shifted where they become 8 or 16 bits, which is
another number in every layer.

A core's endless loop is then one block of results: the first turn, pairs of turns, the last one.
How many pairs there are lies in a word of the core's memory that the host's sequence writes before
it begins any transfer, and the core reads it behind the first turn of a block, whose inputs that
sequence brought. The run before has ended then, since the host waited for its results: all its
blocks had read their number. A compiler may not move the load out of the loop, as functions that
it does not see are called in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Core, Tile
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.xdna.mlir.body import Called, body
from match_aie.targets.xdna.mlir.cores import FOREVER, CoreText, lock_values
from match_aie.targets.xdna.mlir.forms import memref
from match_aie.targets.xdna.mlir.kernels import names

#: Bytes of the number's buffer: those of a vector, at which buffers begin.
TURNS_BYTES = 32

#: Functions of the first turn of a block, those between, and the last one.
ROLES = ("begins", "goes_on", "ends")


@dataclass(frozen=True)
class Turned:
    """A core's run as blocks of turns.

    Attributes:
        first: the call of the first turn, on copy 0 of what it takes.
        between: two calls between, on copy 1 and on copy 0.
        last: the call of the last turn, on copy 1.
        pairs: of calls between in a block.
        blocks: of a run.
        firings: how often the array's runtime would start the kernel in a run.
    """

    first: Called
    between: tuple[Called, Called]
    last: Called
    pairs: int
    blocks: int
    firings: int


def turns_symbol(tile: Tile) -> str:
    """The buffer that holds a core's number of pairs."""
    return f"b_{tile[0]}_{tile[1]}_turns_0"


def told_shift(core: Core) -> int | None:
    """Bits that a core shifts out of its sums, which it reads as its turns; None where it has none.

    That is, where it hands sums on, or stores them as they are.
    """
    if not isinstance(core.function, Nest):
        return None
    spec = core.function.call.spec
    shifts = spec.stores and spec.requantise.form != "none"
    return core.function.call.shift if shifts else None


def reads_turns(core: Core) -> bool:
    """Whether a core is one that the host tells its turns: of a layer by an overlay.

    Others beside it, such as those of attention, have one body for all runs.
    """
    return isinstance(core.function, Nest) and core.function.told


def turned_names(program: ArrayProgram) -> dict[Tile, tuple[str, ...]]:
    """The function of every call of a run, by core: what it is of its block.

    Raises:
        TargetError: no core walks its reduction in turns, or one of a product does not.
    """
    if not any(reads_turns(core) for core in program.cores):
        raise TargetError("no core has calls in turns, which a number at run time would say")
    found = names(program)
    for core in filter(reads_turns, program.cores):
        turns = _turns(core)
        roles = ROLES[0], *(ROLES[1],) * (turns - 2), ROLES[2]
        symbols = functions(core)
        each = tuple(symbols[ROLES.index(role)] for role in roles)
        found[core.tile] = each * (len(core.work) // turns)
    return found


def functions(core: Core) -> tuple[str, ...]:
    """Of all roles, whether a call of this core has it or not."""
    assert core.function is not None
    return tuple(f"{core.function.symbol}_{role}" for role in ROLES)


def _turns(core: Core) -> int:
    """Of a block.

    Raises:
        TargetError: a core has no blocks of an even number of turns.
    """
    call = core.function
    turns = call.k_tiles if isinstance(call, Nest) else 0
    plain = isinstance(call, Nest) and call.streamed and not call.parameters
    if turns < 2 or turns % 2 or not plain or len(core.work) % turns:
        raise TargetError(
            f"core {core.tile} has {len(core.work)} calls of {turns} turns, which no number at run "
            "time says",
            hint="weights by stream, an even number of turns",
        )
    return turns


def turned(program: ArrayProgram, core: Core, given: Sequence[str]) -> Turned:
    """A core's run, whose calls are these functions.

    Raises:
        TargetError: its calls are no such blocks.
    """
    turns, calls = _turns(core), body(program, core, given)
    first, other, last = calls[0], calls[1], calls[turns - 1]
    middle = functions(core)[1]
    between = (
        Called(0, middle, first.takes, first.gives, other.copies),
        Called(0, middle, first.takes, first.gives, first.copies),
    )
    block = (first, *between * (turns // 2 - 1), last)
    blocks = len(calls) // turns
    for call, wanted in zip(calls, block * blocks, strict=True):
        same = call.name, call.takes, call.gives, call.copies
        if same != (wanted.name, wanted.takes, wanted.gives, wanted.copies):
            raise TargetError(f"core {core.tile}: call {call.at} is not as those of other blocks")
    starts = [at for at, work in enumerate(core.work) if work.starts]
    firings = max(1, len(starts))
    if starts != list(range(0, len(core.work), len(core.work) // firings)):
        raise TargetError(f"core {core.tile} is started at calls {starts}")
    return Turned(first, between, last, turns // 2 - 1, blocks, firings)


class TurnsText(CoreText):
    """The body of a core that reads its number of turns."""

    def blocks(self, one: Turned, tile: Tile, *, shifts: bool) -> Iterator[str]:
        """Constants, then the loop over blocks; `shifts`: whether the last call takes a shift."""
        yield "%first = arith.constant 0 : index"
        yield "%step = arith.constant 1 : index"
        yield f"%forever = arith.constant {FOREVER} : index"
        yield "%at0 = arith.constant 0 : i32"
        written = one.first, *one.between, one.last
        amounts = [many for call in written for many in self._amounts(call)]
        yield from lock_values(amounts, self._dialect)
        yield "scf.for %run = %first to %forever step %step {"
        yield from (f"  {line}" for line in self._call(one.first, "%at0"))
        kind = memref(TURNS_BYTES)
        yield f"  %pairs = memref.load %{turns_symbol(tile)}[%first] : {kind}"
        yield "  %turns = arith.index_cast %pairs : i32 to index"
        yield "  scf.for %turn = %first to %turns step %step {"
        for call in one.between:
            yield from (f"    {line}" for line in self._call(call, "%at0"))
        yield "  }"
        if shifts:
            yield f"  %shift = memref.load %{turns_symbol(tile)}[%step] : {kind}"
        more = ("%shift",) if shifts else ()
        yield from (f"  {line}" for line in self._call(one.last, "%at0", more))
        yield "}"
        yield "aie.end"


def room_for_turns(program: ArrayProgram, tile: Tile, stack: int) -> None:
    """Whether a core's stack, `stack` bytes in front of the number, is as large as was planned.

    Raises:
        InfeasibleError: it is not.
    """
    planned = next(b.bytes for b in program.buffers if b.tile == tile and b.role == "stack")
    if stack < planned:
        reason = Infeasible("the stack", planned, stack, "bytes", ("smaller calls",))
        raise InfeasibleError(reason, where=f"core {tile}, beside its number of turns")


def told_of(program: ArrayProgram) -> dict[Tile, tuple[int, ...]]:
    """Words that the host writes into each core that reads its turns: pairs, and a shift."""
    shifts = {core.tile: told_shift(core) for core in program.cores}
    return {
        tile: (pairs,) if shifts[tile] is None else (pairs, shifts[tile] or 0)
        for tile, pairs in pairs_of(program).items()
    }


def pairs_of(program: ArrayProgram) -> dict[Tile, int]:
    """Pairs of turns between the first and the last one, of each core that reads its turns."""
    given = turned_names(program)
    return {
        core.tile: turned(program, core, given[core.tile]).pairs
        for core in program.cores
        if reads_turns(core)
    }
