"""Schedules of kernels that walk rows: loops whose turns overlap, one after the other.

A loop's body is placed operation by operation in a pattern that repeats: at the least interval at
which slots, banks and ports have room for all of them. Loops do not overlap each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.bands import AddCall
from match_aie.targets.aie_ml.kernels.floats import FloatCall
from match_aie.targets.aie_ml.kernels.lookup import KEYS, TableCall
from match_aie.targets.aie_ml.kernels.multiplied import MultipliedCall
from match_aie.targets.aie_ml.kernels.norm import NormCall
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxCall
from match_aie.targets.aie_ml.kernels.turned import TurnedCall
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES, CallSchedule
from match_aie.targets.aie_ml.schedule.float_rows import (
    FLOAT_ROW_CYCLES,
    float_loops,
    walks_rows,
)
from match_aie.targets.aie_ml.schedule.generated import add_schedule
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    LOAD_B,
    MOVE,
    STORE,
    VECTOR,
    Machine,
    machine,
)
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.schedule.registers import Placed
from match_aie.targets.aie_ml.schedule.table import Table

#: Functions that walk rows.
RowCall = AddCall | MultipliedCall | TableCall | SoftmaxCall | NormCall | TurnedCall | FloatCall

#: A loop's operations on a core.
_Body = Callable[[Machine], Iterator[Operation]]

#: Cycles of a row beside its loops: a maximum and a sum over lanes, a division of 32-bit integers,
#: set-up of loops. ASSUMPTION: no document states them.
ROW_CYCLES = 100

#: More of a layer norm's: products of 64 bits, a variance's shifts, a square root bit by bit.
#: ASSUMPTION, likewise.
ROOT_CYCLES = 200

#: Words that one gather reads of both arrays of a table; results lie in a bank of one of them.
_TABLE = "T"


@dataclass(frozen=True)
class LoopSchedule:
    """The body of a loop whose turns follow each other.

    Attributes:
        interval: cycles from turn to turn.
        span: cycles of one turn, first issue to last result.
        placed: its operations.
        overlaps: whether turns begin before others end.
    """

    interval: int
    span: int
    placed: tuple[Placed, ...]
    overlaps: bool = True

    def body(self, turns: int) -> int:
        """Cycles of so many turns."""
        return self.span + (turns - 1) * self.interval

    @property
    def bundles(self) -> int:
        """Of the loop, and of the turns that begin before it and end after it."""
        return 2 * self.span + self.interval if self.overlaps else self.span


@dataclass(frozen=True)
class RowSchedule:
    """A call of a function that walks rows; cycles are modelled.

    Attributes:
        body: cycles from the first load to the last store.
        program_bytes: estimate of the program memory taken.
        call: cycles of calling an empty function.
        loops: (turns of a call, loop).
    """

    body: int
    program_bytes: int
    call: int
    loops: tuple[tuple[int, LoopSchedule], ...]
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()

    @property
    def cycles(self) -> int:
        """Cycles of a call."""
        return self.call + self.body

    @property
    def counts(self) -> Counter[str]:
        """Operations of a call by their kind."""
        found: Counter[str] = Counter()
        for turns, loop in self.loops:
            found.update({p.operation.kind: 0 for p in loop.placed})
            for p in loop.placed:
                found[p.operation.kind] += turns
        return found


def row_schedule(call: RowCall, arch: Architecture) -> CallSchedule | RowSchedule:
    """Modelled cycles of one call.

    Raises:
        TargetError: facts are missing.
    """
    if isinstance(call, AddCall):
        return add_schedule(call.spec, arch, call.rows)
    core = machine(arch)
    if isinstance(call, FloatCall):
        return _float_schedule(call, arch)
    bodies: tuple[tuple[int, _Body], ...] = ((call.rows, _table),)
    if isinstance(call, TurnedCall):
        bodies = ((call.rows, _turned),)
    if isinstance(call, MultipliedCall):
        bodies = ((call.rows, _multiplied),)
    times, around = 1, 0
    if isinstance(call, SoftmaxCall):
        short, long = call.width // (2 * KEYS), call.width // KEYS
        bodies = ((short, _maximum), (long, _summed), (long, _scaled))
        times, around = call.rows, ROW_CYCLES
    elif isinstance(call, NormCall):
        vectors = call.width // call.spec.lanes
        bodies, times = ((vectors, _moments), (vectors, _normed)), call.rows
        around = ROW_CYCLES + ROOT_CYCLES
    loops = tuple((turns, loop_schedule(tuple(body(core)), core.move)) for turns, body in bodies)
    return _walked(loops, times, around, arch)


def _float_schedule(call: FloatCall, arch: Architecture) -> RowSchedule:
    """Of floats: what a turn adds to waits for the turn before it as long as products take."""
    core, rows = machine(arch), walks_rows(call)
    loops = tuple(
        (loop.turns, loop_schedule(loop.body(core), core.float_product, overlaps=loop.overlaps))
        for loop in float_loops(call)
    )
    return _walked(loops, call.rows if rows else 1, FLOAT_ROW_CYCLES if rows else 0, arch)


def _walked(
    loops: tuple[tuple[int, LoopSchedule], ...], times: int, around: int, arch: Architecture
) -> RowSchedule:
    """So many times these loops one after the other, with cycles around them."""
    bundles = FRAME_BUNDLES + around + sum(loop.bundles for _, loop in loops)
    return RowSchedule(
        times * (around + sum(loop.body(turns) for turns, loop in loops)),
        bundles * BUNDLE_BYTES,
        arch.latency("l1_kernel_call_loop_overhead"),
        tuple((times * turns, loop) for turns, loop in loops),
    )


@lru_cache(maxsize=256)
def loop_schedule(
    operations: tuple[Operation, ...], least: int, *, overlaps: bool = True
) -> LoopSchedule:
    """`operations`, each after those whose values it reads, at the least interval that is found.

    A turn adds to what the one before it had: `least` cycles lie between them. Turns that do not
    overlap follow each other as a whole.
    """
    interval = max(least, *Counter(op.slots for op in operations if len(op.slots) == 1).values())
    while True:
        placed = _placed(operations, interval)
        if placed is not None:
            last = max(p.cycle + p.operation.latency for p in placed)
            found = LoopSchedule(interval, last + 1, placed)
            return found if overlaps else replace(found, interval=last + 1, overlaps=False)
        interval += 1


def _placed(operations: Sequence[Operation], interval: int) -> tuple[Placed, ...] | None:
    table, ready = Table(interval), dict[str, int]()
    found = []
    for op in operations:
        first = max((ready[name] for name in op.reads), default=0)
        placed = table.search(op, range(first, first + interval))
        if placed is None:
            return None
        found.append(placed)
        if op.writes:
            ready[op.writes] = max(ready.get(op.writes, 0), placed.cycle + op.latency)
    return tuple(found)


def _table(core: Machine) -> Iterator[Operation]:
    """A vector of keys, both halves of it looked up, joined, packed and stored."""
    yield Operation("load", "x", (LOAD_A, LOAD_B), (), "x", core.load, "A", WORD)
    yield Operation("shuffle", "unpack", (MOVE,), ("x",), "keys", core.move)
    for half in range(2):
        yield from looked_up("keys", f"v{half}", core)
    yield Operation("shuffle", "join", (MOVE,), ("v0", "v1"), "joined", core.move)
    yield Operation("copy", "pack", (STORE,), ("joined",), "y", core.move)
    yield Operation("store", "y", (STORE,), ("y",), "", 0, _TABLE, WORD)


def _turned(core: Machine) -> Iterator[Operation]:
    """A tile of two vectors, turned by one shuffle for each half of the result."""
    for half in range(2):
        yield Operation("load", f"x{half}", (LOAD_A, LOAD_B), (), f"x{half}", core.load, "A", WORD)
    for half in range(2):
        both = ("x0", "x1")
        yield Operation("shuffle", f"turn{half}", (MOVE,), both, f"y{half}", core.move)
        yield Operation("store", f"y{half}", (STORE,), (f"y{half}",), "", 0, _TABLE, WORD)


def _multiplied(core: Machine) -> Iterator[Operation]:
    """A vector of each input, widened, centred and multiplied; halves times a 16-bit factor."""
    for side, bank in zip("ab", "AW", strict=True):
        yield Operation("load", side, (LOAD_A, LOAD_B), (), side, core.load, bank, WORD)
        yield Operation("shuffle", f"unpack_{side}", (MOVE,), (side,), f"{side}.wide", core.move)
        wide = f"{side}.wide"
        yield Operation("shuffle", f"centre_{side}", (MOVE,), (wide,), f"{side}.at", core.move)
    yield Operation("multiply", "product", (VECTOR,), ("a.at", "b.at"), "sums", core.product)
    for half in range(2):
        yield Operation("copy", f"wide{half}", (STORE,), ("sums",), f"s{half}", core.srs)
        for part in range(2):
            name = f"part{half}{part}"
            yield Operation("shuffle", name, (MOVE,), (f"s{half}",), name, core.move)
        parts = f"part{half}0", f"part{half}1"
        for part in range(2):
            name = f"scale{half}{part}"
            yield Operation("multiply", name, (VECTOR,), parts, f"t{half}", core.product)
        yield Operation("srs", f"round{half}", (STORE,), (f"t{half}",), f"y{half}", core.srs)
    yield Operation("shuffle", "join", (MOVE,), ("y0", "y1"), "y", core.move)
    yield Operation("store", "y", (STORE,), ("y",), "", 0, _TABLE, WORD)


def _maximum(core: Machine) -> Iterator[Operation]:
    """A vector compared with the greatest so far."""
    yield Operation("load", "x", (LOAD_A, LOAD_B), (), "x", core.load, "A", WORD)
    yield Operation("compare", "most", (MOVE,), ("x",), "most", core.move)


def _exponentials(core: Machine) -> Iterator[Operation]:
    """Distances from the row's largest element, looked up."""
    yield Operation("load", "x", (LOAD_A, LOAD_B), (), "x", core.load, "A", KEYS)
    yield Operation("shuffle", "distance", (MOVE,), ("x",), "keys", core.move)
    yield from looked_up("keys", "e", core)


