"""The schedule of a norm: loops over rows, and over lanes of which each is a row's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.norm import HALF, STEPS, NormCall
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES
from match_aie.targets.aie_ml.schedule.loops import LoopSchedule, RowSchedule, loop_schedule
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    LOAD_B,
    STORE,
    VECTOR,
    Machine,
    machine,
)
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.schedule.words_moved import LOCAL, loaded, moved, quotient, stored

#: Cycles of a loop beside its turns: it is set up, addresses and what stays in registers are
#: computed. ASSUMPTION: no document states them; attention's kernels are charged alike.
LOOP_CYCLES = 8

#: Vectors of a row that are scaled together.
TOGETHER = 2

#: Bytes of a scalar that is loaded, and words of a vector of 32-bit integers.
SCALAR, WORDS = 4, HALF * 4 // WORD

#: Banks: of rows, of what is stored and of factors, of the function's local array. ASSUMPTION: the
#: latter has one of its own; beside results the scalars of a row would meet stores (3 % longer).
_FROM, _TO = "A", "T"

#: Executions of a loop in a call, turns of each, and the loop.
Executed = tuple[int, int, LoopSchedule]


def norm_schedule(call: NormCall, arch: Architecture) -> RowSchedule:
    """Modelled cycles of one call.

    Raises:
        TargetError: facts are missing.
    """
    core = machine(arch)
    executed = [one for rows in call.blocks for one in _block(core, call, rows)]
    loops = {loop: loop.bundles if turns > 1 else loop.span for _, turns, loop in executed}
    bundles = FRAME_BUNDLES + sum(loops.values()) + LOOP_CYCLES * len(loops)
    return RowSchedule(
        sum(times * (LOOP_CYCLES + loop.body(turns)) for times, turns, loop in executed),
        bundles * BUNDLE_BYTES,
        arch.latency("l1_kernel_call_loop_overhead"),
        tuple((times * turns, loop) for times, turns, loop in executed),
    )


def _block(core: Machine, call: NormCall, rows: int) -> Iterator[Executed]:
    """Loops of rows whose numbers are computed at once."""
    vectors, pairs, groups = call.width // call.spec.lanes, -(-rows // 2), call.groups
    empty = groups * HALF - 2 * pairs

    def one(times: int, turns: int, body: Iterator[Operation], least: int) -> Iterator[Executed]:
        if times and turns:
            yield times, turns, loop_schedule(tuple(body), least)

    yield from one(pairs, vectors, _moments(core), core.product_distance)
    yield from one(pairs, 1, _kept(core), core.move)
    yield from one(1, empty, _cleared(), core.move)
    yield from one(1, groups * HALF // 2, _folded(core, loads=True), core.move)
    yield from one(1, groups * (HALF // 2 - 1), _folded(core, loads=False), core.move)
    yield from one(1, 1, _variance(core, groups, rms=call.spec.rms), core.move)
    # A turn's last value comes after that of the turn before: what is kept, and roots likewise.
    yield from one(1, call.steps + 1, _fitted(core, groups), core.move)
    yield from one(1, STEPS, _root(core, groups), 4 * core.move)
    yield from one(1, STEPS, quotient(core), 4 * core.move)
    yield from one(1, 1, _numbers(core, groups, rms=call.spec.rms), core.move)
    for many, times in ((TOGETHER, vectors // TOGETHER), (1, vectors % TOGETHER)):
        yield from one(times, 1, _factors(core, many), core.move)
        yield from one(times, rows, _scaled(core, many), core.move)


def _narrowed(core: Machine, name: str, reads: str) -> Iterator[Operation]:
    """A vector of 64-bit sums as 32 bits; of sums that are there where `reads` is empty."""
    for word in range(WORDS):
        needs = (reads,) if reads else ()
        yield Operation("srs", f"{name}{word}", (STORE,), needs, name, core.srs)


def _shifted(core: Machine, name: str) -> Iterator[Operation]:
    """A vector of 32-bit integers that is there, through an accumulator and back."""
    yield moved(core, f"{name}.wide")
    for word in range(WORDS):
        yield Operation("copy", f"{name}{word}", (STORE,), (f"{name}.wide",), name, core.srs)


def _product(core: Machine, name: str, reads: tuple[str, ...], writes: str) -> Iterator[Operation]:
    """A product of 32-bit integers, of their halves, which are told apart first.

    Args:
        core: that multiplies.
        name: for people.
        reads: operands that are computed; all others are there from the beginning.
        writes: the sum.
    """
    yield moved(core, f"{name}.halves", reads)
    if len(reads) > 1:
        yield moved(core, f"{name}.more", reads, f"{name}.halves")
    for half in range(4):
        parts = (f"{name}.halves",)
        yield Operation("multiply", f"{name}{half}", (VECTOR,), parts, writes, core.product)


def _moments(core: Machine) -> Iterator[Operation]:
    """A vector of each of two rows, widened, added to its sum, and its squares to theirs."""
    for row in range(2):
        yield loaded(core, f"x{row}", _FROM)
        yield moved(core, f"wide{row}", (f"x{row}",))
        for name in (f"total{row}", f"squares{row}"):
            yield Operation("multiply", name, (VECTOR,), (f"wide{row}",), name, core.product)


def _kept(core: Machine) -> Iterator[Operation]:
    """Two rows' two sums, halves added and stored; they come out of accumulators by moves."""
    for each in range(4):
        for part in range(2):
            yield moved(core, f"part{each}{part}")
        yield moved(core, f"sum{each}", (f"part{each}0", f"part{each}1"))
        for word in range(WORDS):
            yield stored(f"y{each}{word}", f"sum{each}")


