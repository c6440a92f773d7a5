"""Schedules of attention with a running softmax: two products, and loops between them.

Scores, weights, powers and sums of weights lie in one bank, sums of results in another, and queries
in that one where there is room: where not, each store of scores costs the first product a cycle.
Arrays of the table lie where keys and values arrive, so that gathers meet nothing but the DMA.
A product lane by lane of 16 bits by 16 has 32 lanes in sums of 32 bits, and 16 in 64.

How often a row's power grows depends on the numbers. ASSUMPTION: keys come in any order alike.
Then part i has the largest score so far with probability 1 / i at most, whatever scores are, and
powers grow no oftener for that. They grow also where weights fill half of the sums: of a row whose
scores are all equal as often as its weights double beyond. ASSUMPTION: a row does the one or the
other, since one so flat has no much larger scores behind. The larger number is charged for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil, log2

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.attention import TILE_COLUMNS
from match_aie.targets.aie_ml.kernels.running_attention import DIVIDED, WEIGHTS, RunningAttention
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.schedule.attention import Loops, bundles_of
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.loops import (
    RowSchedule,
    loop_schedule,
    straight_schedule,
)
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
from match_aie.targets.aie_ml.schedule.rows import looked_up
from match_aie.targets.aie_ml.schedule.streamed_attention import (
    LOOP_CYCLES,
    PhaseSchedules,
    called,
    turns_apart,
)
from match_aie.targets.aie_ml.schedule.words_moved import in_turn, loaded, moved, stored
from match_aie.workload.attention_running import FULL, MOST_WEIGHT

#: Banks: of scores, powers and queries; of sums; of results.
_SCORES, _SUMS, _RESULTS = "A", "S", "W"

#: Tiles of rows of what is divided at a time, and words of a tile of sums.
_DIVIDED, _SUM_WORDS = DIVIDED // 4, 4


def grown_rows(call: RunningAttention) -> float:
    """How often the power of any row of a block grows, in all parts but the first: see above."""
    larger = sum(1 / part for part in range(2, call.parts + 1))
    fuller = ceil(log2(max(1.0, call.columns * MOST_WEIGHT / FULL)))
    return call.rows * max(larger, fuller)


def running_schedules(call: RunningAttention, arch: Architecture) -> PhaseSchedules:
    """Modelled cycles of every kind of call; growing is divided among all parts alike.

    Raises:
        TargetError: registers do not suffice for a product, or facts are missing.
    """
    core, empty = machine(arch), arch.latency("l1_kernel_call_loop_overhead")
    s, strips, groups = call.scores.spec, call.rows // call.strip, call.strip // 4
    scores, adds = (schedule_of(spec, arch) for spec in (s, call.adds))
    loops = _loops_of(core, call)

    def turns(name: str) -> int:
        return sum(loop.body(many) for many, loop in loops[name]) + LOOP_CYCLES

    made = partial(called, loops, empty)
    every = "compared", "folded", "weighed", "totals"
    inside = strips * (sum(map(turns, every)) + groups * LOOP_CYCLES)
    grown = ceil(grown_rows(call) * (turns("grown") + LOOP_CYCLES) / call.parts)
    part = scores.body + inside + grown + adds.body
    part += 0 if call.queries_beside_sums else s.m * s.n * BYTES[WEIGHTS] // WORD
    part += ceil(turns("started") / call.parts)
    ended = call.rows // DIVIDED * (turns("factors") + _DIVIDED * turns("ended") + LOOP_CYCLES)
    each = made(part, *every, "grown"), made(part + ended, *every, "grown", "factors", "ended")
    bundles = bundles_of(tuple(one for some in loops.values() for one in some))
    bundles += (len(loops) + groups) * LOOP_CYCLES
    # Frames of both products are those of the two functions.
    code = bundles * BUNDLE_BYTES + sum(k.program_bytes for k in (scores, adds))
    first = RowSchedule(turns("copied"), code, empty, loops["copied"])
    return PhaseSchedules(first, {"values": each}, code, RowSchedule(0, 0, empty, ()))


def _loops_of(core: Machine, call: RunningAttention) -> dict[str, Loops]:
    """Loops by what they do: of a piece of queries, a block, a strip of rows, or a row."""
    across, groups = call.scores.spec.n // TILE_COLUMNS, call.strip // 4
    found = {
        "compared": (across, _compared(core, groups)),
        "grown": (call.tiles + 1, _grown(core)),
        "weighed": (across, _weighed(core, groups, call.spec.keys)),
        "factors": (call.spec.numerator_bits + call.spec.numerator_shift, _factor(core)),
    }
    # Those of a block, or of its queries, keep their code short.
    apart = {
        "copied": (call.piece // WORD, _copied(core)),
        "ended": (call.tiles, _ended(core)),
        "started": (call.rows * (call.tiles + 1) // 4, _started()),
    }
    # What a strip has once.
    once = {"folded": _folded(core, groups), "totals": _totals(core, groups)}
    chains = {"compared": core.move, "weighed": core.product_distance, "factors": 4 * core.move}
    made: dict[str, Loops] = {
        name: ((turns, loop_schedule(tuple(body), chains.get(name, 0))),)
        for name, (turns, body) in found.items()
    }
    made |= {name: ((1, straight_schedule(tuple(body))),) for name, body in once.items()}
    return made | {name: turns_apart(turns, tuple(body)) for name, (turns, body) in apart.items()}


def _copied(core: Machine) -> Iterator[Operation]:
    """A vector from where queries arrive to where they stay."""
    yield loaded(core, "x", _RESULTS)
    yield stored("y", "x", _SUMS)


def _started() -> Iterator[Operation]:
    """A tile of sums, four words."""
    for word in range(_SUM_WORDS):
        yield stored(f"y{word}", "", _SUMS)


def _scores(core: Machine, name: str) -> Iterator[Operation]:
    """A tile of scores, two words."""
    for word in range(2):
        yield Operation(
            "load", f"{name}{word}", (LOAD_A, LOAD_B), (), name, core.load, _SCORES, WORD
        )


def _together(groups: int, each: Callable[[int], Iterator[Operation]]) -> Iterator[Operation]:
    """What is done for each of a strip's tiles of rows, operation by operation."""
    for operations in zip(*map(each, range(groups)), strict=True):
        yield from operations


