"""Schedules of attention whose keys and values go by: products, and a softmax in three rounds.

Scores, sums of exponentials and one array of the table lie in one bank; the loops below have them
in the bank of the table's gathers. Queries lie there, too: the first product pays a cycle for each
of its stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.attention import LANES, PAIR, TILE_ROWS
from match_aie.targets.aie_ml.kernels.attention_parts import Phase
from match_aie.targets.aie_ml.kernels.streamed_attention import StreamedAttention
from match_aie.targets.aie_ml.schedule.attention import (
    BLOCK_CYCLES,
    GROUP_CYCLES,
    Loops,
    bundles_of,
    distances,
    divided,
    folded_maximum,
    kept,
    loop_of,
    maxima,
)
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.loops import RowSchedule, loop_schedule
from match_aie.targets.aie_ml.schedule.machine import MOVE, STORE, VECTOR, Machine, machine
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.schedule.rows import looked_up
from match_aie.targets.aie_ml.schedule.words_moved import loaded, moved, stored

#: Cycles of four rows beside each round's loop: `GROUP_CYCLES` are those of three loops and of four
#: factors. ASSUMPTION: so they divide.
LOOP_CYCLES = GROUP_CYCLES // 4
FACTOR_CYCLES = GROUP_CYCLES - 2 * LOOP_CYCLES

#: Loops that add exponentials to sums.
_TOTALS = "resumed", "added", "kept"

#: Loops behind the last part of the first round.
_SETTLED = "masked", "settled"

#: The bank of scores, sums and one array of the table.
_BANK = "T"


@dataclass(frozen=True)
class PhaseSchedules:
    """Modelled cycles of a block's calls.

    Attributes:
        queries: a piece of queries.
        rounds: of a part of the keys in every round, and of the last part.
        program_bytes: of all of it, beside the run time.
        passed: a piece of queries of another tile; None where it is taken to cost as much.
    """

    queries: RowSchedule
    rounds: dict[Phase, tuple[RowSchedule, RowSchedule]]
    program_bytes: int
    passed: RowSchedule | None = None

    def of(self, phase: Phase, *, last: bool) -> RowSchedule:
        """Of a call."""
        return self.queries if phase == "queries" else self.rounds[phase][last]


def _loops_of(core: Machine, call: StreamedAttention) -> dict[str, Loops]:
    """Loops of rounds by what they do; code of a function that has them all."""
    s = call.scores.spec
    pairs, results = s.n // PAIR, s.m * call.values.spec.n // LANES
    return {
        "copied": loop_of(core, call.piece // WORD, _copied(core), 0),
        "compared": loop_of(core, pairs, maxima(core, _BANK), 1),
        "masked": loop_of(core, 1, _masked(core), 1),
        "settled": loop_of(core, 1, folded_maximum(core), 1),
        "resumed": loop_of(core, TILE_ROWS, _resumed(core), 0),
        "added": loop_of(core, pairs, _added(core), 1),
        "kept": loop_of(core, TILE_ROWS, kept(core, _BANK), 0),
        "divided": divided(core, call.unknown),
        "started": loop_of(
            core, results, iter(stored(f"y{word}", "", "S") for word in range(2)), 0
        ),
        "scaled": loop_of(core, pairs, _scaled(core), 1),
        "ended": turns_apart(results, tuple(_ended(core, call))),
    }


def streamed_schedules(call: StreamedAttention, arch: Architecture) -> PhaseSchedules:
    """Modelled cycles of every kind of call.

    Raises:
        TargetError: registers do not suffice for a product, or facts are missing.
    """
    core, s = machine(arch), call.scores.spec
    groups, blocks = s.m // TILE_ROWS, -(-s.m // LANES)
    product, adds = (schedule_of(k, arch) for k in (s, call.adds))
    loops = _loops_of(core, call)
    scored = product.body + s.m * s.n // WORD  # stores of scores where queries are loaded
    bundles = bundles_of(tuple(one for some in loops.values() for one in some))
    bundles += GROUP_CYCLES + BLOCK_CYCLES + FRAME_BUNDLES
    code = bundles * BUNDLE_BYTES + sum(k.program_bytes for k in (product, adds))
    empty = arch.latency("l1_kernel_call_loop_overhead")

    def rows(names: tuple[str, ...], times: int, around: int) -> int:
        turns = sum(loop.body(many) for name in names for many, loop in loops[name])
        return times * (turns + around)

    made = partial(called, loops, empty)
    last = rows(("divided",), blocks, BLOCK_CYCLES) + rows(("started",), 1, 0)
    every: dict[Phase, tuple[tuple[str, ...], int]] = {
        "largest": (("compared",), rows(("compared",), groups, LOOP_CYCLES)),
        "totals": (_TOTALS, rows(_TOTALS, groups, LOOP_CYCLES)),
        "values": (("scaled",), rows(("scaled",), groups, FACTOR_CYCLES) + adds.body),
    }
    behind: dict[Phase, tuple[tuple[str, ...], int]] = {
        "largest": (_SETTLED, rows(_SETTLED, groups, 0)),
        "totals": (("divided", "started"), last),
        "values": (("ended",), rows(("ended",), 1, 0)),
    }
    rounds = {
        phase: (
            made(scored + body, *names),
            made(scored + body + behind[phase][1], *names, *behind[phase][0]),
        )
        for phase, (names, body) in every.items()
    }
    first = RowSchedule(rows(("copied",), 1, 0), code, empty, loops["copied"])
    return PhaseSchedules(first, rounds, code)


def called(loops: Mapping[str, Loops], empty: int, body: int, *names: str) -> RowSchedule:
    """A call with some of the loops.

    Calls are one function, whose code stands once; who adds them up takes frames off.

    Args:
        loops: by what they do.
        empty: cycles of a call without work.
        body: cycles of this one.
        names: of its loops.
    """
    each = tuple(one for name in names for one in loops[name])
    return RowSchedule(body, FRAME_BUNDLES * BUNDLE_BYTES, empty, each)


def turns_apart(turns: int, body: tuple[Operation, ...]) -> Loops:
    """A loop whose turns do not overlap, which keeps its code short."""
    return ((turns, loop_schedule(body, loop_schedule(body, 0).span)),)


def _copied(core: Machine) -> Iterator[Operation]:
    """A vector from here to there."""
    yield loaded(core, "x", _BANK)
    yield stored("y", "x", _BANK)


def _ended(core: Machine, call: StreamedAttention) -> Iterator[Operation]:
    """Sixteen sums become results: times 32 bits is four products, times 16 two."""
    tail = call.values.spec.requantise
    for word in range(2):
        yield loaded(core, f"x{word}", "S")
    value, both = "wide", ("x0", "x1")
    for part in range((2 if tail.narrow else 4) if tail.scaled else 0):
        yield Operation("multiply", f"p{part}", (VECTOR,), both, value, core.product)
    if not tail.scaled:
        yield moved(core, value, both)
    yield Operation("srs", "round", (STORE,), (value,), "y", core.srs)
    for bound in range((call.values.spec.lo is not None) + (tail.hi is not None)):
        yield moved(core, f"clip{bound}", ("y",), "y")
    yield stored("result", "y", "W")


def _masked(core: Machine) -> Iterator[Operation]:
    """The pair of tiles in which the last part's keys end."""
    for half in range(2):
        x = f"x{half}"
        yield loaded(core, x, _BANK)
        yield moved(core, f"kept{half}", (x,))
        yield Operation(
            "compare", f"most{half}", (MOVE,), (f"kept{half}",), f"most{half}", core.move
        )