def _cleared() -> Iterator[Operation]:
    """Sums of a row that is none."""
    for word in range(2 * WORDS):
        yield stored(f"y{word}")


def _folded(core: Machine, *, loads: bool) -> Iterator[Operation]:
    """Two rows' sums in turns, halved, and those of their squares; perhaps loaded before."""
    for of in ("total", "squares"):
        words = tuple(f"{of}{at}" for at in range(2 * WORDS)) if loads else ()
        for word in words:
            yield loaded(core, word)
        for half in ("low", "high"):
            yield moved(core, f"{of}.{half}", words)
        yield moved(core, f"{of}.sum", (f"{of}.low", f"{of}.high"))


def _variance(core: Machine, groups: int, *, rms: bool) -> Iterator[Operation]:
    """Rows' variances: sums of a few products on one accumulator."""
    for group in range(groups):
        up, varied = f"up{group}", f"variance{group}"
        yield moved(core, f"start{group}", (), varied)
        yield from _product(core, f"low{group}", (), varied)
        yield from _product(core, f"squares{group}", (), varied)
        yield from _shifted(core, up)
        for each in range(2 if rms else 1):
            yield from _product(core, f"square{group}{each}", (up,), varied)


def _fitted(core: Machine, groups: int) -> Iterator[Operation]:
    """Variances shifted down by so many bits, taken where they fit."""
    yield moved(core, "shift")
    for group in range(groups):
        found = f"found{group}"
        yield from _narrowed(core, found, "")
        yield moved(core, f"most{group}", (found,))
        yield moved(core, f"fits{group}", (f"most{group}",))
        yield moved(core, f"kept{group}", (f"most{group}", f"fits{group}"))
        yield moved(core, f"down{group}", ("shift", f"fits{group}"))


def _root(core: Machine, groups: int) -> Iterator[Operation]:
    """A bit of every root."""
    yield moved(core, "more")
    for group in range(groups):
        next_, fits, less = (f"{name}{group}" for name in ("next", "fits", "less"))
        yield moved(core, next_, ("more",))
        yield moved(core, fits, (next_,))
        yield moved(core, less, (next_,))
        yield moved(core, f"kept{group}", (fits, less))
        yield moved(core, f"above{group}", (next_, "more"))
        yield moved(core, f"root{group}", (f"above{group}", fits))
        yield moved(core, f"twice{group}", (f"kept{group}",))


def _numbers(core: Machine, groups: int, *, rms: bool) -> Iterator[Operation]:
    """Roots as 16 bits before they divide; then factors, what is taken off, and shifts."""
    return chain.from_iterable(_numbers_of(core, group, rms=rms) for group in range(groups))


def _numbers_of(core: Machine, group: int, *, rms: bool) -> Iterator[Operation]:
    def named(name: str) -> str:
        return f"{name}{group}"

    def made(name: str, *reads: str) -> Iterator[Operation]:
        """A product, shifted down; constants are in registers."""
        operands = tuple(named(each) for each in reads)
        yield from _product(core, named(name), operands, named(f"{name}.sum"))
        yield from _narrowed(core, named(name), named(f"{name}.sum"))

    yield from _shifted(core, named("root"))
    yield moved(core, named("packed"), (named("root"),))
    yield moved(core, named("inverse"))
    yield from made("factor", "inverse")
    if rms:
        yield from made("moved", "factor")
    else:
        yield moved(core, named("above"))
        yield from made("share", "above")
        yield moved(core, named("mean"), (named("share"),))
        yield from made("whole", "mean")
        yield moved(core, named("left"), (named("whole"),))
        yield from made("first", "factor", "mean")
        yield from made("second", "left", "inverse")
        yield moved(core, named("moved"), (named("first"), named("second")))
    yield moved(core, named("shift"))
    for name in ("factor", "moved", "shift"):
        for word in range(WORDS):
            yield stored(named(f"{name}.y{word}"), named(name))


def _factors(core: Machine, many: int) -> Iterator[Operation]:
    """Factors and addends of vectors; these are loaded into an accumulator."""
    for at in range(many):
        for word in range(2):
            yield loaded(core, f"w{at}{word}", _TO)
        names = tuple(f"b{at}{word}" for word in range(4))
        for name in names:
            yield loaded(core, name, _TO)
        for half in range(2):
            yield moved(core, f"addend{at}{half}", names[2 * half : 2 * half + 2])


def _scaled(core: Machine, many: int) -> Iterator[Operation]:
    """Vectors of a row less its mean, rounded to 16 bits, times their factors, with addends."""
    for name in ("factor", "moved", "shift"):
        yield Operation("scalar_load", name, (LOAD_A, LOAD_B), (), name, core.load, LOCAL, SCALAR)
    yield moved(core, "factors", ("factor",))
    yield moved(core, "less", ("moved",))
    for at in range(many):
        x, wide, centred = (f"{name}{at}" for name in ("x", "wide", "centred"))
        yield loaded(core, x, _FROM)
        yield moved(core, wide, (x,))
        for half in range(2):
            yield moved(core, f"start{at}{half}", ("less",), f"start{at}")
        product = wide, "factors", f"start{at}"
        yield Operation("multiply", centred, (VECTOR,), product, centred, core.product)
        normal, kept = f"normal{at}", (centred, "shift")
        for word in range(2):
            yield Operation("srs", f"{normal}{word}", (STORE,), kept, normal, core.srs)
        name, sums = f"scale{at}", f"scaled{at}"
        yield Operation("multiply", name, (VECTOR,), (normal,), sums, core.product)
        yield Operation("srs", f"round{at}", (STORE,), (f"scaled{at}",), f"y{at}", core.srs)
        yield stored(f"y{at}", f"y{at}", _TO)