def _compared(core: Machine, groups: int) -> Iterator[Operation]:
    """A tile of each tile of a strip, what counts compared with the greatest so far."""

    def each(group: int) -> Iterator[Operation]:
        yield from _scores(core, f"x{group}")
        yield moved(core, f"counted{group}", (f"x{group}",))
        reads = (f"counted{group}",)
        yield Operation("compare", f"most{group}", (MOVE,), reads, f"most{group}", core.move)

    yield from _together(groups, each)


def _folded(core: Machine, groups: int) -> Iterator[Operation]:
    """Eight columns into one, times a factor, compared with what there was."""

    def each(group: int) -> Iterator[Operation]:
        steps = ("turn", "s0", "m0", "s1", "m1", "s2", "m2", "back", "half")
        yield from in_turn(core, (f"{step}{group}" for step in steps))
        reads = (f"half{group}",)
        yield Operation("multiply", f"p{group}", (VECTOR,), reads, f"p{group}", core.product)
        for word in range(2):
            name = f"power{group}{word}"
            yield Operation("srs", name, (STORE,), (f"p{group}",), name, core.srs)
            yield loaded(core, f"before{group}{word}", _SCORES)
        for word in range(_SUM_WORDS):
            yield loaded(core, f"total{group}{word}", _SCORES)
        for half in range(2):
            words = f"total{group}{2 * half}", f"total{group}{2 * half + 1}"
            yield moved(core, f"full{group}{half}", words)
        yield moved(core, f"more{group}", (f"before{group}0", f"before{group}1"))
        yield moved(core, f"least{group}", (f"full{group}0", f"full{group}1", f"more{group}"))
        largest = f"power{group}0", f"power{group}1", f"least{group}"
        yield from in_turn(core, (f"larger{group}", f"grows{group}"), largest)
        for word in range(2):
            yield stored(f"kept{group}{word}", f"larger{group}", _SCORES)

    yield from _together(groups, each)