def _exponentials(core: Machine) -> Iterator[Operation]:
    """Two tiles: distances of four rows of sixteen, looked up."""
    yield from distances(core, _BANK)
    for row in range(TILE_ROWS):
        yield from looked_up(f"rows{row // 2}", f"e{row}", core)


def _resumed(core: Machine) -> Iterator[Operation]:
    """What a row's exponentials are added to, two words widened into sums."""
    for word in range(2):
        yield loaded(core, f"x{word}", _BANK)
        yield moved(core, f"wide{word}", (f"x{word}",))


def _added(core: Machine) -> Iterator[Operation]:
    """Exponentials of two tiles join the sums of their rows."""
    yield from _exponentials(core)
    for row in range(TILE_ROWS):
        for half in range(2):
            name = f"sum{row}{half}"
            yield Operation("multiply", name, (VECTOR,), (f"e{row}",), f"s{row}", core.product)


def _scaled(core: Machine) -> Iterator[Operation]:
    """Exponentials of two tiles, each times its row's factor, stored as two tiles."""
    yield from _exponentials(core)
    for row in range(TILE_ROWS):
        product = f"product{row}"
        for half in range(2):
            name = f"p{row}{half}"
            yield Operation("multiply", name, (VECTOR,), (f"e{row}",), product, core.product)
        yield Operation("srs", f"round{row}", (STORE,), (product,), f"steps{row}", core.srs)
    for half in range(2):
        both = f"steps{2 * half}", f"steps{2 * half + 1}"
        yield Operation("copy", f"pack{half}", (STORE,), both, f"packed{half}", core.move)
    for half in range(2):
        yield moved(core, f"tile{half}", ("packed0", "packed1"))
        yield stored(f"y{half}", f"tile{half}", _BANK)