def _summed(core: Machine) -> Iterator[Operation]:
    """Sixteen exponentials added to the sums."""
    yield from _exponentials(core)
    yield Operation("shuffle", "add", (MOVE,), ("e",), "sums", core.move)


def _scaled(core: Machine) -> Iterator[Operation]:
    """Sixteen exponentials times the row's factor: 32 bits by 16 are two products."""
    yield from _exponentials(core)
    for half in range(2):
        yield Operation("multiply", f"p{half}", (VECTOR,), ("e",), "product", core.product)
    yield Operation("srs", "round", (STORE,), ("product",), "steps", core.srs)
    yield Operation("shuffle", "zero_point", (MOVE,), ("steps",), "moved", core.move)
    yield Operation("copy", "pack", (STORE,), ("moved",), "y", core.move)
    yield Operation("store", "y", (STORE,), ("y",), "", 0, _TABLE, KEYS)


def _moments(core: Machine) -> Iterator[Operation]:
    """A vector, widened, added to a row's sum, and its squares to theirs."""
    yield Operation("load", "x", (LOAD_A, LOAD_B), (), "x", core.load, "A", WORD)
    yield Operation("shuffle", "unpack", (MOVE,), ("x",), "wide", core.move)
    for name in ("total", "squares"):
        yield Operation("multiply", name, (VECTOR,), ("wide",), name, core.product)