def _grown(core: Machine) -> Iterator[Operation]:
    """Eight sums of a row, widened and shifted down."""
    yield loaded(core, "x", _SUMS)
    yield moved(core, "wide", ("x",))
    yield Operation("srs", "less", (STORE,), ("wide",), "less", core.srs)
    yield stored("y", "less", _SUMS)


def _weighed(core: Machine, groups: int, keys: int) -> Iterator[Operation]:
    """A tile of each tile of a strip: its distances, looked up, turned, counted, stored.

    Args:
        core: what takes how long.
        groups: tiles of a strip.
        keys: of a tile of weights; those of eight are not turned.
    """

    def each(group: int) -> Iterator[Operation]:
        yield from _scores(core, f"x{group}")
        for word in range(2):
            name = f"power{group}"
            yield Operation(
                "load_accumulator", f"{name}{word}", (LOAD_A,), (), name, core.load, _SCORES, WORD
            )
        reads = f"x{group}", f"power{group}"
        yield Operation("multiply", f"far{group}", (VECTOR,), reads, f"far{group}", core.product)
        for half in range(2):
            index = f"index{group}{half}"
            yield Operation("srs", index, (STORE,), (f"far{group}",), index, core.srs)
        indices = tuple(f"index{group}{half}" for half in range(2))
        yield moved(core, f"least{group}", indices)
        for half in range(2):
            yield from looked_up(f"least{group}", f"e{group}{half}", core)
        both = f"e{group}0", f"e{group}1"
        counts = "counts0", "counts1"
        if keys == TILE_COLUMNS:
            yield Operation("product", f"total{group}", (VECTOR,), (*both, *counts), "", 0)
        for half in range(2):
            mine = both[half]
            if keys < TILE_COLUMNS:
                mine, reads = f"keys{group}{half}", (f"keys{group}{half}", counts[half])
                yield moved(core, mine, both)
                yield Operation("product", f"total{group}{half}", (VECTOR,), reads, "", 0)
            yield stored(f"y{group}{half}", mine, _SCORES)

    for half in range(2):
        yield moved(core, f"counts{half}", ())
    yield from _together(groups, each)


def _totals(core: Machine, groups: int) -> Iterator[Operation]:
    """Powers and sums of weights of a strip; the latter stored again."""
    for group in range(groups):
        for word in range(2):
            yield loaded(core, f"power{group}{word}", _SCORES)
        for word in range(_SUM_WORDS):
            yield loaded(core, f"x{group}{word}", _SCORES)
            yield stored(f"y{group}{word}", f"x{group}{word}", _SCORES)


def _factor(core: Machine) -> Iterator[Operation]:
    """A bit of sixteen quotients."""
    for name, reads in (
        ("bit", ()), ("twice", ()), ("next", ("twice", "bit")), ("double", ()),
        ("fits", ("next",)), ("less", ("next",)), ("rest", ("fits", "less")),
        ("plus", ("double",)), ("quotient", ("fits", "plus")),
    ):  # fmt: skip
        yield moved(core, name, reads)


def _ended(core: Machine) -> Iterator[Operation]:
    """A tile of results: sums of 32 bits times factors of 32 are four products."""
    for half in range(2):
        for word in range(2):
            yield loaded(core, f"x{half}{word}", _SUMS)
        reads = f"x{half}0", f"x{half}1"
        for part in range(4):
            name = f"p{half}{part}"
            yield Operation("multiply", name, (VECTOR,), reads, f"wide{half}", core.product)
        wide = f"wide{half}"
        yield Operation("srs", f"round{half}", (STORE,), (wide,), f"y{half}", core.srs)
    yield from in_turn(core, ("least", "most", "zero"), ("y0", "y1"))
    yield Operation("copy", "pack", (STORE,), ("zero",), "packed", core.move)
    yield stored("result", "packed", _RESULTS)