def _normed(core: Machine) -> Iterator[Operation]:
    """A vector less its mean, rounded to 16 bits, times its factors and with its addends.

    Addends are loaded into an accumulator; they and factors lie in the bank of the results.
    """
    yield Operation("load", "x", (LOAD_A, LOAD_B), (), "x", core.load, "A", WORD)
    yield Operation("shuffle", "unpack", (MOVE,), ("x",), "wide", core.move)
    yield Operation("multiply", "centre", (VECTOR,), ("wide",), "centred", core.product)
    for word in range(2):
        name = f"normal{word}"
        yield Operation("srs", name, (STORE,), ("centred",), name, core.srs)
    for word in range(2):
        yield Operation("load", f"w{word}", (LOAD_A, LOAD_B), (), "w", core.load, _TABLE, WORD)
    for word in range(4):
        yield Operation("load", f"b{word}", (LOAD_A, LOAD_B), (), "b", core.load, _TABLE, WORD)
    yield Operation("copy", "addend", (MOVE,), ("b",), "sum", core.move)
    scaled = ("normal0", "normal1", "w", "sum")
    yield Operation("multiply", "scale", (VECTOR,), scaled, "scaled", core.product)
    yield Operation("srs", "round", (STORE,), ("scaled",), "y", core.srs)
    yield Operation("store", "y", (STORE,), ("y",), "", 0, _TABLE, WORD)


def looked_up(keys: str, result: str, core: Machine) -> Iterator[Operation]:
    """Sixteen keys: through an accumulator to addresses, four gathers, and what is kept of them.

    A gather issues in load B alone (`VLDB.4x`, llvm-aie) and reads a bank of each array.
    """
    yield Operation("copy", "ups", (MOVE,), (keys,), f"{result}.wide", core.move)
    for word in range(4 * KEYS // WORD):
        name = f"{result}.i{word}"
        yield Operation("srs", f"index{word}", (STORE,), (f"{result}.wide",), name, core.srs)
    indices = tuple(f"{result}.i{word}" for word in range(4 * KEYS // WORD))
    yield Operation("shuffle", "base", (MOVE,), indices, f"{result}.at", core.move)
    for part in range(KEYS // 4):
        at = (f"{result}.at",)
        yield Operation("load", f"g{part}", (LOAD_B,), at, f"{result}.g", core.load, _TABLE, WORD)
    yield Operation("shuffle", "kept", (MOVE,), (f"{result}.g",), result, core.move)
